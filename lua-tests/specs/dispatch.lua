-- Which node is chosen, and what a refused dispatch says.

local function register(id, slots, ...) return fcall('lockless_register', id, slots, 'PAIR', 'en', 'zh', ...) end
local function dispatch(...) return fcall('lockless_dispatch', 's', 'en', 'zh', 'p', ...) end
local function chosen(...) return dispatch(...)[1] end
local function held(id) return fields(fcall('lockless_node', id)).current_jobs end

describe('the choice', function()
  it('is the lowest share of slots in use, across classes', function()
    register('small', 2)
    register('large', 8)
    local counts = { small = 0, large = 0 }
    for _ = 1, 10 do
      local node = chosen()
      counts[node] = counts[node] + 1
    end
    expect(counts):equals({ small = 2, large = 8 })
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
  end)

  it('takes equal nodes in turn, of one class and of several', function()
    for i = 1, 3 do register('a' .. i, 4) end
    register('b', 4, 'LABEL', 'other')
    register('c', 4, 'REGION', 'far')
    for _ = 1, 4 do
      local seen = {}
      for i = 1, 5 do
        local reply = dispatch('JOB', 'j' .. i .. now_ms() .. _)
        expect(seen[reply[1]]):equals(nil)
        seen[reply[1]] = true
        fcall('lockless_complete', reply[2], reply[1], 'finished')
      end
    end
  end)

  it('counts foreign work', function()
    register('n1', 4)
    register('n2', 4)
    fcall('lockless_heartbeat', 'n1', 'FOREIGN', 3)
    for _ = 1, 3 do expect(chosen()):equals('n2') end
  end)

  it('honours pool, region and labels together', function()
    register('n1', 4, 'POOL', 'a', 'REGION', 'eu', 'LABEL', 'x')
    register('n2', 4, 'POOL', 'a', 'REGION', 'eu', 'LABEL', 'x', 'LABEL', 'y')
    register('n3', 4, 'POOL', 'b', 'REGION', 'eu', 'LABEL', 'x', 'LABEL', 'y')
    register('n4', 4, 'POOL', 'a', 'REGION', 'us', 'LABEL', 'x', 'LABEL', 'y')
    for _ = 1, 4 do expect(chosen('POOL', 'a', 'REGION', 'eu', 'REQUIRE', 'y', 'REQUIRE', 'x')):equals('n2') end
    expect(dispatch('POOL', 'a', 'REGION', 'eu', 'REQUIRE', 'x', 'REQUIRE', 'y')):is_error('NO_AVAILABLE_NODE')
  end)

  it('needs no language pair when both are -', function()
    fcall('lockless_register', 'n1', 1, 'POOL', 'builds')
    expect(fcall('lockless_dispatch', 's', '-', '-', 'p', 'POOL', 'builds')):equals({ 'n1', 's:1' })
    expect(fcall('lockless_dispatch', 's', '-', 'zh', 'p')):is_error('BAD_ARGUMENT'):contains('tgt')
  end)

  it('finds room among very many classes', function()
    for i = 1, 40 do register('n' .. i, 1, 'LABEL', 'host:' .. i) end
    local seen = {}
    for _ = 1, 40 do
      local node = chosen()
      expect(seen[node]):equals(nil)
      seen[node] = true
    end
    expect(dispatch()):is_error('NO_AVAILABLE_NODE'):contains('capacity 40')
    expect(fcall('lockless_check')):equals({})
  end)

  it('sees a class that came after the shape was cached', function()
    register('n1', 1)
    expect(chosen()):equals('n1')
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
    register('n2', 1, 'LABEL', 'new')
    expect(chosen()):equals('n2')
  end)

  it('gives the job an id of its own, beside ids that callers chose', function()
    register('n1', 9)
    expect(dispatch('JOB', 's:2')):equals({ 'n1', 's:2' })
    expect(dispatch()[2]):matches('^s:2:%d+:2$')
    expect(held('n1')):equals(2)
    expect(fcall('lockless_check')):equals({})
  end)

  it('keeps any payload byte for byte', function()
    register('n1', 9)
    local payload = '\0\1\255\r\n{"a": [] , "n":1e400}'
    fcall('lockless_dispatch', 's', 'en', 'zh', payload, 'JOB', 'j')
    expect(fcall('lockless_job', 'j')):has('payload_json', payload)
    expect(fields(fcall('lockless_take', 'n1')[1][1]).payload):equals(payload)
  end)

  it('says what it dispatched to those who take', { hosts = 'model' }, function()
    register('n1', 9)
    dispatch()
    local function published()
      local count = 0
      for _, call in ipairs(call_trace()) do if call[1] == 'spublish' then count = count + 1 end end
      return count
    end
    dispatch()
    expect(published()):equals(0)
    fcall('lockless_take', 'n1')
    dispatch()
    expect(published()):equals(1)
  end)
end)

