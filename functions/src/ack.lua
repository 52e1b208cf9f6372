-- lockless_ack job node
--
-- The node has the job: dispatched becomes running. Under ACK the run limit starts now; without, it started with the
-- dispatch, because the node may have begun at once.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NO_SUCH_JOB, NODE_MISMATCH, STALE_NODE,
--         WRONG_STATE
-- Calls:  4 (1 more with INCARNATION, 1 under ACK, 2 when nothing else was heard for a second, 2 when the run limit is
--         shorter than what was left to acknowledge)

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
  local limit = deadline
  if state == 'reserved' then
    local rec = jobs.read(c, job)
    if not rec then
      cell.guard(c)
      errors.no_such_job(job)
    end
    limit = c.now + rec.ttl_ms
  end

  -- first write; the slots were found here. The due list has no later deadline of the node than the old one.
  if limit < deadline then
    cell.guard(c)
    cell.due(c, 'h' .. node, limit)
  end
  call('ZADD', keys.slots(root, node), 'XX', holds.text(holds.RUNNING, limit), 'j' .. job)
  return redis.status_reply('OK')
end

return ack
