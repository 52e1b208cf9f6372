-- Who may claim a deployment. For each policy and pool there is a sorted set of the nodes that are online and not draining, by
-- how loaded the policy finds them, the least loaded first: R:claim:<policy>:<pool>. They are kept once the cell has had a
-- deployment (R.deployments, the last revision drawn); R.reindex is where their making anew has come to, when the first one came or
-- a weight changed.

local claims = {}

-- A node has no more deployments than this, so that all it has fits into a reply, and all it runs into a call. One that has as many
-- claims nothing more, and is not among those who are compared.
claims.MOST = 1024

-- A policy is its name and what it makes of a node: its deployments, its CPU in percent of the whole machine, and its
-- memory in MB; the smaller the better. Both of a node that reported nothing that can be read are 0.
claims.POLICIES = {
  { name = 'deployment_count', value = function(_, node) return node.deployments end },
  { name = 'resource_usage', value = function(c, node)
    return node.cpu * config.value(c, 'cpu_weight') + node.mem_mb / 1024 * config.value(c, 'mem_weight')
  end },
}

function claims.is_used(c)
  return cell.counter(c, 'deployments') > 0
end

function claims.policy(name)
  for _, policy in ipairs(claims.POLICIES) do
    if policy.name == name then return policy end
  end
end

-- What the policies look at.
function claims.measured(c, node)
  local use = redis.call('HMGET', keys.runtime(c.root, node), 'cpu', 'mem_mb')
  return { deployments = redis.call('ZCARD', keys.assigned(c.root, node)), cpu = tonumber(use[1] or nil) or 0,
    mem_mb = tonumber(use[2] or nil) or 0 }
end

function claims.text(value)
  return string.format('%.17g', value)
end

-- Whether a node with these flags that measures so may claim, and is among those who are compared.
function claims.takes_part(flags, measured)
  return not flags:find('[lod]') and measured.deployments < claims.MOST
end

-- Takes a node out of the sets of these pools.
function claims.leave(c, node, pools)
  if not claims.is_used(c) then return end
  for _, pool in ipairs(pools) do
    for _, policy in ipairs(claims.POLICIES) do redis.call('ZREM', keys.claim(c.root, policy.name, pool), node) end
  end
end

-- Sets a node's place in the sets of its pools.
function claims.place(c, node, flags)
  if not claims.is_used(c) then return end
  local pools = classes.list(redis.call('HGET', keys.info(c.root, node), 'pools') or '')
  local measured = claims.measured(c, node)
  if not claims.takes_part(flags, measured) then return claims.leave(c, node, pools) end
  for _, policy in ipairs(claims.POLICIES) do
    local value = claims.text(policy.value(c, measured))
    for _, pool in ipairs(pools) do redis.call('ZADD', keys.claim(c.root, policy.name, pool), value, node) end
  end
end

-- Has the sets made anew, in pages through the due list.
function claims.reindex(c)
  redis.call('HSET', c.root, 'reindex', '0')
  cell.due_at(c, 'w', c.now)
end

function claims.is_reindexing(c)
  return redis.call('HEXISTS', c.root, 'reindex') == 1
end

-- The smallest value in a pool and a node that has it, nil when nobody is there.
function claims.least(c, policy, pool)
  local first = redis.call('ZRANGE', keys.claim(c.root, policy.name, pool), '0', '0', 'WITHSCORES')
  return tonumber(first[2] or nil), first[1]
end

return claims
