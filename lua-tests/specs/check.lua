-- The audit finds each kind of damage: every row damages one thing by hand and names what check must say.

local function key(suffix) return R .. ':' .. suffix end
local function class_of(id) return fields(fcall('lockless_node', id)).class end

-- The member that the seat of a bound session has.
local function seat_of(session)
  return 's' .. session .. ' ' .. redis('HGET', key('session:' .. session), 'sticky'):match('^%S+ %S+ %S+ (%S+)')
end

local damages = {
  { 'a hold without a job', 'its job record is missing', function()
    redis('DEL', key('job:running'))
  end, ':job:running :slots:n1 R :events :failed' },
  { 'a hold whose job has ended', 'its job is finished', function()
    redis('HSET', key('job:running'), 'f', 'finished 1767225600000 1')
  end, ':job:running :ready: :slots:n1 R' },
  { 'a hold on another node than its job', 'its job is on n1', function()
    local score = redis('ZSCORE', key('node:slots:n1'), 'jrunning')
    redis('ZREM', key('node:slots:n1'), 'jrunning')
    redis('ZADD', key('node:slots:n2'), score, 'jrunning')
  end },
  { 'a hold whose record is about to go', 'about to go', function() redis('PEXPIRE', key('job:running'), 600000) end },
  { 'a stopping hold of a live job', 'it is stopping, but its job has not ended', function()
    redis('ZADD', key('node:slots:n1'), 30000000000000, 'jrunning')
  end, 'slots:n1' },
  { 'a hold of unknown type', 'its type is not known', function() redis('ZADD', key('node:slots:n1'), 5, '?x') end },
  { 'a hold without a time', 'its score does not say until when', function()
    redis('ZADD', key('node:slots:n1'), '-inf', 'jrunning')
  end, ':slots:n1 R' },
  { 'a seat without a lease', 'its lease is missing', function()
    redis('ZADD', key('node:slots:n1'), 40000000000000, 'snobody 1-1')
  end },
  { 'a seat of another lease', 'its lease is missing', function()
    redis('ZADD', key('node:slots:n1'), 40000000000000, 'sbound 9-9')
  end },
  { 'a seat on another node than its lease', 'its lease is on n1', function()
    redis('ZADD', key('node:slots:n2'), 40000000000000, seat_of('bound'))
  end },
  { 'a seat beside the job that sits in it', 'its lease has a job in it', function()
    redis('ZADD', key('node:slots:n1'), 40000000000000, seat_of('riding'))
  end },
  { 'a seat with a deadline', 'not that of a seat', function()
    redis('ZADD', key('node:slots:n1'), 20000000000000, seat_of('bound'))
  end },
  { 'a lease without a seat', 'its seat is missing', function() redis('ZREM', key('node:slots:n1'), seat_of('bound')) end },
  { 'a lease whose job has no hold', 'its seat is missing', function()
    redis('ZREM', key('node:slots:n1'), 'jrider')
  end, ':job:rider :session:riding :slots:n1 R :events :failed' },
  { 'a lease with the job of another session', 'another job sits in its seat', function()
    redis('HSET', key('session:riding'), 'sticky', (redis('HGET', key('session:riding'), 'sticky'):gsub('jrider', 'jrunning')))
  end, ':ready: :session:riding :slots:n1' },
  { 'a lease that ends before the due list says', 'ends earlier', function()
    redis('ZADD', key('due'), 9000000000000, 'sbound')
  end },
  { 'a lease that never ends', 'its lease is not in the due list', function() redis('ZREM', key('due'), 'sbound') end },
  { 'a lease with a job in its seat that never ends', 'its lease is not in the due list', function()
    redis('ZREM', key('due'), 'sriding')
  end },
  { 'slots of a lost node', 'are there though it is lost', function()
    redis('DEL', key('node:slots:n2'))
    redis('HSET', key('node:runtime:n2'), 'flags', 'l')
    redis('ZADD', key('node:slots:n2'), 40000000000000, seat_of('bound'))
  end, ':ready: :runtime:n2 :slots:n2 R :due' },
  { 'a lease whose session is about to go', 'its session is about to go', function()
    redis('PEXPIRE', key('session:bound'), 600000)
  end },
  { 'the end of a lease that is not there', 'has no lease', function() redis('ZADD', key('due'), 9000000000000, 'snobody') end },
  { 'a hold that is gone', 'ready score', function() redis('ZREM', key('node:slots:n1'), 'jrunning') end, ':ready: :slots:n1 R' },
  { 'a deadline that is not in the due list', 'its deadline is not in the due list', function()
    redis('ZREM', key('due'), 'hn1')
  end },
  { 'a presence that is not in the due list', 'its presence is not in the due list', function()
    redis('ZREM', key('due'), 'nn1')
  end },
  { 'a due entry of nobody', 'is of no node', function() redis('ZADD', key('due'), 9000000000000, 'nnobody') end },
  { 'a due entry of no known kind', 'is of no known kind', function() redis('ZADD', key('due'), 9000000000000, '?') end },
  { 'a box that is not in the due list', 'f is missing', function() redis('ZREM', key('due'), 'f') end },
  { 'a lost page without holds', 'has no holds', function() redis('ZADD', key('due'), 9000000000000, 'l9 n1') end },
  { 'the sentinel of the due list', 'its sentinel is missing', function()
    redis('ZREMRANGEBYSCORE', key('due'), '+inf', '+inf')
  end },
  { 'a wake that is too late', 'wake is later', function() set_state('wake', 9000000000000) end },
  { 'a counter', 'grants and', function() set_state('finished', state('finished') + 1) end, 'R' },
  { 'a token that is no number', 'tokens is not a number', function() redis('HSET', R, 'tokens', 'x') end, 'R' },
  { 'a counter that is no number', 'expired is not a number', function() redis('HSET', R, 'expired', 'x') end },
  { 'a ready score', 'ready score', function()
    redis('ZINCRBY', key('ready:' .. class_of('n1')), 4294967296, 'n1')
  end },
  { 'a node that is not in the ready index', 'missing in the ready index', function()
    redis('ZREM', key('ready:' .. class_of('n1')), 'n1')
  end, ':ready:' },
  { 'a ready index with a stranger', 'is not one of its nodes', function()
    redis('ZADD', key('ready:' .. class_of('n1')), 1, 'stranger')
  end },
  { 'the sentinel of a ready index', 'sentinel of its ready index', function()
    redis('ZREMRANGEBYSCORE', key('ready:' .. class_of('n1')), '+inf', '+inf')
  end },
  { 'slots that are missing', 'slots are missing', function() redis('DEL', key('node:slots:n2')) end, ':ready: :slots:n2 R' },
  { 'a node without info', 'its info is missing', function() redis('DEL', key('node:info:n1')) end },
  { 'a node without runtime', 'its runtime is missing', function()
    redis('DEL', key('node:runtime:n1'))
  end, ':attr:all :attr:label:x :attr:pair:en:zh :attr:pool:a :class: :info:n1 :lang:en:zh :lost: :match: :pool:a:members :ready: :runtime:n1 :slots:n1 R :attrs :classes :due :nodes' },
  { 'a node whose info differs from its class', 'its labels differ', function()
    redis('HSET', key('node:info:n1'), 'labels', 'other')
  end, ':attr:all :attr:label:other :attr:label:x :attr:pair:en:zh :attr:pool:a :class: :info:n1 :match: :ready: :runtime:n1 R :attrs :classes' },
  { 'a node whose max_jobs differ', 'its max_jobs differ', function()
    redis('HSET', key('node:info:n1'), 'max_jobs', 9)
  end, ':attr:all :attr:label:x :attr:pair:en:zh :attr:pool:a :class: :info:n1 :match: :ready: :runtime:n1 R :classes' },
  { 'an interrupted change', 'was interrupted', function() redis('HSET', key('node:info:n1'), 'indexing', 1) end },
  { 'a node that is not listed', 'their number', function() redis('ZREM', key('nodes'), 'n1') end },
  { 'a class without description', 'its description is missing', function()
    redis('DEL', key('class:' .. class_of('n1')))
  end, ':match: R' },
  { 'a class whose description differs', 'its description differs', function()
    redis('HSET', key('class:' .. class_of('n1')), 'labels', 'other')
  end, ':match: R' },
  { 'a class that is not in its sets', 'missing in the set of pool:a', function()
    redis('SREM', key('attr:pool:a'), class_of('n1'))
  end, ':match: R' },
  { 'a set with a class that does not have it', 'does not have it', function()
    redis('SADD', key('attr:pool:b'), class_of('n1'))
  end, ':match: R' },
  { 'an attribute that is not listed', 'is not listed', function() redis('ZREM', key('attrs'), 'label:x') end },
  { 'an attribute of no class', 'no class has it', function() redis('ZADD', key('attrs'), 0, 'label:none') end },
  { 'a pool member that is missing', 'missing in the members of pool a', function()
    redis('SREM', key('pool:a:members'), 'n1')
  end },
  { 'a pool member too many', 'its members are not as many', function() redis('SADD', key('pool:a:members'), 'ghost') end },
  { 'a language count', 'the count of pool a is wrong', function() redis('HSET', key('lang:en:zh'), 'a', 7) end },
  { 'a language index without a pool', 'pool a is missing', function() redis('HDEL', key('lang:en:zh'), 'a') end },
  { 'a cached match without a class', 'match cache', function()
    redis('HSET', key('match:' .. state('generation')), 'Len:zh ', '')
  end },
  { 'a cached match with a class that does not fit', 'match cache', function()
    redis('HSET', key('match:' .. state('generation')), 'Pa Len:zh ', class_of('n1') .. class_of('n2'))
  end, ':match:' },
  { 'a setting', 'job_ttl_ms is not valid', function()
    redis('HSET', key('config'), 'job_ttl_ms', 'x')
    set_state('configured', 1)
  end },
  { 'settings nobody reads', 'configured does not say', function()
    redis('HSET', key('config'), 'job_ttl_ms', 5000)
  end, 'R :config' },
  { 'a record that is gone', 'its schema is missing', function() redis('DEL', R) end, 'R' },
  { 'a clock that is no number', 'clock is not a number', function() set_state('clock', 'x') end, 'R' },
  { 'grants that are no number', 'grants is not a number', function() set_state('grants', 'x') end },
  { 'a generation that is no number', 'generation is not a number', function()
    set_state('generation', 'x')
    redis('DEL', key('match:2'))
  end, 'R match:' },
  { 'a number of classes that were drawn', 'class is less than the number of a class', function() redis('HSET', R, 'class', 1) end },
  { 'an incarnation that was never drawn', 'node n2: its incarnation was never drawn', function()
    redis('HSET', R, 'incarnation', 1)
  end },
  { 'a runtime that can not be read', 'node n1: its runtime can not be read', function()
    redis('HDEL', key('node:runtime:n1'), 'until', 'scan')
  end, 'runtime:n1 :due' },
  { 'a node whose flags are missing', 'node n2: its runtime can not be read', function()
    redis('HDEL', key('node:runtime:n2'), 'flags')
  end, ':due :events :lost: :runtime:n2 :slots:n2 :ready: R' },
  { 'a node whose flags are none', 'node n2: its runtime can not be read', function()
    redis('HSET', key('node:runtime:n2'), 'flags', 'x')
  end, ':due :events :lost: :runtime:n2 :slots:n2 :ready: R' },
  { 'a node whose foreign load is missing', 'node n2: its runtime can not be read', function()
    redis('HDEL', key('node:runtime:n2'), 'foreign')
  end, ':due :events :lost: :runtime:n2 :slots:n2 :ready: R' },
  { 'a node whose foreign load is below none', 'node n2: its runtime can not be read', function()
    redis('HSET', key('node:runtime:n2'), 'foreign', -5)
  end, ':due :events :lost: :runtime:n2 :slots:n2 :ready: R' },
  { 'a record of a job that can not be read', 'hold jrunning on n1: its record can not be read', function()
    redis('HSET', key('job:running'), 'd', 'x')
  end, 'job:running slots:n1 R :events :failed' },
  { 'a class without nodes', 'it has no node', function()
    redis('HSET', R, 'class', 3)
    redis('ZADD', key('classes'), 3, '4\n\nz\n\n')
    redis('HSET', key('class:0000000003000004'), 'max_jobs', 4, 'region', '', 'pools', 'z', 'pairs', '', 'labels', '')
  end, 'R :match:' },
  { 'a class without a number', 'class without a number', function()
    for _, text in ipairs(redis('ZRANGE', key('classes'), 0, 0)) do redis('ZADD', key('classes'), -1, text) end
  end },
  { 'a sentinel that comes first', 'the sentinel of its ready index is missing', function()
    local ready = key('ready:' .. class_of('n1'))
    for _, member in ipairs(redis('ZRANGEBYSCORE', ready, '+inf', '+inf')) do redis('ZADD', ready, '-inf', member) end
  end },
  { 'a class entry that is none', 'its entry can not be read', function() redis('ZADD', key('classes'), '1.5', 'x') end },
  { 'a session that can not be read', 'session bound: its record can not be read', function()
    redis('HSET', key('session:bound'), 'sticky', 'x')
  end, 'session:bound slots:n1 :ready: :due' },
  { 'a lost hold without a job', 'lost hold jnone: its job record is missing', function()
    redis('ZADD', key('lost:9'), 20000000000000, 'jnone')
    redis('ZADD', key('lost:9'), '+inf', '#')
    redis('ZADD', key('due'), 1, 'l9 n9')
    set_state('wake', 1)
  end, 'lost:9 :due' },
  { 'holds of a lost node without their sentinel', 'due list: l9 n9 has no holds', function()
    redis('ZADD', key('lost:9'), 20000000000000, 'sx 9-9')
    redis('ZADD', key('due'), 1, 'l9 n9')
    set_state('wake', 1)
  end, 'lost:9 :due' },
  { 'a box entry without a job', 'box: the record of job none is missing', function()
    redis('ZADD', key('failed'), 9000000000000, 'fnone')
  end },
  { 'a box that is looked at too late', 'goes earlier than it says', function() redis('ZADD', key('due'), 9000000000000, 'f') end },
  { 'holds of nobody in the due list', 'is of no node that is there', function() redis('ZADD', key('due'), 9000000000000, 'hnobody') end },
  { 'a cached match of no shape', 'match cache: shape x is not one', function()
    redis('HSET', key('match:' .. state('generation')), 'x', '')
  end },
  { 'a deadline without a time', 'due list: nn1 has no time', function() redis('ZADD', key('due'), -1, 'nn1') end, 'R :due' },
  { 'a box entry without a time', 'box: job failed has no time', function() redis('ZADD', key('failed'), '-inf', 'ffailed') end,
    'R :due :failed' },
  { 'a node out of its place among the names', 'list of names: n1 is out of its place', function()
    redis('ZADD', key('nodes'), 7, 'n1')
  end },
  { 'an attribute out of its place among the names', 'list of names: all is out of its place', function()
    redis('ZADD', key('attrs'), '-inf', 'all')
  end },
  { 'a box entry of another state', 'is not failed', function()
    redis('HSET', key('job:failed'), 'f', 'finished 1767225600000 1')
  end, ':job:failed :failed' },
}

