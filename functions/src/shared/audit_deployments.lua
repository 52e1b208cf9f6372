-- Audits the deployments: each is disabled, free or some node's, and is listed where it should be and nowhere else.

local audit_deployments = {}

local OVERDUE_LOOKED_AT = 1000

-- What was counted of a pool so far, over the whole cell: deployments that are free, and nodes that may claim.
function audit_deployments.pool(c, name)
  local pool = c.pools[name]
  if not pool then
    pool = { free = 0, nodes = 0 }
    c.pools[name] = pool
  end
  return pool
end

-- Whether a node that was lost had it, and it is about to be released. The overdue are read once in a call.
local function is_being_released(c, node, id)
  local call = redis.call
  if not c.unclaimed then
    local overdue = call('ZRANGEBYSCORE', keys.due(c.root), '-inf', c.now_text, 'LIMIT', '0', OVERDUE_LOOKED_AT)
    c.unclaimed, c.more_unclaimed = {}, #overdue == OVERDUE_LOOKED_AT
    for _, member in ipairs(overdue) do
      local incarnation, lost = member:match('^d(%S+) (%S+)$')
      if lost then c.unclaimed[#c.unclaimed + 1] = { node = lost, key = keys.unclaimed(c.root, incarnation) } end
    end
  end
  for _, one in ipairs(c.unclaimed) do
    if one.node == node and call('ZSCORE', one.key, id) then return true end
  end
  return c.more_unclaimed
end

-- One that is a node's.
local function owned(c, id, rec, wrong)
  local call = redis.call
  local revision = call('ZSCORE', keys.assigned(c.root, rec.node), id)
  if not revision then
    if not is_being_released(c, rec.node, id) then wrong('its node does not have it') end
    return
  end
  if tonumber(revision) ~= tonumber(rec.revision) then wrong('its node has another revision') end
  if not nodes.read(c, rec.node) then
    wrong('it is on ' .. rec.node .. ', which is not there')
  elseif not deployments.is_in_pool(c, rec.node, rec.pool) then
    wrong('it is on ' .. rec.node .. ', which is not in its pool')
  end
end

local function one(c, id, say)
  local rec = deployments.read(c, id)
  local function wrong(sentence) say('deployment ' .. id .. ': ' .. sentence, mend_deployments.one, id) end
  if not rec then return wrong('its record is missing') end
  if not deployments.is_readable(rec) then return wrong('its record can not be read') end
  if not deployments.has_times(rec) then return wrong('its times can not be read') end
  if rec.indexing then wrong('a change of it was interrupted') end
  if tonumber(rec.revision) > cell.counter(c, 'deployments') then wrong('its revision was never drawn') end
  local score = redis.call('ZSCORE', keys.free(c.root, rec.pool), deployments.member(rec, id))
  local pool, is_free = audit_deployments.pool(c, rec.pool), rec.enabled and rec.node == ''
  if is_free then pool.free = pool.free + 1 end
  if is_free and tonumber(score or nil) ~= tonumber(rec.updated) then wrong('it is not in its place among the free') end
  if not is_free and score then wrong('it is among the free ones') end
  if not rec.enabled and rec.node ~= '' then wrong('it is disabled and on ' .. rec.node) end
  if rec.node ~= '' then owned(c, id, rec, wrong) end
end

function audit_deployments.all(c, position, budget, say)
  local ids, next_cursor = pages.names(keys.deployments(c.root), position or '0', budget)
  for _, id in ipairs(ids) do one(c, id, say) end
  return next_cursor ~= '0' and next_cursor or nil, #ids
end

-- The place of a node among those that may claim, and what it has; returns how many deployments that is.
function audit_deployments.of_node(c, node, rt, say)
  local call = redis.call
  if not claims.is_used(c) then return 0 end
  local has = call('ZRANGE', keys.assigned(c.root, node), '0', '-1')
  if #has > 0 and nodes.is_lost(rt) then
    say('node ' .. node .. ': its deployments are there though it is lost', mend_nodes.abandon, node)
  end
  for _, id in ipairs(has) do
    local rec = deployments.read(c, id)
    if not rec or rec.node ~= node then
      say('node ' .. node .. ': it has deployment ' .. id .. ', which is not its own', mend_deployments.take, node, id)
    elseif not call('ZSCORE', keys.deployments(c.root), id) then
      say('deployment ' .. id .. ': it is not listed', mend_deployments.list, id)
    end
  end
  if claims.is_reindexing(c) then return #has end
  local measured = claims.measured(c, node)
  local takes_part = claims.takes_part(rt.flags, measured)
  for _, name in ipairs(classes.list(call('HGET', keys.info(c.root, node), 'pools') or '')) do
    local pool = audit_deployments.pool(c, name)
    if takes_part then pool.nodes = pool.nodes + 1 end
    for _, policy in ipairs(claims.POLICIES) do
      local score = tonumber(call('ZSCORE', keys.claim(c.root, policy.name, name), node) or nil)
      local want = takes_part and policy.value(c, measured) or nil
      if score ~= want then
        say('node ' .. node .. ': its place by ' .. policy.name .. ' in pool ' .. name .. ' is wrong', mend_deployments.place, node)
      end
    end
  end
  return #has
end

-- No pool lists more than was counted over the whole cell. (Only pools that a node or a deployment is in are known.)
function audit_deployments.balance(c, say)
  local call = redis.call
  local is_reindexing = claims.is_reindexing(c)
  for name, pool in pairs(c.pools) do
    local free = call('ZCARD', keys.free(c.root, name))
    if free ~= pool.free then
      say('pool ' .. name .. ': it lists ' .. free .. ' free deployments, but ' .. pool.free .. ' are', mend_deployments.free, name)
    end
    for _, policy in ipairs(claims.POLICIES) do
      local listed = call('ZCARD', keys.claim(c.root, policy.name, name))
      if listed ~= pool.nodes and not is_reindexing then
        say('pool ' .. name .. ': it lists ' .. listed .. ' nodes that may claim by ' .. policy.name .. ', but ' .. pool.nodes ..
          ' may', mend_deployments.claimants, policy.name, name)
      end
    end
  end
end

return audit_deployments