describe('a session', function()
  before_each(function()
    register('a1', 2, 'POOL', 'a')
    register('b1', 9, 'POOL', 'b')
  end)

  it('stays with its pool while that has room', function()
    expect(chosen('POOL', 'a')):equals('a1')
    expect(chosen()):equals('a1')
    expect(chosen()):equals('b1')
  end)

  it('leaves its pool for a pair the pool does not serve', function()
    fcall('lockless_register', 'c1', 4, 'POOL', 'c', 'PAIR', 'de', 'fr')
    expect(chosen('POOL', 'a')):equals('a1')
    expect(fcall('lockless_dispatch', 's', 'de', 'fr', 'p')[1]):equals('c1')
  end)

  it('is forgotten after session_ttl_ms', function()
    fcall('lockless_config', 'session_ttl_ms', 100)
    chosen('POOL', 'a')
    wait_until(function() return redis('EXISTS', R .. ':session:s') == 0 end, 5000)
    expect(chosen()):equals('b1')
  end)

  it('lives on with the jobs that come, once a quarter of its life has passed', function()
    local key = R .. ':session:s'
    local function age(ms)
      local sticky = redis('HGET', key, 'sticky')
      redis('HSET', key, 'sticky', ('%d'):format(now_ms() - ms) .. sticky:sub(14))
      redis('PEXPIRE', key, 60000)
    end
    chosen('POOL', 'b')
    age(440000)
    chosen('POOL', 'b')
    expect(redis('PTTL', key)):is_at_most(60000)
    age(460000)
    chosen('POOL', 'b')
    expect(redis('PTTL', key)):is_at_least(1700000)
  end)

  it('that is known may send no more than any other', function()
    local many = ('x'):rep(65537)
    chosen()
    local node, job = unpack(dispatch())
    expect(fcall('lockless_dispatch', 's', 'en', 'zh', many)):is_error('BAD_ARGUMENT'):contains('at most 65536 bytes')
    expect(fcall('lockless_complete', job, node, 'finished', 'RESULT', many)):is_error('BAD_ARGUMENT'):contains('RESULT')
    expect(fcall('lockless_complete', job, node, 'finished', 'RESULT', many:sub(2))):equals('OK')
    expect(fcall('lockless_dispatch', 's', 'en', 'zh', many:sub(2))):succeeds()
  end)

  it('finds its nodes also when other classes serve it meanwhile, or its own is gone', function()
    expect(chosen('POOL', 'a')):equals('a1')
    expect(chosen()):equals('a1')
    register('a2', 4, 'POOL', 'a', 'LABEL', 'new')
    expect(chosen()):equals('a2')
    fcall('lockless_deregister', 'a2')
    fcall('lockless_deregister', 'a1')
    expect(chosen()):equals('b1')
    register('b2', 3, 'POOL', 'b')
    expect(fields(fcall('lockless_explain', 's', 'en', 'zh')).node_id):equals('b2')
    expect(chosen()):equals('b2')
  end)

  it('finds its nodes again once a damaged class is mended', function()
    register('a2', 9, 'POOL', 'a', 'LABEL', 'x')
    redis('SREM', R .. ':attr:pool:a', redis('HGET', R .. ':node:runtime:a2', 'class'))
    expect(chosen('POOL', 'a')):equals('a1')
    expect(fcall('lockless_repair')[1]):contains('missing in the set of pool:a')
    expect(chosen()):equals('a2')
  end)

  it('that asked for labels once is not bound to the class that has them', function()
    register('b2', 9, 'POOL', 'b', 'LABEL', 'gpu')
    expect(chosen('POOL', 'b', 'REQUIRE', 'gpu')):equals('b2')
    expect(chosen('REQUIRE', 'gpu')):equals('b2')
    expect(chosen()):equals('b1')
  end)

  -- What a session that was asked for the same before is asked with.
  local wishes = { 'POOL', 'b', 'REGION', 'eu', 'REQUIRE', 'gpu', 'REQUIRE', 'big' }

  local function asked_before()
    register('b2', 9, 'POOL', 'b', 'REGION', 'eu', 'LABEL', 'gpu', 'LABEL', 'big')
    for _ = 1, 3 do chosen(unpack(wishes)) end
  end

  it('that is asked for the same again costs no more than one without wishes', { hosts = 'model' }, function()
    asked_before()
    expect(chosen(unpack(wishes))):equals('b2')
    expect(call_count()):equals(9)
    expect(dispatch('JOB', 'named', unpack(wishes))):equals({ 'b2', 'named' })
    expect(call_count()):equals(9)
    -- In another order as well.
    expect(chosen('REGION', 'eu', 'REQUIRE', 'gpu', 'JOB', 'named2', 'POOL', 'b', 'REQUIRE', 'big')):equals('b2')
    expect(call_count()):equals(9)
  end)

  it('that is asked for the same again has its other words looked at all the same', function()
    asked_before()
    local rows = {
      { 'JOB takes', 'JOB', '', unpack(wishes) },
      { 'JOB takes', 'JOB', 'a b', unpack(wishes) },
      { 'JOB takes', 'JOB', ('x'):rep(257), unpack(wishes) },
      { 'JOB needs a value', 'JOB' },
      { 'JOB may be given once', 'JOB', 'a', 'JOB', 'b', unpack(wishes) },
      { 'an option takes', '-' },
      { 'an option takes', 'NONE', 'x' },
      { 'REQUIRE needs a value', 'POOL', 'b', 'REGION', 'eu', 'REQUIRE', 'gpu', 'REQUIRE' },
      -- The same bytes, but fewer words.
      { 'REQUIRE takes', 'POOL', 'b', 'REGION', 'eu', 'REQUIRE', 'gpu\1REQUIRE\1big' },
      { 'ACK takes', 'JOB', 'a', 'ACK', 'soon' },
    }
    for _, row in ipairs(rows) do
      expect(dispatch(unpack(row, 2))):is_error('BAD_ARGUMENT'):contains(row[1])
    end
    local many = {}
    for i = 1, 65 do many[2 * i - 1], many[2 * i] = 'REQUIRE', 'l' .. i end
    expect(dispatch(unpack(many))):is_error('BAD_ARGUMENT'):contains('REQUIRE may be given at most 64 times')
    expect(held('b2')):equals(3)
    expect(dispatch('ACK', 5000, unpack(wishes))):succeeds()
    expect(fcall('lockless_check')):equals({})
  end)
end)

