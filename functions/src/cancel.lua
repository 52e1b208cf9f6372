-- lockless_cancel job [REASON text]
--
-- Ends a job from outside. One that may be running keeps its slot, as stopping, until its node says that it stopped.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_SUCH_JOB, WRONG_STATE
-- Calls:  15 for a reservation, 11 for a job that may be running (1 more while someone listens, and 1 for its node), 19 for
--         such a one from the queue, 16 for one that waits there

-- One that waits for a node goes from where it waits last: by that an interrupted call is found.
local function withdraw(c, job, rec, reason)
  if rec.reasons then reason = rec.reasons .. '\n' .. (reason or 'cancelled') end
  -- first write
  jobs.finish(c, job, rec, nil, 'cancelled', reason, nil, 'withdrawn')
  jobs.let_go(c, job)
  queues.remove(c, job, rec.q)
  return cell.OK
end

-- What to do about a job from the queue that is not on a node: nil when it is on one, and nothing was done.
local function cancel_waiting(c, job, rec, reason)
  if tries.is_waiting(rec) then return withdraw(c, job, rec, reason) end
  if rec.status == 'cancelled' and rec.node == jobs.NOWHERE then
    if queues.knows(c, job, rec.q) then return withdraw(c, job, rec, reason) end
    -- It is out of its queue, but the queue may not be put right yet.
    queues.remove(c, job, rec.q)
    return cell.OK
  end
end

-- Ends a job whose node was lost, before that is settled: it would go back, and does not.
local function cancel_lost(c, job, rec, reason)
  -- first write
  tries.finish(c, rec.node, job, rec, nil, 'cancelled', reason, nil, 'lost')
  return cell.OK
end

local function cancel(root, arg)
  local job = arg.job
  local c = cell.open(root, 'cancelled')
  settle.first(c)
  local rec = jobs.read(c, job)
  if not rec or rec.status == 'released' then
    errors.no_such_job(job)
  end
  if rec.kind == 'q' then
    tries.read(c, job, rec)
    local reply = cancel_waiting(c, job, rec, arg.reason)
    if reply then return reply end
  end
  local node = rec.node
  local score = holds.score(c, node, job)
  local state = score and holds.state(score)
  if rec.status and rec.status ~= 'cancelled' then errors.wrong_state(job, rec.status) end
  if not score and rec.q then
    local is_left = rec.status and cell.counter(c, 'cancelled') < tonumber(rec.ordinal)
    local goes_back = not rec.status and tries.fate(rec) == 'pending'
    if is_left or goes_back then return cancel_lost(c, job, rec, arg.reason) end
  end
  if not rec.status and not score then errors.wrong_state(job, rec.q and tries.fate(rec) or 'expired') end
  local rt = nodes.read(c, node)
  if rec.status and (not score or state == 'stopping') then
    -- The slot of one that was never acknowledged is given back; that may have been interrupted.
    if rt then nodes.place(c, node, rt) end
    return cell.OK
  end

  -- first write
  tries.finish_any(c, node, job, rec, score, 'cancelled', arg.reason)
  if state == 'reserved' then
    jobs.let_go(c, job)
    leases.free(c, node, rt, job, rec)
  else
    redis.call('ZADD', keys.slots(root, node), 'XX', holds.STOPPING_TEXT, 'j' .. job)
    cell.announce(c, node)
  end
  return cell.OK
end

return cancel
