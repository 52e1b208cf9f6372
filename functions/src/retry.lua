-- lockless_retry job
--
-- Brings a job that came from the queue, and failed or expired, back to it, with as many tries as it had at first. The
-- reasons of its tries so far are kept.
--
-- Reply:  OK, also for one that waits already
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_SUCH_JOB, WRONG_STATE
-- Calls:  18 (2 more for the first job of a queue)

local DEAD = { failed = 'f', expired = 'e' }

local function retry(root, arg)
  local call = redis.call
  local c = cell.open(root, 'retried')
  settle.first(c)
  local job = arg.job
  local rec = tries.record(c, job)
  if not rec or rec.status == 'released' then errors.no_such_job(job) end
  if tries.is_waiting(rec) then return cell.OK end
  local score = holds.score(c, rec.node, job)
  local state = score and holds.state(score)
  if state == 'reserved' then state = 'dispatched' end
  if rec.kind ~= 'q' then errors.wrong_state(job, (rec.status or state or 'expired') .. ' and did not come from the queue') end
  if not DEAD[rec.status] then errors.wrong_state(job, rec.status or state or tries.fate(rec)) end
  if score then errors.wrong_state(job, rec.status .. ', and its node has not said that it stopped') end

  -- first write. Its end goes last: by that an interrupted call is found.
  local key = keys.job(root, job)
  local is_new = not (rec.last and rec.last.how == 'retried' and rec.last.on_node == rec.q.attempt)
  local ordinal = is_new and cell.counter(c, 'retried') + 1 or rec.last.ordinal
  rec.q.used = 0
  call('PERSIST', key)
  call('HSET', key, 'd', tries.description(rec, jobs.NOWHERE, '-', rec.grant), 'q', tries.pack(rec.q), 'l',
    jobs.NOWHERE .. ' retried ' .. string.format('%d %d', ordinal, rec.q.attempt))
  if not queues.knows(c, job, rec.q) then queues.put(c, job, rec.q) end
  call('ZREM', keys.failed(root), DEAD[rec.status] .. job)
  events.of_job(c, 'job_requeued', '', job, '', 'retried')
  if cell.counter(c, 'retried') < ordinal then cell.set_counter(c, 'retried', ordinal) end
  call('HDEL', key, 'f', 'r', 's', 'x')
  return cell.OK
end

return retry
