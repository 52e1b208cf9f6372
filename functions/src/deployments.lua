-- lockless_deployments cursor count
--
-- A page of deployments, by id, each without its SPEC.
--
-- Reply:  [next cursor, [[id, node_id, enabled, pool, revision, created_ts, updated_ts], ...]]; the cursor is 0 after the
--         last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  4, and 1 per deployment, 2 per deployment that a node has

local function validate(arg)
  if arg.cursor ~= '0' and arg.cursor:sub(1, 1) ~= ':' then pages.bad_cursor(arg.cursor) end
end

local function list(root, arg)
  local c = cell.open(root)
  local ids, next_cursor = pages.names(keys.deployments(root), arg.cursor, arg.count)
  local out = {}
  for _, id in ipairs(ids) do
    local rec = deployments.read(c, id)
    if rec then
      local node = deployments.is_owned(c, id, rec) and rec.node or ''
      out[#out + 1] = { id, node, rec.enabled and 'true' or 'false', rec.pool, tonumber(rec.revision), tonumber(rec.created),
        tonumber(rec.updated) }
    end
  end
  return { next_cursor, out }
end

return list, validate
