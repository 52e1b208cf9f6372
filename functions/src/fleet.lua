-- lockless_fleet cursor count
--
-- A page of nodes in the order of their ids, each with what a dashboard shows of it.
--
-- Reply:  [next cursor, [[node_id, state, max_jobs, held, foreign, cpu, gpu, mem, mode, region, pools], ...]]; the cursor is 0
--         after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  8 with one node, 3 more per further node, 1 per further class of them (1 more when something is overdue)

local function validate(arg)
  if arg.cursor ~= '0' and arg.cursor:sub(1, 1) ~= ':' then pages.bad_cursor(arg.cursor) end
end

-- The fields of a runtime that nodes.state takes, and the load; nil when the node has gone meanwhile.
local function read(c, node, is_due)
  local f = redis.call('HMGET', keys.runtime(c.root, node), 'class', 'flags', 'foreign', 'until', 'cpu', 'gpu', 'mem')
  if not f[1] then return nil end
  local rt = { class = f[1], flags = f[2], foreign = tonumber(f[3]), cpu = f[5], gpu = f[6], mem = f[7] }
  -- As for lockless_node: one that is overdue is shown as the next write call will find it.
  if is_due and tonumber(f[4]) <= c.now then rt.flags = nodes.set_flag(rt.flags, 'l', true) end
  return rt
end

local function fleet(root, arg)
  local c = cell.open(root)
  local names, next_cursor = pages.names(keys.nodes(root), arg.cursor, arg.count)
  local is_due = settle.is_due(c)
  local described, out = {}, {}
  for _, node in ipairs(names) do
    local rt = read(c, node, is_due)
    if rt then
      local desc = described[rt.class] or nodes.description(c, node, rt)
      described[rt.class] = desc
      local held = nodes.held(c, node)
      local mode = redis.call('HGET', keys.admission(root, node), 'mode')
      out[#out + 1] = { node, nodes.state(rt, held), classes.max_jobs(rt.class), held, rt.foreign, rt.cpu, rt.gpu, rt.mem,
        mode or '', desc.region, classes.list(desc.pools) }
    end
  end
  return { next_cursor, out }
end

return fleet, validate
