-- What an emergency stops: which jobs, in which order, and how many.

local function submit(job, ...) expect(fcall('lockless_submit', job, 'p', ...)):equals(1) end

-- The sample of a machine of 10,000 MB: calm, or with that much used and in an emergency by its swap.
local function tick(used, swap)
  local reply = fields(fcall('lockless_tick', 'n1', 'MEM', 20, 'USED', used, 'TOTAL', 10000, 'AVAIL', 8000, 'SWAP', swap,
    'CPU', 10))
  for i, item in ipairs(reply.start) do reply.start[i] = fields(item).job_id end
  return reply
end

local function calm() return tick(0, 0) end
local function emergency(used) return tick(used, 100) end

local function configure(settings)
  for name, value in pairs(settings) do expect(fcall('lockless_config', name, value)):succeeds() end
end

-- Starts jobs { name, priority, memory, 'no' if it may not be stopped }, each at its own time.
local function start(jobs)
  for _, job in ipairs(jobs) do
    submit(job[1], 'PRIORITY', job[2], 'MEM_MB', job[3], 'PREEMPTIBLE', job[4] or 'yes')
    advance(10)
    expect(calm().start):equals({ job[1] })
  end
end

local function is_sound() expect(fcall('lockless_check')):equals({}) end

local one_each = { { 'a', 1, 100 }, { 'b', 9, 100 }, { 'c', 5, 100 } }
local alike = { { 'a', 5, 1000 }, { 'b', 5, 1000 }, { 'c', 5, 1000 }, { 'd', 5, 1000 } }

-- With a reserve of 512 and 80 % of 10,000 MB, 7488 MB may be used: what is beyond is to be reclaimed.
local rows = {
  { 'the least urgent first', one_each, {}, 8000, { 'b' } },
  { 'the largest of equally urgent ones', { { 'a', 5, 100 }, { 'b', 5, 300 }, { 'c', 5, 200 } }, {}, 8000, { 'b' } },
  { 'the oldest of equal ones', { { 'z', 5, 100 }, { 'b', 5, 100 }, { 'a', 5, 100 } }, {}, 8000, { 'z' } },
  { 'priority before memory before age', { { 'a', 5, 900 }, { 'b', 9, 1 }, { 'c', 9, 2 }, { 'd', 9, 2 } },
    { preempt_count_per_tick = 4 }, 9000, { 'c', 'd', 'b', 'a' } },
  { 'never one that may not be', { { 'a', 9, 900, 'no' }, { 'b', 1, 1 } }, { preempt_count_per_tick = 9 }, 9000, { 'b' } },
  { 'none when none may be', { { 'a', 9, 900, 'no' } }, { preempt_count_per_tick = 9 }, 9000, {} },
  { 'as many as are needed', alike, { preempt_count_per_tick = 4 }, 9488, { 'a', 'b' } },
  { 'one more for the last megabyte', alike, { preempt_count_per_tick = 4 }, 9489, { 'a', 'b', 'c' } },
  { 'one less without a reserve', alike, { preempt_count_per_tick = 4, reserve_memory_mb = 0 }, 9000, { 'a' } },
  { 'by another share of the memory', alike, { preempt_count_per_tick = 4, memory_high_pct = 60 }, 8488, { 'a', 'b', 'c' } },
  { 'at most so many as are set', alike, { preempt_count_per_tick = 2 }, 10000, { 'a', 'b' } },
  { 'none where none are set', alike, { preempt_count_per_tick = 0 }, 10000, {} },
  { 'one even if nothing is to be reclaimed', alike, { preempt_count_per_tick = 4 }, 0, { 'a' } },
  { 'one of no size if nothing is to be reclaimed', { { 'a', 5, 0 }, { 'b', 5, 0 } }, { preempt_count_per_tick = 4 }, 0, { 'a' } },
  { 'all of no size if something is', { { 'a', 5, 0 }, { 'b', 5, 0 } }, { preempt_count_per_tick = 4 }, 7489, { 'a', 'b' } },
  { 'by the smoothed use', alike, { preempt_count_per_tick = 4, ema_alpha = 0.5 }, 10000, { 'a' } },
}