describe('wrong arguments', function()
  it('are said before what Redis says', function()
    redis('SET', R, 'no hash')
    expect(dispatch('NONE', 'x')):is_error('BAD_ARGUMENT')
    expect(dispatch('JOB', 'a b')):is_error('BAD_ARGUMENT')
    expect(dispatch()):is_error('BAD_CELL')
  end)

  it('are said before wrong keys', function()
    for _, cells in ipairs({ {}, { R, R .. ':2' } }) do
      expect(fcall_keys(cells, 'lockless_dispatch', 's', '-', '-', 'p', 'NONE', 'x')):is_error('BAD_ARGUMENT')
      expect(fcall_keys(cells, 'lockless_dispatch', 's', '-', '-', 'p')):is_error('BAD_CELL')
    end
  end)
end)

describe('a refusal', function()
  it('says that no node serves the pair', function()
    expect(dispatch()):is_error('NO_POOL_FOR_LANG_PAIR'):contains('en->zh')
    register('n1', 1)
    expect(fcall('lockless_dispatch', 's', 'zh', 'en', 'p')):is_error('NO_POOL_FOR_LANG_PAIR')
  end)

  it('says that the pool has no node', function()
    register('n1', 1)
    expect(dispatch('POOL', 'none')):is_error('EMPTY_POOL'):contains('none')
    expect(fcall('lockless_dispatch', 's', 'xx', 'yy', 'p', 'POOL', 'none')):is_error('NO_POOL_FOR_LANG_PAIR')
  end)

  it('counts who is out and why', function()
    for i = 1, 7 do register('n' .. i, 1) end
    dispatch()
    dispatch()
    for i = 1, 7 do
      if held('n' .. i) == 0 then
        fcall('lockless_heartbeat', 'n' .. i, 'CPU', 99)
        fcall('lockless_drain', 'n' .. i, 'on')
        break
      end
    end
    for i = 1, 7 do
      if fields(fcall('lockless_node', 'n' .. i)).state == 'ready' then fcall('lockless_heartbeat', 'n' .. i, 'MEM', 95) end
    end
    fcall('lockless_register', 'n8', 1, 'PAIR', 'en', 'zh')
    fcall('lockless_heartbeat', 'n8', 'ONLINE', 'false')
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
      :contains('of 8 that match: offline 1, draining 1, resource 4, capacity 2')
  end)

  it('says which constraint matches nothing', function()
    register('n1', 1, 'REGION', 'eu')
    register('n2', 1, 'REGION', 'us', 'LABEL', 'x')
    expect(dispatch('REGION', 'eu', 'REQUIRE', 'x')):is_error('NO_AVAILABLE_NODE'):contains('region 1, label 1')
  end)

  it('leaves nothing behind', function()
    register('n1', 1)
    dispatch()
    expect(dispatch('JOB', 'refused')):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_job', 'refused')):is_error('NO_SUCH_JOB')
    expect(fcall('lockless_check')):equals({})
  end)

  it('still replays a job that was placed', function()
    register('n1', 1)
    expect(dispatch('JOB', 'j')):equals({ 'n1', 'j' })
    expect(dispatch('JOB', 'j')):equals({ 'n1', 'j' })
    expect(dispatch('JOB', 'other')):is_error('NO_AVAILABLE_NODE')
  end)
end)

