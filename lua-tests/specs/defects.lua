-- The defects of the minimal spec that the library must not repeat (end of design section 5).

local function register(id, slots, ...) return fcall('lockless_register', id, slots, 'PAIR', 'en', 'zh', ...) end
local function dispatch(...) return fcall('lockless_dispatch', 's', 'en', 'zh', 'p', ...) end

describe('defects of the minimal spec', function()
  it('re-registering resets current_jobs to 0 while jobs run', function()
    register('n1', 2)
    dispatch()
    dispatch()
    register('n1', 2)
    expect(fcall('lockless_node', 'n1')):has('current_jobs', 2)
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
  end)

  it('a heartbeat overwrites cap_json', function()
    register('n1', 2, 'CAPS', '{"languages":["en"]}')
    fcall('lockless_heartbeat', 'n1', 'CPU', 5, 'JOBS', 0)
    expect(fcall('lockless_node', 'n1')):has('cap_json', '{"languages":["en"]}')
    fcall('lockless_heartbeat', 'n1', 'CAPS', '{"languages":["de"]}')
    expect(fcall('lockless_node', 'n1')):has('cap_json', '{"languages":["de"]}')
  end)

  it('completing twice frees two slots', function()
    register('n1', 3)
    for i = 1, 3 do dispatch('JOB', 'j' .. i) end
    for _ = 1, 3 do fcall('lockless_complete', 'j1', 'n1', 'finished') end
    expect(fcall('lockless_node', 'n1')):has('current_jobs', 2)
    expect(dispatch()):succeeds()
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
  end)

  it('a sticky pool is used for a language pair it does not serve', function()
    register('n1', 4, 'POOL', 'a')
    fcall('lockless_register', 'n2', 4, 'POOL', 'b', 'PAIR', 'de', 'fr')
    dispatch()
    expect(fcall('lockless_dispatch', 's', 'de', 'fr', 'p')[1]):equals('n2')
    expect(dispatch()[1]):equals('n1')
  end)

  it('a full sticky pool fails although another pool is free', function()
    register('n1', 1, 'POOL', 'a')
    register('n2', 1, 'POOL', 'b')
    dispatch('POOL', 'a')
    expect(dispatch()[1]):equals('n2')
  end)

  it('dead nodes get work', function()
    register('n1', 4)
    advance(31000)
    expect(dispatch()):is_error('NO_AVAILABLE_NODE'):contains('offline 1')
    register('n2', 4)
    expect(dispatch()[1]):equals('n2')
  end)

  it('dead nodes get work, also when more died than one call settles', function()
    for i = 1, 60 do register('dead' .. i, 4) end
    advance(20000)
    register('alive', 100)
    advance(15000)
    for _ = 1, 5 do expect(dispatch()[1]):equals('alive') end
    expect(fcall('lockless_check')):equals({})
  end)

  it('every dispatch walks all nodes', { hosts = 'model' }, function()
    local function calls_with(nodes, from)
      for i = from, nodes do register('n' .. i, 4) end
      for _ = 1, 3 do dispatch() end
      return call_count()
    end
    local few = calls_with(2, 1)
    expect(calls_with(1500, 3)):equals(few)
  end)

  it('undeclared, untagged keys fail on Cluster', { hosts = 'model' }, function()
    local function all_tagged()
      for _, call in ipairs(call_trace()) do
        if call[2] ~= '' then expect(call[2]:sub(1, #R)):equals(R) end
      end
    end
    register('n1', 2, 'POOL', 'a', 'LABEL', 'l', 'REGION', 'r')
    all_tagged()
    for _, call in ipairs({ { 'heartbeat', 'n1', 'LABEL', 'm' }, { 'drain', 'n1', 'off' }, { 'reserve', 'n1', 'r1', 1000 },
      { 'take', 'n1' }, { 'release', 'r1', 'n1' }, { 'sweep' }, { 'check' }, { 'stats' }, { 'deregister', 'n1' } }) do
      fcall('lockless_' .. call[1], unpack(call, 2))
      all_tagged()
    end
    dispatch()
    all_tagged()
  end)
end)
