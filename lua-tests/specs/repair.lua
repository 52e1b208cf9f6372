-- What can't be known any more is mended to the safe side: repair never makes room that nobody has.

local function runtime(node) return R .. ':node:runtime:' .. node end

local function repaired()
  for _ = 1, 8 do
    if #fcall('lockless_repair') == 0 then break end
  end
  expect(fcall('lockless_check')):equals({})
end

local function dispatch(job) return fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', job) end

describe('repair', function()
  local function is_fenced_until_it_registers()
    expect(dispatch('after')):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_heartbeat', 'n1', 'INCARNATION', '1')):is_error('STALE_NODE')
    expect(fcall('lockless_register', 'n1', 2)):has('incarnation', 3):has('held', 0)
    expect(dispatch('after')):equals({ 'n1', 'after' })
  end

  it('keeps a node fenced that was lost and has lost its flags', { hosts = 'model' }, function()
    fcall('lockless_register', 'n1', 2)
    for _ = 1, 5 do
      advance(9000)
      fcall('lockless_sweep')
    end
    expect(fcall('lockless_heartbeat', 'n1', 'INCARNATION', '1')):is_error('STALE_NODE')
    redis('HDEL', runtime('n1'), 'flags')
    repaired()
    is_fenced_until_it_registers()
  end)

  it('gives nothing to a node that may drain', function()
    fcall('lockless_register', 'n1', 2)
    fcall('lockless_drain', 'n1', 'on')
    redis('HDEL', runtime('n1'), 'flags')
    repaired()
    is_fenced_until_it_registers()
  end)

  it('gives nothing to a node that may be full of foreign work, and settles its jobs', function()
    fcall('lockless_register', 'n1', 2)
    dispatch('before')
    fcall('lockless_heartbeat', 'n1', 'FOREIGN', 1)
    redis('HSET', runtime('n1'), 'foreign', -5)
    repaired()
    fcall('lockless_sweep')
    expect(fcall('lockless_job', 'before')):has('status', 'expired')
    is_fenced_until_it_registers()
  end)

  it('mends a page of nodes though the number of incarnations can not be read', function()
    fcall('lockless_register', 'n1', 2)
    redis('HDEL', R, 'incarnation')
    redis('HDEL', runtime('n1'), 'scan')
    expect(fcall('lockless_repair', 'CURSOR', '3:', 'COUNT', 10)):succeeds()
    repaired()
  end)
end)
