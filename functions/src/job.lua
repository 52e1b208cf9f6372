-- lockless_job job
--
-- A job's record. Fields that do not apply yet are empty.
--
-- Reply:  fields job_id, status, node_id, session_id, src_lang, tgt_lang, payload_json, created_ts, started_ts, ended_ts,
--         deadline_ts, attempts, result, reason, progress, stopping
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_SUCH_JOB
-- Calls:  5

-- The status a hold gives a live job.
local STATUS = { reserved = 'dispatched', dispatched = 'dispatched', running = 'running' }

local function job(root, arg)
  local c = cell.open(root)
  local rec = jobs.read_all(c, arg.job)
  if not rec or rec.status == 'released' then errors.no_such_job(arg.job) end
  local score = holds.score(c, rec.node, arg.job)
  local state, deadline
  if score then state, deadline = holds.state(score) end
  -- A live record without a hold: its node was lost, and it is about to be settled.
  local status = rec.status or STATUS[state] or 'expired'
  local reason = rec.reason or (status == 'expired' and 'node lost') or ''
  local started
  if rec.status then started = jobs.was_started(rec) else started = score and jobs.started(rec, score) end
  return {
    'job_id', arg.job, 'status', status, 'node_id', rec.node, 'session_id', jobs.session(rec),
    'src_lang', rec.src, 'tgt_lang', rec.tgt, 'payload_json', rec.payload or '', 'created_ts', tonumber(rec.created),
    'started_ts', tonumber(started or nil) or '', 'ended_ts', tonumber(rec.ended or '') or '',
    'deadline_ts', not rec.status and deadline or '', 'attempts', 1, 'result', rec.result or '', 'reason', reason,
    'progress', rec.progress or '', 'stopping', state == 'stopping' and 1 or 0,
  }
end

return job
