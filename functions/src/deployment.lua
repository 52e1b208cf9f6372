-- lockless_deployment id
--
-- One deployment.
--
-- Reply:  fields id, node_id, enabled, pool, revision, created_ts, updated_ts, spec
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_SUCH_DEPLOYMENT
-- Calls:  4 (1 more when a node has it)

local function deployment(root, arg)
  local c = cell.open(root)
  local rec = deployments.read(c, arg.id) or deployments.none(arg.id)
  -- What a lost node had is about to be released.
  local node = deployments.is_owned(c, arg.id, rec) and rec.node or ''
  return { 'id', arg.id, 'node_id', node, 'enabled', rec.enabled and 'true' or 'false', 'pool', rec.pool,
    'revision', tonumber(rec.revision), 'created_ts', tonumber(rec.created), 'updated_ts', tonumber(rec.updated),
    'spec', rec.spec }
end

return deployment
