-- Jobs from the queue. Each time one is started on a node is a try, and each try ends once: completed, failed, preempted,
-- timeout, lost or cancelled. After it the job has ended or goes back to its queue.
--
-- The record's field q is "priority seq attempt used retries mem_mb cpu gpu_mb preemptible shape": its place in its queue, how often
-- it was started, how many tries were used up and how many may be beyond the first, its estimates, and the shape of its
-- wishes. Field l is "node how ordinal on_node" when its last try went back: the numbers of that among all that went back,
-- and among those of that kind on the node, so that an interrupted call counts once.
--
-- R counts: submitted, retried (brought back by a caller), requeued (went back), started, withdrawn (cancelled while
-- waiting), and tries_<end>. So submitted + retried + requeued = waiting + started + withdrawn, and started = running +
-- the sum of all ends.

local tries = {}

local PACKED = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (%S+) (.+)$'

function tries.pack(q)
  return string.format('%d %d %d %d %d %d ', q.priority, q.seq, q.attempt, q.used, q.retries, q.mem_mb) .. q.cpu .. ' ' ..
    string.format('%d', q.gpu_mb) .. ' ' .. q.preemptible .. ' ' .. q.shape
end

local SUBMIT = contract.lockless_submit.options

-- Whether an estimate, or what else a caller may give, is one: a job's place among others is found by it.
local function is_given(text, option)
  local value = tonumber(text)
  return value and value >= SUBMIT[option].min and value <= SUBMIT[option].max
end

-- Adds rec.q, rec.last (how the last try went back, or nil) and rec.reasons to a record of the kind q. One that can't be read is
-- damaged, and gets no q.
local function add_tries(c, job, rec)
  local fields = redis.call('HMGET', keys.job(c.root, job), 'q', 'l', 'e')
  local priority, seq, attempt, used, retries, mem_mb, cpu, gpu_mb, preemptible, shape = (fields[1] or ''):match(PACKED)
  local is_sound = shape and is_given(priority, 'PRIORITY') and is_given(retries, 'RETRIES') and is_given(mem_mb, 'MEM_MB') and
    is_given(gpu_mb, 'GPU_MB') and is_given(cpu, 'CPU') and jobs.is_count(seq) and jobs.is_count(attempt) and jobs.is_count(used) and
    queues.wishes(shape)
  local node, how, ordinal, on_node = (fields[2] or ''):match('^(%S+) (%S+) (%d+) (%d+)$')
  if not is_sound or fields[2] and not (node and jobs.is_count(ordinal) and jobs.is_count(on_node)) then
    rec.is_damaged = true
    return rec
  end
  rec.q = { priority = tonumber(priority), seq = tonumber(seq), attempt = tonumber(attempt), used = tonumber(used),
    retries = tonumber(retries), mem_mb = tonumber(mem_mb), cpu = cpu, gpu_mb = tonumber(gpu_mb),
    preemptible = preemptible, shape = shape }
  if node then rec.last = { node = node, how = how, ordinal = tonumber(ordinal), on_node = tonumber(on_node) } end
  rec.reasons = fields[3] or nil
  return rec
end

-- The record of a job with what is special about one from the queue, or nil. As jobs.look.
function tries.look(c, job)
  local rec = jobs.look(c, job)
  if rec and rec.kind == 'q' then add_tries(c, job, rec) end
  return rec
end

-- Adds the same to a record that was read, for a call that names the job.
function tries.read(c, job, rec)
  if add_tries(c, job, rec).is_damaged then errors.unreadable_job(job) end
  return rec
end

-- As jobs.read.
function tries.record(c, job)
  local rec = jobs.read(c, job)
  if rec and rec.kind == 'q' then tries.read(c, job, rec) end
  return rec
end

-- The record of a job that a queue lists; nil when it does not wait for a node any more. One that is damaged may wait, for repair.
function tries.waiting(c, job)
  local rec = tries.look(c, job)
  if rec and (rec.is_damaged or rec.kind == 'q' and not rec.status) then return rec end
end

function tries.is_waiting(rec)
  return rec.kind == 'q' and not rec.status and rec.node == jobs.NOWHERE
end

local function description(rec, node, class, grant)
  return jobs.pack(node, class, 'q', rec.created, '-', rec.ttl_ms, grant, rec.src, rec.tgt, '-')
end

tries.description = description

-- The reasons of all tries, one per line.
local function with_reason(rec, reason)
  local line = 'try ' .. rec.q.attempt .. ': ' .. (reason and reason ~= '' and reason or 'no reason given')
  return rec.reasons and rec.reasons .. '\n' .. line or line
