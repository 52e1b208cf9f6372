-- lockless_deploy id [SPEC json] [POOL p] [ENABLED true|false]
--
-- Creates a deployment, or changes what is given of it. Another SPEC is another revision, which its node restarts. One that is
-- disabled, or moved to a pool its node is not in, is taken from its node.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  10 for a new one (12 more for the first of a cell, 6 for each node there, 4 when there is no cell yet), 4 when nothing
--         changes, 14 for another SPEC of one that a node has, 19 when it is taken from its node

local SETTLE_AFTER = 1000

-- The record as it is to be, and whether it differs from what is there. `drawn` is the last revision that was given.
local function wanted(c, arg, rec, drawn)
  local new = { spec = arg.spec or rec and rec.spec or '', pool = arg.pool or rec and rec.pool or 'default',
    created = rec and rec.created or c.now_text, updated = c.now_text, node = rec and rec.node or '',
    revision = rec and rec.revision }
  if arg.enabled then new.enabled = arg.enabled == 'true' else new.enabled = not rec or rec.enabled end
  if not rec or new.spec ~= rec.spec then new.revision = string.format('%d', drawn + 1) end
  local differs = not rec or new.spec ~= rec.spec or new.pool ~= rec.pool or new.enabled ~= rec.enabled
  if not differs then new.updated = rec.updated end
  return new, differs
end

-- Whether the node that has it may keep it.
local function may_stay(c, id, rec, new)
  return new.enabled and deployments.is_owned(c, id, rec) and deployments.is_in_pool(c, rec.node, new.pool)
end

local function deploy(root, arg)
  local call = redis.call
  local c = cell.open(root, 'deployments')
  if arg.spec then config.check_length(c, 'SPEC', arg.spec) end
  settle.first(c)
  local id, key = arg.id, keys.deployment(root, arg.id)
  local rec = deployments.read(c, id)
  local drawn = cell.counter(c, 'deployments')
  local new, differs = wanted(c, arg, rec, drawn)
  local is_used, is_counted = drawn > 0, tonumber(new.revision) <= drawn
  if not differs and not rec.indexing and is_counted then return cell.OK end
  local stays = rec ~= nil and may_stay(c, id, rec, new)

  -- first write. While `indexing` is set, the same call again does all of it again.
  cell.create(c)
  if rec then
    call('HSET', key, 'indexing', '1')
    deployments.take_free(c, id, rec)
    if not stays then deployments.revoke(c, id, rec) end
  end
  events.write(c, 'deployment_changed', 'node', stays and rec.node or '', 'detail', id)
  new.node = stays and rec.node or ''
  call('HSET', key, 'pool', new.pool, 'enabled', new.enabled and 'true' or 'false', 'created', new.created, 'updated',
    new.updated, 'revision', new.revision, 'node', new.node, 'spec', new.spec, 'indexing', '1')
  call('ZADD', keys.deployments(root), '0', id)
  -- Counted before any node can be told of it.
  if not is_used then claims.reindex(c) end
  if not is_counted then cell.set_counter(c, 'deployments', tonumber(new.revision)) end
  if stays then
    call('ZADD', keys.assigned(root, new.node), new.revision, id)
  elseif new.enabled then
    deployments.put_free(c, id, new)
  end
  call('HSET', key, 'indexing', '0')
  if not is_used then settle.up_to(c, SETTLE_AFTER) end
  if is_counted then cell.touch(c) end
  return cell.OK
end

return deploy
