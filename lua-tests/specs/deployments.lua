-- Deployments: who may claim which, what lost nodes had, and what a node should run.

local function deploy(id, ...) return fcall('lockless_deploy', id, ...) end

local function claim(node, ...)
  local reply = fcall('lockless_claim', node, ...)
  if reply.err then return reply end
  return fields(reply)
end

local function deployment(id) return fcall('lockless_deployment', id) end

local function is_sound() expect(fcall('lockless_check')):equals({}) end

-- The cell sees calls all the time, but not from these nodes.
local function lose(...)
  local silent = {}
  for _, node in ipairs({ ... }) do silent[node] = true end
  for _ = 1, 4 do
    advance(9000)
    for _, node in ipairs(fcall('lockless_nodes', '0', 1000)[2]) do
      if not silent[node] then fcall('lockless_heartbeat', node) end
    end
  end
end

describe('deploy', function()
  it('makes a deployment that nobody has', function()
    expect(deploy('d', 'SPEC', '{"argv":["x"]}')):equals('OK')
    expect(deployment('d')):has('node_id', ''):has('enabled', 'true'):has('pool', 'default'):has('revision', 1)
      :has('spec', '{"argv":["x"]}')
    expect(fcall('lockless_deployments', '0', 10)[2][1]):has(1, 'd')
    is_sound()
  end)

  it('changes what is given, and only then when it was updated', function()
    deploy('d', 'SPEC', '1')
    local created = fields(deployment('d')).created_ts
    advance(100)
    expect(deploy('d', 'SPEC', '1')):equals('OK')
    expect(deployment('d')):has('updated_ts', created):has('revision', 1)
    deploy('d', 'SPEC', '2')
    expect(deployment('d')):has('created_ts', created):has('revision', 2):has('spec', '2')
    expect(fields(deployment('d')).updated_ts - created):is_at_least(100)
    deploy('d', 'ENABLED', 'false')
    expect(deployment('d')):has('enabled', 'false'):has('spec', '2'):has('revision', 2)
    is_sound()
  end)

  it('is found by no claim once it is removed', function()
    fcall('lockless_register', 'n1', 4)
    deploy('d')
    expect(fcall('lockless_undeploy', 'd')):equals('OK')
    expect(fcall('lockless_undeploy', 'd')):is_error('NO_SUCH_DEPLOYMENT')
    expect(deployment('d')):is_error('NO_SUCH_DEPLOYMENT')
    expect(claim('n1')):has('claimed', ''):has('eligible', 1)
    is_sound()
  end)

  it('pages over all of them', function()
    for i = 1, 7 do deploy('d' .. i) end
    local all, cursor = {}, '0'
    repeat
      local page = fcall('lockless_deployments', cursor, 3)
      for _, one in ipairs(page[2]) do all[#all + 1] = one[1] end
      cursor = page[1]
    until cursor == '0'
    expect(all):equals({ 'd1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7' })
    expect(fcall('lockless_deployments', 'x', 3)):is_error('BAD_ARGUMENT')
  end)
end)

describe('claim', function()
  it('takes one at a time, in the order updated, created, id', function()
    fcall('lockless_register', 'n1', 4)
    -- All in one millisecond of the cell's clock where the host can.
    deploy('b')
    advance(10)
    deploy('c')
    deploy('a')
    advance(10)
    deploy('b', 'SPEC', 'later')
    local order = {}
    for i = 1, 3 do
      local reply = claim('n1')
      order[i] = reply.claimed
      expect(reply):has('eligible', 1):has('value', tostring(i - 1)):has('released', 0)
      expect(reply.assigned):has_length(i)
    end
    expect(order[3]):equals('b')
    expect(claim('n1')):has('claimed', ''):has('spec', '')
    is_sound()
  end)

  it('goes by id where two were made and updated at the same time', function()
    fcall('lockless_register', 'n1', 4)
    deploy('z')
    deploy('y')
    for _, id in ipairs({ 'y', 'z' }) do
      redis('HSET', R .. ':deployment:' .. id, 'created', '1000000000000', 'updated', '1000000000001')
    end
    redis('DEL', R .. ':deployments:free:default')
    redis('ZADD', R .. ':deployments:free:default', '1000000000001', '1000000000000 z', '1000000000001', '1000000000000 y')
    expect(claim('n1')):has('claimed', 'y')
  end)

  it('is for the least loaded, and for all of them when several are', function()
    for i = 1, 3 do fcall('lockless_register', 'n' .. i, 4) end
    for i = 1, 6 do deploy('d' .. i) end
    expect(claim('n1')):has('claimed', 'd1'):has('value', '0')
    expect(claim('n1')):has('claimed', ''):has('eligible', 0):has('value', '1')
    expect(claim('n2')):has('claimed', 'd2')
    expect(claim('n1')):has('eligible', 0)
    expect(claim('n3')):has('claimed', 'd3')
    expect(claim('n2')):has('claimed', 'd4'):has('eligible', 1)
    is_sound()
  end)

  it('by resource usage is for the one with the lowest score of CPU and memory', function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4)
    fcall('lockless_heartbeat', 'n1', 'CPU', 30, 'MEM_MB', 1024)
    fcall('lockless_heartbeat', 'n2', 'CPU', 20, 'MEM_MB', 2048)
    for i = 1, 4 do deploy('d' .. i) end
    expect(claim('n1', 'POLICY', 'resource_usage')):has('eligible', 0):has('value', '15.5')
    expect(claim('n2', 'POLICY', 'resource_usage')):has('claimed', 'd1'):has('value', '11')
    -- Only the resources count.
    expect(claim('n2', 'POLICY', 'resource_usage')):has('claimed', 'd2')
    fcall('lockless_heartbeat', 'n2', 'CPU', 90)
    expect(claim('n2', 'POLICY', 'resource_usage')):has('eligible', 0)
    expect(claim('n1', 'POLICY', 'resource_usage')):has('claimed', 'd3')
    is_sound()
  end)

  it('counts what was never reported as 0', function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4)
    fcall('lockless_heartbeat', 'n1', 'CPU', 1, 'MEM_MB', 1)
    deploy('d')
    expect(claim('n1', 'POLICY', 'resource_usage')):has('eligible', 0)
    expect(claim('n2', 'POLICY', 'resource_usage')):has('claimed', 'd'):has('value', '0')
  end)

  it('goes by the policy of the cell and its weights, as they change', function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4)
    fcall('lockless_heartbeat', 'n1', 'CPU', 10, 'MEM_MB', 20480)
    fcall('lockless_heartbeat', 'n2', 'CPU', 40, 'MEM_MB', 1024)
    for i = 1, 3 do deploy('d' .. i) end
    fcall('lockless_config', 'claim_policy', 'resource_usage')
    expect(claim('n1')):has('value', '15'):has('claimed', 'd1')
    expect(claim('n2')):has('value', '20.5'):has('eligible', 0)
    fcall('lockless_config', 'cpu_weight', '0.1', 'mem_weight', '1')
    is_sound()
    expect(claim('n1')):has('value', '21'):has('eligible', 0)
    expect(claim('n2')):has('value', '5'):has('claimed', 'd2')
    expect(claim('n2', 'POLICY', 'deployment_count')):has('eligible', 1):has('claimed', 'd3')
    is_sound()
  end)

  it('is not for a node that drains or is offline, and it is not counted then', function()
    for i = 1, 3 do fcall('lockless_register', 'n' .. i, 4) end
    deploy('d1')
    deploy('d2')
    claim('n1')
    fcall('lockless_drain', 'n2', 'on')
    expect(claim('n2')):has('eligible', 0):has('claimed', '')
    fcall('lockless_heartbeat', 'n3', 'ONLINE', 'false')
    expect(claim('n3')):has('eligible', 0):has('claimed', '')
    expect(claim('n1')):has('eligible', 1):has('claimed', 'd2')
    is_sound()
    fcall('lockless_drain', 'n2', 'off')
    fcall('lockless_heartbeat', 'n3', 'ONLINE', 'true')
    deploy('d3')
    expect(claim('n1')):has('eligible', 0)
    expect(claim('n3')):has('claimed', 'd3')
    is_sound()
  end)

  it('keeps to its pools, and compares within each', function()
    fcall('lockless_register', 'n1', 4, 'POOL', 'a')
    fcall('lockless_register', 'n2', 4, 'POOL', 'a', 'POOL', 'b')
    deploy('b1', 'POOL', 'b')
    deploy('a1', 'POOL', 'a')
    deploy('c1', 'POOL', 'c')
    expect(claim('n1')):has('claimed', 'a1')
    expect(claim('n1')):has('eligible', 0)
    expect(claim('n2')):has('claimed', 'b1')
    expect(claim('n2')):has('claimed', '')
    expect(deployment('c1')):has('node_id', '')
    fcall('lockless_register', 'n2', 4, 'POOL', 'c')
    expect(claim('n2')):has('claimed', 'c1')
    is_sound()
  end)

  it('tells a node of what it has, and of nothing else', function()
    fcall('lockless_register', 'n1', 4)
    deploy('d1', 'SPEC', '1')
    local function read_by(node) return fcall('lockless_deployment', 'd1', 'NODE', node) end
    expect(read_by('n1')):is_error('NODE_MISMATCH')
    claim('n1')
    expect(read_by('n1')):has('spec', '1'):has('node_id', 'n1')
    expect(read_by('n2')):is_error('NODE_MISMATCH')
    expect(fcall('lockless_deployment', 'none', 'NODE', 'n1')):is_error('NO_SUCH_DEPLOYMENT')
  end)

  it('never takes what is disabled, and it counts nowhere', function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4)
    deploy('d1')
    claim('n1')
    deploy('off', 'ENABLED', 'false')
    expect(claim('n2')):has('claimed', ''):has('eligible', 1)
    deploy('d1', 'ENABLED', 'false')
    local reply = claim('n1')
    expect(reply):has('eligible', 1):has('value', '0'):has('assigned', {}):has('stop', { 'd1' })
    expect(deployment('d1')):has('node_id', '')
    is_sound()
  end)

  it('releases what lost nodes had, all of it, and takes one of it', function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4)
    for i = 1, 4 do deploy('d' .. i) end
    for _ = 1, 2 do claim('n1') claim('n2') end
    expect(claim('n1').assigned):has_length(2)
    lose('n1')
    local reply = claim('n2')
    expect(fields(deployment('d1')).node_id .. fields(deployment('d3')).node_id):equals('n2')
    expect(reply.assigned):has_length(3)
    expect(claim('n2').assigned):has_length(4)
    is_sound()
  end)

  it('says how many it released itself', function()
    fcall('lockless_register', 'n1', 4)
    fcall('lockless_register', 'n2', 4)
    deploy('d1')
    claim('n1')
    fcall('lockless_config', 'heartbeat_ttl_ms', 9000)
    fcall('lockless_heartbeat', 'n1')
    advance(5000)
    fcall('lockless_heartbeat', 'n2')
    advance(4500)
    expect(claim('n2')):has('released', 1):has('claimed', 'd1')
    expect(claim('n2')):has('released', 0)
    is_sound()
  end)

  it('gives a node that comes back nothing of what it lost', function()
    fcall('lockless_register', 'n1', 4)
    deploy('d1')
    claim('n1')
    lose('n1')
    fcall('lockless_sweep')
    expect(fcall('lockless_register', 'n1', 4)):has('assigned', {})
    fcall('lockless_register', 'n2', 4)
    expect(claim('n2')):has('claimed', 'd1')
    expect(claim('n1', 'RUNNING', 'd1')):has('assigned', {}):has('stop', { 'd1' })
    is_sound()
  end)

  it('keeps what a node has when it registers again, and says so', function()
    fcall('lockless_register', 'n1', 4, 'INSTANCE', 'a')
    deploy('d1')
    claim('n1')
    deploy('d1', 'SPEC', 'new')
    expect(fcall('lockless_register', 'n1', 4, 'INSTANCE', 'b')):has('assigned', { { 'd1', 2 } })
    expect(claim('n1')):has('assigned', { { 'd1', 2 } })
    fcall('lockless_deregister', 'n1')
    expect(deployment('d1')):has('node_id', '')
    is_sound()
  end)

  it('names what is to be stopped until the node does not run it any more', function()
    fcall('lockless_register', 'n1', 4)
    deploy('d1')
    deploy('d2')
    claim('n1')
    claim('n1')
    fcall('lockless_undeploy', 'd1')
    deploy('d2', 'POOL', 'other')
    for _ = 1, 2 do
      expect(claim('n1', 'RUNNING', 'd1', 'RUNNING', 'd2', 'RUNNING', 'mine')):has('stop', { 'd1', 'd2', 'mine' })
    end
    expect(claim('n1', 'RUNNING', 'd2')):has('stop', { 'd2' })
    expect(claim('n1')):has('stop', {})
    is_sound()
  end)

  it('gives the same for the same REQUEST and changes nothing', function()
    fcall('lockless_register', 'n1', 4)
    deploy('d1', 'SPEC', 's1')
    deploy('d2')
    local first = fcall('lockless_claim', 'n1', 'REQUEST', 'r1')
    expect(fields(first)):has('claimed', 'd1'):has('spec', 's1')
    expect(fcall('lockless_claim', 'n1', 'REQUEST', 'r1')):equals(first)
    expect(deployment('d2')):has('node_id', '')
    expect(fields(fcall('lockless_claim', 'n1', 'REQUEST', 'r2'))):has('claimed', 'd2')
    is_sound()
  end)

  it('is refused for a node that is not there or was replaced', function()
    expect(claim('n1')):is_error('UNKNOWN_NODE')
    fcall('lockless_register', 'n1', 4)
    expect(claim('n1', 'INCARNATION', 99)):is_error('STALE_NODE')
    expect(claim('n1', 'POLICY', 'luck')):is_error('BAD_ARGUMENT')
    expect(claim('n1')):has('eligible', 0):has('claimed', '')
  end)

  it('finds out anew who is there when the first deployment comes late', function()
    for i = 1, 3 do fcall('lockless_register', 'n' .. i, 4) end
    fcall('lockless_heartbeat', 'n1', 'CPU', 50)
    fcall('lockless_drain', 'n2', 'on')
    deploy('d')
    is_sound()
    expect(claim('n2')):has('eligible', 0)
    expect(claim('n1', 'POLICY', 'resource_usage')):has('eligible', 0)
    expect(claim('n3', 'POLICY', 'resource_usage')):has('claimed', 'd')
  end)
end)
