-- What a claim does when something came between: other pools, a REQUEST that is late, a deployment that was made again, an
-- interrupted call that nobody made whole, and a node that has all it may have.

local function key(suffix) return R .. ':' .. suffix end

local function deploy(id, ...) return fcall('lockless_deploy', id, ...) end

local function claim(node, ...)
  local reply = fcall('lockless_claim', node, ...)
  if reply.err then return reply end
  return fields(reply)
end

local function deployment(id) return fcall('lockless_deployment', id) end

local function is_sound() expect(fcall('lockless_check')):equals({}) end

describe('a node that leaves a pool', function()
  before_each(function()
    fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'POOL', 'b')
    deploy('of-a', 'POOL', 'a')
    deploy('of-b', 'POOL', 'b')
    claim('n1')
    claim('n1')
  end)

  it('keeps what is of the pools it stays in, and no more', function()
    local revision = fields(deployment('of-b')).revision
    expect(fcall('lockless_register', 'n1', 4, 'POOL', 'b', 'POOL', 'c')):has('assigned', { { 'of-b', revision } })
    expect(deployment('of-a')):has('node_id', '')
    is_sound()
    expect(claim('n1', 'RUNNING', 'of-a', 'RUNNING', 'of-b')):has('stop', { 'of-a' }):has('value', '1')
    fcall('lockless_register', 'n2', 4, 'POOL', 'a')
    expect(claim('n2')):has('claimed', 'of-a')
    is_sound()
  end)

  it('keeps nothing of them with a new INSTANCE either', function()
    expect(fcall('lockless_register', 'n1', 4, 'POOL', 'c', 'INSTANCE', 'i')):has('assigned', {})
    expect(deployment('of-a')):has('node_id', '')
    expect(deployment('of-b')):has('node_id', '')
    is_sound()
  end)

  it('may claim them again when it comes back', function()
    fcall('lockless_register', 'n1', 4, 'POOL', 'c')
    fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'POOL', 'b')
    expect(claim('n1', 'RUNNING', 'of-a')):has('claimed', 'of-a'):has('stop', { 'of-b' })
    is_sound()
  end)
end)

describe('a node of several pools', function()
  before_each(function() fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'POOL', 'b') end)

  it('claims what was updated first over all of them', function()
    deploy('y', 'POOL', 'b')
    advance(5)
    deploy('x', 'POOL', 'a')
    expect(claim('n1')):has('claimed', 'y')
    expect(claim('n1')):has('claimed', 'x')
    is_sound()
  end)

  it('goes by when they were made, then by id, among those updated at the same time', function()
    for id, pool in pairs({ z = 'a', y = 'b', x = 'a' }) do
      deploy(id, 'POOL', pool)
      local made = id == 'z' and '1000000000000' or '1000000000001'
      redis('DEL', key('deployments:free:' .. pool))
      redis('HSET', key('deployment:' .. id), 'created', made, 'updated', '1000000000002')
    end
    redis('ZADD', key('deployments:free:a'), 1000000000002, '1000000000000 z', 1000000000002, '1000000000001 x')
    redis('ZADD', key('deployments:free:b'), 1000000000002, '1000000000001 y')
    local order = {}
    for i = 1, 3 do order[i] = claim('n1').claimed end
    expect(order):equals({ 'z', 'x', 'y' })
    is_sound()
  end)
end)

describe('the revision of a deployment', function()
  it('is never one that a node knows of another that had its id', function()
    fcall('lockless_register', 'n1', 4)
    deploy('d', 'SPEC', 'old')
    local before = claim('n1').assigned[1][2]
    fcall('lockless_undeploy', 'd')
    deploy('d', 'SPEC', 'new')
    local reply = claim('n1', 'RUNNING', 'd')
    expect(reply):has('claimed', 'd'):has('spec', 'new')
    expect(reply.assigned[1][2]):is_at_least(before + 1)
    is_sound()
  end)
end)

