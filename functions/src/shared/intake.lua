-- Which waiting jobs a node may start, and how they are handed over.

local intake = {}

-- How many slots the node has free for work from the queue; none while it drains or is offline. Whether it is over a
-- resource threshold is for the caller to say.
function intake.room(rt, held, minds_threshold)
  local band = ready.band(rt.flags)
  if band ~= 0 and (minds_threshold or band ~= ready.BUSY) then return 0 end
  return math.max(0, classes.max_jobs(rt.class) - held - rt.foreign)
end

-- Calls visit(job, record) for the waiting jobs that the node may run, in order, until it returns true or `limit` were
-- looked at. What an interrupted call left in a queue is put right on the way. A node whose class has gone is on its way to
-- another one, and is handed nothing until it arrives.
function intake.each(c, rt, limit, visit)
  local desc = classes.read(c, rt.class)
  if not desc then return end
  queues.each(c, rt.class, desc, limit, function(job, number)
    local rec = tries.waiting(c, job)
    if not rec then
      queues.drop(c, number, job)
    elseif tries.may_start(c, job, rec, number) then
      return visit(job, rec)
    end
  end)
end

-- Starts these { job =, rec = } on the node. With deadlines noted before (as for handed.note), they are kept.
local function start(c, node, rt, planned)
  local items = {}
  for i, plan in ipairs(planned) do
    tries.start(c, node, rt, plan.job, plan.rec, plan.deadline)
    items[i] = jobs.item(plan.job, plan.rec, plan.deadline)
  end
  return items
end

-- Reads what is handed over with a job, before the first write.
function intake.plan(c, job, rec)
  rec.payload = redis.call('HGET', keys.job(c.root, job), 'p')
  return { job = job, rec = rec, deadline = c.now + rec.ttl_ms }
end

-- What is noted of jobs that are handed over: { job, deadline:attempt, ... }.
function intake.noted(planned)
  local out = {}
  for _, plan in ipairs(planned) do
    out[#out + 1] = plan.job
    out[#out + 1] = string.format('%d:%d', plan.deadline, tries.next_attempt(plan.rec))
  end
  return out
end

intake.start = start

-- Makes sure that a job was handed over as this attempt. What was started, and has gone back since, is left alone, and so is
-- what an interrupted call did not come to when the slot meant for it was taken since.
local function make_sure(c, node, rt, job, rec, deadline, attempt)
  if rec.status or rec.q.attempt > attempt then return end
  local score = rec.node == node and holds.score(c, node, job)
  if score and not tries.is_counted(c, rec) then
    tries.start(c, node, rt, job, rec, deadline, true)
  elseif score then
    queues.remove(c, job, rec.q)
  elseif tries.next_attempt(rec) == attempt and queues.has(c, job, rec.q) and
    intake.room(rt, nodes.held(c, node), false) > 0 then
    tries.start(c, node, rt, job, rec, deadline)
  end
end

-- The items of jobs that were handed over before.
function intake.again(c, node, rt, given)
  local items = {}
  for i = 1, #given, 2 do
    local job = given[i]
    local deadline, attempt = given[i + 1]:match('^(%d+):(%d+)$')
    deadline, attempt = tonumber(deadline), tonumber(attempt)
    local rec = tries.look(c, job)
    if rec and rec.kind == 'q' and not rec.is_damaged then
      rec.payload = redis.call('HGET', keys.job(c.root, job), 'p')
      make_sure(c, node, rt, job, rec, deadline, attempt)
      -- Only what still runs there, in that try: the slot of any other may be somebody else's by now.
      if rec.node == node and not rec.status and rec.q.attempt == attempt and holds.score(c, node, job) then
        items[#items + 1] = jobs.item(job, rec, deadline)
      end
    end
  end
  return items
end

return intake
