-- Guards: storms of missing models, rate limits, locks.

local function register(node, ...)
  return fcall('lockless_register', node, 4, 'LABEL', 'model:m@1', 'LABEL', 'other', ...)
end
local function missing(node, ...) return fcall('lockless_model_unavailable', node, 'm@1', ...) end
local function finds_model() return fcall('lockless_dispatch', 's', '-', '-', 'p', 'REQUIRE', 'model:m@1') end
local function events_of(kind)
  local out = {}
  for _, event in ipairs(fcall('lockless_events', '-', 1000)[2]) do
    if event[2] == kind then out[#out + 1] = event[4] .. ' ' .. event[7] end
  end
  return out
end

describe('a model that is not available', function()
  before_each(function() register('n1') end)

  it('takes its node out of the model at once, and of nothing else', function()
    expect(missing('n1')):equals('ACT')
    expect(finds_model()):is_error('NO_AVAILABLE_NODE')
    expect(fields(fcall('lockless_node', 'n1')).labels):equals({ 'other' })
    expect(fcall('lockless_dispatch', 's', '-', '-', 'p', 'REQUIRE', 'other')):succeeds()
    expect(fcall('lockless_check')):equals({})
  end)

  it('keeps the slots of its node', function()
    finds_model()
    missing('n1')
    expect(fcall('lockless_node', 'n1')):has('current_jobs', 1)
    expect(fcall('lockless_check')):equals({})
  end)

  for name, again in pairs({
    registers = function() register('n1') end,
    heartbeats = function() fcall('lockless_heartbeat', 'n1', 'LABEL', 'model:m@1') end,
  }) do
    it('is found again once its node ' .. name .. ' that it has it', function()
      missing('n1')
      fcall('lockless_heartbeat', 'n1', 'CPU', 10)
      expect(finds_model()):is_error('NO_AVAILABLE_NODE')
      again()
      expect(finds_model()):succeeds()
    end)
  end

  it('leaves other nodes that have it', function()
    register('n2')
    missing('n1')
    for _ = 1, 4 do expect(finds_model()[1]):equals('n2') end
  end)

  it('has one caller act in a window, and one in the next', function()
    register('n2')
    expect(missing('n1', 'WINDOW', 5000)):equals('ACT')
    expect(missing('n2', 'WINDOW', 5000)):equals('COUNTED')
    expect(missing('n1', 'WINDOW', 5000)):equals('COUNTED')
    -- Well within the window, however slow the host.
    advance(2000)
    expect(missing('n2', 'WINDOW', 5000)):equals('COUNTED')
    advance(5000)
    expect(missing('n2', 'WINDOW', 5000)):equals('ACT')
    expect(events_of('model_unavailable')):equals({ 'n1 m@1', 'n2 m@1' })
  end)

  it('has one caller act for each model and version', function()
    for _, model in ipairs({ 'm@1', 'm@2', 'k@1' }) do
      expect(fcall('lockless_model_unavailable', 'n1', model)):equals('ACT')
      expect(fcall('lockless_model_unavailable', 'n1', model)):equals('COUNTED')
    end
  end)

  it('takes ten reports of a node in a window', function()
    register('n2')
    for i = 1, 10 do expect(missing('n1', 'WINDOW', 60000)):differs_from('LIMITED') end
    expect(missing('n1', 'WINDOW', 60000)):equals('LIMITED')
    expect(missing('n2', 'WINDOW', 60000)):equals('COUNTED')
    advance(60001)
    fcall('lockless_register', 'n1', 4)
    expect(missing('n1')):equals('ACT')
  end)

  it('takes a node out of the model also when it is limited', function()
    for i = 1, 10 do fcall('lockless_model_unavailable', 'n1', 'x@' .. i, 'WINDOW', 60000) end
    expect(missing('n1', 'WINDOW', 60000)):equals('LIMITED')
    expect(finds_model()):is_error('NO_AVAILABLE_NODE')
  end)

  it('answers a repeated REQUEST the same and counts it once', function()
    register('n2')
    for _ = 1, 20 do expect(missing('n1', 'REQUEST', 'q1')):equals('ACT') end
    for _ = 1, 20 do expect(missing('n2', 'REQUEST', 'q1')):equals('COUNTED') end
    expect(missing('n1', 'REQUEST', 'q2')):equals('COUNTED')
    expect(events_of('model_unavailable')):has_length(1)
    -- A late repeat does not take back what the node has said since.
    register('n1')
    expect(missing('n1', 'REQUEST', 'q2')):equals('COUNTED')
    expect(finds_model()):succeeds()
    -- The same id for another model is another request.
    expect(fcall('lockless_model_unavailable', 'n1', 'k@1', 'REQUEST', 'q2')):equals('ACT')
    expect(fcall('lockless_model_unavailable', 'n2', 'k@1', 'REQUEST', 'q1')):equals('COUNTED')
  end)

  it('is the word of a node that is there', function()
    expect(missing('n9')):is_error('UNKNOWN_NODE')
    expect(missing('n1', 'INCARNATION', 7)):is_error('STALE_NODE')
    expect(finds_model()):succeeds()
  end)
end)

describe('a storm of a thousand reports from fifty nodes in one window', function()
  it('has exactly one act, one event and bounded writes', function()
    for i = 1, 50 do register('n' .. i) end
    local answers = { ACT = 0, COUNTED = 0, LIMITED = 0 }
    local keys_before = redis('DBSIZE')
    for i = 1, 1000 do
      local answer = missing('n' .. (i % 50 + 1), 'WINDOW', 600000)
      answers[answer] = answers[answer] + 1
      if on_model then
        local writes = 0
        for _, call in ipairs(call_trace()) do
          if call[1] == 'set' or call[1] == 'hset' or call[1] == 'zadd' or call[1] == 'xadd' then writes = writes + 1 end
        end
        -- The first report of a node moves it out of the model's nodes, where its place is written when it leaves for its new class and
        -- when it arrives; the others touch two guards and the clock.
        expect(writes):is_at_most(i <= 50 and 15 or 3)
      end
    end
    expect(answers):equals({ ACT = 1, COUNTED = 499, LIMITED = 500 })
    expect(events_of('model_unavailable')):has_length(1)
    expect(finds_model()):is_error('NO_AVAILABLE_NODE')
    if on_model then expect(redis('DBSIZE') - keys_before):is_at_most(52) end
    expect(fcall('lockless_check')):equals({})
  end)
end)

local function limit(...) return fcall('lockless_limit', 'api', ...) end

describe('a limit', function()
  it('allows so many in a window and says how many are left', function()
    expect(limit(3, 60000)):equals({ 1, 2, 0 })
    expect(limit(3, 60000)):equals({ 1, 1, 0 })
    expect(limit(3, 60000)):equals({ 1, 0, 0 })
    local refused = limit(3, 60000)
    expect({ refused[1], refused[2] }):equals({ 0, 0 })
    expect(refused[3]):is_at_least(50000):is_at_most(60000)
    expect(fcall('lockless_limit', 'other', 3, 60000)):equals({ 1, 2, 0 })
  end)

  it('is not reset by a call with a shorter window', function()
    limit(2, 60000)
    limit(2, 60000)
    expect(limit(100, 5)):equals({ 1, 99, 0 })
    pass_time(50)
    limit(100, 5)
    expect(limit(2, 60000)[1]):equals(0)
  end)

  it('is exact at both edges of the window', function()
    -- Ahead of the server's clock, so that only this moves the cell's.
    local start = now_ms() + 1000000
    limit(9, 1000)
    redis('DEL', R .. ':limit:log:1000:api')
    local function at(ms) set_state('clock', start + ms) end
    at(0)
    expect(limit(2, 60000)):equals({ 1, 1, 0 })
    at(40000)
    expect(limit(2, 60000)):equals({ 1, 0, 0 })
    at(59999)
    expect(limit(2, 60000)):equals({ 0, 0, 1 })
    at(60000)
    expect(limit(2, 60000)):equals({ 1, 0, 0 })
    expect(limit(2, 60000)):equals({ 0, 0, 40000 })
    at(99999)
    expect(limit(2, 60000)):equals({ 0, 0, 1 })
    at(100000)
    expect(limit(2, 60000)):equals({ 1, 0, 0 })
    expect(limit(2, 60000)):equals({ 0, 0, 20000 })
  end)

  it('never allows more than the limit in any span of the window', function()
    limit(5, 1000)
    local allowed, now = {}, now_ms() + 1000000
    for step = 1, 400 do
      now = now + step * 7919 % 300
      set_state('clock', now)
      local answer = limit(5, 1000)
      if answer[1] == 1 then
        allowed[#allowed + 1] = now
        if #allowed > 5 then expect(now - allowed[#allowed - 5]):is_at_least(1000) end
      else
        -- It says when: not a moment earlier.
        set_state('clock', now + answer[3] - 1)
        expect(limit(5, 1000)[1]):equals(0)
        now = now + answer[3]
        set_state('clock', now)
        expect(limit(5, 1000)[1]):equals(1)
        allowed[#allowed + 1] = now
      end
    end
  end)

  it('answers a repeated REQUEST the same and counts it once', function()
    expect(limit(2, 60000, 'REQUEST', 'a')):equals({ 1, 1, 0 })
    expect(limit(2, 60000, 'REQUEST', 'a')):equals({ 1, 1, 0 })
    expect(limit(2, 60000, 'REQUEST', 'b')):equals({ 1, 0, 0 })
    expect(limit(2, 60000, 'REQUEST', 'a')[1]):equals(1)
    local refused = limit(2, 60000, 'REQUEST', 'c')
    expect(refused[1]):equals(0)
    expect(limit(2, 60000, 'REQUEST', 'c')):equals(refused)
  end)

  it('forgets what has left the window, and goes with it', function()
    for _ = 1, 50 do limit(100, 100) end
    advance(101)
    for _ = 1, 10 do limit(100, 100) end
    expect(redis('ZCARD', R .. ':limit:log:100:api')):is_at_most(10)
    wait_until(function() return redis('EXISTS', R .. ':limit:log:100:api') == 0 end, 5000)
  end)
end)

local function lock(owner, ttl_ms, name) return fcall('lockless_lock', name or 'l', owner, ttl_ms) end
local function unlock(owner) return fcall('lockless_unlock', 'l', owner) end

describe('a lock', function()
  it('is had by one at a time, and named to the others', function()
    local first = lock('a', 60000)
    expect(first[1]):equals(1)
    expect(lock('b', 60000)):equals({ 0, 'a' })
    expect(lock('b', 60000, 'other')[2]):is_at_least(first[2] + 1)
  end)

  it('is extended by its owner, with the same token, and never shortened', function()
    local first = lock('a', 60000)
    advance(50000)
    expect(lock('a', 60000)):equals(first)
    expect(lock('a', 1)):equals(first)
    advance(50000)
    expect(lock('b', 60000)):equals({ 0, 'a' })
  end)

  it('goes to the next when its time has passed, with a greater token', function()
    local first = lock('a', 60000)
    advance(60001)
    expect(unlock('a')):equals(0)
    expect(lock('b', 60000)[2]):is_at_least(first[2] + 1)
    expect(lock('a', 60000)):equals({ 0, 'b' })
  end)

  it('is given up by its owner only', function()
    local first = lock('a', 60000)
    expect(unlock('b')):equals(0)
    expect(lock('b', 60000)):equals({ 0, 'a' })
    expect(unlock('a')):equals(1)
    expect(unlock('a')):equals(0)
    expect(lock('b', 60000)[2]):is_at_least(first[2] + 1)
  end)

  it('has a token that only grows, whoever locks what', function()
    local last, had = 0, {}
    for i = 1, 30 do
      local name = 'l' .. (i % 3)
      local answer = lock('o' .. (i % 7), 1000, name)
      if answer[1] == 1 and answer[2] ~= had[name] then
        expect(answer[2]):is_at_least(last + 1)
        last, had[name] = answer[2], answer[2]
      end
      if i % 2 == 0 then fcall('lockless_unlock', name, 'o' .. (i % 7)) end
      advance(300)
    end
    redis('DEL', R .. ':lock:l0', R .. ':lock:l1', R .. ':lock:l2')
    expect(lock('a', 1000)[2]):is_at_least(last + 1)
  end)

  it('has a token that does not come again when the last ones drawn are lost', function()
    lock('a', 1000)
    local drawn = redis('HGET', R, 'tokens')
    local last
    for i = 1, 5 do last = lock('o' .. i, 1000, 'l' .. i)[2] end
    redis('HSET', R, 'tokens', drawn)
    redis('DEL', R .. ':lock:l')
    pass_time(20)
    expect(lock('b', 1000)[2]):is_at_least(last + 1)
  end)

  it('expires by itself', function()
    lock('a', 100)
    wait_until(function() return redis('EXISTS', R .. ':lock:l') == 0 end, 5000)
  end)
end)
