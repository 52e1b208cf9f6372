-- Words and requests that come again when the job they speak of has moved on, and jobs of a node that was just lost.

local function submit(job, ...) return fcall('lockless_submit', job, 'p', ...) end

local function job(id) return fcall('lockless_job', id) end

local function is_sound() expect(fcall('lockless_check')):equals({}) end

describe('a REQUEST that comes again', function()
  before_each(function() fcall('lockless_register', 'n1', 1) end)

  it('does not start a job that has gone back since, on a node that is full', function()
    submit('a')
    expect(fcall('lockless_pull', 'n1', 'REQUEST', 'r')[1]):has_length(1)
    fcall('lockless_stopped', 'a', 'n1', 'ok')
    submit('b', 'PRIORITY', 1)
    fcall('lockless_pull', 'n1')
    expect(fcall('lockless_pull', 'n1', 'REQUEST', 'r')[1]):equals({})
    expect(job('a')):has('status', 'pending'):has('attempts', 1)
    expect(fcall('lockless_node', 'n1')):has('current_jobs', 1)
    is_sound()
  end)

  it('does not start a job that has gone back since, on a node with room', function()
    submit('a')
    fcall('lockless_pull', 'n1', 'REQUEST', 'r')
    fcall('lockless_stopped', 'a', 'n1', 'ok')
    expect(fcall('lockless_pull', 'n1', 'REQUEST', 'r')[1]):equals({})
    expect(job('a')):has('status', 'pending'):has('attempts', 1)
    is_sound()
  end)

  it('gives the attempt it gave, though the node has the job for another one by now', function()
    submit('a')
    local first = fcall('lockless_pull', 'n1', 'REQUEST', 'r')
    fcall('lockless_stopped', 'a', 'n1', 'ok')
    fcall('lockless_pull', 'n1')
    expect(fcall('lockless_pull', 'n1', 'REQUEST', 'r')):equals(first)
    expect(job('a')):has('attempts', 2)
    is_sound()
  end)

  it('does not ask a job to stop again that could not be stopped', function()
    submit('a')
    fcall('lockless_pull', 'n1')
    local hot = { 'n1', 'MEM', 99, 'USED', 9900, 'TOTAL', 10000, 'AVAIL', 100, 'SWAP', 0, 'CPU', 10, 'REQUEST', 'r' }
    local first = fcall('lockless_tick', unpack(hot))
    expect(first):has('stop', { 'a' })
    fcall('lockless_stopped', 'a', 'n1', 'failed')
    expect(fcall('lockless_tick', unpack(hot))):equals(first)
    expect(job('a')):has('stopping', 0)
    is_sound()
  end)

  it('does not undo a drain', function()
    submit('a')
    fcall('lockless_pull', 'n1', 'REQUEST', 'r')
    fcall('lockless_stopped', 'a', 'n1', 'ok')
    fcall('lockless_drain', 'n1', 'on')
    fcall('lockless_pull', 'n1', 'REQUEST', 'r')
    expect(fcall('lockless_node', 'n1')):has('current_jobs', 0)
  end)
end)

describe('a job of a node that was just lost', function()
  before_each(function()
    fcall('lockless_register', 'n1', 100)
    for i = 1, 60 do submit(string.format('j%02d', i), 'RETRIES', i == 59 and 0 or 3) end
    fcall('lockless_pull', 'n1', 'COUNT', 60)
    fcall('lockless_deregister', 'n1')
  end)

  it('can be cancelled, as it is pending, and does not come back', function()
    expect(job('j60')):has('status', 'pending')
    expect(fcall('lockless_cancel', 'j60', 'REASON', 'why')):equals('OK')
    expect(fcall('lockless_cancel', 'j60')):equals('OK')
    expect(job('j60')):has('status', 'cancelled'):has('reason', 'why')
    is_sound()
    fcall('lockless_sweep')
    expect(job('j60')):has('status', 'cancelled')
    expect(fcall('lockless_stats')):has('cancelled', 1):has('lost_total', 60):has('failed', 1):has('requeued', 58)
    is_sound()
    expect(redis('PTTL', R .. ':job:j60')):is_at_least(1)
  end)

  it('can not be cancelled when it has no try left', function()
    expect(job('j59')):has('status', 'failed')
    expect(fcall('lockless_cancel', 'j59')):is_error('WRONG_STATE'):contains('failed')
    fcall('lockless_sweep')
    expect(job('j59')):has('status', 'failed')
    is_sound()
  end)
end)
