-- The dynamic scheduler's decisions, without any command: how loaded a node is, and what it may start for that. A sample is
-- mem, swap and cpu in percent, used_mb, total_mb and avail_mb, and with a GPU gpu_used_mb, gpu_total_mb and gpu (its
-- memory in percent). cfg(name) is the value of a setting.

local admission = {}

admission.NORMAL, admission.HIGH, admission.EMERGENCY = 'NORMAL', 'HIGH', 'EMERGENCY'

-- What is smoothed; total_mb, avail_mb and gpu_total_mb are taken as they are.
admission.SMOOTHED = { 'mem', 'used_mb', 'swap', 'cpu', 'gpu_used_mb', 'gpu' }

-- An exponential moving average; the first sample as it is, and so is one after a time without (a GPU that went and came).
function admission.smooth(raw, before, alpha)
  local out = { total_mb = raw.total_mb, avail_mb = raw.avail_mb, gpu_total_mb = raw.gpu_total_mb }
  for _, name in ipairs(admission.SMOOTHED) do
    local value, last = raw[name], before[name]
    out[name] = value and last and alpha * value + (1 - alpha) * last or value
  end
  return out
end

local function is_emergency(raw, cfg)
  return raw.mem >= cfg('memory_emergency_pct') or raw.swap >= cfg('swap_emergency_pct') or
    raw.avail_mb <= cfg('reserve_memory_mb') or
    (cfg('enable_gpu_guard') == 'true' and raw.gpu ~= nil and raw.gpu >= cfg('gpu_memory_emergency_pct'))
end

-- The mode, and for how many ticks an emergency goes on without a cause.
function admission.mode(raw, smooth, cfg, previous, cooldown)
  if is_emergency(raw, cfg) then return admission.EMERGENCY, cfg('emergency_cooldown_ticks') end
  if previous == admission.EMERGENCY and cooldown > 0 then return admission.EMERGENCY, cooldown - 1 end

  local sees_gpu = cfg('enable_gpu_guard') == 'true' and smooth.gpu ~= nil
  if smooth.mem >= cfg('memory_high_pct') or smooth.cpu >= cfg('cpu_high_pct') or
    (sees_gpu and smooth.gpu >= cfg('gpu_memory_high_pct')) then
    return admission.HIGH, cooldown
  end
  local slack = cfg('mode_hysteresis_pct')
  if previous == admission.HIGH and (smooth.mem > cfg('memory_high_pct') - slack or
    smooth.cpu > cfg('cpu_high_pct') - slack or (sees_gpu and smooth.gpu > cfg('gpu_memory_high_pct') - slack)) then
    return admission.HIGH, cooldown
  end
  return admission.NORMAL, cooldown
end

function admission.target_workers(mode, cfg)
  if mode == admission.NORMAL then return cfg('max_workers') end
  if mode == admission.HIGH then return math.max(cfg('min_workers'), math.floor(cfg('max_workers') / 2)) end
  return 0
end

function admission.start_budget(mode, cfg)
  if mode == admission.NORMAL then return cfg('max_start_per_tick_normal') end
  if mode == admission.HIGH then return cfg('max_start_per_tick_high') end
  return 0
end

-- Why a task may not be started, as the number of its reason; the words are part of the contract.
admission.REASONS = {
  'emergency mode',
  'projected memory emergency',
  'projected cpu hard limit',
  'high mode blocks low-priority task',
  'projected gpu memory emergency',
}

-- nil when a task may be started, else the number of the reason. `running` is the load estimated for all that runs, with
-- what this tick has started so far; `planned` the load of the latter alone. In a dry run nothing that was started shows in the
-- sample, so all of it is added; else only what the sample can't show yet.
function admission.refusal(task, sample, mode, cfg, running, planned)
  if mode == admission.EMERGENCY then return 1 end
  local unseen = cfg('dry_run') == 'true' and running or planned
  local mem_mb = sample.used_mb + unseen.mem_mb + task.mem_mb + cfg('reserve_memory_mb')
  if 100 * mem_mb / sample.total_mb >= cfg('memory_emergency_pct') then return 2 end
  if sample.cpu + unseen.cpu + task.cpu >= cfg('cpu_hard_pct') then return 3 end
  if mode == admission.HIGH and task.priority > cfg('high_mode_priority_cutoff') then return 4 end
  if cfg('enable_gpu_guard') == 'true' and sample.gpu_total_mb and task.gpu_mb > 0 then
    local gpu_mb = sample.gpu_used_mb + unseen.gpu_mb + task.gpu_mb
    if 100 * gpu_mb / sample.gpu_total_mb >= cfg('gpu_memory_emergency_pct') then return 5 end
  end
end

-- How much memory an emergency has to free.
function admission.reclaim_mb(sample, cfg)
  return math.max(0, sample.used_mb + cfg('reserve_memory_mb') - sample.total_mb * cfg('memory_high_pct') / 100)
end

return admission
