-- Registering, heartbeats, draining, leaving.

local function node(id) return fields(fcall('lockless_node', id)) end
local function dispatch(...) return fcall('lockless_dispatch', 's', 'en', 'zh', 'p', ...) end

describe('register', function()
  it('adds a node with everything it said', function()
    local reply = fcall('lockless_register', 'n1', 8, 'INSTANCE', 'i1', 'POOL', 'b', 'POOL', 'a', 'POOL', 'a',
      'PAIR', 'en', 'zh', 'PAIR', 'de', 'fr', 'LABEL', 'gpu', 'REGION', 'eu', 'CAPS', '{"models":["m1"]}')
    expect(reply):has('incarnation', 1):has('held', 0):has('heartbeat_ttl_ms', 30000)
    expect(fields(reply).assigned):equals({})
    local n = node('n1')
    expect(n.pools):equals({ 'a', 'b' })
    expect(n.pairs):equals({ 'de:fr', 'en:zh' })
    expect(n.labels):equals({ 'gpu' })
    expect(n):has('state', 'ready'):has('region', 'eu'):has('max_jobs', 8):has('instance', 'i1')
    expect(n):has('cap_json', '{"models":["m1"]}'):has('online', 'true'):has('draining', 'false')
    expect(fcall('lockless_check')):equals({})
  end)

  it('uses the default pool and max_jobs', function()
    fcall('lockless_register', 'n1', '-')
    expect(node('n1').pools):equals({ 'default' })
    expect(node('n1')):has('max_jobs', 4)
    fcall('lockless_config', 'max_jobs_default', 7)
    fcall('lockless_register', 'n2', '-')
    expect(node('n2')):has('max_jobs', 7)
  end)

  it('replaces the whole description and moves the indexes', function()
    fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'PAIR', 'en', 'zh', 'LABEL', 'x', 'CAPS', 'old')
    fcall('lockless_register', 'n1', 2, 'POOL', 'b', 'PAIR', 'de', 'fr')
    expect(redis('SMEMBERS', R .. ':pool:b:members')):equals({ 'n1' })
    expect(redis('EXISTS', R .. ':pool:a:members', R .. ':lang:en:zh')):equals(0)
    expect(redis('HGET', R .. ':lang:de:fr', 'b')):equals('1')
    expect(node('n1')):has('cap_json', ''):has('max_jobs', 2)
    expect(dispatch()):is_error('NO_POOL_FOR_LANG_PAIR')
    expect(fcall('lockless_check')):equals({})
  end)

  it('counts the nodes of a pool that serve a pair', function()
    fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'POOL', 'b', 'PAIR', 'en', 'zh')
    fcall('lockless_register', 'n2', 4, 'POOL', 'a', 'PAIR', 'en', 'zh')
    expect(redis('HGET', R .. ':lang:en:zh', 'a')):equals('2')
    expect(redis('HGET', R .. ':lang:en:zh', 'b')):equals('1')
    fcall('lockless_deregister', 'n1')
    expect(redis('HGETALL', R .. ':lang:en:zh')):equals({ 'a', '1' })
  end)

  it('keeps incarnation and holds for the same INSTANCE or none', function()
    fcall('lockless_register', 'n1', 4, 'INSTANCE', 'i', 'PAIR', 'en', 'zh')
    dispatch('JOB', 'j')
    expect(fcall('lockless_register', 'n1', 4, 'INSTANCE', 'i', 'PAIR', 'en', 'zh')):has('incarnation', 1):has('held', 1)
    expect(fcall('lockless_register', 'n1', 9, 'PAIR', 'en', 'zh')):has('incarnation', 1):has('held', 1)
    expect(fcall('lockless_complete', 'j', 'n1', 'finished')):equals('OK')
    expect(fcall('lockless_check')):equals({})
  end)

  it('fences the old instance when a new one comes', function()
    fcall('lockless_register', 'n1', 4, 'INSTANCE', 'old', 'PAIR', 'en', 'zh')
    dispatch('JOB', 'j')
    expect(fcall('lockless_register', 'n1', 4, 'INSTANCE', 'new', 'PAIR', 'en', 'zh')):has('incarnation', 2):has('held', 0)
    expect(fcall('lockless_job', 'j')):has('status', 'expired'):has('reason', 'node lost')
    for _, call in ipairs({ { 'ack', 'j', 'n1' }, { 'complete', 'j', 'n1', 'finished' }, { 'heartbeat', 'n1' },
      { 'take', 'n1' }, { 'drain', 'n1', 'on' }, { 'extend', 'j', 'n1', 1000 }, { 'release', 'j', 'n1' } }) do
      call[1] = 'lockless_' .. call[1]
      call[#call + 1] = 'INCARNATION'
      call[#call + 1] = 1
      expect(fcall(unpack(call))):is_error('STALE_NODE')
    end
    fcall('lockless_sweep')
    expect(fcall('lockless_complete', 'j', 'n1', 'finished', 'INCARNATION', 2)):is_error('WRONG_STATE')
    expect(fcall('lockless_check')):equals({})
  end)

  it('never repeats an incarnation', function()
    local seen = {}
    for i = 1, 5 do
      local number = fields(fcall('lockless_register', 'n' .. i % 2, 1, 'INSTANCE', 'i' .. i)).incarnation
      expect(seen[number]):equals(nil)
      seen[number] = true
    end
    fcall('lockless_deregister', 'n0')
    expect(seen[fields(fcall('lockless_register', 'n0', 1)).incarnation]):equals(nil)
  end)

  it('keeps draining and brings a node online', function()
    fcall('lockless_register', 'n1', 4, 'PAIR', 'en', 'zh')
    fcall('lockless_drain', 'n1', 'on')
    fcall('lockless_heartbeat', 'n1', 'ONLINE', 'false')
    expect(node('n1')):has('state', 'offline')
    fcall('lockless_register', 'n1', 4, 'PAIR', 'en', 'zh')
    expect(node('n1')):has('state', 'draining')
  end)

  it('shares one class between nodes that are alike and drops empty ones', function()
    for i = 1, 3 do fcall('lockless_register', 'n' .. i, 4, 'POOL', 'a', 'LABEL', 'x', 'LABEL', 'y') end
    fcall('lockless_register', 'n3', 4, 'LABEL', 'y', 'LABEL', 'x', 'POOL', 'a')
    expect(fcall('lockless_stats')):has('classes', 1)
    fcall('lockless_register', 'n3', 5, 'POOL', 'a', 'LABEL', 'x', 'LABEL', 'y')
    expect(fcall('lockless_stats')):has('classes', 2)
    fcall('lockless_deregister', 'n3')
    expect(fcall('lockless_stats')):has('classes', 1)
    expect(fcall('lockless_check')):equals({})
  end)
end)

describe('heartbeat', function()
  before_each(function() fcall('lockless_register', 'n1', 2, 'PAIR', 'en', 'zh', 'CAPS', 'caps') end)

  it('tells state, holds and foreign work', function()
    expect(fcall('lockless_heartbeat', 'n1')):has('state', 'ready'):has('held', 0):has('foreign', 0)
    dispatch()
    expect(fcall('lockless_heartbeat', 'n1', 'FOREIGN', 1)):has('state', 'full'):has('held', 1):has('foreign', 1)
  end)

  it('keeps what is not given', function()
    fcall('lockless_heartbeat', 'n1', 'CPU', 10.5, 'GPU', 20, 'MEM', 30, 'MEM_MB', 4000, 'FOREIGN', 1, 'JOBS', 3)
    fcall('lockless_heartbeat', 'n1')
    expect(node('n1')):has('cpu', 10.5):has('gpu', 20):has('mem', 30):has('mem_mb', 4000):has('foreign', 1):has('reported', 3)
    expect(node('n1')):has('cap_json', 'caps')
  end)

  it('replaces the labels for the next dispatch', function()
    expect(dispatch('REQUIRE', 'model:m@1')):is_error('NO_AVAILABLE_NODE')
    fcall('lockless_heartbeat', 'n1', 'LABEL', 'model:m@1', 'LABEL', 'feature:x')
    expect(dispatch('REQUIRE', 'model:m@1', 'JOB', 'j')):equals({ 'n1', 'j' })
    expect(node('n1').labels):equals({ 'feature:x', 'model:m@1' })
    fcall('lockless_heartbeat', 'n1', 'LABEL', 'other')
    expect(dispatch('REQUIRE', 'model:m@1')):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_complete', 'j', 'n1', 'finished')):equals('OK')
    expect(fcall('lockless_check')):equals({})
  end)

  it('takes a node offline and back without ending what runs', function()
    dispatch('JOB', 'j')
    expect(fcall('lockless_heartbeat', 'n1', 'ONLINE', 'false')):has('state', 'offline'):has('held', 1)
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
    fcall('lockless_heartbeat', 'n1')
    expect(node('n1')):has('state', 'offline')
    expect(fcall('lockless_complete', 'j', 'n1', 'finished')):equals('OK')
    expect(fcall('lockless_heartbeat', 'n1', 'ONLINE', 'true')):has('state', 'ready')
    expect(dispatch()):succeeds()
  end)

  it('names the jobs to stop, at most 64', function()
    fcall('lockless_register', 'n1', 100, 'PAIR', 'en', 'zh')
    for i = 1, 70 do
      dispatch('JOB', 'j' .. i)
      fcall('lockless_cancel', 'j' .. i)
    end
    expect(fields(fcall('lockless_heartbeat', 'n1')).stop):has_length(64)
    for i = 1, 69 do fcall('lockless_complete', 'j' .. i, 'n1', 'failed') end
    expect(fields(fcall('lockless_heartbeat', 'n1')).stop):equals({ 'j70' })
  end)

  it('of a node nobody knows is refused', function()
    expect(fcall('lockless_heartbeat', 'nobody')):is_error('UNKNOWN_NODE'):contains('lockless_register')
  end)
end)

describe('drain', function()
  before_each(function() fcall('lockless_register', 'n1', 2, 'PAIR', 'en', 'zh') end)

  it('stops new work and lets what runs go on', function()
    dispatch('JOB', 'j')
    expect(fcall('lockless_drain', 'n1', 'on')):equals('OK')
    expect(node('n1')):has('state', 'draining'):has('current_jobs', 1)
    expect(dispatch()):is_error('NO_AVAILABLE_NODE'):contains('draining 1')
    expect(fcall('lockless_complete', 'j', 'n1', 'finished')):equals('OK')
    expect(fcall('lockless_drain', 'n1', 'off')):equals('OK')
    expect(dispatch()):succeeds()
  end)

  it('can be said twice', function()
    fcall('lockless_drain', 'n1', 'on')
    expect(fcall('lockless_drain', 'n1', 'on')):equals('OK')
    fcall('lockless_drain', 'n1', 'off')
    expect(fcall('lockless_drain', 'n1', 'off')):equals('OK')
    expect(fcall('lockless_check')):equals({})
  end)
end)

describe('deregister', function()
  it('settles the jobs as lost and leaves nothing', function()
    fcall('lockless_register', 'n1', 50, 'PAIR', 'en', 'zh')
    for i = 1, 40 do dispatch('JOB', 'j' .. i) end
    expect(fcall('lockless_deregister', 'n1')):equals(40)
    for i = 1, 40 do expect(fcall('lockless_job', 'j' .. i)):has('status', 'expired') end
    expect(fcall('lockless_check')):equals({})
    fcall('lockless_sweep')
    expect(fcall('lockless_stats')):has('expired', 40):has('live', 0):has('nodes', 0)
    expect(fcall('lockless_node', 'n1')):is_error('UNKNOWN_NODE')
    expect(fcall('lockless_deregister', 'n1')):is_error('UNKNOWN_NODE')
    expect(redis('EXISTS', R .. ':nodes', R .. ':node:info:n1', R .. ':node:runtime:n1', R .. ':node:slots:n1',
      R .. ':pool:default:members', R .. ':lang:en:zh', R .. ':classes', R .. ':attrs')):equals(0)
    expect(fcall('lockless_check')):equals({})
  end)
end)

describe('nodes', function()
  it('come in pages, in order, also one called 0', function()
    for _, id in ipairs({ 'c', 'a', '0', 'b', ':' }) do fcall('lockless_register', id, 1) end
    local first = fcall('lockless_nodes', 0, 2)
    expect(first[2]):equals({ '0', ':' })
    local second = fcall('lockless_nodes', first[1], 2)
    expect(second[2]):equals({ 'a', 'b' })
    local third = fcall('lockless_nodes', second[1], 2)
    expect(third):equals({ '0', { 'c' } })
    expect(fcall('lockless_nodes', 'x', 2)):is_error('BAD_ARGUMENT')
  end)
end)
