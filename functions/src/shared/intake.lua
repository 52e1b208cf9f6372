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
-- looked at. What an interrupted call left in a queue is put right on the way.
function intake.each(c, node, rt, limit, visit)
  queues.each(c, rt.class, nodes.description(c, node, rt), limit, function(job, number)
    local rec = tries.waiting(c, job)
    if not rec then
      queues.drop(c, number, job)
    elseif tries.may_start(c, job, rec) then
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

-- What is noted of jobs that are handed over: { job, deadline, ... }.
function intake.noted(planned)
  local out = {}
  for _, plan in ipairs(planned) do
    out[#out + 1] = plan.job
    out[#out + 1] = string.format('%d', plan.deadline)
  end
  return out
end

intake.start = start

-- The items of jobs that were handed over before. Those that an interrupted call left in their queues are started now.
function intake.again(c, node, rt, given)
  local items = {}
  for i = 1, #given, 2 do
    local job, deadline = given[i], tonumber(given[i + 1])
    local rec = tries.record(c, job)
    if rec and rec.kind == 'q' then
      rec.payload = redis.call('HGET', keys.job(c.root, job), 'p')
      local is_left = not rec.status and queues.has(c, job, rec.q)
      if is_left and tries.may_start(c, job, rec) then tries.start(c, node, rt, job, rec, deadline) end
      if rec.node == node then items[#items + 1] = jobs.item(job, rec, deadline) end
    end
  end
  return items
end

return intake
