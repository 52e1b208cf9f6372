-- The audit finds each kind of damage to deployments and to who may claim them: every row damages one thing by hand and names
-- what check must say.

local function key(suffix) return R .. ':' .. suffix end

local function free_member(id)
  return string.format('%013d ', redis('HGET', key('deployment:' .. id), 'created')) .. id
end

local damages = {
  { 'a deployment without a record', 'deployment free: its record is missing', function()
    redis('DEL', key('deployment:free'))
  end, ':deployment:free :deployments:free:default :deployments' },
  { 'a deployment whose times are none', 'deployment free: its times can not be read', function()
    redis('HSET', key('deployment:free'), 'created', '-1')
  end, ':deployment:free :deployments:free:default' },
  { 'a deployment that can not be read', 'deployment free: its record can not be read', function()
    redis('HDEL', key('deployment:free'), 'revision')
  end, 'deployment:free :deployments' },
  { 'one that a node has and that is not listed', 'deployment owned: it is not listed', function()
    redis('ZREM', key('deployments'), 'owned')
  end },
  { 'an interrupted change', 'deployment free: a change of it was interrupted', function()
    redis('HSET', key('deployment:free'), 'indexing', 1)
  end },
  { 'a revision that was never drawn', 'deployment free: its revision was never drawn', function()
    redis('HSET', key('deployment:free'), 'revision', 99)
  end, ':deployment:free R' },
  { 'a free one that nobody can claim', 'deployment free: it is not in its place among the free', function()
    redis('DEL', key('deployments:free:default'))
  end },
  { 'a free one in another place', 'deployment free: it is not in its place among the free', function()
    redis('ZINCRBY', key('deployments:free:default'), 1, free_member('free'))
  end },
  { 'one that a node has among the free', 'deployment owned: it is among the free ones', function()
    redis('ZADD', key('deployments:free:default'), 5, free_member('owned'))
  end },
  { 'a disabled one among the free', 'deployment off: it is among the free ones', function()
    redis('ZADD', key('deployments:free:default'), 5, free_member('off'))
  end },
  { 'a disabled one on a node', 'deployment owned: it is disabled and on n1', function()
    redis('HSET', key('deployment:owned'), 'enabled', 'false')
  end, ':claim:deployment_count:default :deployment:owned :deployments:n1 :revoked:n1' },
  { 'another revision on the node', 'deployment owned: its node has another revision', function()
    redis('ZADD', key('node:deployments:n1'), 77, 'owned')
  end },
  { 'one that its node does not have', 'deployment owned: its node does not have it', function()
    redis('ZREM', key('node:deployments:n1'), 'owned')
  end },
  { 'one that a lost node had and nobody releases', 'deployment owned: its node does not have it', function()
    redis('RENAME', key('node:deployments:n1'), key('unclaimed:1'))
  end },
  { 'one on a node that is not there', 'deployment owned: it is on ghost, which is not there', function()
    redis('HSET', key('deployment:owned'), 'node', 'ghost')
    redis('ZADD', key('node:deployments:ghost'), redis('HGET', key('deployment:owned'), 'revision'), 'owned')
  end, ':claim:deployment_count:default :deployment:owned :deployments:free:default :deployments:n1 :revoked:n1' },
  { 'one on a node of another pool', 'deployment owned: it is on n1, which is not in its pool', function()
    redis('HSET', key('deployment:owned'), 'pool', 'b')
  end, ':claim:deployment_count:default :deployment:owned :deployments:free:b :deployments:n1 :revoked:n1' },
  { 'one that a node has, though another does', 'node n2: it has deployment owned, which is not its own', function()
    redis('ZADD', key('node:deployments:n2'), 1, 'owned')
  end, ':revoked:n2' },
  { 'one that a node has, though it is not there', 'node n1: it has deployment ghost, which is not its own', function()
    redis('ZADD', key('node:deployments:n1'), 1, 'ghost')
  end, ':revoked:n1' },
  { 'deployments of a lost node', 'node n1: its deployments are there though it is lost', function()
    redis('HSET', key('node:runtime:n1'), 'flags', 'l')
  end, ':claim:deployment_count:default :claim:resource_usage:default :deployments:n1 :ready: :runtime:n1 :slots:n1 :unclaimed: R :due' },
  { 'a node in another place by its deployments', 'node n1: its place by deployment_count in pool default is wrong', function()
    redis('ZINCRBY', key('claim:deployment_count:default'), 1, 'n1')
  end },
  { 'a node in another place by its resources', 'node n1: its place by resource_usage in pool default is wrong', function()
    redis('ZINCRBY', key('claim:resource_usage:default'), 1, 'n1')
  end },
  { 'a node that is not among those who may claim', 'node n2: its place by deployment_count in pool b is wrong', function()
    redis('ZREM', key('claim:deployment_count:b'), 'n2')
  end },
  { 'a node that drains and may claim', 'node n3: its place by deployment_count in pool default is wrong', function()
    redis('ZADD', key('claim:deployment_count:default'), 0, 'n3')
  end },
  { 'a lost page without deployments', 'due list: d9 n1 has no deployments', function() redis('ZADD', key('due'), 9000000000000, 'd9 n1') end },
  { 'a finding out of nothing', 'due list: w, but nothing is being found out anew', function() redis('ZADD', key('due'), 9000000000000, 'w') end },
  { 'a finding out that nobody goes on with', 'due list: w is missing, though who may claim is being found out', function()
    redis('HSET', R, 'reindex', 0)
  end, 'R :due' },
  { 'a count of revisions that is no number', 'deployments is not a number', function()
    redis('HSET', R, 'deployments', 'x')
  end, 'R' },
}

