-- Capacity (design section 5): a slot is granted only while held + foreign < max_jobs, and given back once.

local function register(id, slots, ...) return fcall('lockless_register', id, slots, 'PAIR', 'en', 'zh', ...) end
local function dispatch(...) return fcall('lockless_dispatch', 's', 'en', 'zh', 'p', ...) end
local function node(id) return fields(fcall('lockless_node', id)) end

describe('a full node is never chosen', function()
  it('whatever fills it', function()
    register('n1', 4)
    dispatch('JOB', 'dispatched')
    dispatch('JOB', 'waiting', 'ACK', 5000)
    fcall('lockless_reserve', 'n1', 'reserved', 5000)
    dispatch('JOB', 'stopping')
    fcall('lockless_cancel', 'stopping')
    expect(node('n1')):has('state', 'full'):has('current_jobs', 4)
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_reserve', 'n1', 'more', 5000)):equals(0)
    expect(fcall('lockless_complete', 'stopping', 'n1', 'failed')):equals('OK')
    expect(dispatch()):succeeds()
  end)

  it('also when foreign work fills the rest', function()
    register('n1', 3)
    dispatch()
    fcall('lockless_heartbeat', 'n1', 'FOREIGN', 2)
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
    fcall('lockless_heartbeat', 'n1', 'FOREIGN', 1)
    expect(dispatch()):succeeds()
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
  end)

  it('also when max_jobs is lowered below what runs, which revokes nothing', function()
    register('n1', 4)
    for i = 1, 4 do dispatch('JOB', 'j' .. i) end
    expect(register('n1', 2)):has('held', 4)
    expect(node('n1')):has('state', 'full'):has('current_jobs', 4)
    for i = 1, 2 do fcall('lockless_complete', 'j' .. i, 'n1', 'finished') end
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
    fcall('lockless_complete', 'j3', 'n1', 'finished')
    expect(dispatch()):succeeds()
    expect(fcall('lockless_check')):equals({})
  end)
end)

describe('foreign work', function()
  before_each(function() register('n1', 10) end)

  it('is estimated from JOBS beyond the holds that may be running', function()
    dispatch('JOB', 'a')
    dispatch('JOB', 'b')
    fcall('lockless_ack', 'b', 'n1')
    dispatch('JOB', 'waiting', 'ACK', 5000)
    expect(fcall('lockless_heartbeat', 'n1', 'JOBS', 5)):has('foreign', 3):has('held', 3)
    expect(fcall('lockless_heartbeat', 'n1', 'JOBS', 1)):has('foreign', 0)
  end)

  it('is what FOREIGN says, whatever JOBS says', function()
    expect(fcall('lockless_heartbeat', 'n1', 'JOBS', 9, 'FOREIGN', 2)):has('foreign', 2)
    expect(node('n1')):has('reported', 9):has('effective', 2)
  end)
end)

describe('resource thresholds', function()
  before_each(function() register('n1', 4) end)

  for _, resource in ipairs({ 'CPU', 'GPU', 'MEM' }) do
    it('take a node out by ' .. resource .. ' until a heartbeat says otherwise', function()
      fcall('lockless_heartbeat', 'n1', resource, 90)
      expect(dispatch()):succeeds()
      expect(fcall('lockless_heartbeat', 'n1', resource, 90.1)):has('state', 'busy')
      expect(dispatch()):is_error('NO_AVAILABLE_NODE'):contains('resource 1')
      fcall('lockless_heartbeat', 'n1')
      expect(dispatch()):is_error('NO_AVAILABLE_NODE')
      register('n1', 4)
      expect(dispatch()):is_error('NO_AVAILABLE_NODE')
      fcall('lockless_heartbeat', 'n1', resource, 50)
      expect(dispatch()):succeeds()
    end)
  end

  it('are settings of the cell, and no GPU is no load', function()
    fcall('lockless_config', 'resource_threshold_pct', 50)
    expect(fcall('lockless_heartbeat', 'n1', 'CPU', 51, 'GPU', -1)):has('state', 'busy')
    expect(fcall('lockless_heartbeat', 'n1', 'CPU', 50, 'GPU', -1)):has('state', 'ready')
  end)

  it('apply to what was said before they changed, at the next heartbeat', function()
    fcall('lockless_heartbeat', 'n1', 'CPU', 80)
    fcall('lockless_config', 'resource_threshold_pct', 50)
    expect(fcall('lockless_heartbeat', 'n1')):has('state', 'busy')
    fcall('lockless_config', 'resource_threshold_pct', 90)
    expect(fcall('lockless_heartbeat', 'n1')):has('state', 'ready')
  end)

  it('look at what was said before of the resources not given now', function()
    fcall('lockless_heartbeat', 'n1', 'MEM', 99)
    expect(fcall('lockless_heartbeat', 'n1', 'CPU', 1)):has('state', 'busy')
  end)
end)

