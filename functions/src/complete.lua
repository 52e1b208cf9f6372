-- lockless_complete job node finished|failed [RESULT json] [REASON text] [ATTEMPT n]
--
-- The job ended on its node; the slot is freed once, however often it is said. One that came from the queue and failed goes
-- back to it, after a while, as long as it has tries left.
--
-- Reply:  OK
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NO_SUCH_JOB, NODE_MISMATCH, STALE_NODE,
--         WRONG_STATE
-- Calls:  10 (1 more with INCARNATION, 4 for a failed job and 1 more under ACK, 5 from a session's seat, 1 while
--         someone listens, 1 with the setting events = all); 22 for a job from the queue, 25 when it failed for good, 28
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
    return cell.OK
  end
  if arg.status == 'failed' and tries.went_back(rec, node, 'failed') then
    tries.finish_going_back(c, node, rt, job, rec)
    return cell.OK
  end
  -- The node's place is set when the call that freed the slot was interrupted.
  if not nodes.place(c, node, rt) and status ~= arg.status then errors.wrong_state(job, status) end
  return cell.OK
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
  return cell.OK
end

-- The node, the class and ack_ms of a job as most are: dispatched, not into a seat.
local PLAIN = '^([^ ]+) ([^ ]+) d [^ ]+ ([^ ]+) '
local SLOTS, READY, JOB, RUNTIME = keys.SLOTS, keys.READY, keys.JOB, keys.RUNTIME
local UNIT, PLACE_MAX, KEEP_FINISHED_MS, PAYLOAD_MAX = ready.UNIT, cell.NEVER, config.settings.keep_finished_ms.text,
  config.settings.payload_max_bytes.default

-- The way of most jobs: dispatched without ACK, finished, in a cell that is quiet. The same as what is below, in half of the time.
-- Returns nothing, and has written nothing, when it is any other.
local function plainly(root, arg, now, now_text, grants, finished, rest, listen)
  local result = arg.result
  if arg.status == 'failed' or arg.reason or result and #result > PAYLOAD_MAX then return nil end
  local call, format = redis.call, string.format
  local job, node = arg.job, arg.node
  local job_key = root .. JOB .. job
  local record = call('HMGET', job_key, 'd', 'f')
  if record[2] or not record[1] then return nil end
  local on, class, ack_ms = record[1]:match(PLAIN)
  if on ~= node or ack_ms ~= '0' then return nil end
  local slots, hold, ready_key = root .. SLOTS .. node, 'j' .. job, root .. READY .. class
  if not call('ZRANK', slots, hold) then return nil end
  local incarnation = arg.incarnation
  if incarnation and incarnation ~= (call('HGET', root .. RUNTIME .. node, 'incarnation') or 0) + 0 then return nil end
  local place = (call('ZSCORE', ready_key, node) or 0) + 0
  -- A slot is taken there, so it is at least one; of no number there is none less.
  if place < UNIT or place > PLACE_MAX then return nil end

  -- first write; what is written was found here: the job, its hold, the node's place, the cell's record
  local ordinal = format('%d', finished + 1)
  local final = 'finished ' .. now_text .. ' ' .. ordinal
  if result then call('HSET', job_key, 'f', final, 'r', result) else call('HSET', job_key, 'f', final) end
  if now < listen + 0 then cell.publish(root, 'ended ' .. job) end
  cell.save_quiet(root, now_text, grants, ordinal, rest)
  call('PEXPIRE', job_key, KEEP_FINISHED_MS)
  -- The slot is offered when the hold has gone, not before.
  call('ZREM', slots, hold)
  call('ZADD', ready_key, 'XX', format('%d', place - UNIT), node)
  return cell.OK
end

local function complete(root, arg)
  local call = redis.call
  local now, now_text, grants, finished, rest, generation, listen, configured = cell.quiet(root)
  local c
  if now then
    local reply = configured ~= '1' and plainly(root, arg, now, now_text, grants, finished, rest, listen)
    if reply then return reply end
    c = cell.opened(root, now, now_text, grants, finished, rest, generation, listen, configured)
  else
    c = cell.open_unguarded(root)
  end
  if arg.result then config.check_length(c, 'RESULT', arg.result) end
  if not now then settle.first(c) end
  local job, node = arg.job, arg.node
  local key = keys.job(root, job)
  local fields = call('HMGET', key, 'd', 'f', 's')
  local packed, final = fields[1], fields[2]
  local rec = packed and jobs.unpack(packed, final, fields[3])
  local score = rec and not rec.is_damaged and rec.node == node and holds.score(c, node, job)
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
    return cell.OK
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
  call('ZREM', keys.slots(root, node), 'j' .. job)
  -- Without a place it is on its way to another class, and has it set when it arrives. From one that says nothing, nothing is taken.
  if ready.is_taken(place) then call('ZADD', keys.ready(root, class), 'XX', ready.text(tonumber(place) - ready.UNIT), node) end
  return cell.OK
end

return complete
