-- The dynamic scheduler, one tick at a time. `admission.lua` has the branches of its decisions.

local function submit(job, ...) return fcall('lockless_submit', job, 'p', ...) end

-- A sample of a calm machine of 10,000 MB, with what a test says instead.
local function tick(node, sample, ...)
  local s = { MEM = 20, USED = 2000, TOTAL = 10000, AVAIL = 8000, SWAP = 0, CPU = 10 }
  for name, value in pairs(sample or {}) do s[name] = value end
  local args = {}
  for _, name in ipairs({ 'MEM', 'USED', 'TOTAL', 'AVAIL', 'SWAP', 'CPU', 'GPU_USED', 'GPU_TOTAL' }) do
    if s[name] then
      args[#args + 1] = name
      args[#args + 1] = s[name]
    end
  end
  for _, extra in ipairs({ ... }) do args[#args + 1] = extra end
  local reply = fcall('lockless_tick', node, unpack(args))
  if reply.err then return reply end
  reply = fields(reply)
  for i, item in ipairs(reply.start) do reply.start[i] = fields(item).job_id end
  return reply
end

local function is_sound() expect(fcall('lockless_check')):equals({}) end

describe('tick', function()
  before_each(function() fcall('lockless_register', 'n1', 100) end)

  it('is a heartbeat', function()
    advance(20000)
    tick('n1', { CPU = 12.5, MEM = 33 })
    expect(fcall('lockless_node', 'n1')):has('cpu', 12.5):has('mem', 33):has('gpu', -1):has('mem_mb', 2000):has('mode', 'NORMAL')
    advance(20000)
    expect(fcall('lockless_node', 'n1')):has('state', 'ready')
  end)

  it('starts jobs in order within budget and target', function()
    fcall('lockless_config', 'max_workers', 5, 'max_start_per_tick_normal', 2)
    for i = 1, 9 do submit('j' .. i) end
    expect(tick('n1')):has('mode', 'NORMAL'):has('target_workers', 5):has('start_budget', 2):has('start', { 'j1', 'j2' })
    expect(tick('n1').start):equals({ 'j3', 'j4' })
    expect(tick('n1').start):equals({ 'j5' })
    expect(tick('n1').start):equals({})
    fcall('lockless_complete', 'j1', 'n1', 'finished')
    expect(tick('n1').start):equals({ 'j6' })
    is_sound()
  end)

  it('says why a job is not started, keeps its place, and starts the next one that may be', function()
    submit('big', 'MEM_MB', 9000, 'PRIORITY', 0)
    submit('small', 'MEM_MB', 100)
    local reply = tick('n1')
    expect(reply.start):equals({ 'small' })
    expect(reply.blocked):equals({ { 'big', 'projected memory emergency' } })
    expect(fcall('lockless_jobs', 'pending', '0', 10)[2]):equals({ 'big' })
    expect(fcall('lockless_stats')):has('blocked_total', 1)
    expect(fcall('lockless_node', 'n1')):has('blocked_total', 1)
    is_sound()
  end)

  it('has the least urgent, then the largest, then the oldest make room, until enough would be free', function()
    fcall('lockless_config', 'max_start_per_tick_normal', 10, 'max_workers', 10, 'preempt_count_per_tick', 3)
    submit('urgent', 'PRIORITY', 1, 'MEM_MB', 500)
    submit('fixed', 'PRIORITY', 9, 'MEM_MB', 900, 'PREEMPTIBLE', 'no')
    submit('low1', 'PRIORITY', 9, 'MEM_MB', 300)
    submit('low2', 'PRIORITY', 9, 'MEM_MB', 400)
    expect(tick('n1').start):has_length(4)
    local reply = tick('n1', { MEM = 95, USED = 9500, AVAIL = 500 })
    expect(reply):has('mode', 'EMERGENCY'):has('target_workers', 0):has('start_budget', 0)
    expect(reply.stop):equals({ 'low2' })
    is_sound()
  end)

  it('asks again only when what it asked for is not enough or failed', function()
    fcall('lockless_config', 'ema_alpha', 1, 'max_start_per_tick_normal', 10)
    for i = 1, 3 do submit('j' .. i, 'MEM_MB', 3000, 'PRIORITY', i) end
    fcall('lockless_config', 'reserve_memory_mb', 0, 'memory_emergency_pct', 95)
    expect(tick('n1', { USED = 100 }).start):equals({ 'j1', 'j2', 'j3' })
    local hot = { MEM = 96, USED = 9600, AVAIL = 400 }
    expect(tick('n1', hot).stop):equals({ 'j3' })
    expect(tick('n1', hot).stop):equals({ 'j3' })
    expect(fcall('lockless_job', 'j3')):has('status', 'running'):has('stopping', 1)
    expect(fcall('lockless_stopped', 'j3', 'n1', 'failed')):equals('OK')
    expect(fcall('lockless_job', 'j3')):has('status', 'running'):has('stopping', 0)
    is_sound()
    expect(tick('n1', hot).stop):equals({ 'j3' })
    expect(fcall('lockless_stopped', 'j3', 'n1', 'ok')):equals('OK')
    expect(fcall('lockless_stopped', 'j3', 'n1', 'ok')):equals('OK')
    expect(fcall('lockless_job', 'j3')):has('status', 'pending'):has('attempts', 1)
    expect(fcall('lockless_stats')):has('preempted_total', 1):has('emergency_ticks', 3)
    expect(fcall('lockless_node', 'n1')):has('preempted_total', 1):has('emergency_ticks', 3):has('current_jobs', 2)
    is_sound()
  end)

  it('gives the same for the same REQUEST and changes nothing', function()
    submit('a')
    submit('big', 'MEM_MB', 9000)
    local args = { 'n1', 'MEM', 20, 'USED', 2000, 'TOTAL', 10000, 'AVAIL', 8000, 'SWAP', 0, 'CPU', 10, 'REQUEST', 'r1' }
    local first = fcall('lockless_tick', unpack(args))
    submit('b')
    expect(fcall('lockless_tick', unpack(args))):equals(first)
    expect(fcall('lockless_job', 'b')):has('status', 'pending')
    expect(fcall('lockless_stats')):has('blocked_total', 1)
    is_sound()
  end)

  it('needs every part of a sample', function()
    expect(fcall('lockless_tick', 'n1')):is_error('BAD_ARGUMENT'):contains('MEM is missing')
    for _, name in ipairs({ 'MEM', 'USED', 'TOTAL', 'AVAIL', 'SWAP', 'CPU' }) do
      expect(tick('n1', { [name] = false })):is_error('BAD_ARGUMENT'):contains(name .. ' is missing')
    end
    expect(tick('n1', { GPU_USED = 1 })):is_error('BAD_ARGUMENT'):contains('GPU_TOTAL is missing')
    expect(tick('n1', { GPU_TOTAL = 1 })):is_error('BAD_ARGUMENT'):contains('GPU_USED is missing')
    expect(tick('n1', { TOTAL = 0 })):is_error('BAD_ARGUMENT'):contains('TOTAL')
    expect(tick('none')):is_error('UNKNOWN_NODE')
    expect(tick('n1', {}, 'INCARNATION', 99)):is_error('STALE_NODE')
  end)
end)
