-- Audits the cell's record, its settings and its cache of match results. (The first part of lockless_check.)
--
-- An audit is a function of (c, position, budget, say): it looks at up to `budget` items from `position` on (nil at the
-- start), says what is wrong, and returns where to go on (nil at the end) and how many items it looked at.

local audit_cell = {}

local NUMBERS = { 'clock', 'wake', 'configured', 'grants', 'generation', 'listen', 'grace', 'incarnation', 'class',
  'reserved', 'finished', 'failed', 'expired', 'cancelled', 'released' }

-- A cell has none of these before the first one is drawn or counted.
local DRAWN = { 'leases', 'tokens', 'queues', 'submitted', 'retried', 'requeued', 'started', 'withdrawn', 'blocked',
  'emergencies', 'deployments' }

function audit_cell.record(c, _, _, say)
  local call = redis.call
  local values = call('HMGET', c.root, unpack(NUMBERS))
  for i, name in ipairs(NUMBERS) do
    if not tonumber(values[i] or nil) then say('cell record: ' .. name .. ' is not a number') end
  end
  for i, value in ipairs(call('HMGET', c.root, unpack(DRAWN))) do
    if value and not tonumber(value) then say('cell record: ' .. DRAWN[i] .. ' is not a number') end
  end
  for _, kind in ipairs(work.ENDS) do
    local value = call('HGET', c.root, 'tries_' .. kind)
    if value and not tonumber(value) then say('cell record: tries_' .. kind .. ' is not a number') end
  end
  if not call('ZSCORE', keys.due(c.root), cell.SENTINEL) then say('due list: its sentinel is missing') end
  local first = call('ZRANGE', keys.due(c.root), '0', '0', 'WITHSCORES')
  if first[1] and first[1] ~= cell.SENTINEL and tonumber(first[2]) < c.wake then
    say('cell record: wake is later than the first deadline, ' .. first[1])
  end
  if claims.is_reindexing(c) and not call('ZSCORE', keys.due(c.root), 'w') then
    say('due list: w is missing, though who may claim is being found out')
  end
  if c.configured ~= (call('EXISTS', keys.config(c.root)) == 1) then
    say('cell record: configured does not say whether there are settings')
  end
  local settings = call('HGETALL', keys.config(c.root))
  for i = 1, #settings, 2 do
    if not pcall(config.checked, settings[i], settings[i + 1]) then say('settings: ' .. settings[i] .. ' is not valid') end
  end
  return nil, 1
end

-- A cached shape has the classes that fit it. Items are shapes and their classes.
function audit_cell.cache(c, position, budget, say)
  local call = redis.call
  local key = keys.match(c.root, c.generation)
  local known = call('HKEYS', key)
  table.sort(known)
  local at, used = tonumber(position or '0'), 0
  while at < #known and used < budget do
    at = at + 1
    local shape = known[at]
    local page_of = shape:match('^%d+#(.*)$')
    local req = shapes.parse(page_of or shape)
    used = used + 1
    if not req then
      say('match cache: shape ' .. shape .. ' is not one')
    elseif not page_of then
      local cached = call('HGET', key, shape)
      local pages = tonumber(cached:match('^N(%d+)$') or nil)
      if pages then
        cached = ''
        for page = 0, pages - 1 do
          cached = cached .. (call('HGET', key, string.format('%d', page) .. '#' .. shape) or '')
        end
      end
      local found = match.intersect(c, match.attributes(c, req, req.pool))
      used = used + #found
      if cached ~= table.concat(found) then say('match cache: ' .. shape .. ' has other classes than fit it') end
    end
  end
  return at < #known and string.format('%d', at) or nil, used
end

local function number(c, name)
  return tonumber(redis.call('HGET', c.root, name) or '0') or 0
end

-- All grants, all jobs that were queued and all their tries are accounted for. What there is was counted over the whole
-- cell: c.live jobs, c.tries of them from the queue, and c.waiting.
function audit_cell.balance(c, say)
  local ended = 0
  for _, name in ipairs({ 'finished', 'failed', 'expired', 'cancelled', 'released' }) do
    ended = ended + number(c, name)
  end
  local requeued, withdrawn, started = number(c, 'requeued'), number(c, 'withdrawn'), number(c, 'started')
  if c.grants + withdrawn ~= ended + requeued + c.live then
    say('counters: ' .. c.grants .. ' grants and ' .. withdrawn .. ' withdrawn, but ' .. ended .. ' ended, ' .. requeued ..
      ' requeued and ' .. c.live .. ' live jobs')
  end
  local queued = number(c, 'submitted') + number(c, 'retried') + requeued
  if queued ~= c.waiting + started + withdrawn then
    say('counters: ' .. queued .. ' submitted, retried or requeued, but ' .. c.waiting .. ' waiting, ' .. started ..
      ' started and ' .. withdrawn .. ' withdrawn')
  end
  local tried = 0
  for _, kind in ipairs(work.ENDS) do tried = tried + number(c, 'tries_' .. kind) end
  if started ~= tried + c.tries then
    say('counters: ' .. started .. ' tries started, but ' .. tried .. ' ended and ' .. c.tries .. ' are live')
  end
  audit_deployments.balance(c, say)
  if c.worked ~= c.tries - c.tries_lost then
    say('counters: ' .. c.worked .. ' jobs in the work of nodes, but ' .. c.tries - c.tries_lost .. ' tries there')
  end
end

return audit_cell