-- What only the whole cell can tell.
local counts = {
  { 'a free one that is not there', 'pool default: it lists 2 free deployments, but 1 are', function()
    redis('ZADD', key('deployments:free:default'), 5, '0000000000005 ghost')
  end },
  { 'a free one that is not listed', 'pool default: it lists 1 free deployments, but 0 are', function()
    redis('ZREM', key('deployments'), 'free')
  end },
  { 'a free one in a pool that only a node is in', 'pool b: it lists 1 free deployments, but 0 are', function()
    redis('ZADD', key('deployments:free:b'), 5, '0000000000005 ghost')
  end },
  { 'a node that is not there and may claim', 'pool default: it lists 2 nodes that may claim by resource_usage, but 1 may', function()
    redis('ZADD', key('claim:resource_usage:default'), 0, 'ghost')
  end },
  { 'a node that may claim in a pool that it is not in', 'pool default: it lists 2 nodes that may claim by deployment_count, but 1 may',
    function() redis('ZADD', key('claim:deployment_count:default'), 0, 'n2') end },
}

describe('check of a cell with deployments', function()
  before_each(function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4, 'POOL', 'b')
    fcall('lockless_register', 'n3', 4)
    fcall('lockless_drain', 'n3', 'on')
    fcall('lockless_heartbeat', 'n1', 'CPU', 5, 'MEM_MB', 100)
    fcall('lockless_deploy', 'owned')
    fcall('lockless_claim', 'n1')
    fcall('lockless_deploy', 'free')
    fcall('lockless_deploy', 'off', 'ENABLED', 'false')
  end)

  it('is empty while it is sound, whole and in pages', function()
    expect(fcall('lockless_deployment', 'owned')):has('node_id', 'n1')
    for count = 1, 12 do
      local cursor, pages = '0', 0
      repeat
        local page = fcall('lockless_check', 'CURSOR', cursor, 'COUNT', count)
        expect(page[2]):equals({})
        cursor, pages = page[1], pages + 1
      until cursor == '0' or pages > 100
      expect(pages):is_at_most(60)
    end
    expect(fcall('lockless_check')):equals({})
  end)

  it('is empty while what a lost node had is being released, and reads what is overdue once', { hosts = 'model' }, function()
    for i = 1, 40 do fcall('lockless_deploy', 'b' .. i, 'POOL', 'b') end
    for _ = 1, 40 do fcall('lockless_claim', 'n2') end
    for _ = 1, 4 do
      advance(9000)
      fcall('lockless_heartbeat', 'n1')
      fcall('lockless_heartbeat', 'n3')
    end
    expect(redis('ZCARD', key('unclaimed:2'))):is_at_least(5)
    expect(fcall('lockless_check')):equals({})
    local reads = 0
    for _, call in ipairs(call_trace()) do
      if call[1] == 'zrangebyscore' and call[2] == key('due') then reads = reads + 1 end
    end
    expect(reads):equals(1)
    fcall('lockless_sweep')
    expect(redis('EXISTS', key('unclaimed:2'))):equals(0)
    expect(fcall('lockless_check')):equals({})
  end)

  for _, damage in ipairs(damages) do
    finds_and_mends({ name = damage[1], words = damage[2], hurt = damage[3], changed = damage[4] })
  end

  for _, damage in ipairs(counts) do
    finds_and_mends({ name = damage[1], words = damage[2], hurt = damage[3], changed = damage[4], whole = true })
  end
end)
