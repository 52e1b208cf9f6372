-- lockless_deployment id [NODE node]
--
-- One deployment. With NODE only if that node has it: so a node reads what it is to run, and no other's.
--
-- Reply:  fields id, node_id, enabled, pool, revision, created_ts, updated_ts, spec
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NODE_MISMATCH, NO_SUCH_DEPLOYMENT
-- Calls:  4 (1 more when a node has it)

local function deployment(root, arg)
  local c = cell.open(root)
  local rec = deployments.read(c, arg.id) or deployments.none(arg.id)
  -- What a lost node had is about to be released.
  local node = deployments.is_owned(c, arg.id, rec) and rec.node or ''
  if arg.node and arg.node ~= node then
    errors.fail('NODE_MISMATCH', 'deployment ' .. errors.shown(arg.id) .. ' is not on node ' .. errors.shown(arg.node))
  end
  return { 'id', arg.id, 'node_id', node, 'enabled', rec.enabled and 'true' or 'false', 'pool', rec.pool,
    'revision', tonumber(rec.revision), 'created_ts', tonumber(rec.created), 'updated_ts', tonumber(rec.updated),
    'spec', rec.spec }
end

return deployment
