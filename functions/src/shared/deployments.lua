-- Deployments: long-running work that a node claims and keeps until it is lost.
--
-- R:deployment:<id> is a hash: pool, enabled, created, updated, revision (of the spec, drawn from R.deployments, so that one that was
-- removed and made again never has one that a node knows), node (empty: nobody's), spec, and `indexing`, 1 while a change of it is
-- under way. R:deployments lists the ids. R:deployments:free:<pool> has those that are
-- enabled and nobody's, by when they were updated, then created, then by id. R:node:deployments:<node> has a node's, with their
-- revisions; R:node:revoked:<node> those it had and has not been heard to have stopped: 0 until it was told, then 1.
-- R:unclaimed:<incarnation> has those of a node that was lost, while they are being released.

local deployments = {}

function deployments.read(c, id)
  local f = redis.call('HMGET', keys.deployment(c.root, id), 'pool', 'enabled', 'created', 'updated', 'revision', 'node',
    'spec', 'indexing')
  if not f[1] then return nil end
  return { pool = f[1], enabled = f[2] == 'true', created = f[3], updated = f[4], revision = f[5], node = f[6], spec = f[7],
    indexing = f[8] == '1' }
end

-- Whether its numbers are some.
function deployments.is_readable(rec)
  return rec.node and rec.spec and cell.is_whole(rec.revision)
end

-- Whether it can be known when it was created and updated.
function deployments.has_times(rec)
  return cell.is_whole(rec.created) and cell.is_whole(rec.updated)
end

function deployments.none(id)
  errors.fail('NO_SUCH_DEPLOYMENT', 'there is no deployment ' .. errors.shown(id))
end

-- Its member among the free ones: of those updated at the same time the one that was created first, then by id. One of which that
-- can't be read comes first.
local function member(rec, id)
  return string.format('%013d', cell.is_whole(rec.created) and rec.created or 0) .. ' ' .. id
end

deployments.member = member

function deployments.put_free(c, id, rec)
  redis.call('ZADD', keys.free(c.root, rec.pool), cell.is_whole(rec.updated) and rec.updated or '0', member(rec, id))
end

function deployments.take_free(c, id, rec)
  redis.call('ZREM', keys.free(c.root, rec.pool), member(rec, id))
end

-- Whether a node is in the pool.
function deployments.is_in_pool(c, node, pool)
  local pools = redis.call('HGET', keys.info(c.root, node), 'pools') or ''
  return (' ' .. pools .. ' '):find(' ' .. pool .. ' ', 1, true) ~= nil
end

-- Whether a node has it, and not only had it before it was lost.
function deployments.is_owned(c, id, rec)
  return rec.node ~= '' and redis.call('ZSCORE', keys.assigned(c.root, rec.node), id) ~= false
end

-- Takes it from the node that has it, which is told to stop it. What is known of the node is set also when an interrupted
-- call has taken it before.
function deployments.revoke(c, id, rec)
  local rt = rec.node ~= '' and nodes.read(c, rec.node)
  if not rt then return end
  if deployments.is_owned(c, id, rec) then
    redis.call('ZADD', keys.revoked(c.root, rec.node), '0', id)
    redis.call('ZREM', keys.assigned(c.root, rec.node), id)
  end
  claims.place(c, rec.node, rt.flags)
end

-- Gives it to a node. It goes from the free ones last: by that an interrupted call is found.
function deployments.assign(c, id, rec, node, flags)
  local call = redis.call
  events.write(c, 'deployment_claimed', 'node', node, 'detail', id)
  call('HSET', keys.deployment(c.root, id), 'node', node)
  call('ZADD', keys.assigned(c.root, node), rec.revision, id)
  call('ZREM', keys.revoked(c.root, node), id)
  claims.place(c, node, flags)
  deployments.take_free(c, id, rec)
end

-- What a node has: { { id, revision }, ... } by id.
function deployments.assigned(c, node)
  local flat = redis.call('ZRANGE', keys.assigned(c.root, node), '0', '-1', 'WITHSCORES')
  local out = {}
  for i = 1, #flat, 2 do out[#out + 1] = { flat[i], tonumber(flat[i + 1]) } end
  table.sort(out, function(a, b) return a[1] < b[1] end)
  return out
end

-- Cuts a node off from what it has, in one step, however much that is. It is released in pages through the due list.
function deployments.abandon(c, node, incarnation)
  local call = redis.call
  local assigned = keys.assigned(c.root, node)
  if not claims.is_used(c) then return end
  if call('ZCARD', assigned) > 0 then
    cell.due(c, 'd' .. incarnation .. ' ' .. node, c.now)
    call('RENAME', assigned, keys.unclaimed(c.root, incarnation))
  end
  call('DEL', keys.revoked(c.root, node))
end

-- Takes from a node what is of none of these pools; it is free again. Of what an interrupted call has taken and not freed, the note
-- that it was taken tells.
function deployments.keep_pools(c, node, pools)
  if not claims.is_used(c) then return end
  local call = redis.call
  local assigned, revoked = keys.assigned(c.root, node), keys.revoked(c.root, node)
  local is_kept = {}
  for _, pool in ipairs(pools) do is_kept[pool] = true end
  for _, key in ipairs({ assigned, revoked }) do
    for _, id in ipairs(call('ZRANGE', key, '0', '-1')) do
      local rec = deployments.read(c, id)
      if rec and rec.node == node and not is_kept[rec.pool] then
        events.write(c, 'deployment_released', 'node', node, 'detail', id)
        call('ZADD', revoked, '0', id)
        deployments.put_free(c, id, rec)
        call('ZREM', assigned, id)
        call('HSET', keys.deployment(c.root, id), 'node', '')
      end
    end
  end
end

-- Takes what an interrupted call left among the free ones of a pool out of there, and gives the node that has it its place.
function deployments.clear_free(c, pool, free, rec)
  local rt = rec and rec.node ~= '' and nodes.read(c, rec.node)
  if rt then claims.place(c, rec.node, rt.flags) end
  redis.call('ZREM', keys.free(c.root, pool), free)
end

-- Goes through up to `budget` of what a node that was lost had, and releases what nobody has by now; how many it went through, and
-- whether that was all.
function deployments.release(c, node, incarnation, budget)
  local call = redis.call
  local key = keys.unclaimed(c.root, incarnation)
  local page = call('ZRANGE', key, '0', budget - 1)
  for _, id in ipairs(page) do
    local rec = deployments.read(c, id)
    if rec and rec.node == node and not deployments.is_owned(c, id, rec) then
      events.write(c, 'deployment_released', 'node', node, 'detail', id)
      if rec.enabled then deployments.put_free(c, id, rec) end
      call('HSET', keys.deployment(c.root, id), 'node', '')
      c.released = (c.released or 0) + 1
    end
    call('ZREM', key, id)
  end
  return #page, call('EXISTS', key) == 0
end

return deployments
