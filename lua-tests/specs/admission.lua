-- The dynamic scheduler's decisions, branch by branch, as a tick shows them: the mode, what may be started for it, and why a
-- job is not. Rows carry the numbers; every threshold is met exactly and missed by the least. `preemption.lua` has what
-- is stopped.

local function submit(job, ...) expect(fcall('lockless_submit', job, 'p', ...)):equals(1) end

-- A sample of a calm machine of 10,000 MB, with what a test says instead. Its GPU, if one is named, has 10,000 MB as well.
local function tick(sample)
  local s = { MEM = 20, USED = 2000, TOTAL = 10000, AVAIL = 8000, SWAP = 0, CPU = 10 }
  for name, value in pairs(sample or {}) do s[name] = value end
  if s.GPU_USED then s.GPU_TOTAL = 10000 end
  local args = {}
  for name, value in pairs(s) do
    args[#args + 1] = name
    args[#args + 1] = value
  end
  local reply = fields(fcall('lockless_tick', 'n1', unpack(args)))
  for i, item in ipairs(reply.start) do reply.start[i] = fields(item).job_id end
  return reply
end

local function configure(settings)
  local args = {}
  for name, value in pairs(settings) do
    args[#args + 1] = name
    args[#args + 1] = value
  end
  if #args > 0 then expect(fcall('lockless_config', unpack(args))):succeeds() end
end

local function is_sound() expect(fcall('lockless_check')):equals({}) end

local calm, hot = {}, { MEM = 92 }

-- Name, settings (ema_alpha 1 and no cooldown unless they say so), samples, and the first letter of the mode of each.
local modes = {
  { 'calm', {}, { calm }, 'N' },
  { 'memory at its emergency threshold', {}, { { MEM = 92 } }, 'E' },
  { 'memory just below its emergency threshold', {}, { { MEM = 91.9 } }, 'H' },
  { 'swap at its emergency threshold', {}, { { SWAP = 60 } }, 'E' },
  { 'swap just below its emergency threshold', {}, { { SWAP = 59.9 } }, 'N' },
  { 'available memory at the reserve', {}, { { AVAIL = 512 } }, 'E' },
  { 'available memory just above the reserve', {}, { { AVAIL = 513 } }, 'N' },
  { 'available memory of none without a reserve', { reserve_memory_mb = 0 }, { { AVAIL = 0 } }, 'E' },
  { 'GPU memory at its emergency threshold', {}, { { GPU_USED = 9500 } }, 'E' },
  { 'GPU memory just below its emergency threshold', {}, { { GPU_USED = 9499 } }, 'H' },
  { 'full GPU memory without the guard', { enable_gpu_guard = 'false' }, { { GPU_USED = 10000 } }, 'N' },
  { 'no GPU, with a threshold of 0', { gpu_memory_emergency_pct = 0 }, { calm }, 'N' },

  { 'a raw spike of memory in calm', { ema_alpha = 0.1 }, { calm, { MEM = 92 }, calm }, 'NEN' },
  { 'a raw spike of swap in calm', { ema_alpha = 0.1 }, { calm, { SWAP = 60 }, calm }, 'NEN' },
  { 'a raw spike of GPU memory in calm', { ema_alpha = 0.1 }, { { GPU_USED = 0 }, { GPU_USED = 9500 } }, 'NE' },
  { 'a raw want of available memory in calm', { ema_alpha = 0.1 }, { calm, { AVAIL = 1 }, calm }, 'NEN' },
  { 'smoothed memory alone over its emergency threshold', { ema_alpha = 0.1 }, { { MEM = 99 }, { MEM = 90 } }, 'EH' },
  { 'smoothed swap alone over its emergency threshold', { ema_alpha = 0.1 }, { { SWAP = 99 }, { SWAP = 0 } }, 'EN' },
  { 'smoothed GPU memory alone over its emergency threshold', { ema_alpha = 0.1 },
    { { GPU_USED = 9900 }, { GPU_USED = 9400 } }, 'EH' },

  { 'a cooldown of 2', { emergency_cooldown_ticks = 2 }, { hot, calm, calm, calm, calm }, 'EEENN' },
  { 'a cooldown of 0', { emergency_cooldown_ticks = 0 }, { hot, calm }, 'EN' },
  { 'a cooldown that is armed again', { emergency_cooldown_ticks = 2 }, { hot, calm, hot, calm, calm, calm }, 'EEEEEN' },
  { 'a cooldown armed by swap', { emergency_cooldown_ticks = 1 }, { { SWAP = 60 }, calm, calm }, 'EEN' },
  { 'a cooldown armed by available memory', { emergency_cooldown_ticks = 1 }, { { AVAIL = 0 }, calm, calm }, 'EEN' },
  { 'a cooldown armed by the GPU', { emergency_cooldown_ticks = 1 }, { { GPU_USED = 9500 }, calm, calm }, 'EEN' },
  { 'a cooldown that ends in high load', { emergency_cooldown_ticks = 1 }, { hot, { MEM = 85 }, { MEM = 85 } }, 'EEH' },
  { 'two emergencies, the cooldown whole each time', { emergency_cooldown_ticks = 1 },
    { hot, calm, calm, hot, calm, calm }, 'EENEEN' },

  { 'memory at its high threshold', {}, { { MEM = 80 } }, 'H' },
  { 'memory just below its high threshold', {}, { { MEM = 79.9 } }, 'N' },
  { 'CPU at its high threshold', {}, { { CPU = 85 } }, 'H' },
  { 'CPU just below its high threshold', {}, { { CPU = 84.9 } }, 'N' },
  { 'GPU memory at its high threshold', {}, { { GPU_USED = 8500 } }, 'H' },
  { 'GPU memory just below its high threshold', {}, { { GPU_USED = 8499 } }, 'N' },
  { 'high GPU memory without the guard', { enable_gpu_guard = 'false' }, { { GPU_USED = 9000 } }, 'N' },
  { 'no GPU, with a high threshold of 0', { gpu_memory_high_pct = 0 }, { calm }, 'N' },
  { 'high swap', {}, { { SWAP = 59 } }, 'N' },
  { 'a spike of memory that is smoothed', { ema_alpha = 0.3 }, { calm, { MEM = 90 } }, 'NN' },
  { 'a spike of CPU that is smoothed', { ema_alpha = 0.3 }, { calm, { CPU = 100 } }, 'NN' },
  { 'a spike of GPU memory that is smoothed', { ema_alpha = 0.3 }, { { GPU_USED = 0 }, { GPU_USED = 9400 } }, 'NN' },
  { 'smoothed memory that reaches the threshold and leaves it', { ema_alpha = 0.5 },
    { { MEM = 70 }, { MEM = 90 }, { MEM = 70 } }, 'NHN' },
  { 'smoothed CPU that reaches the threshold', { ema_alpha = 0.5 }, { { CPU = 70 }, { CPU = 100 } }, 'NH' },

  { 'memory within the hysteresis, then at its end', {}, { { MEM = 80 }, { MEM = 75.1 }, { MEM = 75 } }, 'HHN' },
  { 'CPU within the hysteresis, then at its end', {}, { { CPU = 85 }, { CPU = 80.1 }, { CPU = 80 } }, 'HHN' },
  { 'GPU memory within the hysteresis, then at its end', {},
    { { GPU_USED = 8500 }, { GPU_USED = 8001 }, { GPU_USED = 8000 } }, 'HHN' },
  { 'a GPU that goes while it holds HIGH', {}, { { GPU_USED = 8500 }, { GPU_USED = 8400 }, calm }, 'HHN' },
  { 'CPU within the hysteresis after high memory', {}, { { MEM = 80 }, { CPU = 84 } }, 'HH' },
  { 'no hysteresis', { mode_hysteresis_pct = 0 }, { { MEM = 80 }, { MEM = 79.9 } }, 'HN' },
  { 'memory within the hysteresis after NORMAL', {}, { { MEM = 79 }, { MEM = 79 } }, 'NN' },
  { 'CPU within the hysteresis after NORMAL', {}, { { CPU = 84 }, { CPU = 84 } }, 'NN' },
  { 'GPU memory within the hysteresis after NORMAL', {}, { { GPU_USED = 8400 }, { GPU_USED = 8400 } }, 'NN' },
  { 'memory within the hysteresis after EMERGENCY', {}, { hot, { MEM = 79 } }, 'EN' },
  { 'CPU within the hysteresis after EMERGENCY', {}, { hot, { CPU = 84 } }, 'EN' },
  { 'GPU memory within the hysteresis after EMERGENCY', {}, { hot, { GPU_USED = 8400 } }, 'EN' },
}

describe('the mode with', function()
  before_each(function() fcall('lockless_register', 'n1', 100) end)

  for _, row in ipairs(modes) do
    local name, settings, samples, wanted = row[1], row[2], row[3], row[4]
    it(name .. ' is ' .. wanted, function()
      configure({ ema_alpha = 1, emergency_cooldown_ticks = 0 })
      configure(settings)
      local seen = ''
      for _, sample in ipairs(samples) do seen = seen .. tick(sample).mode:sub(1, 1) end
      expect(seen):equals(wanted)
    end)
  end

  it('the settings it comes with is held by a cooldown of 3', function()
    local seen = ''
    for _, sample in ipairs({ calm, hot, calm, calm, calm, calm }) do seen = seen .. tick(sample).mode:sub(1, 1) end
    expect(seen):equals('NEEEEN')
  end)

  it('a new instance of the node starts anew, and so do the averages', function()
    tick(hot)
    expect(tick().mode):equals('EMERGENCY')
    fcall('lockless_register', 'n1', 100, 'INSTANCE', 'b')
    expect(tick({ MEM = 79 }).mode):equals('NORMAL')
    expect(tonumber(redis('HGET', R .. ':node:admission:n1', 'mem'))):equals(79)
    expect(fcall('lockless_node', 'n1')):has('emergency_ticks', 2)
  end)
end)

-- Settings, a sample, and the mode, target and budget it gives.
local budgets = {
  { { max_workers = 7, max_start_per_tick_normal = 3 }, calm, 'NORMAL', 7, 3 },
  { { max_workers = 7, max_start_per_tick_high = 2 }, { MEM = 80 }, 'HIGH', 3, 2 },
  { { max_workers = 8 }, { MEM = 80 }, 'HIGH', 4, 1 },
  { { max_workers = 5, min_workers = 4 }, { MEM = 80 }, 'HIGH', 4, 1 },
  { { max_workers = 8, min_workers = 4 }, { MEM = 80 }, 'HIGH', 4, 1 },
  { { max_workers = 1, min_workers = 0 }, { MEM = 80 }, 'HIGH', 0, 1 },
  { { max_workers = 1, min_workers = 1 }, { MEM = 80 }, 'HIGH', 1, 1 },
  { { max_workers = 2, min_workers = 9, max_start_per_tick_normal = 9 }, calm, 'NORMAL', 2, 9 },
  { { max_workers = 9, min_workers = 9, max_start_per_tick_high = 9 }, hot, 'EMERGENCY', 0, 0 },
  { { max_start_per_tick_normal = 0 }, calm, 'NORMAL', 4, 0 },
}

describe('target and budget', function()
  before_each(function()
    fcall('lockless_register', 'n1', 100)
    fcall('lockless_config', 'ema_alpha', 1)
  end)

  for i, row in ipairs(budgets) do
    local settings, sample, mode, target, budget = unpack(row)
    it('in ' .. mode .. ' of row ' .. i .. ' are ' .. target .. ' and ' .. budget .. ', and are kept', function()
      configure(settings)
      for n = 1, 12 do submit('j' .. n, 'PRIORITY', 0) end
      local started = 0
      for turn = 1, 12 do
        local reply = tick(sample)
        expect(reply):has('mode', mode):has('target_workers', target):has('start_budget', budget):has('blocked', {})
        started = started + #reply.start
        expect(#reply.start):is_at_most(budget)
        if turn == 1 then expect(#reply.start):equals(math.min(target, budget)) end
      end
      expect(started):equals(budget > 0 and math.min(12, target) or 0)
    end)
  end

  it('count what was pushed, and stay within the slots that others leave', function()
    configure({ max_workers = 3, max_start_per_tick_normal = 10 })
    fcall('lockless_dispatch', 's', '-', '-', 'p')
    for n = 1, 9 do submit('j' .. n) end
    expect(#tick().start):equals(2)
    fcall('lockless_config', 'max_workers', 100)
    fcall('lockless_heartbeat', 'n1', 'FOREIGN', 95)
    expect(#tick().start):equals(2)
  end)
end)

local MEMORY, CPU = 'projected memory emergency', 'projected cpu hard limit'
local PRIORITY, GPU = 'high mode blocks low-priority task', 'projected gpu memory emergency'
local half = { ema_alpha = 0.5 }

-- Name, settings, samples (the last one is that of the tick), what the job says, and why it is not started (nil: it is).
local refusals = {
  { 'memory that would reach the threshold', {}, { calm }, { MEM_MB = 6688 }, MEMORY },
  { 'memory that would stay just below it', {}, { calm }, { MEM_MB = 6687 } },
  { 'memory that would reach it without a reserve', { reserve_memory_mb = 0 }, { calm }, { MEM_MB = 7200 }, MEMORY },
  { 'memory that would stay below it without a reserve', { reserve_memory_mb = 0 }, { calm }, { MEM_MB = 7199 } },
  { 'smoothed memory that would reach it', half, { calm, { USED = 4000 } }, { MEM_MB = 5688 }, MEMORY },
  { 'smoothed memory that would stay below it', half, { calm, { USED = 4000 } }, { MEM_MB = 5687 } },
  { 'memory of a machine that shrank', half, { calm, { TOTAL = 5000 } }, { MEM_MB = 2088 }, MEMORY },
  { 'no memory at all where it would fit', {}, { calm }, {} },
  { 'CPU that would reach the hard limit', {}, { calm }, { CPU = 85 }, CPU },
  { 'CPU that would stay just below it', {}, { calm }, { CPU = 84.9 } },
  { 'smoothed CPU that would reach it', half, { calm, { CPU = 30 } }, { CPU = 75 }, CPU },
  { 'smoothed CPU that would stay below it', half, { calm, { CPU = 30 } }, { CPU = 74.9 } },
  { 'CPU below a hard limit over 100', { cpu_hard_pct = 150 }, { calm }, { CPU = 100 } },
  { 'a priority past the cut-off in HIGH', {}, { { CPU = 85 } }, { PRIORITY = 6 }, PRIORITY },
  { 'a priority at the cut-off in HIGH', {}, { { CPU = 85 } }, { PRIORITY = 5 } },
  { 'a priority past another cut-off in HIGH', { high_mode_priority_cutoff = 0 }, { { CPU = 85 } }, { PRIORITY = 1 },
    PRIORITY },
  { 'any priority in NORMAL', {}, { calm }, { PRIORITY = 1000 } },
  { 'GPU memory that would reach the threshold', {}, { { GPU_USED = 1000 } }, { GPU_MB = 8500 }, GPU },
  { 'GPU memory that would stay just below it', {}, { { GPU_USED = 1000 } }, { GPU_MB = 8499 } },
  { 'smoothed GPU memory that would reach it', half, { { GPU_USED = 1000 }, { GPU_USED = 3000 } }, { GPU_MB = 7500 }, GPU },
  { 'smoothed GPU memory that would stay below it', half, { { GPU_USED = 1000 }, { GPU_USED = 3000 } }, { GPU_MB = 7499 } },
  { 'any GPU memory without the guard', { enable_gpu_guard = 'false' }, { { GPU_USED = 1000 } }, { GPU_MB = 90000 } },
  { 'any GPU memory without a GPU', {}, { calm }, { GPU_MB = 90000 } },
  { 'some GPU memory while the smoothed one is over the threshold', { ema_alpha = 0.1 },
    { { GPU_USED = 9900 }, { GPU_USED = 9400 } }, { GPU_MB = 1 }, GPU },
  { 'no GPU memory while the smoothed one is over the threshold', { ema_alpha = 0.1 },
    { { GPU_USED = 9900 }, { GPU_USED = 9400 } }, { GPU_MB = 0 } },
  { 'everything too much', {}, { { CPU = 85, GPU_USED = 1000 } },
    { MEM_MB = 9000, CPU = 90, PRIORITY = 9, GPU_MB = 9000 }, MEMORY },
  { 'all but memory too much', {}, { { CPU = 85, GPU_USED = 1000 } }, { CPU = 90, PRIORITY = 9, GPU_MB = 9000 }, CPU },
  { 'priority and GPU memory too much', {}, { { CPU = 85, GPU_USED = 1000 } }, { PRIORITY = 9, GPU_MB = 9000 }, PRIORITY },
}

describe('a job with', function()
  before_each(function() fcall('lockless_register', 'n1', 100) end)

  for _, row in ipairs(refusals) do
    local name, settings, samples, job, reason = unpack(row, 1, 5)
    it(name .. (reason and ' is refused' or ' is started'), function()
      configure({ ema_alpha = 1, emergency_cooldown_ticks = 0 })
      configure(settings)
      for i = 1, #samples - 1 do tick(samples[i]) end
      local args = {}
      for option, value in pairs(job) do
        args[#args + 1] = option
        args[#args + 1] = value
      end
      submit('j', unpack(args))
      local reply = tick(samples[#samples])
      expect(reply.blocked):equals(reason and { { 'j', reason } } or {})
      expect(reply.start):equals(reason and {} or { 'j' })
      expect(fcall('lockless_job', 'j')):has('status', reason and 'pending' or 'running')
      is_sound()
    end)
  end

  it('nothing to say is not even looked at in an emergency', function()
    submit('j')
    expect(tick(hot)):has('start', {}):has('blocked', {})
    expect(fcall('lockless_stats')):has('blocked_total', 0)
  end)
end)
