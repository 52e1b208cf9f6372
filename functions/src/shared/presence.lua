-- A node's sign of life: how long it counts as present, its load and its use of resources.

local presence = {}

-- Whether any resource is over the cell's threshold: what is reported now, else what was reported last.
local function over_threshold(c, node, said)
  local cpu, gpu, mem = said.cpu, said.gpu, said.mem
  if not (cpu and gpu and mem) then
    local last = redis.call('HMGET', keys.runtime(c.root, node), 'cpu', 'gpu', 'mem')
    cpu, gpu, mem = cpu or tonumber(last[1]) or 0, gpu or tonumber(last[2]) or -1, mem or tonumber(last[3]) or 0
  end
  local threshold = config.value(c, 'resource_threshold_pct')
  return cpu > threshold or gpu > threshold or mem > threshold
end

-- Work on the node that is not ours: as it says, else what its total has beyond the holds that may be running.
local function foreign_of(c, node, said, rt, held)
  if said.foreign then return said.foreign end
  if not said.jobs then return rt.foreign end
  local running = 0
  if held > 0 then running = redis.call('ZCOUNT', keys.slots(c.root, node), '10000000000000', holds.STOPPING_TEXT) end
  return math.max(0, said.jobs - running)
end

local USE = { 'cpu', 'gpu', 'mem', 'mem_mb' }

-- Writes what a node says (online, jobs, foreign, cpu, gpu, mem, mem_mb, labels, caps; what it does not say stays as it was)
-- and updates its runtime `rt`.
function presence.note(c, node, rt, said, held)
  local call = redis.call
  local root = c.root
  local foreign = foreign_of(c, node, said, rt, held)
  local flags = rt.flags
  if said.online then flags = nodes.set_flag(flags, 'o', said.online == 'false') end
  flags = nodes.set_flag(flags, 'b', over_threshold(c, node, said))

  local plan
  if said.labels then
    local desc = nodes.description(c, node, rt)
    desc.labels = classes.joined(said.labels)
    plan = classes.plan(c, desc)
  end

  -- first write
  if plan then
    nodes.change_labels(c, node, rt, plan, held + foreign)
  elseif flags ~= rt.flags or foreign ~= rt.foreign then
    ready.place(c, rt.class, node, flags, held + foreign)
  end
  if said.caps then call('HSET', keys.info(root, node), 'cap_json', said.caps) end

  local until_ms = c.now + config.value(c, 'heartbeat_ttl_ms')
  local written = { 'flags', flags, 'foreign', foreign == 0 and '0' or foreign, 'until', string.format('%d', until_ms), 'seen',
    c.now_text }
  local function set(field, value)
    written[#written + 1] = field
    written[#written + 1] = value
  end
  if plan then set('class', plan.class) end
  if said.jobs then set('reported', said.jobs) end
  for _, name in ipairs(USE) do
    if said[name] then set(name, string.format('%.14g', said[name])) end
  end
  local scan_ms = holds.promote_deadlines(c, node, rt)
  if scan_ms ~= rt.scan_ms then set('scan', string.format('%d', scan_ms)) end
  call('HSET', keys.runtime(root, node), unpack(written))
  if plan then ready.place(c, plan.class, node, flags, held + foreign) end
  if flags ~= rt.flags or said.cpu or said.mem_mb then claims.place(c, node, flags) end
  cell.due_at(c, 'n' .. node, until_ms)
  cell.touch(c)

  rt.flags, rt.foreign, rt.class = flags, foreign, plan and plan.class or rt.class
end

return presence
