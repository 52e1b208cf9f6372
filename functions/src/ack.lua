-- lockless_ack job node
--
-- The node has the job: dispatched becomes running. Under ACK the run limit starts now.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NO_SUCH_JOB, NODE_MISMATCH, STALE_NODE,
--         WRONG_STATE
-- Calls:  6 (1 more with INCARNATION, 1 under ACK, 2 more when its run limit is near, 1 when nothing else was heard for a second)

local function ack(root, arg)
  local call = redis.call
  local c = cell.open(root)
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
  cell.guard(c, keys.job(root, job), keys.due(root))
  if state == 'reserved' then
    local rec = jobs.read(c, job) or errors.no_such_job(job)
    deadline = c.now + rec.ttl_ms
  end
  local near = state == 'reserved' and deadline < c.now + cell.HORIZON_MS

  -- first write
  call('HSET', keys.job(root, job), 's', c.now_text)
  if near then cell.due(c, 'h' .. node, deadline) end
  call('ZADD', keys.slots(root, node), 'XX', holds.text(holds.RUNNING, deadline), 'j' .. job)
  cell.touch_coarsely(c)
  return redis.status_reply('OK')
end

return ack
