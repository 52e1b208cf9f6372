-- lockless_tick node MEM pct USED mb TOTAL mb AVAIL mb SWAP pct CPU pct [GPU_USED mb GPU_TOTAL mb] [REQUEST id]
--
-- A heartbeat and one turn of the dynamic scheduler for a node: smooths the sample, decides how loaded the node is, and
-- chooses what it stops and what it starts. The node's last REQUEST gives what it gave then and changes nothing.
--
-- Reply:  fields mode, target_workers, start_budget, stop, start, blocked
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  18 with nothing to start or stop, 16 more per job started, 2 per job blocked, 1 when any was, and per queue as for
--         pull; 17 in an emergency, 6 more per job asked to stop, 1 when any was

local STATE = { 'mode', 'cooldown', 'request', 'blocked', 'emergencies', 'counted', 'asking', 'incarnation' }

local function validate(arg)
  if arg.gpu_used_mb and not arg.gpu_total_mb then
    errors.fail('BAD_ARGUMENT', 'GPU_TOTAL is missing: it takes the memory of the GPU whose GPU_USED is given')
  elseif arg.gpu_total_mb and not arg.gpu_used_mb then
    errors.fail('BAD_ARGUMENT', 'GPU_USED is missing: it takes what is used of the GPU_TOTAL that is given')
  end
  if arg.gpu_used_mb then arg.gpu = 100 * arg.gpu_used_mb / arg.gpu_total_mb end
end

-- What is known of the node from the tick before. `counted` is the cell's numbers of blocked jobs and emergencies with that
-- tick, `asking` the jobs it has yet to ask: what an interrupted tick left undone. A new incarnation starts anew, except for
-- these and what is counted.
local function read(c, node, rt)
  local key = keys.admission(c.root, node)
  local values = redis.call('HMGET', key, unpack(STATE))
  local blocked, emergencies = (values[6] or '0 0'):match('^(%d+) (%d+)$')
  local state = { mode = admission.NORMAL, cooldown = 0, blocked = tonumber(values[4] or '0'),
    emergencies = tonumber(values[5] or '0'), before = {},
    counted = { blocked = tonumber(blocked), emergencies = tonumber(emergencies) }, asking = classes.list(values[7] or '') }
  if values[8] ~= rt.incarnation then return state end
  state.mode, state.cooldown, state.request = values[1], tonumber(values[2]), values[3]
  values = redis.call('HMGET', key, unpack(admission.SMOOTHED))
  for i, name in ipairs(admission.SMOOTHED) do state.before[name] = tonumber(values[i] or nil) end
  return state
end

