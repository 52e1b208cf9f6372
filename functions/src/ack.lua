-- lockless_ack job node
--
-- The node has the job: dispatched becomes running. Under ACK the run limit starts now; without, it started with the
-- dispatch, because the node may have begun at once.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NO_SUCH_JOB, NODE_MISMATCH, STALE_NODE,
--         WRONG_STATE
-- Calls:  3 (1 more with INCARNATION, 4 under ACK, 2 more when nothing else was heard for a second, and 2 when the run limit
--         is shorter than what was left to acknowledge)

-- The first digit of a hold that was dispatched, of so many.
local DISPATCHED_BYTE, DIGITS = 49, 14
local RUNNING_DIGIT, OK = holds.RUNNING_DIGIT, cell.OK

local STATE, SLOTS, RUNTIME = cell.STATE, keys.SLOTS, keys.RUNTIME

-- The way of most jobs: dispatched without ACK. What is due is left to others: a hold that is there has not been settled, so it
-- may be acknowledged. Returns nothing, and has written nothing, when it is any other job.
local function plainly(root, arg)
  local call = redis.call
  -- Of a cell of another schema nothing is touched.
  if call('HEXISTS', root, STATE) == 0 then return nil end
  local slots, hold = root .. SLOTS .. arg.node, 'j' .. arg.job
  local text = call('ZSCORE', slots, hold)
  if not text or #text ~= DIGITS or text:byte() ~= DISPATCHED_BYTE then return nil end
  local incarnation = arg.incarnation
  if incarnation and incarnation ~= (call('HGET', root .. RUNTIME .. arg.node, 'incarnation') or 0) + 0 then return nil end
  -- first write; the slots were found here. The deadline, all digits of the score but the first, stays.
  call('ZADD', slots, 'XX', RUNNING_DIGIT .. text:sub(2), hold)
  return OK
end

local function ack(root, arg)
  local reply = plainly(root, arg)
  if reply then return reply end
  local call = redis.call
  local c = cell.open_unguarded(root)
  settle.first(c)
  local job, node = arg.job, arg.node
  local slots, hold = keys.slots(root, node), 'j' .. job
  local text = call('ZSCORE', slots, hold)
  local state, deadline
  if text then
    state, deadline = holds.state(text + 0)
    if arg.incarnation then word.is_current(c, node, arg.incarnation) end
  end
  if not text or state == 'stopping' then
    local _, _, status = word.on_job(c, job, node, arg.incarnation)
    errors.wrong_state(job, status)
  end
  if state == 'running' then return cell.OK end
  local ttl_ms = jobs.ttl_ms(c, job)
  if not ttl_ms then
    cell.guard(c)
    errors.no_such_job(job)
  end
  local limit = c.now + ttl_ms

  -- first write; the slots were found here. The due list has no later deadline of the node than the old one.
  if limit < deadline then
    cell.guard(c)
    cell.due(c, 'h' .. node, limit)
  end
  call('ZADD', slots, 'XX', holds.text(holds.RUNNING, limit), hold)
  return cell.OK
end

return ack
