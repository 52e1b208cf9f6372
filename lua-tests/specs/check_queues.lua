-- The audit finds each kind of damage to queues, to the jobs that wait in them and to the work of nodes: every row damages
-- one thing by hand and names what check must say.

local function key(suffix) return R .. ':' .. suffix end
local function class_of(id) return fields(fcall('lockless_node', id)).class end

-- Queue 1 is that of pool a, queue 2 that of pool b.

local function work_of(job)
  for _, member in ipairs(redis('ZRANGE', key('node:work:n1'), 0, -1)) do
    if member:match('(%S+)$') == job then return member end
  end
end

local damages = {
  { 'a waiting job without a record', 'job w1 in queue 1: its record is missing', function()
    redis('DEL', key('job:w1'))
  end, ':job:w1 :queue: R :heads' },
  { 'a waiting job without its tries', 'job w1 in queue 1: its record can not be read', function()
    redis('HDEL', key('job:w1'), 'q')
  end, ':job:w1 :queue: R :due :events :failed :heads' },
  { 'a waiting job with tries that are none', 'job w1 in queue 1: its record can not be read', function()
    redis('HSET', key('job:w1'), 'q', 'x')
  end, ':job:w1 :queue: R :due :events :failed :heads' },
  { 'a waiting job that has ended', 'job w1 in queue 1: it does not wait', function()
    redis('HSET', key('job:w1'), 'f', 'cancelled 1767225600000 1')
  end, ':job:w1 :queue: R :heads :cancelled' },
  { 'a waiting job that is on a node', 'job running in queue 1: it does not wait', function()
    redis('ZADD', key('queue:1'), 99999999999999, 'running')
  end },
  { 'a waiting job that was dispatched', 'job pushed in queue 1: it does not wait', function()
    redis('ZADD', key('queue:1'), 99999999999999, 'pushed')
  end },
  { 'a waiting job whose record is about to go', 'job w1 in queue 1: its record is about to go', function()
    redis('PEXPIRE', key('job:w1'), 600000)
  end },
  { 'a waiting job in the queue of other wishes', 'it asks for something else', function()
    redis('ZADD', key('queue:2'), redis('ZSCORE', key('queue:1'), 'w2'), 'w2')
    redis('ZREM', key('queue:1'), 'w2')
  end },
  { 'a waiting job in another place', 'job w2 in queue 1: it is not in its place', function()
    redis('ZINCRBY', key('queue:1'), 1, 'w2')
  end },
  { 'a queue that is empty', 'queue 1: it is empty', function() redis('DEL', key('queue:1')) end, ':queue: R :heads :queues' },
  { 'a queue whose wishes are none', 'its wishes can not be read', function()
    redis('ZADD', key('queues'), 2, 'no shape')
    redis('ZREM', key('queues'), 'Pb ')
  end, ':queue: R :heads :queues' },
  { 'a head that is not the first job', 'queue 1: its head is not its first job', function()
    redis('ZINCRBY', key('heads'), 1, '1')
  end },
  { 'a head that is missing', 'queue 1: its head is not its first job', function() redis('ZREM', key('heads'), '1') end },
  { 'a queue that is not listed', 'there are other heads than queues', function() redis('ZREM', key('queues'), 'Pb ') end,
    'R :heads :queue' },
  { 'a number of queues that were drawn', 'queues is less than the number of a queue', function() redis('HSET', R, 'queues', 1) end, 'R' },
  { 'a queue whose number is none', 'queues: Pb  has no number', function() redis('ZADD', key('queues'), 7.5, 'Pb ') end,
    'R :heads :queue :queues' },
  { 'a delayed job without a time', 'job late before its time: it has no time', function()
    redis('ZADD', key('delayed'), -1, 'late')
  end, 'R :due :delayed' },
  { 'a head of no queue', 'there are other heads than queues', function() redis('ZADD', key('heads'), 5, '77') end },
  { 'a delayed job without a record', 'job late before its time: its record is missing', function()
    redis('DEL', key('job:late'))
  end, ':job:late R :delayed' },
  { 'a delayed job that does not wait', 'job running before its time: it does not wait', function()
    redis('ZADD', key('delayed'), 9000000000000, 'running')
  end },
  { 'a delayed job whose record is about to go', 'job late before its time: its record is about to go', function()
    redis('PEXPIRE', key('job:late'), 600000)
  end },
  { 'a delayed job that is in its queue as well', 'job w1 before its time: it is in its queue as well', function()
    redis('ZADD', key('delayed'), 9000000000000, 'w1')
  end },
  { 'delayed jobs that nobody will look at', 'q is missing, though jobs wait for their time', function()
    redis('ZREM', key('due'), 'q')
  end },
  { 'a delayed job that is looked at too late', 'goes earlier than it says', function()
    redis('ZADD', key('due'), 9000000000000, 'q')
  end },
  { 'a class that is said to fit a queue it does not', 'is said wrongly', function()
    redis('ZADD', key('fits:' .. class_of('n1')), 2, '2')
  end, ':fits:' },
  { 'a class that is said not to fit a queue it does', 'is said wrongly', function()
    redis('ZREM', key('fits:' .. class_of('n1')), '1')
  end, ':fits:' },
  { 'a hold of a job that waits', 'its job is nowhere', function()
    redis('ZADD', key('node:slots:n1'), 20000000000000 + now_ms() + 60000, 'jw1')
  end },
  { 'a hold without its entry in the work', 'hold jrunning on n1: it is missing in the work', function()
    redis('ZREM', key('node:work:n1'), work_of('running'))
  end },
  { 'work that says that a job was asked to stop', 'hold jrunning on n1: it is missing in the work', function()
    redis('ZADD', key('node:work:n1'), 0, 'c' .. work_of('running'):sub(2))
    redis('ZREM', key('node:work:n1'), work_of('running'))
  end },
  { 'a hold that says that its job was asked to stop', 'hold jrunning on n1: it is missing in the work', function()
    redis('ZINCRBY', key('node:slots:n1'), 5000000000000, 'jrunning')
  end, ':slots:n1 :work:n1' },
  { 'a hold whose job has lost its tries', 'hold jrunning on n1: its record can not be read', function()
    redis('HDEL', key('job:running'), 'q')
  end, ':job:running :slots:n1 :work:n1 R :due :events :failed' },
}

