-- Job records.
--
-- R:job:<job> is a hash: d (the description, packed), p (payload), and once it has ended f ("status ended ordinal",
-- and of a try " on_node how", as for l),
-- s (started, ms), r (result), e (reason); x is the progress noted last. Ids have no spaces, so a space separates.
-- A live job's state is not in it: it is the score of its hold (holds.lua). Nor is when it started: that is its run limit
-- less its ttl (without ACK: when it was dispatched); extend, which moves the limit, writes it down first. What its node
-- completed without ACK and without s was started when it was dispatched.
--
-- A job that came from the queue has also q, its wishes and tries, and l, how its last try ended if it went back
-- (tries.lua); while it waits its node is jobs.NOWHERE.
--
-- The ordinal is the value of the cell's counter of that status with this job in it. It makes counting idempotent:
-- whoever finishes an interrupted call can tell whether the job was counted.

local jobs = {}

local PACKED = '^([^ ]+) ([^ ]+) ([^ ]+) (%d+) ([%d-]+) (%d+) (%d+) ([^ ]+) ([^ ]+) ([^ ]+)$'

-- The node of a job that waits for one. No id has this byte.
jobs.NOWHERE = '\1'

-- kind is 'd' for a job that was dispatched, 'b' for one that was dispatched into its session's seat, 'r' for a
-- reservation, 'q' for one from the queue; grant is the number of the grant that made it.
function jobs.pack(node, class, kind, created, ack_ms, ttl_ms, grant, src, tgt, session)
  return node .. ' ' .. class .. ' ' .. kind .. ' ' .. created .. ' ' .. ack_ms .. ' ' .. ttl_ms .. ' ' .. grant ..
    ' ' .. src .. ' ' .. tgt .. ' ' .. session
end

local STATUSES = { finished = true, failed = true, cancelled = true, expired = true, released = true }

-- Far more than a cell counts: what is counted on from a number that is no more than that stays exact.
local COUNT_MAX = 999999999999999
local SPAN_MAX = contract.lockless_dispatch.options.TTL.max

-- What a record can say: a number that was counted, a time in ms (they have 13 digits), and a number of ms.
function jobs.is_count(text)
  return cell.is_whole(text) and text + 0 <= COUNT_MAX
end

local function is_time(text)
  return #text == 13 and cell.is_whole(text)
end

local function is_span(text)
  return cell.is_whole(text) and text + 0 <= SPAN_MAX
end

-- Of a record that is damaged what it says may be missing, and is not to be relied on.
local function unpack_record(packed, final, started)
  local node, class, kind, created, ack_ms, ttl_ms, grant, src, tgt, session = packed:match(PACKED)
  local status, ended, ordinal, on_node, how
  if final then status, ended, ordinal, on_node, how = final:match('^(%l+) (%d+) (%d+) ?(%d*) ?(%S*)$') end
  local is_sound = node and is_time(created) and is_span(ttl_ms) and (ack_ms == '-' or is_span(ack_ms)) and jobs.is_count(grant) and
    (not final or STATUSES[status] and is_time(ended) and jobs.is_count(ordinal) and (on_node == '' or jobs.is_count(on_node)))
  return { is_damaged = not is_sound, node = node, class = class, kind = kind, created = created, ack_ms = ack_ms, ttl_ms = ttl_ms, grant = grant,
    src = src, tgt = tgt, session = session, status = status, ended = ended, ordinal = ordinal,
    on_node = on_node ~= '' and on_node or nil, how = how ~= '' and how or nil, started = started }
end

jobs.unpack = unpack_record

-- The record without payload and result, or nil. For those who go on beside a record that is damaged.
function jobs.look(c, job)
  local fields = redis.call('HMGET', keys.job(c.root, job), 'd', 'f', 's')
  if fields[1] then return unpack_record(fields[1], fields[2], fields[3]) end
end

-- The same for a call that names the job.
function jobs.read(c, job)
  local rec = jobs.look(c, job)
  if rec and rec.is_damaged then errors.unreadable_job(job) end
  return rec
end

local TTL = '^[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ (%d+) '

-- The run limit of a job, or nil.
function jobs.ttl_ms(c, job)
  local packed = redis.call('HGET', keys.job(c.root, job), 'd')
  if not packed then return nil end
  local ttl_ms = packed:match(TTL)
  return is_span(ttl_ms) and ttl_ms or errors.unreadable_job(job)
end

-- As jobs.look.
function jobs.look_with_payload(c, job)
  local fields = redis.call('HMGET', keys.job(c.root, job), 'd', 'f', 'p')
  if not fields[1] then return nil end
  local rec = unpack_record(fields[1], fields[2])
  rec.payload = fields[3]
  return rec
end

-- Everything, for a reader. As jobs.look.
function jobs.read_all(c, job)
  local fields = redis.call('HMGET', keys.job(c.root, job), 'd', 'f', 'p', 's', 'r', 'e', 'x')
  if not fields[1] then return nil end
  local rec = unpack_record(fields[1], fields[2], fields[4])
  rec.payload, rec.result, rec.reason, rec.progress = fields[3], fields[5], fields[6], fields[7]
  return rec