describe('a REQUEST that comes again', function()
  before_each(function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4, 'POOL', 'b')
    deploy('d', 'SPEC', 's')
  end)

  it('does not give back what was taken from the node and is free', function()
    expect(claim('n1', 'REQUEST', 'q')):has('claimed', 'd')
    deploy('d', 'ENABLED', 'false')
    deploy('d', 'ENABLED', 'true')
    expect(claim('n1', 'REQUEST', 'q')):has('claimed', ''):has('spec', ''):has('assigned', {}):has('stop', { 'd' })
    expect(deployment('d')):has('node_id', '')
    is_sound()
  end)

  it('does not have two nodes run the same', function()
    expect(claim('n1', 'REQUEST', 'q')):has('claimed', 'd')
    deploy('d', 'POOL', 'b')
    expect(claim('n2')):has('claimed', 'd')
    expect(claim('n1', 'REQUEST', 'q', 'RUNNING', 'd')):has('claimed', ''):has('assigned', {}):has('stop', { 'd' })
    is_sound()
  end)

  it('tells of what was claimed without one since', function()
    claim('n1', 'REQUEST', 'q')
    deploy('e')
    claim('n1')
    expect(claim('n1', 'REQUEST', 'q').assigned):has_length(2)
  end)

  it('of an older incarnation is a new one', function()
    claim('n1', 'REQUEST', 'q')
    deploy('e')
    fcall('lockless_register', 'n1', 4, 'INSTANCE', 'i')
    expect(claim('n1', 'REQUEST', 'q')):has('claimed', 'e')
    is_sound()
  end)

  it('names what is to be stopped again, until another does not', function()
    claim('n1')
    fcall('lockless_undeploy', 'd')
    for _ = 1, 2 do expect(claim('n1', 'REQUEST', 'q')):has('stop', { 'd' }) end
    expect(claim('n1', 'REQUEST', 'r')):has('stop', {})
  end)
end)

describe('what interrupted calls left', function()
  before_each(function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4)
  end)

  it('among the free ones hides nothing, however much it is', function()
    deploy('d')
    for i = 1, 40 do redis('ZADD', key('deployments:free:default'), i, string.format('%013d ghost%d', i, i)) end
    for _ = 1, 2 do claim('n1') end
    expect(claim('n1')):has('claimed', 'd')
    is_sound()
  end)

  it('among the free ones is found by others, who give its node its place', function()
    deploy('d')
    claim('n1')
    local rec = fields(deployment('d'))
    redis('ZADD', key('deployments:free:default'), rec.updated_ts, string.format('%013d d', rec.created_ts))
    for _, policy in ipairs({ 'deployment_count', 'resource_usage' }) do redis('ZADD', key('claim:' .. policy .. ':default'), 0, 'n1') end
    expect(claim('n2')):has('claimed', ''):has('eligible', 1)
    is_sound()
  end)

  it('as the place of a node is put right by its own claim', function()
    deploy('d')
    claim('n1')
    redis('ZADD', key('claim:deployment_count:default'), -1, 'n1')
    expect(claim('n2')):has('eligible', 0)
    expect(claim('n1')):has('eligible', 0)
    is_sound()
    expect(claim('n2')):has('eligible', 1)
  end)
end)

describe('a node that has all it may have', function()
  it('claims nothing more, and stands in nobody\'s way', { hosts = 'model' }, function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4)
    fcall('lockless_heartbeat', 'n2', 'CPU', 50)
    fcall('lockless_config', 'claim_policy', 'resource_usage', 'heartbeat_ttl_ms', 1800000)
    for i = 1, 1025 do deploy('d' .. i) end
    for _ = 1, 1024 do fcall('lockless_claim', 'n1') end
    expect(claim('n2')):has('eligible', 1):has('claimed', 'd999')
    deploy('more')
    local full = claim('n1')
    expect(full):has('eligible', 0):has('claimed', '')
    expect(full.assigned):has_length(1024)
    is_sound()
    fcall('lockless_undeploy', 'd7')
    expect(claim('n1')):has('claimed', 'more')
    is_sound()
  end)
end)
