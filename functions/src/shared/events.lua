-- Events: what happened, in R:events, a stream that keeps about the last events_max. An entry has a type, ts (the cell's
-- clock) and what it is about: node, job, session, detail. Its id is drawn by Redis, which never gives an earlier one.
--
-- They are written where the change is, before what tells that it is done: a call that was interrupted and is made
-- again may write one twice, but never leaves one out.

local events = {}

-- Types that are written only where the setting events is `all`.
local OF_EVERY_JOB = { job_submitted = true, job_started = true, job_dispatched = true, job_completed = true,
  job_cancelled = true }

-- The places of an event after its id.
events.FIELDS = { 'type', 'ts', 'node', 'job', 'session', 'detail' }

-- Writes an event of these fields and values, and wakes those who wait for one, once a call.
function events.write(c, kind, ...)
  redis.call('XADD', keys.events(c.root), 'MAXLEN', '~', config.text(c, 'events_max'), '*', 'type', kind, 'ts', c.now_text,
    ...)
  if not c.told_of_events then
    c.told_of_events = true
    cell.announce(c, 'event')
  end
end

-- Whether what every job goes through is told here, too.
function events.are_of_every_job(c)
  return config.value(c, 'events') == 'all'
end

-- The same for a job, unless it is of a type that is not wanted here.
function events.of_job(c, kind, node, job, session, detail)
  if OF_EVERY_JOB[kind] and not events.are_of_every_job(c) then return end
  events.write(c, kind, 'node', node, 'job', job, 'session', session, 'detail', detail or '')
end

return events
