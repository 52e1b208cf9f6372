-- Handing jobs over, and pages of jobs.

local function dispatch(...) return fcall('lockless_dispatch', 's', 'en', 'zh', 'p', ...) end

local function ids(reply)
  local out = {}
  for i, item in ipairs(reply[1]) do out[i] = fields(item).job_id end
  table.sort(out)
  return out
end

describe('take', function()
  before_each(function()
    fcall('lockless_register', 'n1', 100, 'PAIR', 'en', 'zh')
    dispatch('JOB', 'a')
    dispatch('JOB', 'b', 'ACK', 5000, 'TTL', 60000)
    dispatch('JOB', 'c')
    fcall('lockless_ack', 'c', 'n1')
  end)

  it('hands over what is dispatched, once, and acknowledges it', function()
    local reply = fcall('lockless_take', 'n1')
    expect(ids(reply)):equals({ 'a', 'b' })
    expect(reply[2]):equals({})
    for _, job in ipairs({ 'a', 'b', 'c' }) do expect(fcall('lockless_job', job)):has('status', 'running') end
    expect(ids(fcall('lockless_take', 'n1'))):equals({})
    expect(fcall('lockless_check')):equals({})
  end)

  it('gives each job with all its fields', function()
    local item
    for _, one in ipairs(fcall('lockless_take', 'n1')[1]) do
      if fields(one).job_id == 'b' then item = fields(one) end
    end
    expect(item):has('payload', 'p'):has('session_id', 's'):has('src_lang', 'en'):has('tgt_lang', 'zh'):has('attempt', 1)
    expect(item.deadline_ts - now_ms()):is_at_least(59000):is_at_most(60000)
  end)

  it('gives at most COUNT', function()
    expect(fcall('lockless_take', 'n1', 'COUNT', 1)[1]):has_length(1)
    expect(fcall('lockless_take', 'n1', 'COUNT', 5)[1]):has_length(1)
  end)

  it('gives the same for the same REQUEST and changes nothing', function()
    fcall('lockless_cancel', 'c')
    local first = fcall('lockless_take', 'n1', 'REQUEST', 'r1')
    dispatch('JOB', 'd')
    expect(fcall('lockless_take', 'n1', 'REQUEST', 'r1')):equals(first)
    expect(fcall('lockless_job', 'd')):has('status', 'dispatched')
    expect(first[2]):equals({ 'c' })
    expect(ids(fcall('lockless_take', 'n1', 'REQUEST', 'r2'))):equals({ 'd' })
  end)

  it('is handed jobs with a REQUEST that was handed nothing, and from then on the same', function()
    fcall('lockless_take', 'n1')
    fcall('lockless_cancel', 'c')
    for _ = 1, 2 do
      local reply = fcall('lockless_take', 'n1', 'REQUEST', 'r1')
      expect(ids(reply)):equals({})
      expect(reply[2]):equals({ 'c' })
    end
    dispatch('JOB', 'd')
    local handed = fcall('lockless_take', 'n1', 'REQUEST', 'r1')
    expect(ids(handed)):equals({ 'd' })
    dispatch('JOB', 'e')
    expect(fcall('lockless_take', 'n1', 'REQUEST', 'r1')):equals(handed)
    expect(fcall('lockless_job', 'e')):has('status', 'dispatched')
    expect(fcall('lockless_check')):equals({})
  end)

  it('gives the same for a REQUEST that was handed jobs also after another was handed none', function()
    local handed = fcall('lockless_take', 'n1', 'REQUEST', 'r1')
    expect(ids(handed)):equals({ 'a', 'b' })
    expect(ids(fcall('lockless_take', 'n1', 'REQUEST', 'r2'))):equals({})
    expect(fcall('lockless_take', 'n1', 'REQUEST', 'r1')):equals(handed)
    dispatch('JOB', 'd')
    expect(ids(fcall('lockless_take', 'n1', 'REQUEST', 'r2'))):equals({ 'd' })
  end)

  it('needs a node that is there', function()
    expect(fcall('lockless_take', 'nobody')):is_error('UNKNOWN_NODE')
  end)
end)

describe('jobs', function()
  local function all(state, count)
    local out, cursor = {}, '0'
    repeat
      local page = fcall('lockless_jobs', state, cursor, count)
      expect(#page[2]):is_at_most(count)
      for _, job in ipairs(page[2]) do out[#out + 1] = job end
      cursor = page[1]
    until cursor == '0'
    table.sort(out)
    return out
  end

  it('come in pages by state', function()
    for i = 1, 5 do fcall('lockless_register', 'n' .. i, 9, 'PAIR', 'en', 'zh') end
    for i = 1, 15 do
      local reply = dispatch('JOB', ('j%02d'):format(i))
      if i > 4 then fcall('lockless_ack', reply[2], reply[1]) end
      if i > 8 then fcall('lockless_complete', reply[2], reply[1], i > 12 and 'failed' or 'finished') end
    end
    dispatch('JOB', 'e1', 'ACK', 10)
    dispatch('JOB', 'e2', 'ACK', 10)
    dispatch('JOB', 'c1', 'ACK', 60000)
    fcall('lockless_cancel', 'c1')
    advance(20)
    fcall('lockless_sweep')
    for count = 1, 7, 3 do
      expect(all('dispatched', count)):equals({ 'j01', 'j02', 'j03', 'j04' })
      expect(all('running', count)):equals({ 'j05', 'j06', 'j07', 'j08' })
      expect(all('failed', count)):equals({ 'j13', 'j14', 'j15' })
      expect(all('expired', count)):equals({ 'e1', 'e2' })
      expect(all('cancelled', count)):equals({ 'c1' })
      expect(all('pending', count)):equals({})
    end
    expect(fcall('lockless_jobs', 'running', 'x', 5)):is_error('BAD_ARGUMENT')
    expect(fcall('lockless_jobs', 'failed', 'x', 5)):is_error('BAD_ARGUMENT')
    expect(fcall('lockless_jobs', 'finished', 0, 5)):is_error('BAD_ARGUMENT'):contains('cancelled')
  end)
end)

describe('a request of an incarnation that ended', function()
  it('is not answered to the next one', function()
    fcall('lockless_register', 'n1', 5, 'INSTANCE', 'A', 'PAIR', 'en', 'zh')
    dispatch('JOB', 'old')
    fcall('lockless_take', 'n1', 'REQUEST', '1')
    fcall('lockless_register', 'n1', 5, 'INSTANCE', 'B', 'PAIR', 'en', 'zh')
    dispatch('JOB', 'new')
    expect(ids(fcall('lockless_take', 'n1', 'REQUEST', '1'))):equals({ 'new' })
  end)
end)

describe('pages of ended jobs', function()
  it('skip nothing when the ones before have gone meanwhile', function()
    fcall('lockless_register', 'n1', 50, 'PAIR', 'en', 'zh')
    for i = 10, 29 do
      dispatch('JOB', 'j' .. i)
      fcall('lockless_complete', 'j' .. i, 'n1', 'failed')
      advance(1)
    end
    local first = fcall('lockless_jobs', 'failed', 0, 10)
    expect(first[2]):has_length(10)
    redis('ZREM', R .. ':failed', 'fj10', 'fj11', 'fj12', 'fj13', 'fj14', 'fj15', 'fj16', 'fj17', 'fj18', 'fj19')
    expect(fcall('lockless_jobs', 'failed', first[1], 5)[2]):equals({ 'j20', 'j21', 'j22', 'j23', 'j24' })
  end)
end)
