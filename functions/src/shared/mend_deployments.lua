-- Mends deployments and who may claim them: what audit_deployments names.

local mend_deployments = {}

local WALKED = 10000

-- A deployment is some node's, free, or disabled, and listed so. One whose node may have it stays there.
function mend_deployments.one(c, id)
  local call = redis.call
  local rec = deployments.read(c, id)
  if not rec or not deployments.is_readable(rec) then
    call('DEL', keys.deployment(c.root, id))
    return call('ZREM', keys.deployments(c.root), id)
  end
  if not deployments.has_times(rec) then
    -- What stands among the free ones with another time is taken out by its pool.
    rec.created, rec.updated = c.now_text, c.now_text
    call('HSET', keys.deployment(c.root, id), 'created', rec.created, 'updated', rec.updated)
  end
  if tonumber(rec.revision) > cell.counter(c, 'deployments') then
    call('HSET', c.root, 'deployments', rec.revision)
    c.counter = nil
  end
  local rt = rec.node ~= '' and nodes.read(c, rec.node) or nil
  if rt and not nodes.is_lost(rt) and rec.enabled and deployments.is_in_pool(c, rec.node, rec.pool) then
    call('ZADD', keys.assigned(c.root, rec.node), rec.revision, id)
    -- Nobody will release what is this node's own.
    call('DEL', keys.unclaimed(c.root, rt.incarnation))
    claims.place(c, rec.node, rt.flags)
    deployments.take_free(c, id, rec)
  else
    deployments.revoke(c, id, rec)
    if rec.node ~= '' then
      call('ZREM', keys.assigned(c.root, rec.node), id)
      call('HSET', keys.deployment(c.root, id), 'node', '')
    end
    if rec.enabled then deployments.put_free(c, id, rec) else deployments.take_free(c, id, rec) end
  end
  call('HSET', keys.deployment(c.root, id), 'indexing', '0')
end

function mend_deployments.list(c, id)
  redis.call('ZADD', keys.deployments(c.root), '0', id)
end

-- What a node has and is not its own: it is told to stop it.
function mend_deployments.take(c, node, id)
  local rec, rt = deployments.read(c, id), nodes.read(c, node)
  if not rt or (rec and rec.node == node) then return end
  redis.call('ZADD', keys.revoked(c.root, node), '0', id)
  redis.call('ZREM', keys.assigned(c.root, node), id)
  claims.place(c, node, rt.flags)
end

function mend_deployments.place(c, node)
  local rt = nodes.read(c, node)
  if rt then claims.place(c, node, rt.flags) end
end

-- Lists the free ones of a pool, and takes out what is none.
function mend_deployments.free(c, pool)
  local call = redis.call
  for _, member in ipairs(call('ZRANGE', keys.free(c.root, pool), '0', WALKED - 1)) do
    local id = member:match('^%d+ (%S+)$')
    local rec = id and deployments.read(c, id)
    local is_free = rec and rec.enabled and rec.node == '' and rec.pool == pool and deployments.member(rec, id) == member
    if is_free then mend_deployments.list(c, id) else call('ZREM', keys.free(c.root, pool), member) end
  end
end

-- Takes those who may not out of the nodes that may claim in a pool.
function mend_deployments.claimants(c, policy, pool)
  local call = redis.call
  local key = keys.claim(c.root, policy, pool)
  for _, node in ipairs(call('ZRANGE', key, '0', WALKED - 1)) do
    local rt = nodes.read(c, node)
    local may = rt and deployments.is_in_pool(c, node, pool) and claims.takes_part(rt.flags, claims.measured(c, node))
    if not may then call('ZREM', key, node) end
  end
end

return mend_deployments