-- What only the whole cell can tell.
local counters = {
  { 'work of nobody', 'jobs in the work of nodes, but 2 tries there', function()
    redis('ZADD', key('node:work:n1'), 0, (work_of('running'):gsub('running$', 'ghost')))
  end },
  { 'a counter of grants', 'grants and 1 withdrawn', function() set_state('grants', state('grants') + 1) end, 'R' },
  { 'a counter of what was withdrawn', 'grants and 2 withdrawn', function() redis('HINCRBY', R, 'withdrawn', 1) end, 'R' },
  { 'a counter of what was submitted', 'submitted, retried or requeued, but', function()
    redis('HINCRBY', R, 'submitted', 1)
  end, 'R' },
  { 'a counter of what was retried', 'submitted, retried or requeued, but', function()
    redis('HINCRBY', R, 'retried', 1)
  end, 'R' },
  { 'a counter of what was requeued', 'submitted, retried or requeued, but', function()
    redis('HINCRBY', R, 'requeued', 1)
  end, 'R' },
  { 'a counter of what was started', 'tries started, but', function() redis('HINCRBY', R, 'started', 1) end, 'R' },
}

for _, name in ipairs({ 'queues', 'submitted', 'retried', 'requeued', 'started', 'withdrawn', 'blocked', 'emergencies' }) do
  damages[#damages + 1] = { name .. ' that is no number', name .. ' is not a number', function() redis('HSET', R, name, 'x') end, 'R' }
end
for _, kind in ipairs({ 'completed', 'failed', 'preempted', 'timeout', 'lost', 'cancelled' }) do
  counters[#counters + 1] = { 'a counter of tries that were ' .. kind, 'tries started, but', function()
    redis('HINCRBY', R, 'tries_' .. kind, 1)
  end, 'R' }
  damages[#damages + 1] = { 'tries_' .. kind .. ' that is no number', 'tries_' .. kind .. ' is not a number', function()
    redis('HSET', R, 'tries_' .. kind, 'x')
  end, 'R' }
end

describe('check of a cell with queues', function()
  before_each(function()
    fcall('lockless_register', 'n1', 9, 'POOL', 'a')
    fcall('lockless_submit', 'w1', 'p', 'POOL', 'a')
    fcall('lockless_submit', 'w2', 'p', 'POOL', 'a')
    fcall('lockless_submit', 'other', 'p', 'POOL', 'b')
    fcall('lockless_submit', 'running', 'p', 'POOL', 'a', 'MEM_MB', 100, 'PRIORITY', 1)
    fcall('lockless_submit', 'asked', 'p', 'POOL', 'a', 'MEM_MB', 200, 'PRIORITY', 1)
    fcall('lockless_pull', 'n1', 'COUNT', 2)
    fcall('lockless_tick', 'n1', 'MEM', 99, 'USED', 99, 'TOTAL', 100, 'AVAIL', 1, 'SWAP', 0, 'CPU', 0)
    fcall('lockless_submit', 'late', 'p', 'POOL', 'a', 'DELAY', 60000)
    fcall('lockless_submit', 'gone', 'p')
    fcall('lockless_cancel', 'gone')
    fcall('lockless_heartbeat', 'n1', 'MEM', 1)
    fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', 'pushed')
  end)

  it('is empty while it is sound, whole and in pages', function()
    expect(fcall('lockless_job', 'asked')):has('stopping', 1)
    expect(fcall('lockless_check')):equals({})
    for count = 1, 12 do
      local cursor, pages = '0', 0
      repeat
        local page = fcall('lockless_check', 'CURSOR', cursor, 'COUNT', count)
        expect(page[2]):equals({})
        cursor, pages = page[1], pages + 1
      until cursor == '0' or pages > 100
      expect(pages):is_at_most(60)
    end
  end)

  it('is empty while the tries of a lost node are settled', function()
    fcall('lockless_config', 'heartbeat_ttl_ms', 20000)
    fcall('lockless_heartbeat', 'n1')
    for i = 1, 40 do fcall('lockless_submit', 'm' .. i, 'p', 'POOL', 'c') end
    fcall('lockless_register', 'n2', 40, 'POOL', 'c')
    fcall('lockless_pull', 'n2', 'COUNT', 40)
    for _ = 1, 3 do
      advance(9000)
      fcall('lockless_heartbeat', 'n1')
    end
    expect(fcall('lockless_stats')):has('overdue', 1)
    expect(fcall('lockless_check')):equals({})
    fcall('lockless_sweep')
    expect(fcall('lockless_stats')):has('lost_total', 40):has('overdue', 0)
    expect(fcall('lockless_check')):equals({})
  end)

  it('loses no job of a queue whose number was lost while others came', function()
    redis('ZADD', key('queues'), 7.5, 'Pb ')
    fcall('lockless_submit', 'later', 'p', 'POOL', 'b')
    for _ = 1, 3 do fcall('lockless_repair') end
    expect(fcall('lockless_check')):equals({})
    expect(fcall('lockless_job', 'later')):has('status', 'pending')
    fcall('lockless_register', 'n9', 100, 'POOL', 'b')
    local ids = {}
    for _, item in ipairs(fcall('lockless_pull', 'n9', 'COUNT', 100)[1]) do ids[fields(item).job_id] = true end
    expect({ other = ids.other, later = ids.later }):equals({ other = true, later = true })
    -- Those of the other pool.
    expect(fcall('lockless_stats')):has('pending', 3)
  end)

  for _, damage in ipairs(damages) do
    finds_and_mends({ name = damage[1], words = damage[2], hurt = damage[3], changed = damage[4] })
  end

  for _, damage in ipairs(counters) do
    finds_and_mends({ name = damage[1], words = damage[2], hurt = damage[3], changed = damage[4], whole = true })
  end
end)
