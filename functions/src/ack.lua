-- lockless_ack job node
--
-- The node has the job: dispatched becomes running, and the run limit starts.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NO_SUCH_JOB, NODE_MISMATCH, STALE_NODE,
--         WRONG_STATE
-- Calls:  5 (1 more with INCARNATION, 1 when nothing else was heard for a second, 2 when the run limit is shorter than
--         what was left to acknowledge)

local function ack(root, arg)
  local call = redis.call
  local c = cell.open_unguarded(root)
  settle.first(c)
  local job, node = arg.job, arg.node
  local score = holds.score(c, node, job)
  local state, deadline
  if score then
    state, deadline = holds.state(score)
    word.is_current(c, node, arg.incarnation)
  end
  if not score or state == 'stopping' then
    local _, _, status = word.on_job(c, job, node, arg.incarnation)
    errors.wrong_state(job, status)
  end
  if state == 'running' then return redis.status_reply('OK') end
  local rec = jobs.read(c, job)
  if not rec then
    cell.guard(c)
    errors.no_such_job(job)
  end
  local limit = c.now + rec.ttl_ms

  -- first write; the slots were found here. The due list has no later deadline of the node than the old one.
  if limit < deadline then
    cell.guard(c)
    cell.due(c, 'h' .. node, limit)
  end
  call('ZADD', keys.slots(root, node), 'XX', holds.text(holds.RUNNING, limit), 'j' .. job)
  cell.touch_coarsely(c)
  return redis.status_reply('OK')
end

return ack
