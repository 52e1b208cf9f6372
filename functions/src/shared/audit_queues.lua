-- Audits the queues: their heads, the jobs that wait in them or for their time, and which classes may run them.

local audit_queues = {}

-- A job that waits has a record that says so. `mend` and its arguments set it right.
local function waiting(c, job, name, say, mend, ...)
  local rec = tries.look(c, job)
  c.waiting = c.waiting + 1
  if not rec then return say(name .. ': its record is missing', mend, ...) end
  if rec.is_damaged then return say(name .. ': its record can not be read', mend, ...) end
  if not tries.is_waiting(rec) then return say(name .. ': it does not wait', mend, ...) end
  if redis.call('PTTL', keys.job(c.root, job)) >= 0 then say(name .. ': its record is about to go', mend, ...) end
  return rec
end

local function head(c, number, shape, say)
  local call = redis.call
  local first = call('ZRANGE', keys.queue(c.root, number), '0', '0', 'WITHSCORES')
  local score = call('ZSCORE', keys.heads(c.root), number)
  local name, mend = 'queue ' .. number, mend_queues.queue
  if not queues.wishes(shape) then say(name .. ': its wishes can not be read', mend, number) end
  if not first[1] then return say(name .. ': it is empty', mend, number) end
  if not score or tonumber(score) ~= tonumber(first[2]) then say(name .. ': its head is not its first job', mend, number) end
end

-- A part of a queue's jobs: how many were looked at.
local function jobs_of(c, number, shape, offset, count, say)
  local page = redis.call('ZRANGE', keys.queue(c.root, number), offset, offset + count, 'WITHSCORES')
  for i = 1, #page, 2 do
    local name, mend = 'job ' .. page[i] .. ' in queue ' .. number, mend_queues.waiting
    local rec = waiting(c, page[i], name, say, mend, number, page[i])
    if rec and rec.q.shape ~= shape then say(name .. ': it asks for something else', mend, number, page[i]) end
    if rec and tonumber(page[i + 1]) ~= tonumber(queues.score(rec.q)) then
      say(name .. ': it is not in its place', mend, number, page[i])
    end
  end
  return #page / 2
end

-- Items are queues and their jobs. A position is a queue's number and how many of its jobs were looked at.
function audit_queues.all(c, position, budget, say)
  local call = redis.call
  local from, offset, used = nil, 0, 0
  if position then from, offset = position:match('^(%d+) (%d+)$') end
  offset = tonumber(offset)
  if not position and call('ZCARD', keys.heads(c.root)) ~= call('ZCARD', keys.queues(c.root)) then
    say('queues: there are other heads than queues', mend_queues.heads)
  end
  while used < budget do
    local found = call('ZRANGEBYSCORE', keys.queues(c.root), from or '-inf', '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
    local shape, number = found[1], found[2]
    if not shape then return nil, used end
    local looked_at, count = 0, nil
    if not cell.is_whole(number) then
      say('queues: ' .. shape .. ' has no number', mend_queues.unlist, shape)
      used = used + 1
      -- Nothing that has one comes after it.
      if tonumber(number) >= cell.NEVER then return nil, used end
      number = string.format('%d', math.max(-1, math.floor(number)))
    else
      if number ~= from then offset = 0 end
      if offset == 0 then
        head(c, number, shape, say)
        used = used + 1
      end
      count = budget - used
      looked_at = jobs_of(c, number, shape, offset, count, say)
      used = used + looked_at
    end
    if count and looked_at > count then
      from, offset = number, offset + looked_at
    else
      from, offset = string.format('%d', number + 1), 0
    end
  end
  return from .. ' ' .. string.format('%d', offset), used
end

function audit_queues.delayed(c, position, budget, say)
  local offset = tonumber(position or '0')
  local page = redis.call('ZRANGE', keys.delayed(c.root), offset, offset + budget - 1, 'WITHSCORES')
  if page[1] and not redis.call('ZSCORE', keys.due(c.root), 'q') then
    say('due list: q is missing, though jobs wait for their time', mend_queues.first, 'q')
  end
  for i = 1, #page, 2 do
    local job = page[i]
    local name = 'job ' .. job .. ' before its time'
    if not cell.is_time(page[i + 1]) then say(name .. ': it has no time', mend_queues.time, job) end
    local rec = waiting(c, job, name, say, mend_queues.delayed, job)
    if rec and queues.has(c, job, rec.q) then say(name .. ': it is in its queue as well', mend_queues.delayed, job) end
  end
  local used = #page / 2
  if used < budget then return nil, used end
  return string.format('%d', offset + used), used
end

-- What is cached of a class is what fits it. Items are classes, and the queues for each.
function audit_queues.fits(c, position, budget, say)
  local call = redis.call
  local at, used = tonumber(position or '0'), 0
  while used < budget do
    local found = call('ZRANGE', keys.classes(c.root), at, at, 'WITHSCORES')
    if not found[1] then return nil, used end
    at, used = at + 1, used + 1
    local class = classes.code(tonumber(found[2]), tonumber(found[1]:match('^%d+') or '0'))
    local looked_at = call('ZSCORE', keys.fits(c.root, class), '#')
    local desc = classes.read(c, class)
    if looked_at and desc then
      local page = call('ZRANGEBYSCORE', keys.queues(c.root), '-inf', looked_at, 'WITHSCORES', 'LIMIT', '0', queues.MAX)
      used = used + #page / 2
      for i = 1, #page, 2 do
        local wishes = queues.wishes(page[i])
        local is_in = call('ZSCORE', keys.fits(c.root, class), page[i + 1]) ~= false
        if wishes and is_in ~= classes.fits(desc, wishes) then
          say('class ' .. class .. ': that it fits queue ' .. page[i + 1] .. ' is said wrongly', mend_queues.fits, class)
        end
      end
    end
  end
  return string.format('%d', at), used
end

return audit_queues
