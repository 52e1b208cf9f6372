-- lockless_undeploy id
--
-- Removes a deployment. A node that has it is told to stop it.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_SUCH_DEPLOYMENT
-- Calls:  8 (9 more when a node has it)

local function undeploy(root, arg)
  local call = redis.call
  local c = cell.open(root, 'deployments')
  settle.first(c)
  local id = arg.id
  local rec = deployments.read(c, id) or deployments.none(id)

  -- first write; the record goes last, because an interrupted call is repeated by it.
  events.write(c, 'deployment_removed', 'node', rec.node, 'detail', id)
  deployments.take_free(c, id, rec)
  deployments.revoke(c, id, rec)
  call('ZREM', keys.deployments(root), id)
  call('DEL', keys.deployment(root, id))
  cell.touch(c)
  return cell.OK
end

return undeploy