end

local COMPLETED = { finished = true, failed = true }

local EVENTS = { finished = 'job_completed', failed = 'job_failed', expired = 'job_expired', cancelled = 'job_cancelled' }

-- When a job that has ended was started, as text; nil when it was not.
function jobs.was_started(rec)
  return rec.started or (COMPLETED[rec.status] and rec.created) or nil
end

-- When a job with this hold was started, as text; nil when it was not.
function jobs.started(rec, score)
  if not score then return nil end
  local state, deadline = holds.state(score)
  if state ~= 'running' then return nil end
  if rec.started and is_time(rec.started) then return rec.started end
  local ttl_ms = tonumber(rec.ttl_ms)
  return ttl_ms and string.format('%d', deadline - ttl_ms)
end

-- The box an ended job is listed in, and its member there; nil for finished ones.
local function box_of(c, job, status)
  if status == 'cancelled' then return keys.cancelled(c.root), job, 'c' end
  if status == 'failed' then return keys.failed(c.root), 'f' .. job, 'f' end
  if status == 'expired' then return keys.failed(c.root), 'e' .. job, 'f' end
end

-- Lets an ended job's record go after keep_finished_ms. Only once its hold goes, so that every hold has its record; and
-- by the cell's clock, so that its entry in a box, written by `finish` in the same call, never outlives it.
function jobs.let_go(c, job)
  redis.call('PEXPIREAT', keys.job(c.root, job), string.format('%d', c.now + config.value(c, 'keep_finished_ms')))
end

-- Writes the end of a job with this hold (status, reason, result, its box, the counter and an event) and announces it.
-- Idempotent when `rec` has a status already: then it only makes sure that all of it was written, and keeps its entry in
-- the box from now on. `count_with`, for a job from the queue, is how its try ended: it is counted with the job.
function jobs.finish(c, job, rec, score, status, reason, result, count_with)
  local call = redis.call
  local key = keys.job(c.root, job)
  local count = cell.counter(c, rec.status or status)
  local ordinal = tonumber(rec.ordinal) or count + 1
  if not rec.status then
    local final = status .. ' ' .. c.now_text .. ' ' .. string.format('%d', ordinal)
    if rec.on_node then final = final .. ' ' .. rec.on_node .. ' ' .. rec.how end
    if not (COMPLETED[status] and rec.ack_ms == '0') then
      local started = jobs.started(rec, score)
      if started then call('HSET', key, 's', started) end
    end
    events.of_job(c, EVENTS[status], jobs.place(rec), job, jobs.session(rec), reason)
    local fields = { 'f', final }
    if reason then fields[3], fields[4] = 'e', reason end
    if result then fields[#fields + 1], fields[#fields + 2] = 'r', result end
    call('HSET', key, unpack(fields))
    rec.status = status
    cell.announce(c, 'ended ' .. job)
  end
  local box, member, due = box_of(c, job, rec.status)
  if box then
    local keep_ms = config.value(c, 'keep_finished_ms')
    call('ZADD', box, string.format('%d', c.now + keep_ms), member)
    cell.due(c, due, c.now + keep_ms)
  end
  if count < ordinal then
    if count_with then
      local with = string.format('%d', (call('HGET', c.root, count_with) or 0) + 1)
      cell.set_counter(c, rec.status, ordinal, count_with, with)
    else
      cell.set_counter(c, rec.status, ordinal)
    end
  end
end

local LOST = 'its record was lost'

-- Makes the record of a job whose own is gone, or can't be read, one that has expired. That it has is written with it: an
-- interrupted call leaves no job that nobody gave.
function jobs.write_off(c, job, node, class)
  local call = redis.call
  local key = keys.job(c.root, job)
  events.of_job(c, 'job_expired', node ~= jobs.NOWHERE and node or '', job, '', LOST)
  call('HSET', key, 'd', jobs.pack(node, class, 'd', c.now_text, '0', config.text(c, 'job_ttl_ms'), '0', '-', '-', '-'), 'p',
    call('HGET', key, 'p') or '', 'e', LOST, 'f', 'expired ' .. c.now_text .. ' ' ..
    string.format('%d', cell.counter(c, 'expired') + 1))
  call('HDEL', key, 'q', 'l', 's')
  call('PERSIST', key)
  cell.announce(c, 'ended ' .. job)
  return jobs.look(c, job)
end

-- The session a job was dispatched for; a reservation and a job from the queue have none.
function jobs.session(rec)
  return (rec.kind == 'd' or rec.kind == 'b') and rec.session or ''
end

-- The node a job is on, empty while it waits for one.
function jobs.place(rec)
  return rec.node ~= jobs.NOWHERE and rec.node or ''
end

-- The fields of a job item.
function jobs.item(job, rec, deadline)
  return { 'job_id', job, 'payload', rec.payload or '', 'session_id', jobs.session(rec), 'src_lang', rec.src,
    'tgt_lang', rec.tgt, 'attempt', rec.q and rec.q.attempt or 1, 'deadline_ts', deadline }
end

return jobs
