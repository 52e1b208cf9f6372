-- lockless_stopped job node ok|failed [ATTEMPT n]
--
-- The node's word on a stop. `ok`: the process is gone, and so is the hold; a job from the queue that has not ended goes
-- back to its queue without using up a try, also when the node gave it up unasked. `failed`: it can't be stopped. A job that
-- was to make room runs on, and a later tick may ask again; one that has ended keeps its slot, and the node is told again.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NO_SUCH_JOB, NODE_MISMATCH, STALE_NODE,
--         WRONG_STATE
-- Calls:  30 for a job that goes back (2 more for the first of its queue), 17 for one that has ended, 11 for one that runs on

local ENDED = { cancelled = true, expired = true }

-- What a hold that nobody asked to give up says of its job.
local function not_asked(job, score)
  local state = holds.state(score)
  errors.wrong_state(job, (state == 'reserved' and 'dispatched' or state) .. ' and was not asked to stop')
end

local function tell(c, kind, node, job, rec, detail)
  events.write(c, kind, 'node', node, 'job', job, 'session', jobs.session(rec), 'detail', detail)
end

local function ok(c, job, node, rec, rt, score, status)
  if tries.went_back(rec, node, 'preempted') then return tries.finish_going_back(c, node, rt, job, rec) end
  if not score and ENDED[rec.status] then return nodes.place(c, node, rt) end
  if not score then errors.wrong_state(job, status) end
  if rec.kind ~= 'q' and not rec.status then not_asked(job, score) end
  -- first write
  tell(c, 'TASK_STOPPED', node, job, rec, rec.status or 'PREEMPTED')
  if rec.status then
    tries.finish_any(c, node, job, rec, score, rec.status)
    jobs.let_go(c, job)
    leases.free(c, node, rt, job, rec)
  else
    tries.go_back(c, node, job, rec, score, 'preempted')
    holds.free(c, node, rt, 'j' .. job)
  end
end

local function failed(c, job, node, rec, score, status)
  if score and rec.status then return tell(c, 'TASK_STOP_FAILED', node, job, rec, rec.status) end
  if not score then errors.wrong_state(job, status) end
  if rec.kind ~= 'q' then not_asked(job, score) end
  -- Said before, or not asked for: it runs.
  if not holds.is_asked(score) then return end
  local _, deadline = holds.state(score)
  -- first write
  tell(c, 'TASK_STOP_FAILED', node, job, rec, 'PREEMPTED')
  work.go_on(c, node, job, rec.q, jobs.started(rec, score))
  redis.call('ZADD', keys.slots(c.root, node), 'XX', holds.text(holds.RUNNING, deadline), 'j' .. job)
end

local function stopped(root, arg)
  local c = cell.open(root)
  settle.first(c)
  local job, node = arg.job, arg.node
  local rec, rt, status = word.on_job(c, job, node, arg.incarnation)
  word.is_of_this_try(job, rec, arg.attempt)
  local score = holds.score(c, node, job)
  if arg.outcome == 'ok' then
    ok(c, job, node, rec, rt, score, status)
  else
    failed(c, job, node, rec, score, status)
  end
  cell.touch(c)
  return cell.OK
end

return stopped
