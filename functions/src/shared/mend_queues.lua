-- Mends queues, the jobs that wait in them or for their time, and what is cached of them: what audit_queues names.

local mend_queues = {}

local WALKED = 1000

-- The record of a job that is to wait, nil for one that is not. A start that was interrupted before it took a slot is undone; one
-- whose record can't be read has expired, and what the end of one that waited left undone is done.
local function record_of(c, job)
  local rec = tries.look(c, job)
  if not rec then return nil end
  local key = keys.job(c.root, job)
  if rec.is_damaged and not rec.status then rec = jobs.write_off(c, job, jobs.NOWHERE, '-') end
  if rec.status and rec.node == jobs.NOWHERE then
    jobs.finish(c, job, rec, nil, rec.status)
    jobs.let_go(c, job)
  end
  if rec.kind ~= 'q' or rec.status then return nil end
  if rec.node ~= jobs.NOWHERE then
    if holds.score(c, rec.node, job) then return nil end
    rec.node, rec.q.attempt = jobs.NOWHERE, math.max(0, rec.q.attempt - 1)
    redis.call('HSET', key, 'd', tries.description(rec, jobs.NOWHERE, '-', rec.grant), 'q', tries.pack(rec.q))
  end
  redis.call('PERSIST', key)
  return rec
end

-- A job that a queue lists: it stands in the queue of its wishes, at its place, or nowhere.
function mend_queues.waiting(c, number, job)
  local rec = record_of(c, job)
  if rec and queues.number_of(c, rec.q.shape) == number then
    redis.call('ZADD', keys.queue(c.root, number), queues.score(rec.q), job)
    return queues.drop(c, number)
  end
  if rec then queues.put(c, job, rec.q) end
  queues.drop(c, number, job)
end

-- A queue without a number is listed no more: it is found by its head, and its jobs by that.
function mend_queues.unlist(c, shape)
  if not queues.number_of(c, shape) then redis.call('ZREM', keys.queues(c.root), shape) end
end

-- A job that waits for no time may start.
function mend_queues.time(c, job)
  redis.call('ZADD', keys.delayed(c.root), 'XX', c.now_text, job)
end

-- A job that waits for its time, and only that.
function mend_queues.delayed(c, job)
  local rec = record_of(c, job)
  if not rec or queues.has(c, job, rec.q) then redis.call('ZREM', keys.delayed(c.root), job) end
end

-- The head of a queue is its first job, and one without jobs goes. Those of a queue whose wishes can't be read have wishes.
function mend_queues.queue(c, number)
  queues.drop(c, number)
end

-- Heads of queues that are not listed: listed again with the wishes of their jobs, or gone.
function mend_queues.heads(c)
  local call = redis.call
  for _, number in ipairs(call('ZRANGE', keys.heads(c.root), '0', queues.MAX * 2)) do
    if not number:find('^%d+$') then
      call('ZREM', keys.heads(c.root), number)
    elseif not queues.shape_of(c, number) then
      for _, job in ipairs(call('ZRANGE', keys.queue(c.root, number), '0', WALKED - 1)) do
        local rec = record_of(c, job)
        if rec then queues.put(c, job, rec.q) end
        call('ZREM', keys.queue(c.root, number), job)
      end
      if call('EXISTS', keys.queue(c.root, number)) == 0 then call('ZREM', keys.heads(c.root), number) end
    end
  end
end

-- What is cached of a class is found out anew by the next node that asks.
function mend_queues.fits(c, class)
  redis.call('DEL', keys.fits(c.root, class))
end

local TIMED = { q = keys.delayed, f = keys.failed, c = keys.cancelled }

-- The due list has the first entry of a sorted set of times.
function mend_queues.first(c, member)
  local first = redis.call('ZRANGE', TIMED[member](c.root), '0', '0', 'WITHSCORES')
  if first[2] then cell.due_at(c, member, cell.time(first[2])) end
end

return mend_queues
