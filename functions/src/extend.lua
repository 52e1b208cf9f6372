-- lockless_extend job node ms [PROGRESS text] [ATTEMPT n]
--
-- Moves the run limit to `ms` from now, and notes progress.
--
-- Reply:  the new deadline, in ms
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NO_SUCH_JOB, NODE_MISMATCH, STALE_NODE,
--         WRONG_STATE
-- Calls:  8 (1 more with INCARNATION, 1 with PROGRESS, 1 when nothing else was heard for a second)

local MAY_RUN = { dispatched = true, running = true }

local function extend(root, arg)
  local c = cell.open(root)
  settle.first(c)
  local job, node = arg.job, arg.node
  local score = holds.score(c, node, job)
  local state, limit
  if score then state, limit = holds.state(score) end
  if not MAY_RUN[state] then
    local _, _, status = word.on_job(c, job, node, arg.incarnation)
    errors.wrong_state(job, state == 'reserved' and 'dispatched and not acknowledged' or status)
  end
  word.is_current(c, node, arg.incarnation)
  local deadline = c.now + arg.ms
  local rec = jobs.read(c, job) or errors.no_such_job(job)
  if arg.attempt and rec.kind == 'q' then word.is_of_this_try(job, tries.read(c, job, rec), arg.attempt) end

  -- first write
  if not rec.started then
    redis.call('HSET', keys.job(root, job), 's', jobs.started(rec, score) or rec.created)
  end
  if arg.progress then redis.call('HSET', keys.job(root, job), 'x', arg.progress) end
  if deadline < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. node, deadline) end
  redis.call('ZADD', keys.slots(root, node), 'XX', holds.text(score - limit, deadline), 'j' .. job)
  return deadline
end

return extend
