-- Audits the cell's record, its settings and its cache of match results. (See audit.lua.)

local audit_cell = {}

-- Of the names that are out of their place so many are found at once.
local LISTED_LOOKED_AT = 100

local NUMBERS = { 'grace', 'incarnation', 'class', 'reserved', 'failed', 'expired', 'cancelled', 'released' }

-- A cell has none of these before the first one is drawn or counted.
local DRAWN = { 'leases', 'tokens', 'queues', 'submitted', 'retried', 'requeued', 'started', 'withdrawn', 'blocked',
  'emergencies', 'deployments' }

-- The deadline that is none is one as well.
local function is_number(word)
  return word:find('^%d+$') and word + 0 <= cell.NEVER
end

-- What can be read of a state that may be damaged: its numbers by name, as far as they are numbers, and whether all are.
function audit_cell.state(root)
  local words = classes.list(redis.call('HGET', root, cell.STATE) or '')
  local out, count = {}, 0
  if #words ~= #cell.NUMBERS then return out end
  for i, name in ipairs(cell.NUMBERS) do
    if is_number(words[i]) and (name ~= 'configured' or words[i]:find('^[012]$')) then
      out[name] = tonumber(words[i])
      count = count + 1
    end
  end
  out.is_sound = count == #words
  return out
end

-- The numbers of what is listed in a sorted set are drawn from R: none is greater than the last one drawn.
local function is_drawn(c, name, key, greatest)
  local last = pages.greatest(key, greatest)
  local drawn = tonumber(redis.call('HGET', c.root, name) or '0')
  return not last or not drawn or tonumber(last) <= drawn
end

local function numbers(c, say)
  local call = redis.call
  if not call('HGET', c.root, 'schema') then say('cell record: its schema is missing', mend_cell.schema) end
  local state = audit_cell.state(c.root)
  for _, name in ipairs(cell.NUMBERS) do
    if not state[name] then say('cell record: ' .. name .. ' is not a number', mend_cell.number, name) end
  end
  for i, value in ipairs(call('HMGET', c.root, unpack(NUMBERS))) do
    local is_too_great = NUMBERS[i] == 'class' and cell.is_whole(value) and value + 0 >= classes.LAST
    if not cell.is_whole(value) or is_too_great then say('cell record: ' .. NUMBERS[i] .. ' is not a number', mend_cell.number, NUMBERS[i]) end
  end
  for i, value in ipairs(call('HMGET', c.root, unpack(DRAWN))) do
    if value and not cell.is_whole(value) then say('cell record: ' .. DRAWN[i] .. ' is not a number', mend_cell.number, DRAWN[i]) end
  end
  for _, kind in ipairs(work.ENDS) do
    local name = 'tries_' .. kind
    local value = call('HGET', c.root, name)
    if value and not cell.is_whole(value) then say('cell record: ' .. name .. ' is not a number', mend_cell.number, name) end
  end
  if not is_drawn(c, 'class', keys.classes(c.root), classes.LAST) then
    say('cell record: class is less than the number of a class', mend_cell.number, 'class')
  end
  if not is_drawn(c, 'queues', keys.queues(c.root), cell.NEVER - 1) then
    say('cell record: queues is less than the number of a queue', mend_cell.number, 'queues')
  end
end

-- Lists of names are in the order of the names as long as none has another score.
local function lists(c, say)
  for _, key in ipairs({ keys.nodes(c.root), keys.attrs(c.root), keys.deployments(c.root) }) do
    for _, range in ipairs({ { '-inf', '(0' }, { '(0', '+inf' } }) do
      for _, name in ipairs(redis.call('ZRANGEBYSCORE', key, range[1], range[2], 'LIMIT', '0', LISTED_LOOKED_AT)) do
        say('list of names: ' .. name .. ' is out of its place', mend_cell.listed, key, name)
      end
    end
  end
end

function audit_cell.record(c, _, _, say)
  local call = redis.call
  numbers(c, say)
  lists(c, say)
  if call('ZSCORE', keys.due(c.root), cell.SENTINEL) ~= 'inf' then say('due list: its sentinel is missing', mend_cell.sentinel) end
  local first = call('ZRANGE', keys.due(c.root), '0', '0', 'WITHSCORES')
  if first[1] and first[1] ~= cell.SENTINEL and tonumber(first[2]) < c.wake then
    say('cell record: wake is later than the first deadline, ' .. first[1], mend_cell.wake)
  end
  if claims.is_reindexing(c) and not call('ZSCORE', keys.due(c.root), 'w') then
    say('due list: w is missing, though who may claim is being found out', mend_cell.go_on_reindexing)
  end
  if c.configured_as ~= config.kind(c.root) then
    say('cell record: configured does not say which settings there are', mend_cell.number, 'configured')
  end
  local settings = call('HGETALL', keys.config(c.root))
  for i = 1, #settings, 2 do
    if not pcall(config.checked, settings[i], settings[i + 1]) then
      say('settings: ' .. settings[i] .. ' is not valid', mend_cell.setting, settings[i])
    end
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
      say('match cache: shape ' .. shape .. ' is not one', mend_cell.cached, shape)
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
      if cached ~= table.concat(found) then
        say('match cache: ' .. shape .. ' has other classes than fit it', mend_cell.cached, shape)
      end
    end
  end
  return at < #known and string.format('%d', at) or nil, used
end

local function number(c, name)
  if name == 'finished' then return cell.counter(c, name) end
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
      ' requeued and ' .. c.live .. ' live jobs', mend_cell.counters)
  end
  local queued = number(c, 'submitted') + number(c, 'retried') + requeued
  if queued ~= c.waiting + started + withdrawn then
    say('counters: ' .. queued .. ' submitted, retried or requeued, but ' .. c.waiting .. ' waiting, ' .. started ..
      ' started and ' .. withdrawn .. ' withdrawn', mend_cell.counters)
  end
  local tried = 0
  for _, kind in ipairs(work.ENDS) do tried = tried + number(c, 'tries_' .. kind) end
  if started ~= tried + c.tries then
    say('counters: ' .. started .. ' tries started, but ' .. tried .. ' ended and ' .. c.tries .. ' are live', mend_cell.counters)
  end
  audit_deployments.balance(c, say)
  if c.worked ~= c.tries - c.tries_lost then
    say('counters: ' .. c.worked .. ' jobs in the work of nodes, but ' .. c.tries - c.tries_lost .. ' tries there',
      mend_holds.works)
  end
end

return audit_cell