describe('the state of a node', function()
  it('is the first that applies of offline, draining, busy, full, ready', function()
    register('n1', 1)
    expect(node('n1')):has('state', 'ready')
    dispatch()
    expect(node('n1')):has('state', 'full')
    fcall('lockless_heartbeat', 'n1', 'CPU', 99)
    expect(node('n1')):has('state', 'busy')
    fcall('lockless_drain', 'n1', 'on')
    expect(node('n1')):has('state', 'draining')
    fcall('lockless_heartbeat', 'n1', 'ONLINE', 'false')
    expect(node('n1')):has('state', 'offline')
  end)
end)

-- The rule of the capacity document: effective = max(current_jobs as the node reported it, reservations not yet
-- acknowledged). An acknowledgement ends a reservation; the node counts it from its next heartbeat on.
local function seed_rule(max_jobs)
  local node = { reported = 0, reserved = 0, running = 0, max_jobs = max_jobs }
  function node.dispatch()
    if math.max(node.reported, node.reserved) >= node.max_jobs then return false end
    node.reserved = node.reserved + 1
    return true
  end
  function node.ack()
    node.reserved, node.running = node.reserved - 1, node.running + 1
  end
  function node.heartbeat() node.reported = node.running end
  function node.load() return node.running + node.reserved end
  return node
end

describe("the seed's rule", function()
  it('oversells on the example of the capacity document (5.1), and ours does not', function()
    local seed = seed_rule(4)
    register('x', 4)
    -- T0: two jobs run and the node has said so.
    for i = 1, 2 do
      seed.dispatch()
      seed.ack()
      dispatch('JOB', 'before' .. i)
      fcall('lockless_ack', 'before' .. i, 'x')
    end
    seed.heartbeat()
    fcall('lockless_heartbeat', 'x', 'JOBS', 2)

    -- T1 to T6: A and B are dispatched, A is acknowledged and reported, then C, D, E.
    local granted = { seed = 0, ours = 0 }
    local function both(job)
      if seed.dispatch() then granted.seed = granted.seed + 1 end
      if not dispatch('JOB', job, 'ACK', 60000).err then granted.ours = granted.ours + 1 end
    end
    both('A')
    both('B')
    seed.ack()
    seed.heartbeat()
    fcall('lockless_ack', 'A', 'x')
    fcall('lockless_heartbeat', 'x', 'JOBS', 3)
    for _, job in ipairs({ 'C', 'D', 'E', 'F' }) do both(job) end

    expect(seed.load()):equals(7)
    expect(granted.seed):equals(5)
    expect(granted.ours):equals(2)
    expect(node('x').effective):equals(4)
    expect(fcall('lockless_check')):equals({})
  end)

  it('is never stronger than ours: held + foreign is at least max(reported, held)', function()
    register('x', 100)
    for i = 1, 12 do
      dispatch('JOB', 'j' .. i, 'ACK', 60000)
      if i % 3 == 0 then fcall('lockless_ack', 'j' .. i, 'x') end
      if i % 4 == 0 then fcall('lockless_complete', 'j' .. i, 'x', 'finished') end
      fcall('lockless_heartbeat', 'x', 'JOBS', i % 5)
      local n = node('x')
      expect(n.effective):is_at_least(math.max(n.reported, n.current_jobs))
    end
  end)
end)
