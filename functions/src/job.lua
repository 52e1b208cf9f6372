-- lockless_job job
--
-- A job's record. Fields that do not apply yet are empty.
--
-- Reply:  fields job_id, status, node_id, session_id, src_lang, tgt_lang, payload_json, created_ts, started_ts, ended_ts,
--         deadline_ts, attempts, result, reason, progress, stopping, priority, ready_ts
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_SUCH_JOB
-- Calls:  5 (2 more for one from the queue)

-- The status a hold gives a live job.
local STATUS = { reserved = 'dispatched', dispatched = 'dispatched', running = 'running' }

local function job(root, arg)
  local c = cell.open(root)
  local rec = jobs.read_all(c, arg.job)
  if not rec or rec.status == 'released' then errors.no_such_job(arg.job) end
  if rec.is_damaged then errors.unreadable_job(arg.job) end
  local score = holds.score(c, rec.node, arg.job)
  local state, deadline
  if score then state, deadline = holds.state(score) end
  -- A live record without a hold: its node was lost, and it is about to be settled.
  local status = rec.status or STATUS[state] or 'expired'
  local priority, attempts, ready_ts = '', 1, ''
  if rec.kind == 'q' then
    tries.read(c, arg.job, rec)
    priority, attempts = rec.q.priority, rec.q.attempt
    if not rec.status and not score then status = tries.is_waiting(rec) and 'pending' or tries.fate(rec) end
    if status == 'pending' then
      ready_ts = tonumber(redis.call('ZSCORE', keys.delayed(root), arg.job) or nil) or ''
    end
  end
  local reason = rec.reason or (status == 'expired' and 'node lost') or ''
  local started
  if rec.status then started = jobs.was_started(rec) else started = score and jobs.started(rec, score) end
  return {
    'job_id', arg.job, 'status', status, 'node_id', jobs.place(rec), 'session_id', jobs.session(rec),
    'src_lang', rec.src, 'tgt_lang', rec.tgt, 'payload_json', rec.payload or '', 'created_ts', tonumber(rec.created),
    'started_ts', tonumber(started or nil) or '', 'ended_ts', tonumber(rec.ended or '') or '',
    'deadline_ts', not rec.status and deadline or '', 'attempts', attempts, 'result', rec.result or '', 'reason', reason,
    'progress', rec.progress or '', 'stopping', (state == 'stopping' or score and holds.is_asked(score)) and 1 or 0,
    'priority', priority, 'ready_ts', ready_ts,
  }
end

return job