end

-- The number that a waiting job's next try has. A start that was interrupted before it took a slot has been counted.
function tries.next_attempt(rec)
  return rec.node == jobs.NOWHERE and rec.q.attempt + 1 or rec.q.attempt
end

-- Whether the start of a try that has a slot was counted. An interrupted one was not.
function tries.is_counted(c, rec)
  return tonumber(rec.grant) <= c.grants
end

local function count_start(c, rec)
  if tries.is_counted(c, rec) then return end
  c.grants = tonumber(rec.grant)
  cell.save(c, 'started', string.format('%d', (redis.call('HGET', c.root, 'started') or 0) + 1))
end

-- Starts a waiting job on a node, or finishes an interrupted start there, which may have its slot already (`is_held`). It goes
-- from its queue last: by that an interrupted start is found. The node's place comes before the hold: a slot that is taken is
-- never offered.
function tries.start(c, node, rt, job, rec, deadline, is_held)
  local call = redis.call
  local q = rec.q
  if rec.node ~= node or tries.is_counted(c, rec) then
    q.attempt = tries.next_attempt(rec)
    rec.node, rec.class, rec.grant = node, rt.class, string.format('%d', c.grants + 1)
    call('HSET', keys.job(c.root, job), 'd', description(rec, node, rt.class, rec.grant), 'q', tries.pack(q))
  end
  if deadline < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. node, deadline) end
  ready.place(c, rt.class, node, rt.flags, nodes.held(c, node) + (is_held and 0 or 1) + rt.foreign)
  call('ZADD', keys.slots(c.root, node), holds.text(holds.RUNNING, deadline), 'j' .. job)
  work.add(c, node, job, q, deadline - rec.ttl_ms)
  events.of_job(c, 'job_started', node, job, '', 'try ' .. q.attempt)
  count_start(c, rec)
  queues.remove(c, job, q)
end

-- A job that the queue of this number lists though it is on a node: its start was interrupted. When it has its slot the
-- start is finished, else it waits still. Returns whether it may be started; one that is damaged may not.
function tries.may_start(c, job, rec, number)
  if rec.is_damaged then return false end
  if rec.node == jobs.NOWHERE then return true end
  local score = holds.score(c, rec.node, job)
  if not score then return true end
  if tries.is_counted(c, rec) then
    queues.drop(c, number, job)
  else
    local _, deadline = holds.state(score)
    tries.start(c, rec.node, nodes.read(c, rec.node), job, rec, deadline, true)
  end
  return false
end

-- What a job's end is for its try.
local COUNTED = { finished = 'completed', failed = 'failed', expired = 'timeout', cancelled = 'cancelled' }

-- Writes the end of a job from the queue that has a slot; the caller frees the slot, or leaves it stopping. `how` is given
-- when the status does not say how the try ended. What it says of an end that is written already counts for nothing.
function tries.finish(c, node, job, rec, score, status, reason, result, how)
  if not rec.q then tries.read(c, job, rec) end
  count_start(c, rec)
  -- An end that can't be read is damage; it is mended as one from outside.
  how = rec.how or how or COUNTED[rec.status or status] or COUNTED.cancelled
  if not rec.status then
    rec.on_node, rec.how = string.format('%d', work.next(c, node, how)), how
    if status == 'failed' or status == 'expired' then reason = with_reason(rec, reason) end
    if status == 'cancelled' and rec.reasons then reason = rec.reasons .. '\n' .. (reason or 'cancelled') end
  end
  local started = jobs.started(rec, score)
  jobs.finish(c, job, rec, score, status, reason, result, 'tries_' .. how)
  if rec.on_node then work.count(c, node, how, tonumber(rec.on_node)) end
  if started then work.remove(c, node, job, rec.q, started) end
end

-- The same for a job of any kind.
function tries.finish_any(c, node, job, rec, score, status, reason)
  if rec.kind == 'q' then
    tries.finish(c, node, job, rec, score, status, reason)
  else
    jobs.finish(c, job, rec, score, status, reason)
  end
end

-- The time until the next try: it doubles with each, and differs from job to job by a quarter at most. The same job always
-- gets the same.
local function backoff_ms(c, job, used)
  local base, most = config.value(c, 'retry_backoff_ms'), config.value(c, 'retry_backoff_max_ms')
  local hash = used
  for i = 1, #job do hash = (hash * 31 + job:byte(i)) % 2147483647 end
  return math.floor(math.min(most, base * 2 ^ math.min(used - 1, 40)) * (0.75 + 0.5 * (hash % 1024) / 1023))
