-- The snapshot a dashboard reads: what is in it, and that its cost does not grow with the nodes.

-- Reads JSON as far as a snapshot has it.
local function parse(text)
  local at = 1
  local value
  local function fail(what) error('no ' .. what .. ' at ' .. at .. ' in ' .. text, 0) end
  local function skip(char)
    if text:sub(at, at) ~= char then fail(char) end
    at = at + 1
  end
  local function string()
    skip('"')
    local out = ''
    while text:sub(at, at) ~= '"' do
      if at > #text then fail('end of string') end
      local escape = text:match('^\\(.)', at)
      if text:find('^[%c]', at) then fail('character') end
      out = out .. (escape and '\\' .. escape or text:sub(at, at))
      at = at + (escape and 2 or 1)
    end
    at = at + 1
    return out
  end
  local function list(open, close, read)
    skip(open)
    while text:sub(at, at) ~= close do
      read()
      if text:sub(at, at) ~= close then skip(',') end
    end
    at = at + 1
  end
  function value()
    local out, first = {}, text:sub(at, at)
    if first == '{' then
      list('{', '}', function()
        local name = string()
        skip(':')
        out[name] = value()
      end)
      return out
    elseif first == '[' then
      list('[', ']', function() out[#out + 1] = value() end)
      return out
    elseif first == '"' then
      return string()
    end
    local word = text:match('^[%w%.%-]+', at) or fail('value')
    at = at + #word
    if word == 'null' then return null end
    if word == 'true' or word == 'false' then return word == 'true' end
    return tonumber(word) or fail('number')
  end
  local out = value()
  if at <= #text then fail('end') end
  return out
end

local function snapshot() return parse(fcall('lockless_snapshot')) end
local function register(node, ...) return fcall('lockless_register', node, 4, ...) end
local function dispatch(...) return fcall('lockless_dispatch', 's', '-', '-', 'p', ...) end

describe('a snapshot', function()
  before_each(function() fcall('lockless_config', 'heartbeat_ttl_ms', 1800000) end)

  it('counts nodes by state, and why they take no work', function()
    for i = 1, 6 do register('n' .. i, 'POOL', 'p' .. i) end
    for _ = 1, 4 do dispatch('POOL', 'p2') end
    fcall('lockless_heartbeat', 'n3', 'CPU', 99)
    fcall('lockless_drain', 'n4', 'on')
    fcall('lockless_drain', 'n5', 'on')
    fcall('lockless_heartbeat', 'n6', 'ONLINE', 'false')
    local seen = snapshot()
    expect(seen.nodes):equals({ total = 6, ready = 1, full = 1, busy = 1, draining = 2, offline = 1 })
    expect(seen.exclusions):equals({ { reason = 'draining', nodes = 2 }, { reason = 'capacity', nodes = 1 },
      { reason = 'offline', nodes = 1 }, { reason = 'resource', nodes = 1 } })
    expect(seen.partial):equals(false)
  end)

  it('counts slots and their use, in all and by pool, language, model and service', function()
    register('n1', 'POOL', 'a', 'PAIR', 'en', 'zh', 'LABEL', 'model:m@1', 'LABEL', 'service:s@1', 'LABEL', 'gpu')
    register('n2', 'POOL', 'a', 'POOL', 'b', 'PAIR', 'en', 'zh', 'PAIR', 'en', 'de', 'LABEL', 'model:m@1')
    register('n3', 'POOL', 'b')
    dispatch('POOL', 'b', 'REQUIRE', 'model:m@1')
    dispatch('POOL', 'a', 'REQUIRE', 'gpu')
    fcall('lockless_bind', 'bound', 'r', 'REQUIRE', 'gpu')
    fcall('lockless_heartbeat', 'n3', 'FOREIGN', 9)
    local seen = snapshot()
    expect({ seen.slots, seen.used }):equals({ 12, 7 })
    expect(seen.pools):equals({ { pool = 'a', nodes = 2, slots = 8, used = 3 }, { pool = 'b', nodes = 2, slots = 8, used = 5 } })
    expect(seen.languages):equals({ { pair = 'en:zh', nodes = 2, slots = 8, used = 3 },
      { pair = 'en:de', nodes = 1, slots = 4, used = 1 } })
    expect(seen.models):equals({ { model = 'm@1', nodes = 2, slots = 8, used = 3 } })
    expect(seen.services):equals({ { service = 's@1', nodes = 1, slots = 4, used = 2 } })
  end)

  it('leaves offline nodes out of the slots', function()
    register('n1', 'LABEL', 'model:m@1')
    register('n2', 'LABEL', 'model:m@1')
    fcall('lockless_heartbeat', 'n2', 'ONLINE', 'false')
    local seen = snapshot()
    expect({ seen.slots, seen.models[1].nodes }):equals({ 4, 1 })
  end)

  it('counts the nodes of a large class alike', function()
    local used = 0
    for i = 1, 70 do
      fcall('lockless_register', 'n' .. i, 5, 'POOL', 'p')
      fcall('lockless_heartbeat', 'n' .. i, 'FOREIGN', i % 6)
      if i > 60 and i <= 65 then fcall('lockless_drain', 'n' .. i, 'on') end
      if i > 65 then fcall('lockless_heartbeat', 'n' .. i, 'ONLINE', 'false') else used = used + i % 6 end
    end
    local seen = snapshot()
    expect({ seen.slots, seen.used }):equals({ 65 * 5, used })
    expect(seen.nodes):equals({ total = 70, ready = 50, full = 10, busy = 0, draining = 5, offline = 5 })
  end)

  it('tells rates since the one before', function()
    register('n1')
    expect(snapshot()):has('since_ts', null)
    expect(snapshot().rates.dispatched_per_s):equals(null)
    for i = 1, 4 do
      dispatch('JOB', 'j' .. i)
      fcall('lockless_complete', 'j' .. i, 'n1', i == 1 and 'failed' or 'finished')
    end
    local first = snapshot().ts
    -- Ahead of the server's clock, so that exactly this passes.
    set_state('clock', first + 100000)
    local seen = snapshot()
    expect({ seen.since_ts, seen.ts - first }):equals({ first, 100000 })
    expect(seen.rates):equals({ dispatched_per_s = 0.04, finished_per_s = 0.03, failed_per_s = 0.01, expired_per_s = 0,
      cancelled_per_s = 0, submitted_per_s = 0, started_per_s = 0, bound_per_s = 0 })
    expect(seen.jobs):equals({ live = 0, dispatched = 4, reserved = 0, submitted = 0, started = 0, pending = 0, delayed = 0,
      finished = 3, failed = 1, expired = 0, cancelled = 0, released = 0, dead_letters = 1 })
  end)

  it('has no rate of what the one before did not count', function()
    register('n1')
    snapshot()
    local before = redis('GET', R .. ':snapshot:before')
    redis('SET', R .. ':snapshot:before', before:match('^%S+ %S+ %S+ %S+ %S+ %S+'))
    set_state('clock', now_ms() + 100000)
    local seen = snapshot()
    expect({ seen.rates.cancelled_per_s, seen.rates.submitted_per_s }):equals({ 0, null })
  end)

  it('has the history of the snapshots before, at least five seconds apart', function()
    register('n1')
    local start = snapshot().ts + 1000000
    -- Ahead of the server's clock, so that no more than this passes.
    for i = 0, 9 do
      dispatch()
      set_state('clock', start + i * 2000)
      snapshot()
    end
    local seen = snapshot()
    expect(seen.history.columns):equals({ 'ts', 'dispatched', 'finished', 'failed', 'expired', 'cancelled', 'submitted', 'started',
      'bound', 'live', 'pending', 'slots', 'used' })
    local rows = seen.history.rows
    local last = rows[#rows]
    expect({ last[1], last[2], last[10], last[12], last[13] }):equals({ seen.ts, seen.jobs.dispatched, seen.jobs.live, seen.slots,
      seen.used })
    for i = 2, #rows - 1 do expect(rows[i][1] - rows[i - 1][1]):is_at_least(5000) end
    expect(last[1]):equals(start + 18000)
    expect(#rows):is_at_least(4):is_at_most(5)
  end)

  it('has a history of 120 rows at most', function()
    register('n1')
    local start = snapshot().ts + 1000000
    for i = 1, 130 do
      set_state('clock', start + i * 6000)
      fcall('lockless_snapshot')
    end
    local rows = snapshot().history.rows
    expect(rows):has_length(120)
    expect({ rows[1][1], rows[120][1] }):equals({ start + 11 * 6000, start + 130 * 6000 })
  end)

  it('counts jobs of the queue, whatever became of them', function()
    register('n1')
    local first = snapshot().ts
    for i = 1, 8 do fcall('lockless_submit', 'j' .. i, 'p', 'RETRIES', 0) end
    fcall('lockless_submit', 'late', 'p', 'DELAY', 1000000)
    fcall('lockless_pull', 'n1')
    fcall('lockless_complete', 'j1', 'n1', 'finished')
    fcall('lockless_complete', 'j2', 'n1', 'failed')
    fcall('lockless_retry', 'j2')
    fcall('lockless_stopped', 'j3', 'n1', 'ok')
    fcall('lockless_cancel', 'j8')
    dispatch()
    set_state('clock', first + 100000)
    local seen, stats = snapshot(), fields(fcall('lockless_stats'))
    expect(seen.jobs):has('live', 2):has('dispatched', 1):has('submitted', 9):has('started', 4):has('pending', 6):has('delayed', 1)
    for _, name in ipairs({ 'live', 'dispatched', 'pending', 'finished', 'failed', 'cancelled' }) do
      expect(seen.jobs[name]):equals(stats[name])
    end
    expect({ seen.rates.submitted_per_s, seen.rates.started_per_s, seen.rates.dispatched_per_s }):equals({ 0.09, 0.04, 0.01 })
    expect(seen.used):equals(2)
  end)

  it('counts how often sessions were bound', function()
    register('n1')
    local first = snapshot().ts
    fcall('lockless_bind', 'a', 'r')
    fcall('lockless_bind', 'b', 'r')
    fcall('lockless_bind', 'b', 'r')
    set_state('clock', first + 100000)
    local seen = snapshot()
    expect({ seen.sessions.bound, seen.rates.bound_per_s }):equals({ 2, 0.02 })
  end)

  it('names the longest queues by what their jobs ask for', function()
    for i = 1, 3 do fcall('lockless_submit', 'a' .. i, 'p', 'POOL', 'a"', 'REQUIRE', 'y', 'REQUIRE', 'x') end
    for i = 1, 2 do fcall('lockless_submit', 'b' .. i, 'p', 'PAIR', 'en', 'zh', 'REGION', 'eu') end
    for i = 1, 2 do fcall('lockless_submit', 'c' .. i, 'p') end
    fcall('lockless_submit', 'd', 'p', 'DELAY', 1000)
    expect(snapshot().queues):equals({
      { pool = 'a\\"', pair = null, region = null, labels = { 'x', 'y' }, pending = 3 },
      { pool = null, pair = 'en:zh', region = 'eu', labels = {}, pending = 2 },
      { pool = null, pair = null, region = null, labels = {}, pending = 2 },
    })
  end)

  it('names 64 queues at most, and looks at each of 1000 once', { hosts = 'model' }, function()
    for i = 1, 1000 do fcall('lockless_submit', 'j' .. i, 'p', 'POOL', 'p' .. i) end
    for i = 1, 9 do fcall('lockless_submit', 'k' .. i, 'p', 'POOL', 'p777') end
    expect(fcall('lockless_submit', 'more', 'p', 'POOL', 'new')):is_error('BAD_ARGUMENT'):contains('1000')
    local seen = snapshot()
    expect(call_count()):is_at_most(1020)
    expect(seen.queues):has_length(64)
    expect({ seen.queues[1].pool, seen.queues[1].pending, seen.queues[2].pool }):equals({ 'p777', 10, 'p1' })
    expect(seen.jobs.pending):equals(1009)
  end)

  it('is kept for a minute, and read as it was written', function()
    expect(fcall('lockless_overview')):equals('')
    register('n1')
    local text = fcall('lockless_snapshot')
    expect(fcall_ro('lockless_overview')):equals(text)
    expect(redis('PTTL', R .. ':snapshot')):is_at_least(50000):is_at_most(60000)
  end)

  it('is the same for all who ask within a second', function()
    register('n1')
    local text = fcall('lockless_snapshot')
    -- Ahead of the server's clock, so that no more than this passes.
    local start = parse(text).ts
    set_state('clock', start + 1000000)
    text = fcall('lockless_snapshot')
    register('n2')
    expect(fcall('lockless_snapshot')):equals(text)
    set_state('clock', start + 1001000)
    expect(snapshot().nodes.total):equals(2)
  end)

  it('is JSON whatever the ids are', function()
    fcall('lockless_register', 'n1', 4, 'POOL', 'a"b\\c', 'LABEL', 'model:\195\188\255\226\130', 'LABEL', 'model:\240\159\152\128')
    local seen = snapshot()
    expect(seen.pools[1].pool):equals('a\\"b\\\\c')
    expect(seen.models[1].model):equals('\195\188\\ufffd\\ufffd\\ufffd')
    expect(seen.models[2].model):equals('\240\159\152\128')
  end)

  it('of a cell that does not exist has nothing, and leaves nothing', function()
    redis('DEL', R, R .. ':config', R .. ':due', R .. ':events')
    expect(snapshot().nodes.total):equals(0)
    expect(redis('EXISTS', R, R .. ':snapshot', R .. ':snapshot:before')):equals(0)
  end)

  it('costs the same with ten times the nodes', { hosts = 'model' }, function()
    local calls = {}
    for _, nodes in ipairs({ 200, 2000 }) do
      for i = 1, nodes do register('n' .. i, 'LABEL', 'model:m@' .. i % 3) end
      for _ = 1, nodes / 2 do dispatch() end
      advance(2000)
      fcall('lockless_snapshot')
      calls[#calls + 1] = call_count()
    end
    expect(calls[2]):is_at_most(calls[1] + 12)
    expect(calls[2]):is_at_most(60)
  end)
end)