describe('reserve', function()
  it('answers 0 and leaves no record when the node can take nothing', function()
    register('n1', 1)
    expect(fcall('lockless_reserve', 'n1', 'a', 5000)):equals(1)
    expect(fcall('lockless_reserve', 'n1', 'b', 5000)):equals(0)
    expect(fcall('lockless_job', 'b')):is_error('NO_SUCH_JOB')
    fcall('lockless_release', 'a', 'n1')
    for _, say in ipairs({ { 'drain', 'n1', 'on' }, { 'heartbeat', 'n1', 'CPU', 91 }, { 'heartbeat', 'n1', 'ONLINE', 'false' } }) do
      fcall('lockless_register', 'n1', 1, 'INSTANCE', say[1] .. say[3])
      fcall('lockless_drain', 'n1', 'off')
      expect(fcall('lockless_reserve', 'n1', 'c', 5000)):equals(1)
      fcall('lockless_release', 'c', 'n1')
      fcall('lockless_' .. say[1], unpack(say, 2))
      expect(fcall('lockless_reserve', 'n1', 'c', 5000)):equals(0)
    end
    expect(fcall('lockless_reserve', 'nobody', 'x', 5000)):is_error('UNKNOWN_NODE')
    expect(fcall('lockless_check')):equals({})
  end)

  it('uses the default time when given -', function()
    register('n1', 1)
    fcall('lockless_reserve', 'n1', 'a', '-')
    local deadline = fields(fcall('lockless_job', 'a')).deadline_ts
    expect(deadline - now_ms()):is_at_least(4000):is_at_most(5000)
  end)
end)

describe('very many classes', function()
  it('can be filled to the last slot', { hosts = 'model standalone' }, function()
    for i = 1, 513 do register('n' .. i, 1, 'LABEL', 'host:' .. i) end
    for i = 1, 513 do expect(fcall('lockless_dispatch', 's' .. i, 'en', 'zh', 'p')):succeeds() end
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_check')):equals({})
  end)

  it('all get work, not only the first 512', { hosts = 'model standalone' }, function()
    for i = 1, 600 do register('n' .. i, 1, 'LABEL', 'host:' .. i) end
    local beyond = 0
    for i = 1, 60 do
      local node = fcall('lockless_dispatch', 's' .. i, 'en', 'zh', 'p')[1]
      if tonumber(node:sub(2)) > 512 then beyond = beyond + 1 end
    end
    expect(beyond):is_at_least(1)
    expect(fcall('lockless_explain', 's', 'en', 'zh')):has('considered', 600):has('partial', 1)
    for i = 1, 512 do fcall('lockless_deregister', 'n' .. i) end
    expect(fcall('lockless_dispatch', 'fresh', 'en', 'zh', 'p')):succeeds()
    expect(fcall('lockless_check')):equals({})
  end)

  it('that have gone are not looked at any more', { hosts = 'model' }, function()
    for i = 1, 60 do register('n' .. i, 1, 'LABEL', 'host:' .. i) end
    dispatch()
    for i = 1, 59 do
      if held('n' .. i) == 0 then fcall('lockless_deregister', 'n' .. i) end
    end
    register('n60', 9, 'LABEL', 'host:60')
    fcall('lockless_dispatch', 'fresh', 'en', 'zh', 'p')
    fcall('lockless_dispatch', 'fresher', 'en', 'zh', 'p')
    expect(call_count()):is_at_most(16)
  end)

  it('share the work whatever the rhythm of the requests', function()
    for i = 1, 16 do register('p' .. i, 100, 'POOL', 'p', 'LABEL', 'host:' .. i) end
    register('q', 1000, 'POOL', 'q')
    for i = 1, 160 do
      fcall('lockless_dispatch', 'a' .. i, 'en', 'zh', 'p', 'POOL', 'p')
      fcall('lockless_dispatch', 'b' .. i, 'en', 'zh', 'p', 'POOL', 'q')
    end
    for i = 1, 16 do expect(held('p' .. i)):is_at_least(6):is_at_most(14) end
  end)
end)
