-- The settings of a cell. Only what differs from the defaults is stored; R.configured says whether anything does,
-- so that a cell with default settings pays nothing for them.

local config = {}

local function whole(default, min, max)
  return { default = default, min = min, max = max, whole = true }
end
local function number(default, min, max)
  return { default = default, min = min, max = max }
end
local function choice(default, ...)
  return { default = default, values = { ... } }
end

-- In the order of the reply.
config.names = {
  'heartbeat_ttl_ms', 'forget_node_ms', 'reserve_ttl_ms', 'job_ttl_ms', 'keep_finished_ms', 'session_ttl_ms',
  'resource_threshold_pct', 'max_jobs_default', 'payload_max_bytes', 'claim_policy', 'cpu_weight', 'mem_weight',
  'model_window_ms', 'events', 'events_max', 'memory_emergency_pct', 'swap_emergency_pct', 'reserve_memory_mb',
  'gpu_memory_emergency_pct', 'enable_gpu_guard', 'emergency_cooldown_ticks', 'memory_high_pct', 'cpu_high_pct',
  'gpu_memory_high_pct', 'mode_hysteresis_pct', 'max_workers', 'min_workers', 'max_start_per_tick_normal',
  'max_start_per_tick_high', 'cpu_hard_pct', 'high_mode_priority_cutoff', 'preempt_count_per_tick', 'ema_alpha',
  'dry_run',
}

local WEEK_MS = 604800000

config.settings = {
  -- At most half of cell.HORIZON_MS: see there.
  heartbeat_ttl_ms = whole(30000, 100, 1800000),
  forget_node_ms = whole(86400000, 100, 31536000000),
  reserve_ttl_ms = whole(5000, 1, WEEK_MS),
  job_ttl_ms = whole(3600000, 1, WEEK_MS),
  keep_finished_ms = whole(600000, 100, 31536000000),
  session_ttl_ms = whole(1800000, 100, 31536000000),
  resource_threshold_pct = number(90, 0, 100),
  max_jobs_default = whole(4, 1, 100000),
  payload_max_bytes = whole(65536, 1, 1048576),
  claim_policy = choice('deployment_count', 'deployment_count', 'resource_usage'),
  cpu_weight = number(0.5, 0, 1000000),
  mem_weight = number(0.5, 0, 1000000),
  model_window_ms = whole(5000, 100, 86400000),
  events = choice('lifecycle', 'lifecycle', 'all'),
  events_max = whole(10000, 1, 1000000),
  memory_emergency_pct = number(92, 0, 100),
  swap_emergency_pct = number(60, 0, 100),
  reserve_memory_mb = whole(512, 0, 1000000000),
  gpu_memory_emergency_pct = number(95, 0, 100),
  enable_gpu_guard = choice('true', 'true', 'false'),
  emergency_cooldown_ticks = whole(3, 0, 1000),
  memory_high_pct = number(80, 0, 100),
  cpu_high_pct = number(85, 0, 100),
  gpu_memory_high_pct = number(85, 0, 100),
  mode_hysteresis_pct = number(5, 0, 100),
  max_workers = whole(4, 1, 100000),
  min_workers = whole(1, 0, 100000),
  max_start_per_tick_normal = whole(2, 0, 1000),
  max_start_per_tick_high = whole(1, 0, 1000),
  cpu_hard_pct = number(95, 0, 1000),
  high_mode_priority_cutoff = whole(5, 0, 1000000),
  preempt_count_per_tick = whole(1, 0, 1000),
  ema_alpha = number(0.3, 0, 1),
  dry_run = choice('false', 'true', 'false'),
}

-- What a setting takes, in words.
local function takes(setting)
  if setting.values then return 'one of ' .. table.concat(setting.values, ', ') end
  return (setting.whole and 'a whole number' or 'a number') .. ' from ' .. string.format('%.14g', setting.min) ..
    ' to ' .. string.format('%.14g', setting.max)
end

-- The value as it is stored, or the end of the call.
function config.checked(name, value)
  local setting = config.settings[name]
  if not setting then
    errors.bad_argument('a setting', 'one of ' .. table.concat(config.names, ', '), name)
  end
  if setting.values then
    for _, word in ipairs(setting.values) do
      if word == value then return value end
    end
  elseif #value <= 32 and value:find(setting.whole and '^%d+$' or '^%d+%.?%d*$') then
    local given = tonumber(value)
    if given >= setting.min and given <= setting.max then return string.format('%.14g', given) end
  end
  errors.bad_argument(name, takes(setting), value)
end

-- What the cell stores of a setting, or false.
function config.stored(c, name)
  if not c.configured then return false end
  if not c.config then
    c.config = {}
    local flat = redis.call('HGETALL', keys.config(c.root))
    -- There are settings, but not here: see cell.guard.
    if not flat[1] and not c.guarded then redis.call('EXISTS', c.root, keys.none(c.root)) end
    for i = 1, #flat, 2 do c.config[flat[i]] = flat[i + 1] end
  end
  return c.config[name] or false
end

-- The value in force: a number, or a word for a choice.
function config.value(c, name)
  local setting = config.settings[name]
  if not c.configured then return setting.default end
  local stored = config.stored(c, name)
  if not stored then return setting.default end
  return setting.values and stored or tonumber(stored)
end

return config
