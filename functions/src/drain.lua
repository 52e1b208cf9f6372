-- lockless_drain node on|off
--
-- Takes a node out of the ready index, or puts it back. What runs on it goes on.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  9 (6 when nothing changes; where there was a deployment 3 and 2 per pool more)

local function drain(root, arg)
  local c = cell.open(root, 'deployments')
  settle.first(c)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local flags = nodes.set_flag(rt.flags, 'd', arg.drain == 'on')
  local held = nodes.held(c, node)

  -- first write
  if flags ~= rt.flags then
    ready.place(c, rt.class, node, flags, held + rt.foreign)
    claims.place(c, node, flags)
    events.write(c, 'node_draining', 'node', node, 'detail', arg.drain)
    redis.call('HSET', keys.runtime(root, node), 'flags', flags)
  end
  cell.touch(c)
  return cell.OK
end

return drain
