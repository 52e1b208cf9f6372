-- lockless_deregister node
--
-- The node leaves. Its jobs are settled as lost, in pages through the due list.
--
-- Reply:  how many jobs it had
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  19 for a node of one pool and pair; 7 more and 3 per attribute for the last of its class, 9 per job settled (10
--         while someone listens); with jobs from the queue 14 more and 20 for each; where there was a deployment 2 and 2
--         per pool more, and 9 for each that it had

local function deregister(root, arg)
  local c = cell.open(root, 'deployments')
  settle.first(c)
  local node = arg.node
  local rt = nodes.read(c, node)
  if not rt then
    -- An interrupted call may have left these.
    redis.call('ZREM', keys.due(root), 'n' .. node, 'h' .. node)
    errors.unknown_node(node)
  end
  -- An operator gives none; a node that does speaks for itself.
  if arg.incarnation and (nodes.is_lost(rt) or arg.incarnation ~= tonumber(rt.incarnation)) then
    errors.stale_node(node)
  end
  local settled = holds.of_jobs(c, node)
  local interrupted = redis.call('HGET', keys.info(root, node), 'indexing') == '1'

  -- first write
  if not nodes.is_lost(rt) then events.write(c, 'node_lost', 'node', node, 'detail', 'deregistered') end
  holds.abandon(c, node, rt.incarnation)
  deployments.abandon(c, node, rt.incarnation)
  nodes.remove(c, node, rt, interrupted)
  settle.first(c)
  cell.touch(c)
  return settled
end

return deregister
