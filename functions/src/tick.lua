-- lockless_tick node MEM pct USED mb TOTAL mb AVAIL mb SWAP pct CPU pct [GPU_USED mb GPU_TOTAL mb] [REQUEST id]
--
-- A heartbeat and one turn of the dynamic scheduler for a node: smooths the sample, decides how loaded the node is, and
-- chooses what it stops and what it starts. The node's last REQUEST gives what it gave then and changes nothing.
--
-- Reply:  fields mode, target_workers, start_budget, stop, start, blocked
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  21 with nothing to start or stop, 19 more per job started, 2 per job blocked, 5 per job asked to stop

local STATE = { 'mode', 'cooldown', 'request', 'blocked', 'emergencies' }

local function validate(arg)
  if (arg.gpu_used_mb == nil) ~= (arg.gpu_total_mb == nil) then
    errors.fail('BAD_ARGUMENT', 'GPU_USED and GPU_TOTAL take a number each, given only one of them')
  end
  if arg.gpu_used_mb then arg.gpu = 100 * arg.gpu_used_mb / arg.gpu_total_mb end
end

-- What is known of the node from the tick before.
local function read(c, node)
  local key = keys.admission(c.root, node)
  local values = redis.call('HMGET', key, unpack(STATE))
  local state = { mode = values[1] or admission.NORMAL, cooldown = tonumber(values[2] or '0'), request = values[3],
    blocked = tonumber(values[4] or '0'), emergencies = tonumber(values[5] or '0'), before = {} }
  values = redis.call('HMGET', key, unpack(admission.SMOOTHED))
  for i, name in ipairs(admission.SMOOTHED) do state.before[name] = tonumber(values[i] or nil) end
  return state
end

