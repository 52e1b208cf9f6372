-- What a dashboard reads of nodes, of what takes their slots, and of sessions.

local NAMES = { 'node_id', 'state', 'max_jobs', 'held', 'foreign', 'cpu', 'gpu', 'mem', 'mode', 'region', 'pools' }

local function fleet(cursor, count)
  local page = fcall_ro('lockless_fleet', cursor or '0', count or 100)
  local out = {}
  for i, item in ipairs(page[2]) do
    out[i] = {}
    for at, name in ipairs(NAMES) do out[i][name] = item[at] end
  end
  return out, page[1]
end

local function dispatch(...) return fcall('lockless_dispatch', 's', '-', '-', 'p', ...) end
local function tick(node, mem, cpu)
  return fcall('lockless_tick', node, 'MEM', mem, 'USED', mem * 100, 'TOTAL', 10000, 'AVAIL', (100 - mem) * 100, 'SWAP', 0,
    'CPU', cpu)
end

describe('the fleet', function()
  it('says of each node what lockless_node says', function()
    fcall('lockless_register', 'a', 4, 'POOL', 'p', 'POOL', 'q', 'REGION', 'eu')
    fcall('lockless_register', 'b', 1, 'POOL', 'p')
    fcall('lockless_register', 'c', 2)
    fcall('lockless_heartbeat', 'a', 'FOREIGN', 2, 'CPU', 12.5, 'MEM', 40, 'GPU', -1)
    dispatch('POOL', 'q')
    dispatch('POOL', 'p', 'JOB', 'j')
    fcall('lockless_drain', 'c', 'on')
    tick('b', 99, 10)
    local seen = fleet()
    expect(seen):has_length(3)
    for _, item in ipairs(seen) do
      local node = fields(fcall('lockless_node', item.node_id))
      for _, name in ipairs({ 'state', 'max_jobs', 'foreign', 'cpu', 'gpu', 'mem', 'mode', 'region', 'pools' }) do
        expect({ item.node_id, name, item[name] }):equals({ item.node_id, name, node[name] })
      end
      expect(item.held):equals(node.current_jobs)
    end
    expect(seen[1]):has('held', 1):has('foreign', 2):has('state', 'ready'):has('mode', '')
    expect(seen[2]):has('state', 'busy'):has('mode', 'EMERGENCY')
    expect(seen[3].state):equals('draining')
  end)

  it('shows a node that is overdue as lost, as the next write call will find it', function()
    fcall('lockless_config', 'heartbeat_ttl_ms', 5000)
    fcall('lockless_register', 'a', 4)
    advance(4000)
    fcall('lockless_register', 'b', 4)
    advance(2000)
    local seen = fleet()
    expect({ seen[1].state, seen[2].state }):equals({ 'offline', 'ready' })
  end)

  it('comes in pages, each node once', function()
    for i = 1, 25 do fcall('lockless_register', string.format('n%02d', i), 4) end
    local names, cursor = {}, '0'
    repeat
      local page
      page, cursor = fleet(cursor, 10)
      for _, item in ipairs(page) do names[#names + 1] = item.node_id end
    until cursor == '0'
    expect(names):has_length(25)
    expect({ names[1], names[25] }):equals({ 'n01', 'n25' })
    expect(fcall('lockless_fleet', 'x', 10)):is_error('BAD_ARGUMENT')
  end)

  it('of an empty cell is empty', function()
    expect(fcall('lockless_fleet', '0', 10)):equals({ '0', {} })
  end)

  it('costs three commands a node', { hosts = 'in_process' }, function()
    for i = 1, 100 do fcall('lockless_register', 'n' .. i, 4, 'POOL', 'p' .. i % 2) end
    fcall('lockless_fleet', '0', 1000)
    expect(call_count()):is_at_most(4 + 3 * 100 + 2)
  end)
end)

describe('the holds of a node', function()
  local function holds(cursor, count) return fcall_ro('lockless_holds', 'n', cursor or '0', count or 100) end

  it('are its jobs by state, and its empty seats', function()
    fcall('lockless_register', 'n', 9)
    fcall('lockless_heartbeat', 'n', 'FOREIGN', 1)
    dispatch('JOB', 'waits', 'ACK', 5000)
    dispatch('JOB', 'given')
    dispatch('JOB', 'runs', 'TTL', 60000)
    fcall('lockless_ack', 'runs', 'n')
    dispatch('JOB', 'ends')
    fcall('lockless_ack', 'ends', 'n')
    fcall('lockless_cancel', 'ends')
    local lease = fields(fcall('lockless_bind', 'b', 'r')).lease_id
    local page = holds()
    expect(page[1]):equals('0')
    local states = {}
    for i, hold in ipairs(page[2]) do states[i] = hold[1] .. ' ' .. hold[2] end
    expect(states):equals({ 'reserved waits', 'dispatched given', 'running runs', 'stopping ends', 'seat ' })
    expect(page[2][5]):equals({ 'seat', '', 'b', lease, '' })
    expect(page[2][3][5]):equals(fields(fcall('lockless_job', 'runs')).deadline_ts)
    expect(page[2][4][5]):equals('')
    expect(fields(fcall('lockless_node', 'n')).current_jobs):equals(5)
  end)

  it('come in pages, each hold once', function()
    fcall('lockless_register', 'n', 30)
    for i = 1, 20 do dispatch('JOB', 'j' .. i) end
    for i = 1, 3 do fcall('lockless_bind', 'b' .. i, 'r') end
    local seen, count, cursor = {}, 0, '0'
    repeat
      local page = holds(cursor, 4)
      cursor = page[1]
      for _, hold in ipairs(page[2]) do
        local key = hold[2] .. ' ' .. hold[3]
        expect(seen[key]):equals(nil)
        seen[key], count = true, count + 1
      end
    until cursor == '0'
    expect(count):equals(23)
  end)

  it('of nobody are none', function()
    expect(holds()):is_error('UNKNOWN_NODE')
    fcall('lockless_register', 'n', 1)
    expect(holds()):equals({ '0', {} })
    expect(holds('x')):is_error('BAD_ARGUMENT')
  end)
end)

describe('a session', function()
  local function session() return fields(fcall_ro('lockless_session', 's')) end

  it('is what it remembers', function()
    fcall('lockless_register', 'n', 4, 'POOL', 'p', 'PAIR', 'en', 'zh')
    expect(fcall('lockless_session', 's')):is_error('NO_SUCH_SESSION')
    fcall('lockless_dispatch', 's', 'en', 'zh', 'p')
    expect(session()):has('preferred_pool', 'p'):has('last_lang_pair', 'en:zh'):has('node_id', ''):has('lease_id', '')
  end)

  it('is bound, with the job in its seat, until its lease or its node is over', function()
    fcall('lockless_register', 'n', 4)
    local bound = fields(fcall('lockless_bind', 's', 'r', 'LEASE', 60000))
    expect(session()):has('node_id', 'n'):has('lease_id', bound.lease_id):has('lease_expire_ts', bound.lease_expire_ts)
    expect(session()):has('request_id', 'r'):has('job_id', ''):has('last_lang_pair', '')
    fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', 'j')
    expect(session()):has('job_id', 'j')
    fcall('lockless_deregister', 'n')
    expect(session()):has('node_id', ''):has('lease_expire_ts', '')
  end)

  it('is not bound any more when the time of its lease has passed', function()
    fcall('lockless_register', 'n', 4)
    fcall('lockless_bind', 's', 'r', 'LEASE', 1000)
    advance(1500)
    expect(session()):has('node_id', ''):has('request_id', '')
  end)
end)
