-- Audits the deployments: each is disabled, free or some node's, and is listed where it should be.

local audit_deployments = {}

-- Whether a node that was lost had it, and it is about to be released.
local function is_being_released(c, node, id)
  local overdue = redis.call('ZRANGEBYSCORE', keys.due(c.root), '-inf', c.now_text, 'LIMIT', '0', '1000')
  for _, entry in ipairs(overdue) do
    local incarnation, lost = entry:match('^d(%S+) (%S+)$')
    if lost == node and redis.call('ZSCORE', keys.unclaimed(c.root, incarnation), id) then return true end
  end
  return #overdue == 1000
end

local function one(c, id, say)
  local call = redis.call
  local rec = deployments.read(c, id)
  local name = 'deployment ' .. id
  if not rec then return say(name .. ': its record is missing') end
  if rec.indexing then say(name .. ': a change of it was interrupted') end
  local score = call('ZSCORE', keys.free(c.root, rec.pool), deployments.member(rec, id))
  local is_free = rec.enabled and rec.node == ''
  if is_free and tonumber(score or nil) ~= tonumber(rec.updated) then say(name .. ': it is not in its place among the free') end
  if not is_free and score then say(name .. ': it is among the free ones') end
  if not rec.enabled and rec.node ~= '' then say(name .. ': it is disabled and on ' .. rec.node) end
  if rec.node == '' then return end
  local revision = call('ZSCORE', keys.assigned(c.root, rec.node), id)
  if revision then
    c.owned = c.owned + 1
    if tonumber(revision) ~= tonumber(rec.revision) then say(name .. ': its node has another revision') end
  elseif not is_being_released(c, rec.node, id) then
    say(name .. ': its node does not have it')
  end
end

function audit_deployments.all(c, position, budget, say)
  local after = position or '0'
  local ids, next_cursor = pages.names(keys.deployments(c.root), after, budget)
  for _, id in ipairs(ids) do one(c, id, say) end
  return next_cursor ~= '0' and next_cursor or nil, #ids
end

return audit_deployments