end

-- Only a failure makes a job wait; what happened to its node is no reason to.
local USED_UP = { failed = true, lost = true, preempted = false }

-- Whether a job may try again after a try that ended so.
function tries.may_go_back(rec, how)
  return not USED_UP[how] or rec.q.used < rec.q.retries
end

-- Ends a try and brings the job back to its queue, or finishes an interrupted call that did so; the caller frees the slot.
function tries.go_back(c, node, job, rec, score, how, reason)
  local call = redis.call
  local q = rec.q
  local started = jobs.started(rec, score)
  count_start(c, rec)
  if rec.node ~= jobs.NOWHERE then
    if USED_UP[how] then q.used = q.used + 1 end
    rec.last = { node = node, how = how, ordinal = (call('HGET', c.root, 'requeued') or 0) + 1,
      on_node = work.next(c, node, how) }
    events.of_job(c, 'job_requeued', node, job, '', how .. (reason and reason ~= '' and ': ' .. reason or ''))
    rec.node = jobs.NOWHERE
    local fields = { 'd', description(rec, jobs.NOWHERE, '-', rec.grant), 'q', tries.pack(q), 'l',
      node .. ' ' .. how .. string.format(' %d %d', rec.last.ordinal, rec.last.on_node) }
    if USED_UP[how] then
      fields[#fields + 1] = 'e'
      fields[#fields + 1] = with_reason(rec, reason)
    end
    call('HSET', keys.job(c.root, job), unpack(fields))
  end
  if not queues.knows(c, job, q) then
    if how == 'failed' then queues.delay(c, job, c.now + backoff_ms(c, job, q.used)) else queues.put(c, job, q) end
  end
  if tonumber(call('HGET', c.root, 'requeued') or '0') < rec.last.ordinal then
    local counter = 'tries_' .. how
    cell.set_counter(c, 'requeued', rec.last.ordinal, counter,
      string.format('%d', (call('HGET', c.root, counter) or 0) + 1))
  end
  work.count(c, node, how, rec.last.on_node)
  if started then work.remove(c, node, job, q, started) end
  -- What the try left behind. When it started is known by these, so they go after what is found by it.
  call('HDEL', keys.job(c.root, job), 's', 'x')
end

-- Whether a job waits because its last try, on this node, ended so.
function tries.went_back(rec, node, how)
  return tries.is_waiting(rec) and rec.last ~= nil and rec.last.node == node and rec.last.how == how
end

-- An end that was said before: when the slot is still there, or still seems to be taken, that call was interrupted.
function tries.finish_going_back(c, node, rt, job, rec)
  local score = holds.score(c, node, job)
  if not score then return nodes.place(c, node, rt) end
  tries.go_back(c, node, job, rec, score, rec.last.how)
  holds.free(c, node, rt, 'j' .. job)
end

-- A try that failed, or whose node was lost: another one, or the end of the job.
function tries.fail(c, node, job, rec, score, how, reason, result)
  if tries.may_go_back(rec, how) then return tries.go_back(c, node, job, rec, score, how, reason) end
  tries.finish(c, node, job, rec, score, 'failed', reason, result, how)
end

-- What becomes of a try whose node was lost, before it is settled.
function tries.fate(rec)
  return tries.may_go_back(rec, 'lost') and 'pending' or 'failed'
end

-- Settles a try on a node that was lost. What has gone back, or is on another node by now, is left as it is.
function tries.lose(c, node, job, rec, score)
  if rec.node == node then
    local has_ended_before = rec.status and (rec.how ~= 'lost' or rec.status == 'cancelled')
    if has_ended_before and cell.counter(c, rec.status) >= tonumber(rec.ordinal) then
      -- It is counted, and a node of that name may be another one by now.
      jobs.finish(c, job, rec, score, rec.status)
    elseif rec.status then
      tries.finish(c, node, job, rec, score, rec.status)
    else
      tries.fail(c, node, job, rec, score, 'lost', 'node lost')
    end
    if rec.status then jobs.let_go(c, job) end
  elseif tries.is_waiting(rec) and rec.last and rec.last.node == node then
    tries.go_back(c, node, job, rec, score, rec.last.how)
  end
end

-- How many jobs wait for a node.
function tries.waiting_count(c)
  local r = redis.call('HMGET', c.root, 'submitted', 'retried', 'requeued', 'started', 'withdrawn')
  local function count(i) return tonumber(r[i] or '0') end
  return count(1) + count(2) + count(3) - count(4) - count(5)
end

return tries