-- What is to make room: jobs in their order, until enough memory would be free. What was asked before and goes on counts.
local function choose_stops(c, node, smooth, cfg)
  local target_mb = admission.reclaim_mb(smooth, cfg)
  local asked, reclaimed_mb = work.asked(c, node)
  local chosen = {}
  if asked > 0 and reclaimed_mb >= target_mb then return chosen end
  for _, candidate in ipairs(work.candidates(c, node, cfg('preempt_count_per_tick'))) do
    chosen[#chosen + 1] = candidate.job
    reclaimed_mb = reclaimed_mb + candidate.mem_mb
    if reclaimed_mb >= target_mb then break end
  end
  return chosen
end

-- What is started, and what is not and why: { job, number of the reason, ... }.
local function choose_starts(c, node, rt, decided, smooth, cfg)
  local held = nodes.held(c, node)
  local room = math.min(intake.room(rt, held, false), decided.budget, decided.target - holds.of_jobs(c, node))
  local planned, blocked = {}, {}
  if room <= 0 then return planned, blocked end
  local none = { mem_mb = 0, cpu = 0, gpu_mb = 0 }
  local running = cfg('dry_run') == 'true' and work.load(c, node) or none
  local added = { mem_mb = 0, cpu = 0, gpu_mb = 0 }
  local function sum(a, b)
    return { mem_mb = a.mem_mb + b.mem_mb, cpu = a.cpu + b.cpu, gpu_mb = a.gpu_mb + b.gpu_mb }
  end
  intake.each(c, node, rt, cfg('tick_scan_limit'), function(job, rec)
    local q = rec.q
    local task = { priority = q.priority, mem_mb = q.mem_mb, cpu = tonumber(q.cpu), gpu_mb = q.gpu_mb }
    local reason = admission.refusal(task, smooth, decided.mode, cfg, sum(running, added), added)
    if reason then
      blocked[#blocked + 1] = job
      blocked[#blocked + 1] = string.format('%d', reason)
    else
      planned[#planned + 1] = intake.plan(c, job, rec)
      added = sum(added, task)
    end
    return #planned >= room
  end)
  return planned, blocked
end

-- Has a job make room.
local function ask(c, node, job)
  local score = holds.score(c, node, job)
  if not score or score < holds.RUNNING or score >= holds.ASKED then return end
  local rec = tries.record(c, job)
  local _, deadline = holds.state(score)
  work.ask(c, node, job, rec.q, jobs.started(rec, score))
  redis.call('ZADD', keys.slots(c.root, node), 'XX', holds.text(holds.ASKED, deadline), 'j' .. job)
end

-- A counter of the cell, by its value after this call.
local function count(c, name, value)
  if value > tonumber(redis.call('HGET', c.root, name) or '0') then
    redis.call('HSET', c.root, name, string.format('%d', value))
  end
end

local function reply(decided, stop, items, blocked)
  local out = {}
  for i = 1, #blocked, 2 do out[#out + 1] = { blocked[i], admission.REASONS[tonumber(blocked[i + 1])] } end
  return { 'mode', decided.mode, 'target_workers', decided.target, 'start_budget', decided.budget, 'stop', stop, 'start',
    items, 'blocked', out }
end

-- A tick as it is kept: "id incarnation mode target budget blocked emergencies", what was started, what was to be stopped,
-- what was asked to stop, what was blocked, a line each.
local function line(arg, rt, decided, started, stop, asked, blocked)
  local first = { arg.request, rt.incarnation, decided.mode, string.format('%d %d %d %d', decided.target, decided.budget,
    decided.cell_blocked, decided.cell_emergencies) }
  return table.concat({ table.concat(first, ' '), table.concat(started, ' '), table.concat(stop, ' '),
    table.concat(asked, ' '), table.concat(blocked, ' ') }, '\n')
end

local function given_before(arg, rt, kept)
  if not arg.request or not kept then return nil end
  local first, started, stop, asked, blocked = kept:match('^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$')
  local id, incarnation, mode, target, budget, cell_blocked, cell_emergencies =
    first:match('^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  if id ~= arg.request or incarnation ~= rt.incarnation then return nil end
  return { mode = mode, target = tonumber(target), budget = tonumber(budget), cell_blocked = tonumber(cell_blocked),
    cell_emergencies = tonumber(cell_emergencies) }, classes.list(started), classes.list(stop), classes.list(asked),
    classes.list(blocked)
end

-- Makes sure that all of a tick was done.
local function carry_out(c, node, decided, asked)
  for _, job in ipairs(asked) do ask(c, node, job) end
  count(c, 'blocked', decided.cell_blocked)
  count(c, 'emergencies', decided.cell_emergencies)
end

local function tick(root, arg)
  local c = cell.open(root, 'deployments')
  settle.first(c)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local state = read(c, node)
  local decided, started, stop, asked, blocked = given_before(arg, rt, state.request)
  if decided then
    carry_out(c, node, decided, asked)
    return reply(decided, stop, intake.again(c, node, rt, started), blocked)
  end

  local function cfg(name) return config.value(c, name) end
  local smooth = admission.smooth(arg, state.before, cfg('ema_alpha'))
  local mode, cooldown = admission.mode(arg, smooth, cfg, state.mode, state.cooldown)
  decided = { mode = mode, target = admission.target_workers(mode, cfg), budget = admission.start_budget(mode, cfg) }
  local is_emergency = mode == admission.EMERGENCY and 1 or 0
  asked = is_emergency == 1 and choose_stops(c, node, smooth, cfg) or {}
  local planned
  planned, blocked = choose_starts(c, node, rt, decided, smooth, cfg)
  local r = redis.call('HMGET', root, 'blocked', 'emergencies')
  decided.cell_blocked = (r[1] or 0) + #blocked / 2
  decided.cell_emergencies = (r[2] or 0) + is_emergency
  stop = holds.to_stop(c, node)
  for _, job in ipairs(asked) do
    if #stop < 64 then stop[#stop + 1] = job end
  end

  -- first write
  presence.note(c, node, rt, { cpu = arg.cpu, mem = arg.mem, mem_mb = arg.used_mb,
    gpu = arg.gpu and math.min(100, arg.gpu) or -1 }, nodes.held(c, node))
  if mode ~= state.mode then events.write(c, 'node_mode', 'node', node, 'detail', state.mode .. ' -> ' .. mode) end
  local written = { 'mode', mode, 'cooldown', string.format('%d', cooldown),
    'blocked', string.format('%d', state.blocked + #blocked / 2),
    'emergencies', string.format('%d', state.emergencies + is_emergency),
    'request', arg.request and line(arg, rt, decided, intake.noted(planned), stop, asked, blocked) or '' }
  for _, name in ipairs(admission.SMOOTHED) do
    written[#written + 1] = name
    written[#written + 1] = smooth[name] and string.format('%.17g', smooth[name]) or ''
  end
  redis.call('HSET', keys.admission(root, node), unpack(written))
  carry_out(c, node, decided, asked)
  return reply(decided, stop, intake.start(c, node, rt, planned), blocked)
end

return tick, validate
