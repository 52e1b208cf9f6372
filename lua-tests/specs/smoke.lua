-- The words themselves: what every other spec rests on.

describe('a cell', function()
  before_each(function() redis('SET', R .. ':before', 'ran') end)

  it('is fresh and sees what before_each did', function()
    expect(redis('GET', R .. ':before')):equals('ran')
    expect(redis('EXISTS', R)):equals(0)
    expect(redis('GET', R .. ':nothing')):is_null()
  end)

  it('has a clock that can be moved', function()
    local before = now_ms()
    advance(60000)
    expect(now_ms()):is_at_least(before + 60000):is_at_most(before + 70000)
    pass_time(5)
    outage(120000)
    expect(state('clock')):is_at_most(before)
  end)

  it('keeps numbers exact on the way', function()
    redis('ZADD', R .. ':z', 1767225600123, 'a', 0.5, 'b')
    expect(redis('ZRANGE', R .. ':z', 0, -1, 'WITHSCORES')):equals({ 'b', '0.5', 'a', '1767225600123' })
  end)

  it('is waited for', function()
    redis('SET', R .. ':short', 'x', 'PX', 50)
    wait_until(function() return redis('EXISTS', R .. ':short') == 0 end, 2000)
  end)
end)

describe('expectations', function()
  local function failure_of(fn)
    local ok, message = pcall(fn)
    expect(ok):equals(false)
    return message
  end

  it('tell errors by their code', function()
    redis('SET', R .. ':s', 'x')
    expect(redis('HGET', R .. ':s', 'a')):is_error('WRONGTYPE'):contains('wrong kind')
    expect(redis('NOPE')):is_error('ERR')
    expect(fcall('no_such_function')):is_error('ERR')
  end)

  it('read flat lists of fields', function()
    redis('HSET', R .. ':h', 'state', 'ready', 'held', 3)
    local reply = redis('HGETALL', R .. ':h')
    expect(reply):has('state', 'ready'):has('held', 3)
    expect(fields(reply)):equals({ state = 'ready', held = '3' })
  end)

  it('say what was wanted, what came and where', function()
    expect(failure_of(function() expect(1):equals(2) end)):matches('^specs/smoke.lua:%d+: expected 2'):contains('got 1')
    expect(failure_of(function() expect({ 'a', 1 }):has('a', 2) end)):contains('the field a to be 2, not 1')
    expect(failure_of(function() expect({ err = 'CODE text' }):is_error('OTHER') end)):contains('error "CODE text"')
  end)

  it('can look inside the model', { hosts = 'model' }, function()
    redis('SET', R, 'x')
    expect(dump()):contains('string "x"')
    expect(call_count()):equals(0)
    expect(call_trace()):equals({})
  end)
end)