describe('an emergency stops', function()
  before_each(function()
    fcall('lockless_register', 'n1', 100)
    fcall('lockless_config', 'ema_alpha', 1, 'max_workers', 100, 'emergency_cooldown_ticks', 0)
  end)

  for _, row in ipairs(rows) do
    local name, jobs, settings, used, wanted = unpack(row)
    it(name, function()
      configure(settings)
      start(jobs)
      expect(emergency(used)):has('mode', 'EMERGENCY'):has('stop', wanted):has('start', {})
      for _, id in ipairs(wanted) do expect(fcall('lockless_job', id)):has('status', 'running'):has('stopping', 1) end
      expect(fcall('lockless_node', 'n1')):has('current_jobs', #jobs)
      is_sound()
    end)
  end

  it('nothing that was pushed', function()
    fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', 'pushed')
    fcall('lockless_ack', 'pushed', 'n1')
    expect(emergency(10000).stop):equals({})
  end)

  it('also in its cooldown, and nothing outside it', function()
    configure({ emergency_cooldown_ticks = 1 })
    start(one_each)
    emergency(0)
    fcall('lockless_stopped', 'b', 'n1', 'ok')
    expect(calm()):has('mode', 'EMERGENCY'):has('stop', { 'c' })
    fcall('lockless_stopped', 'c', 'n1', 'ok')
    expect(calm()):has('mode', 'NORMAL'):has('stop', {})
  end)

  it('more only when what it asked for is not enough, and counts a failed stop no longer', function()
    start(alike)
    expect(emergency(9489).stop):equals({ 'a' })
    expect(emergency(9489).stop):equals({ 'a', 'b' })
    expect(emergency(9489).stop):equals({ 'a', 'b', 'c' })
    expect(emergency(9489).stop):equals({ 'a', 'b', 'c' })
    fcall('lockless_stopped', 'b', 'n1', 'failed')
    expect(fcall('lockless_heartbeat', 'n1')):has('stop', { 'a', 'c' })
    is_sound()
    expect(emergency(9489).stop):contains('b'):has_length(3)
    expect(emergency(9489).stop):has_length(3)
    is_sound()
  end)

  it('another one once the first has stopped, if it goes on', function()
    start(alike)
    expect(emergency(8000).stop):equals({ 'a' })
    fcall('lockless_stopped', 'a', 'n1', 'ok')
    expect(fcall('lockless_job', 'a')):has('status', 'pending')
    expect(emergency(8000).stop):equals({ 'b' })
    expect(fcall('lockless_stats')):has('preempted_total', 1):has('emergency_ticks', 2)
    is_sound()
  end)

  it('a job again that it stopped before and that was started again, and no try is used up', function()
    submit('a', 'RETRIES', 0)
    for try = 1, 3 do
      expect(calm().start):equals({ 'a' })
      expect(emergency(0).stop):equals({ 'a' })
      expect(fcall('lockless_stopped', 'a', 'n1', 'ok')):equals('OK')
      expect(fcall('lockless_job', 'a')):has('status', 'pending'):has('attempts', try):has('reason', '')
      is_sound()
    end
    expect(fcall('lockless_node', 'n1')):has('preempted_total', 3):has('started_total', 3):has('current_jobs', 0)
  end)

  it('a job whose run limit it passed by then no more: it has expired', function()
    submit('a', 'TTL', 9000)
    calm()
    emergency(0)
    advance(9001)
    fcall('lockless_sweep')
    expect(fcall('lockless_job', 'a')):has('status', 'expired'):has('stopping', 1)
    is_sound()
    expect(emergency(0).stop):equals({ 'a' })
    expect(fcall('lockless_stopped', 'a', 'n1', 'ok')):equals('OK')
    expect(fcall('lockless_stats')):has('preempted_total', 0):has('timeout_total', 1)
    is_sound()
  end)
end)
