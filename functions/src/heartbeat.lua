-- lockless_heartbeat node [ONLINE true|false] [JOBS n] [FOREIGN n] [CPU pct] [GPU pct] [MEM pct] [MEM_MB mb]
--   [LABEL l]* [CAPS json]
--
-- Presence for heartbeat_ttl_ms, load and resource use. An absent option keeps its last value.
--
-- Reply:  fields state, held, foreign, stop
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  9 (1 less with CPU, GPU and MEM; 1 more with holds, 1 with JOBS, 2 when its place in the ready index changes)

-- Whether any resource is over the cell's threshold: what is reported now, else what was reported last.
local function over_threshold(c, node, arg)
  local cpu, gpu, mem = arg.cpu, arg.gpu, arg.mem
  if not (cpu and gpu and mem) then
    local last = redis.call('HMGET', keys.runtime(c.root, node), 'cpu', 'gpu', 'mem')
    cpu, gpu, mem = cpu or tonumber(last[1]), gpu or tonumber(last[2]), mem or tonumber(last[3])
  end
  local threshold = config.value(c, 'resource_threshold_pct')
  return cpu > threshold or gpu > threshold or mem > threshold
end

-- Work on the node that is not ours: as it says, else what its total has beyond the holds that may be running.
local function foreign_of(c, node, arg, rt, held)
  if arg.foreign then return arg.foreign end
  if not arg.jobs then return rt.foreign end
  local running = 0
  if held > 0 then running = redis.call('ZCOUNT', keys.slots(c.root, node), '10000000000000', holds.STOPPING_TEXT) end
  return math.max(0, arg.jobs - running)
end

local OPTIONS = { 'cpu', 'gpu', 'mem', 'mem_mb' }

local function heartbeat(root, arg)
  local call = redis.call
  local c = cell.open(root)
  settle.first(c)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local runtime = keys.runtime(root, node)
  local held = nodes.held(c, node)
  local stop = held > 0 and holds.to_stop(c, node) or {}

  local foreign = foreign_of(c, node, arg, rt, held)
  local flags = rt.flags
  if arg.online then flags = nodes.set_flag(flags, 'o', arg.online == 'false') end
  flags = nodes.set_flag(flags, 'b', over_threshold(c, node, arg))

  local plan
  if arg.labels then
    local desc = nodes.description(c, node, rt)
    desc.labels = classes.joined(arg.labels)
    plan = classes.plan(c, desc)
  end

  -- first write
  if plan then
    nodes.change_labels(c, node, rt, plan, flags, held + foreign)
  elseif flags ~= rt.flags or foreign ~= rt.foreign then
    ready.place(c, rt.class, node, flags, held + foreign)
  end
  if arg.caps then call('HSET', keys.info(root, node), 'cap_json', arg.caps) end

  local until_ms = c.now + config.value(c, 'heartbeat_ttl_ms')
  local written = { 'flags', flags, 'foreign', foreign, 'until', string.format('%d', until_ms), 'seen', c.now_text }
  local function set(field, value)
    written[#written + 1] = field
    written[#written + 1] = value
  end
  if plan then set('class', plan.class) end
  if arg.jobs then set('reported', arg.jobs) end
  for _, name in ipairs(OPTIONS) do
    if arg[name] then set(name, string.format('%.14g', arg[name])) end
  end
  local scan_ms = holds.promote_deadlines(c, node, rt)
  if scan_ms ~= rt.scan_ms then set('scan', string.format('%d', scan_ms)) end
  call('HSET', runtime, unpack(written))
  cell.due_at(c, 'n' .. node, until_ms)
  cell.touch(c)

  rt.flags, rt.foreign, rt.class = flags, foreign, plan and plan.class or rt.class
  return { 'state', nodes.state(rt, held), 'held', held, 'foreign', foreign, 'stop', stop }
end

return heartbeat
