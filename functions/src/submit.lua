-- lockless_submit job payload [POOL p] [PAIR src tgt] [REGION r] [REQUIRE label]* [PRIORITY n] [MEM_MB n] [CPU pct]
--   [GPU_MB n] [PREEMPTIBLE yes|no] [RETRIES n] [DELAY ms] [TTL ms]
--
-- Puts a job into its queue, or has it wait for DELAY ms first. Nodes take it with pull or tick.
--
-- Reply:  1, or 0 when it is there already
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, JOB_EXISTS
-- Calls:  10 (4 more for the first job of a queue, 1 with the setting events = all)

local DEFAULT_PRIORITY, DEFAULT_RETRIES = 5, 3

local SAME = { 'priority', 'retries', 'mem_mb', 'cpu', 'gpu_mb', 'preemptible', 'shape' }

local function is_same(c, job, rec, arg, q)
  if rec.kind ~= 'q' then return false end
  tries.read(c, job, rec)
  for _, name in ipairs(SAME) do
    if rec.q[name] ~= q[name] then return false end
  end
  return redis.call('HGET', keys.job(c.root, job), 'p') == arg.payload and
    (not arg.ttl or arg.ttl == tonumber(rec.ttl_ms))
end

-- The job of that id is there already. Returns the reply, or nil when an interrupted call is to be finished.
local function again(c, arg, rec, q)
  if not is_same(c, arg.job, rec, arg, q) then
    errors.fail('JOB_EXISTS', 'another job ' .. errors.shown(arg.job) .. ' exists, with other content')
  end
  if rec.q.seq > cell.counter(c, 'submitted') then return nil end
  -- Another job was submitted since an interrupted call, which did not come to put this one into its queue.
  if tries.is_waiting(rec) and not queues.knows(c, arg.job, rec.q) then return nil end
  return 0
end

local function submit(root, arg)
  local call = redis.call
  local c = cell.open(root, 'submitted')
  config.check_length(c, 'payload', arg.payload)
  settle.first(c)
  local job = arg.job
  local q = { priority = arg.priority or DEFAULT_PRIORITY, seq = cell.counter(c, 'submitted') + 1, attempt = 0, used = 0,
    retries = arg.retries or DEFAULT_RETRIES, mem_mb = arg.mem_mb or 0, cpu = string.format('%.14g', arg.cpu or 0),
    gpu_mb = arg.gpu_mb or 0, preemptible = arg.preemptible or 'yes', shape = queues.shape(arg) }
  local rec = jobs.read(c, job)
  if rec then
    local reply = again(c, arg, rec, q)
    if reply then return reply end
  end
  -- What a node that is there could run is never refused for what none can.
  if queues.is_full(c, q.shape) and match.classes(c, arg, arg.pool) == '' then
    errors.fail('BAD_ARGUMENT', 'POOL, PAIR, REGION and REQUIRE take at most ' .. queues.MAX ..
      ' combinations with jobs waiting at the same time, given another one')
  end

  -- first write
  cell.create(c)
  local src, tgt = (arg.pair or '-:-'):match('^(.*):(.*)$')
  call('HSET', keys.job(root, job), 'd', jobs.pack(jobs.NOWHERE, '-', 'q', c.now_text, '-',
    arg.ttl or config.text(c, 'job_ttl_ms'), '0', src, tgt, '-'), 'q', tries.pack(q), 'p', arg.payload)
  if arg.delay and arg.delay > 0 then queues.delay(c, job, c.now + arg.delay) else queues.put(c, job, q) end
  events.of_job(c, 'job_submitted', '', job, '')
  cell.set_counter(c, 'submitted', q.seq)
  return 1
end

-- PAIR - - is no pair, as for dispatch.
local function validate(arg)
  if not arg.pair then return end
  arg.src, arg.tgt = arg.pair:match('^(.*):(.*)$')
  arg.pair = nil
  args.language_pair(arg)
end

return submit, validate
