-- What a node does of the queue's work, and what came of it.
--
-- R:node:work:<node> is a sorted set of one score, so in the order of its members: the jobs from the queue that run there, those
-- that may be stopped for others first, in the order in which they would be. A member is a letter, priority and memory
-- counted down, when it started, and its load. R:node:admission:<node> is a hash: what the dynamic scheduler knows of the
-- node (admission.lua), and how many tries ended how.

local work = {}

-- a: it may be stopped; b: it may not; c: it was asked to stop.
local MAY, MAY_NOT, ASKED = 'a', 'b', 'c'

local PRIORITY_MAX, MEM_MAX = 9999, 9999999999

local function member(letter, job, q, started)
  return letter .. string.format('%04d%010d%013d', PRIORITY_MAX - q.priority, MEM_MAX - q.mem_mb, started) .. ' ' .. q.cpu ..
    ' ' .. q.gpu_mb .. ' ' .. job
end

local function letters(q)
  return q.preemptible == 'yes' and MAY or MAY_NOT
end

local function parse(text)
  local letter, mem, started, cpu, gpu_mb, job = text:match('^(%l)%d%d%d%d(%d%d%d%d%d%d%d%d%d%d)(%d+) (%S+) (%S+) (%S+)$')
  return { letter = letter, mem_mb = MEM_MAX - tonumber(mem), started = tonumber(started), cpu = tonumber(cpu),
    gpu_mb = tonumber(gpu_mb), job = job }
end

function work.add(c, node, job, q, started)
  redis.call('ZADD', keys.work(c.root, node), '0', member(letters(q), job, q, started))
end

-- Whether a job that runs is listed as it should be.
function work.has(c, node, job, q, started, asked)
  return redis.call('ZSCORE', keys.work(c.root, node), member(asked and ASKED or letters(q), job, q, started)) == '0'
end

-- The same of one entry.
function work.is_entry(text, job, q, started, asked)
  return text == member(asked and ASKED or letters(q), job, q, started)
end

-- The job of an entry, or nil.
function work.job_of(text)
  return text:match(' (%S+)$')
end

-- Takes a job out, asked to stop or not.
function work.remove(c, node, job, q, started)
  redis.call('ZREM', keys.work(c.root, node), member(letters(q), job, q, started), member(ASKED, job, q, started))
end

-- Notes that a job was asked to stop, or that it goes on.
function work.ask(c, node, job, q, started)
  local key = keys.work(c.root, node)
  redis.call('ZADD', key, '0', member(ASKED, job, q, started))
  redis.call('ZREM', key, member(letters(q), job, q, started))
end

function work.go_on(c, node, job, q, started)
  local key = keys.work(c.root, node)
  redis.call('ZADD', key, '0', member(letters(q), job, q, started))
  redis.call('ZREM', key, member(ASKED, job, q, started))
end

-- The first jobs that may be stopped, in order.
function work.candidates(c, node, count)
  if count == 0 then return {} end
  local out = redis.call('ZRANGEBYLEX', keys.work(c.root, node), '[' .. MAY, '(' .. MAY_NOT, 'LIMIT', '0', count)
  for i = 1, #out do out[i] = parse(out[i]) end
  return out
end

-- How many were asked to stop and have not said a word yet, and their memory.
function work.asked(c, node)
  local page = redis.call('ZRANGEBYLEX', keys.work(c.root, node), '[' .. ASKED, '+', 'LIMIT', '0', '1000')
  local sum = 0
  for i = 1, #page do sum = sum + parse(page[i]).mem_mb end
  return #page, sum
end

-- The load that was estimated for all that runs.
function work.load(c, node)
  local load = { mem_mb = 0, cpu = 0, gpu_mb = 0 }
  for _, text in ipairs(redis.call('ZRANGE', keys.work(c.root, node), '0', '9999')) do
    local job = parse(text)
    load.mem_mb, load.cpu, load.gpu_mb = load.mem_mb + job.mem_mb, load.cpu + job.cpu, load.gpu_mb + job.gpu_mb
  end
  return load
end

-- How many tries ended in which way.
work.ENDS = { 'completed', 'failed', 'preempted', 'timeout', 'lost', 'cancelled' }

-- The number that the next end of this kind will have on the node.
function work.next(c, node, kind)
  return (redis.call('HGET', keys.admission(c.root, node), kind) or 0) + 1
end

-- Counts an end by its number: twice is once. Of a node that has gone nothing is kept.
function work.count(c, node, kind, ordinal)
  local key = keys.admission(c.root, node)
  if tonumber(redis.call('HGET', key, kind) or '0') >= ordinal then return end
  if redis.call('EXISTS', keys.runtime(c.root, node)) == 1 then redis.call('HSET', key, kind, string.format('%d', ordinal)) end
end

-- Cuts a node off from its work, which has ended for it. It is settled through the holds; here it is counted, once for
-- an incarnation, so that what was started stays counted meanwhile.
function work.abandon(c, node, incarnation)
  local call = redis.call
  local key, admission_key = keys.work(c.root, node), keys.admission(c.root, node)
  local count = call('ZCARD', key)
  if count == 0 then return end
  local before = call('HMGET', admission_key, 'abandoned', 'abandoned_by')
  if before[2] ~= tostring(incarnation) then
    call('HSET', admission_key, 'abandoned', string.format('%d', (before[1] or 0) + count), 'abandoned_by', incarnation)
  end
  call('UNLINK', key)
end

-- What came of the node's work: how many tries were started, how many ended how, and what its ticks counted.
function work.metrics(c, node)
  local key = keys.admission(c.root, node)
  local ends = redis.call('HMGET', key, unpack(work.ENDS))
  local others = redis.call('HMGET', key, 'abandoned', 'blocked', 'emergencies', 'mode')
  local out = { started = redis.call('ZCARD', keys.work(c.root, node)) + tonumber(others[1] or '0'),
    blocked = tonumber(others[2] or '0'), emergencies = tonumber(others[3] or '0'), mode = others[4] or '' }
  for i, kind in ipairs(work.ENDS) do
    out[kind] = tonumber(ends[i] or '0')
    if kind ~= 'lost' then out.started = out.started + out[kind] end
  end
  return out
end

return work
