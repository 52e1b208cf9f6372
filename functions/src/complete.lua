-- lockless_complete job node finished|failed [RESULT json] [REASON text] [ATTEMPT n]
--
-- The job ended on its node; the slot is freed once, however often it is said. One that came from the queue and failed goes
-- back to it, after a while, as long as it has tries left.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NO_SUCH_JOB, NODE_MISMATCH, STALE_NODE,
--         WRONG_STATE
-- Calls:  10 (1 more with INCARNATION, 1 under ACK, 1 with REASON, 4 for a failed job, 5 from a session's seat, 1 while
--         someone listens, 1 with the setting events = all); 21 for a job from the queue, 24 when it failed for good, 28
--         when it goes back

-- The job is not live with a hold where one would expect it: heard before, cancelled, expired, or an error.
local function settled_before(c, arg, score)
  local job, node = arg.job, arg.node
  local rec, rt, status = word.on_job(c, job, node, arg.incarnation)
  word.is_of_this_try(job, rec, arg.attempt)
  if score then
    -- Stopping: the node has stopped it. Any other hold of an ended job was left by an interrupted call.
    tries.finish_any(c, node, job, rec, score, status)
    jobs.let_go(c, job)
    leases.free(c, node, rt, job, rec)
    return redis.status_reply('OK')
  end
  if arg.status == 'failed' and tries.went_back(rec, node, 'failed') then
    tries.finish_going_back(c, node, rt, job, rec)
    return redis.status_reply('OK')
  end
  if status ~= arg.status then errors.wrong_state(job, status) end
  return redis.status_reply('OK')
end

-- A try of a job from the queue.
local function complete_try(c, arg, rec, score)
  local job, node = arg.job, arg.node
  cell.guard(c)
  tries.read(c, job, rec)
  word.is_of_this_try(job, rec, arg.attempt)
  local rt = nodes.read(c, node)
  -- first write
  if arg.status == 'failed' then
    tries.fail(c, node, job, rec, score, 'failed', arg.reason, arg.result)
  else
    tries.finish(c, node, job, rec, score, 'finished', arg.reason, arg.result)
  end
  if rec.status then jobs.let_go(c, job) end
  holds.free(c, node, rt, 'j' .. job)
  return redis.status_reply('OK')
end

local function complete(root, arg)
  local call = redis.call
  local c = cell.open_unguarded(root, arg.status)
  if arg.result then config.check_length(c, 'RESULT', arg.result) end
  settle.first(c)
  local job, node = arg.job, arg.node
  local rec = jobs.read(c, job)
  local score = rec and rec.node == node and holds.score(c, node, job)
  if not score or rec.status then return settled_before(c, arg, score) end
  word.is_current(c, node, arg.incarnation)
  if rec.kind == 'q' then return complete_try(c, arg, rec, score) end
  if rec.kind == 'b' then
    cell.guard(c)
    local rt = nodes.read(c, node)
    -- first write
    jobs.finish(c, job, rec, score, arg.status, arg.reason, arg.result)
    jobs.let_go(c, job)
    leases.free(c, node, rt, job, rec)
    return redis.status_reply('OK')
  end
  local class = rec.class
  local place = call('ZSCORE', keys.ready(root, class), node)
  if not place then
    cell.guard(c)
    class = nodes.read(c, node).class
    place = call('ZSCORE', keys.ready(root, class), node)
  end
  if arg.status == 'failed' then cell.guard(c) end

  -- first write; what is written was found here: the job, its hold, the node's place, the cell's record
  jobs.finish(c, job, rec, score, arg.status, arg.reason, arg.result)
  jobs.let_go(c, job)
  -- Without a place it is on its way to another class, and has it set when it arrives.
  if place then call('ZADD', keys.ready(root, class), 'XX', ready.text(tonumber(place) - ready.UNIT), node) end
  call('ZREM', keys.slots(root, node), 'j' .. job)
  return redis.status_reply('OK')
end

return complete