-- What is to make room: jobs in their order, until enough memory would be free, and their records. What was asked before and goes on
-- counts; one whose record is damaged does not.
local function choose_stops(c, node, smooth, cfg)
  local target_mb = admission.reclaim_mb(smooth, cfg)
  local asked, reclaimed_mb = work.asked(c, node)
  local chosen, records = {}, {}
  if asked > 0 and reclaimed_mb >= target_mb then return chosen, records end
  for _, candidate in ipairs(work.candidates(c, node, cfg('preempt_count_per_tick'))) do
    local rec = tries.look(c, candidate.job)
    if rec and rec.q and not rec.is_damaged then
      chosen[#chosen + 1] = candidate.job
      records[candidate.job] = rec
      reclaimed_mb = reclaimed_mb + candidate.mem_mb
      if reclaimed_mb >= target_mb then break end
    end
  end
  return chosen, records
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
  intake.each(c, rt, cfg('tick_scan_limit'), function(job, rec)
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

-- Has these jobs make room, and notes that they were asked. Their records, where they were read.
local function ask(c, node, asking, records)
  if #asking == 0 then return end
  for _, job in ipairs(asking) do
    local score = holds.score(c, node, job)
    if score and holds.state(score) == 'running' then
      local rec = records[job] or tries.look(c, job)
      local _, deadline = holds.state(score)
      if rec and rec.q and not rec.is_damaged then
        work.ask(c, node, job, rec.q, jobs.started(rec, score))
        redis.call('ZADD', keys.slots(c.root, node), 'XX', holds.text(holds.ASKED, deadline), 'j' .. job)
      end
    end
  end
  redis.call('HSET', keys.admission(c.root, node), 'asking', '')
end

-- What the cell has counted, with what an interrupted tick of this node left out.
local function counted(c, state)
  local r = redis.call('HMGET', c.root, 'blocked', 'emergencies')
  local now = { blocked = tonumber(r[1] or '0'), emergencies = tonumber(r[2] or '0') }
  return { blocked = math.max(now.blocked, state.counted.blocked),
    emergencies = math.max(now.emergencies, state.counted.emergencies) }, now
end

local function count(c, numbers, now)
  if numbers.blocked == now.blocked and numbers.emergencies == now.emergencies then return end
  redis.call('HSET', c.root, 'blocked', string.format('%d', numbers.blocked), 'emergencies',
    string.format('%d', numbers.emergencies))
end

local function reply(decided, stop, items, blocked)
  local out = {}
  for i = 1, #blocked, 2 do out[#out + 1] = { blocked[i], admission.REASONS[tonumber(blocked[i + 1])] } end
  return { 'mode', decided.mode, 'target_workers', decided.target, 'start_budget', decided.budget, 'stop', stop, 'start',
    items, 'blocked', out }
end

-- A tick as it is kept: "id incarnation mode target budget", what was started, what was to be stopped, what was blocked, a
-- line each.
local function line(arg, rt, decided, started, stop, blocked)
  local first = { arg.request, rt.incarnation, decided.mode, string.format('%d %d', decided.target, decided.budget) }
  return table.concat({ table.concat(first, ' '), table.concat(started, ' '), table.concat(stop, ' '),
    table.concat(blocked, ' ') }, '\n')
end

local function given_before(arg, rt, kept)
  if not arg.request or not kept or kept == '' then return nil end
  local first, started, stop, blocked = kept:match('^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$')
  local id, incarnation, mode, target, budget = first:match('^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  if id ~= arg.request or incarnation ~= rt.incarnation then return nil end
  return { mode = mode, target = tonumber(target), budget = tonumber(budget) }, classes.list(started), classes.list(stop),
    classes.list(blocked)
end

local function tick(root, arg)
  local c = cell.open(root, 'deployments')
  settle.first(c)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local state = read(c, node, rt)
  ask(c, node, state.asking, {})
  local numbers, counted_now = counted(c, state)
  local decided, started, stop, blocked = given_before(arg, rt, state.request)
  if decided then
    count(c, numbers, counted_now)
    return reply(decided, stop, intake.again(c, node, rt, started), blocked)
  end

  local function cfg(name) return config.value(c, name) end
  local smooth = admission.smooth(arg, state.before, cfg('ema_alpha'))
  local mode, cooldown = admission.mode(arg, smooth, cfg, state.mode, state.cooldown)
  decided = { mode = mode, target = admission.target_workers(mode, cfg), budget = admission.start_budget(mode, cfg) }
  local is_emergency = mode == admission.EMERGENCY and 1 or 0
  local asked, records = {}, {}
  if is_emergency == 1 then asked, records = choose_stops(c, node, smooth, cfg) end
  local planned
  planned, blocked = choose_starts(c, node, rt, decided, smooth, cfg)
  numbers = { blocked = numbers.blocked + #blocked / 2, emergencies = numbers.emergencies + is_emergency }
  stop = holds.to_stop(c, node)
  for _, job in ipairs(asked) do
    if #stop < 64 then stop[#stop + 1] = job end
  end

  -- first write
  presence.note(c, node, rt, { cpu = arg.cpu, mem = arg.mem, mem_mb = arg.used_mb,
    gpu = arg.gpu and math.min(100, arg.gpu) or -1 }, nodes.held(c, node))
  if mode ~= state.mode then events.write(c, 'node_mode', 'node', node, 'detail', state.mode .. ' -> ' .. mode) end
  local written = { 'incarnation', rt.incarnation, 'mode', mode, 'cooldown', string.format('%d', cooldown),
    'blocked', string.format('%d', state.blocked + #blocked / 2),
    'emergencies', string.format('%d', state.emergencies + is_emergency),
    'request', arg.request and line(arg, rt, decided, intake.noted(planned), stop, blocked) or '',
    'counted', string.format('%d %d', numbers.blocked, numbers.emergencies), 'asking', table.concat(asked, ' ') }
  for _, name in ipairs(admission.SMOOTHED) do
    written[#written + 1] = name
    written[#written + 1] = smooth[name] and string.format('%.17g', smooth[name]) or ''
  end
  redis.call('HSET', keys.admission(root, node), unpack(written))
  count(c, numbers, counted_now)
  ask(c, node, asked, records)
  return reply(decided, stop, intake.start(c, node, rt, planned), blocked)
end

return tick, validate
