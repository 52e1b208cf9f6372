-- Sessions bound to a node: one row for each sentence of the contract.

local function register(node, max_jobs, ...)
  return fcall('lockless_register', node, max_jobs, 'PAIR', 'en', 'zh', ...)
end
local function bind(session, request, ...) return fcall('lockless_bind', session, request, ...) end
local function bound(session, request, ...) return fields(bind(session, request, ...)) end
local function renew(session, lease, ...) return fcall('lockless_renew', session, lease, ...) end
local function unbind(session, lease) return fcall('lockless_unbind', session, lease) end
local function dispatch(session, job, ...) return fcall('lockless_dispatch', session, 'en', 'zh', 'p', 'JOB', job, ...) end
local function complete(job, node) return fcall('lockless_complete', job, node, 'finished') end
local function held(node) return fields(fcall('lockless_node', node)).current_jobs end
local function sweep() return fcall('lockless_sweep') end

-- Lets time pass in steps that are no outage, while the nodes given stay.
local function live_on(ms, ...)
  local left = ms
  while left > 0 do
    advance(math.min(left, 9000))
    left = left - 9000
    for _, node in ipairs({ ... }) do fcall('lockless_heartbeat', node) end
    sweep()
  end
end

-- What is there before each row: n1 with room for two, and n2, which only REQUIRE big finds first.
local rows = {
  { 'binds a session to a node and takes a seat in the same step', function()
    local b = bound('s', 'r1', 'LEASE', 60000)
    expect(b.state):equals('bound')
    expect(b.lease_expire_ts - now_ms()):is_at_least(50000):is_at_most(60000)
    expect(held(b.node_id)):equals(1)
    expect(held('n1') + held('n2')):equals(1)
  end },
  { 'binds to a node that serves the pair, in the pool and region and with the labels asked for', function()
    register('n3', 2, 'POOL', 'p', 'REGION', 'eu', 'LABEL', 'gpu', 'PAIR', 'de', 'fr')
    local b = bound('s', 'r1', 'PAIR', 'de', 'fr', 'POOL', 'p', 'REGION', 'eu', 'REQUIRE', 'gpu')
    expect(b.node_id):equals('n3')
    expect(bind('t', 'r1', 'PAIR', 'xx', 'yy')):is_error('NO_POOL_FOR_LANG_PAIR')
    expect(bind('t', 'r1', 'POOL', 'none')):is_error('EMPTY_POOL')
    expect(bind('t', 'r1', 'REGION', 'us')):is_error('NO_AVAILABLE_NODE')
  end },
  { 'gives the same answer to the same request_id while its lease lives', function()
    local first, again = bound('s', 'r1', 'LEASE', 60000), bound('s', 'r1', 'LEASE', 90000, 'REQUIRE', 'none')
    expect(again.state):equals('replayed')
    expect({ again.node_id, again.lease_id, again.lease_expire_ts }):equals(
      { first.node_id, first.lease_id, first.lease_expire_ts })
    expect(held('n1') + held('n2')):equals(1)
  end },
  { 'binds the same request_id anew once its lease has ended', function()
    local first = bound('s', 'r1', 'LEASE', 5000)
    live_on(6000)
    local again = bound('s', 'r1', 'LEASE', 5000)
    expect(again.state):equals('bound')
    expect(again.lease_id):differs_from(first.lease_id)
    expect(held('n1') + held('n2')):equals(1)
  end },
  { 'keeps a live lease and tells another request of it', function()
    local first, other = bound('s', 'r1'), bound('s', 'r2')
    expect(other.state):equals('existing')
    expect({ other.node_id, other.lease_id, other.lease_expire_ts }):equals(
      { first.node_id, first.lease_id, first.lease_expire_ts })
    expect(bound('s', 'r1').state):equals('replayed')
  end },
  { 'gives a live lease up with PREEMPT, and its seat with it', function()
    local first = bound('s', 'r1')
    local second = bound('s', 'r2', 'PREEMPT')
    expect(second.state):equals('bound')
    expect(second.lease_id):differs_from(first.lease_id)
    expect(held('n1') + held('n2')):equals(1)
    expect(held(second.node_id)):equals(1)
  end },
  { 'lets PREEMPT have the seat it frees when there is no other', function()
    fcall('lockless_deregister', 'n2')
    bound('other', 'r0')
    local first = bound('s', 'r1')
    expect(bind('t', 'r1')):is_error('NO_AVAILABLE_NODE')
    local second = bound('s', 'r2', 'PREEMPT')
    expect(second.node_id):equals('n1')
    expect(second.lease_id):differs_from(first.lease_id)
    expect(held('n1')):equals(2)
  end },
  { 'keeps the lease when PREEMPT finds no node', function()
    local first = bound('s', 'r1')
    expect(bind('s', 'r2', 'PREEMPT', 'REQUIRE', 'none')):is_error('NO_AVAILABLE_NODE')
    expect(bound('s', 'r1').lease_id):equals(first.lease_id)
    expect(renew('s', first.lease_id)):succeeds()
  end },
  { 'leaves a job in the seat its slot when PREEMPT ends the lease', function()
    local first = bound('s', 'r1')
    dispatch('s', 'j')
    local second = bound('s', 'r2', 'PREEMPT')
    expect(held('n1') + held('n2')):equals(2)
    complete('j', first.node_id)
    expect(held('n1') + held('n2')):equals(1)
    expect(bound('s', 'r2').lease_id):equals(second.lease_id)
  end },
  { 'gives up with PREEMPT also a seat that came back to the lease while it looked for a node', function()
    register('n3', 2, 'POOL', 'p')
    register('n4', 100, 'POOL', 'z')
    bound('s', 'r1', 'POOL', 'p', 'LEASE', 600000)
    -- More is due than one call settles, and the jobs that fill the node come last.
    for i = 1, 24 do bound('t' .. i, 'r', 'POOL', 'z', 'LEASE', 300) end
    dispatch('s', 'j', 'ACK', 400)
    dispatch('u', 'k', 'POOL', 'p', 'ACK', 400)
    advance(700)
    expect(bound('s', 'r2', 'POOL', 'p', 'PREEMPT').node_id):equals('n3')
    expect(held('n3')):equals(1)
  end },
  { 'refuses each of the last four superseded request ids, and no older one', function()
    for i = 1, 6 do bound('s', 'r' .. i, 'PREEMPT') end
    for i = 2, 5 do
      expect(bind('s', 'r' .. i)):is_error('LEASE_MISMATCH')
      expect(bind('s', 'r' .. i, 'PREEMPT')):is_error('LEASE_MISMATCH')
    end
    expect(bound('s', 'r6').state):equals('replayed')
    expect(bound('s', 'r1').state):equals('existing')
  end },
  { 'tells a superseded request so before it looks for a node', function()
    bound('s', 'r1')
    bound('s', 'r2', 'PREEMPT')
    expect(bind('s', 'r1', 'REQUIRE', 'none')):is_error('LEASE_MISMATCH')
    expect(bind('s', 'r1', 'POOL', 'none')):is_error('LEASE_MISMATCH')
    expect(bind('s', 'r1', 'PAIR', 'xx', 'yy')):is_error('LEASE_MISMATCH')
  end },
  { 'knows a superseded request id also after a lease ended', function()
    bound('s', 'r1', 'LEASE', 5000)
    live_on(6000)
    local second = bound('s', 'r2')
    expect(bind('s', 'r1', 'PREEMPT')):is_error('LEASE_MISMATCH')
    unbind('s', second.lease_id)
    expect(bind('s', 'r1')):is_error('LEASE_MISMATCH')
  end },
  { 'renews a lease to so many ms from now', function()
    local b = bound('s', 'r1', 'LEASE', 5000)
    live_on(3000)
    local until_ms = renew('s', b.lease_id, 'LEASE', 7000)
    expect(until_ms - b.lease_expire_ts):is_at_least(5000)
    live_on(4000)
    expect(bound('s', 'r1')):has('state', 'replayed'):has('lease_expire_ts', until_ms)
    live_on(8000)
    expect(held('n1') + held('n2')):equals(0)
  end },
  { 'renews a lease by the length it was given for last, and never shortens it', function()
    local b = bound('s', 'r1', 'LEASE', 50000)
    expect(renew('s', b.lease_id, 'LEASE', 10)):equals(b.lease_expire_ts)
    local longer = renew('s', b.lease_id, 'LEASE', 90000)
    advance(5000)
    expect(renew('s', b.lease_id) - longer):is_at_least(5000)
  end },
  { 'refuses to renew what is not bound, or another lease', function()
    expect(renew('s', '1-1')):is_error('NO_SUCH_SESSION')
    dispatch('s', 'j')
    expect(renew('s', '1-1')):is_error('NO_SUCH_SESSION')
    local b = bound('s', 'r1', 'LEASE', 5000)
    expect(renew('s', '1-1')):is_error('LEASE_MISMATCH')
    live_on(6000)
    expect(renew('s', b.lease_id)):is_error('LEASE_MISMATCH')
  end },
  { 'unbinds once', function()
    local b = bound('s', 'r1')
    expect(unbind('s', b.lease_id)):equals(1)
    expect(held('n1') + held('n2')):equals(0)
    expect(unbind('s', b.lease_id)):equals(0)
    expect(unbind('t', b.lease_id)):equals(0)
    expect(bound('s', 'r2').state):equals('bound')
  end },
  { 'never renews or unbinds what is there now with a lease id from before', function()
    local first = bound('s', 'r1')
    local second = bound('s', 'r2', 'PREEMPT')
    expect(renew('s', first.lease_id)):is_error('LEASE_MISMATCH')
    expect(unbind('s', first.lease_id)):equals(0)
    expect(bound('s', 'r2').lease_id):equals(second.lease_id)
    unbind('s', second.lease_id)
    local third = bound('s', 'r3')
    expect(unbind('s', second.lease_id)):equals(0)
    expect(bound('s', 'r3').lease_id):equals(third.lease_id)
  end },
  { 'frees the seat of an expired lease by itself', function()
    bound('s', 'r1', 'LEASE', 5000)
    advance(6000)
    -- Any write call does it.
    fcall('lockless_heartbeat', 'n1')
    expect(held('n1') + held('n2')):equals(0)
  end },
  { 'sends a dispatch of a bound session to its node only', function()
    local b = bound('s', 'r1', 'REQUIRE', 'big')
    expect(b.node_id):equals('n2')
    for i = 1, 3 do expect(dispatch('s', 'j' .. i)):equals({ 'n2', 'j' .. i }) end
    expect(fcall('lockless_explain', 's', 'en', 'zh')):has('bound', 'n2')
  end },
  { 'has one job at a time use the seat, and further ones slots of their own', function()
    bound('s', 'r1', 'REQUIRE', 'big')
    dispatch('s', 'a')
    expect(held('n2')):equals(1)
    dispatch('s', 'b')
    expect(held('n2')):equals(2)
    complete('a', 'n2')
    expect(held('n2')):equals(2)
    dispatch('s', 'c')
    expect(held('n2')):equals(2)
    complete('b', 'n2')
    complete('c', 'n2')
    expect(held('n2')):equals(1)
  end },
  { 'uses the seat also when the node is full of other work', function()
    local b = bound('s', 'r1', 'REQUIRE', 'big')
    fcall('lockless_heartbeat', 'n2', 'FOREIGN', 9)
    expect(dispatch('s', 'a')):equals({ 'n2', 'a' })
    expect(dispatch('s', 'b')):is_error('NO_AVAILABLE_NODE'):contains('bound')
    expect(b.node_id):equals('n2')
  end },
  { 'is served also while its node drains or is busy', function()
    bound('s', 'r1', 'REQUIRE', 'big')
    fcall('lockless_drain', 'n2', 'on')
    expect(dispatch('s', 'a')):equals({ 'n2', 'a' })
    expect(dispatch('s', 'b')):equals({ 'n2', 'b' })
    fcall('lockless_drain', 'n2', 'off')
    fcall('lockless_heartbeat', 'n2', 'CPU', 99)
    expect(dispatch('s', 'c')):equals({ 'n2', 'c' })
    expect(fcall('lockless_node', 'n2')):has('state', 'busy'):has('current_jobs', 3)
  end },
  { 'is refused while its node is full, offline by its own word, or does not fit', function()
    bound('s', 'r1', 'REQUIRE', 'big', 'POOL', 'default')
    for i = 1, 4 do dispatch('s', 'j' .. i) end
    expect(dispatch('s', 'j5')):is_error('NO_AVAILABLE_NODE'):contains('bound'):contains('full')
    expect(dispatch('s', 'j1')):equals({ 'n2', 'j1' })
    complete('j1', 'n2')
    expect(dispatch('s', 'j6', 'REGION', 'eu')):is_error('NO_AVAILABLE_NODE'):contains('bound'):contains('fit')
    expect(dispatch('s', 'j6', 'POOL', 'none')):is_error('EMPTY_POOL')
    expect(fcall('lockless_dispatch', 's', 'xx', 'yy', 'p')):is_error('NO_POOL_FOR_LANG_PAIR')
    fcall('lockless_heartbeat', 'n2', 'ONLINE', 'false')
    expect(dispatch('s', 'j6')):is_error('NO_AVAILABLE_NODE'):contains('bound'):contains('offline')
  end },
  { 'counts the seat and the jobs outside it as slots used', function()
    bound('s', 'r1', 'REQUIRE', 'big')
    for i = 1, 4 do dispatch('s', 'j' .. i) end
    expect(held('n2')):equals(4)
    expect(fcall('lockless_node', 'n2')):has('state', 'full')
    for i = 2, 4 do complete('j' .. i, 'n2') end
    expect(held('n2')):equals(1)
    complete('j1', 'n2')
    expect(held('n2')):equals(1)
  end },
  { 'passes the hold to the job when a lease ends with a job in the seat', function()
    local b = bound('s', 'r1', 'LEASE', 5000)
    dispatch('s', 'j')
    live_on(6000)
    expect(held(b.node_id)):equals(1)
    expect(fcall('lockless_job', 'j')):has('status', 'dispatched')
    expect(renew('s', b.lease_id)):is_error('LEASE_MISMATCH')
    complete('j', b.node_id)
    expect(held(b.node_id)):equals(0)
  end },
  { 'passes the hold to the job when it is unbound with a job in the seat', function()
    local b = bound('s', 'r1')
    dispatch('s', 'j')
    expect(unbind('s', b.lease_id)):equals(1)
    expect(held(b.node_id)):equals(1)
    local again = bound('s', 'r2', 'REQUIRE', 'big')
    complete('j', b.node_id)
    expect(held('n1') + held('n2')):equals(1)
    expect(held(again.node_id)):equals(1)
  end },
  { 'gives the seat back to the lease however the job in it ends', function()
    bound('s', 'r1', 'REQUIRE', 'big')
    dispatch('s', 'cancelled', 'ACK', 5000)
    fcall('lockless_cancel', 'cancelled')
    dispatch('s', 'released')
    fcall('lockless_release', 'released', 'n2')
    dispatch('s', 'late', 'ACK', 1000)
    live_on(2000)
    expect(held('n2')):equals(1)
    dispatch('s', 'stopping')
    fcall('lockless_ack', 'stopping', 'n2')
    fcall('lockless_cancel', 'stopping')
    -- The seat is taken until the node has stopped it.
    dispatch('s', 'outside')
    expect(held('n2')):equals(2)
    complete('stopping', 'n2')
    complete('outside', 'n2')
    expect(held('n2')):equals(1)
    dispatch('s', 'inside')
    expect(held('n2')):equals(1)
  end },
  { 'ends a binding with its node', function()
    local b = bound('s', 'r1', 'REQUIRE', 'big')
    live_on(36000, 'n1')
    expect(fcall('lockless_node', 'n2')):has('state', 'offline')
    expect(renew('s', b.lease_id)):is_error('LEASE_MISMATCH')
    expect(dispatch('s', 'j')):equals({ 'n1', 'j' })
    expect(bound('s', 'r1').node_id):equals('n1')
  end },
  { 'ends a binding with a job in the seat with its node', function()
    local b = bound('s', 'r1', 'REQUIRE', 'big')
    dispatch('s', 'j')
    fcall('lockless_deregister', 'n2')
    expect(fcall('lockless_job', 'j')):has('status', 'expired')
    expect(renew('s', b.lease_id)):is_error('LEASE_MISMATCH')
    expect(bound('s', 'r2').node_id):equals('n1')
  end },
  { 'ends a binding with the instance it was made with, and not one made since', function()
    fcall('lockless_register', 'n9', 40, 'INSTANCE', 'a', 'LABEL', 'only')
    local leases = {}
    for i = 1, 30 do leases[i] = bound('s' .. i, 'r1', 'REQUIRE', 'only').lease_id end
    -- After an outage nothing is settled for a while: the old seats are settled after the sessions are bound again.
    outage(25000)
    fcall('lockless_register', 'n9', 40, 'INSTANCE', 'b', 'LABEL', 'only')
    for i = 1, 30 do
      expect(renew('s' .. i, leases[i])):is_error('LEASE_MISMATCH')
      leases[i] = bound('s' .. i, 'r1', 'REQUIRE', 'only').lease_id
    end
    expect(fcall('lockless_check')):equals({})
    live_on(36000, 'n1', 'n2', 'n9')
    expect(redis('EXISTS', R .. ':lost:3')):equals(0)
    for i = 1, 30 do expect(renew('s' .. i, leases[i])):succeeds() end
    expect(held('n9')):equals(30)
  end },
  { 'keeps a lease through an outage', function()
    local b = bound('s', 'r1', 'LEASE', 1000)
    dispatch('s', 'j')
    local t = bound('t', 'r1', 'LEASE', 1000)
    pass_time(1100)
    outage(25000)
    expect(bound('t', 'r1').state):equals('replayed')
    expect(renew('t', t.lease_id)):succeeds()
    expect(renew('s', b.lease_id)):succeeds()
  end },
  { 'remembers the pool of its binding once it is over', function()
    register('n3', 4, 'POOL', 'p', 'LABEL', 'only')
    local b = bound('s', 'r1', 'PAIR', 'en', 'zh', 'POOL', 'p')
    unbind('s', b.lease_id)
    expect(dispatch('s', 'j')):equals({ 'n3', 'j' })
  end },
  { 'has its session stay while it is bound, and go afterwards', function()
    fcall('lockless_config', 'session_ttl_ms', 100)
    local b = bound('s', 'r1', 'LEASE', 60000)
    expect(redis('PTTL', R .. ':session:s')):equals(-1)
    dispatch('s', 'j')
    complete('j', b.node_id)
    expect(redis('PTTL', R .. ':session:s')):equals(-1)
    unbind('s', b.lease_id)
    wait_until(function() return redis('EXISTS', R .. ':session:s') == 0 end, 5000)
  end },
  { 'does not count a seat as work of others', function()
    bound('s', 'r1', 'REQUIRE', 'big')
    expect(fcall('lockless_heartbeat', 'n2', 'JOBS', 0)):has('foreign', 0)
    expect(fcall('lockless_heartbeat', 'n2', 'JOBS', 1)):has('foreign', 1)
    dispatch('s', 'j')
    expect(fcall('lockless_heartbeat', 'n2', 'JOBS', 1)):has('foreign', 0)
  end },
}

describe('a bound session', function()
  before_each(function()
    register('n1', 2)
    register('n2', 4, 'LABEL', 'big')
  end)

  for _, row in ipairs(rows) do
    it(row[1], function()
      row[2]()
      expect(fcall('lockless_check')):equals({})
    end)
  end
end)