describe('check', function()
  before_each(function()
    fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'PAIR', 'en', 'zh', 'LABEL', 'x')
    fcall('lockless_register', 'n2', 4, 'POOL', 'b', 'PAIR', 'en', 'zh')
    fcall('lockless_dispatch', 's', 'en', 'zh', 'p', 'JOB', 'running', 'POOL', 'a', 'TTL', 600000)
    fcall('lockless_ack', 'running', 'n1')
    fcall('lockless_dispatch', 's', 'en', 'zh', 'p', 'JOB', 'waiting', 'POOL', 'b', 'ACK', 60000)
    fcall('lockless_dispatch', 's', 'en', 'zh', 'p', 'JOB', 'failed', 'POOL', 'b')
    fcall('lockless_complete', 'failed', 'n2', 'failed')
    fcall('lockless_bind', 'bound', 'r', 'REQUIRE', 'x')
    fcall('lockless_bind', 'riding', 'r', 'REQUIRE', 'x')
    fcall('lockless_dispatch', 'riding', '-', '-', 'p', 'JOB', 'rider')
  end)

  it('is empty for a sound cell, whole and in pages', function()
    expect(fcall('lockless_check')):equals({})
    for count = 1, 9, 2 do
      local cursor, pages = '0', 0
      repeat
        local page = fcall('lockless_check', 'CURSOR', cursor, 'COUNT', count)
        expect(page[2]):equals({})
        cursor, pages = page[1], pages + 1
      until cursor == '0' or pages > 100
      expect(pages):is_at_most(60)
    end
  end)

  it('is empty for a sound cell that an earlier build made, without leases and tokens', function()
    fcall_on('old:' .. R, 'lockless_register', 'n1', 4)
    redis('HDEL', 'old:' .. R, 'leases', 'tokens')
    expect(fcall_on('old:' .. R, 'lockless_check')):equals({})
    fcall_on('old:' .. R, 'lockless_bind', 's', 'r')
    expect(fcall_on('old:' .. R, 'lockless_check')):equals({})
  end)

  it('says nothing of a node that left between two pages', function()
    local cursor = fcall('lockless_check', 'CURSOR', '3:', 'COUNT', 1)[1]
    fcall('lockless_deregister', 'n1')
    repeat
      local page = fcall('lockless_check', 'CURSOR', cursor, 'COUNT', 1)
      expect(page[2]):equals({})
      cursor = page[1]
    until cursor == '0'
  end)

  it('reads what is overdue once, however many leases a lost node had', { hosts = 'model' }, function()
    fcall('lockless_register', 'n9', 40, 'LABEL', 'only')
    for i = 1, 40 do fcall('lockless_bind', 's' .. i, 'r', 'REQUIRE', 'only') end
    for _ = 1, 4 do
      advance(9000)
      fcall('lockless_heartbeat', 'n1')
      fcall('lockless_heartbeat', 'n2')
    end
    expect(redis('ZCARD', key('lost:3'))):is_at_least(5)
    expect(fcall('lockless_check')):equals({})
    local reads = 0
    for _, call in ipairs(call_trace()) do
      if call[1] == 'zrangebyscore' and call[2] == key('due') then reads = reads + 1 end
    end
    expect(reads):equals(1)
  end)

  it('gives an attribute of very many classes two pages to itself', { hosts = 'model' }, function()
    for i = 1, 1200 do fcall('lockless_register', 'own' .. i, 4, 'LABEL', 'own' .. i) end
    local cursor, cursors = '0', {}
    repeat
      local page = fcall('lockless_check', 'CURSOR', cursor)
      expect(page[2]):equals({})
      cursor = page[1]
      cursors[cursor] = true
    until cursor == '0'
    -- What all classes have comes first among the attributes.
    expect(cursors['5:']):equals(true)
    expect(cursors['5:2:all']):equals(true)
    -- Either page names what is its own.
    local class = class_of('own7')
    redis('SADD', key('attr:pool:default'), 'stranger')
    redis('SADD', key('pool:default:members'), 'nobody')
    local found = {}
    repeat
      local page = fcall('lockless_repair', 'CURSOR', cursor)
      for _, sentence in ipairs(page[2]) do found[#found + 1] = sentence end
      cursor = page[1]
    until cursor == '0'
    expect(#found):equals(2)
    expect(found[1]):contains('attribute pool:default: class stranger does not have it')
    expect(found[2]):contains('pool default: its members are not as many as the nodes of its classes')
    expect(class_of('own7')):equals(class)
    repeat
      local page = fcall('lockless_check', 'CURSOR', cursor)
      expect(page[2]):equals({})
      cursor = page[1]
    until cursor == '0'
  end)

  it('of a cell that does not exist is empty', function()
    expect(fcall_on(R .. 'x{y}', 'lockless_check')):is_error('BAD_CELL')
    expect(fcall_on('none:' .. R, 'lockless_check')):equals({})
  end)

  for _, damage in ipairs(damages) do
    finds_and_mends({ name = damage[1], words = damage[2], hurt = damage[3], changed = damage[4], whole = damage[2] == 'grants and' })
  end
end)
