-- What can't be known any more is mended to the safe side: repair never makes room that nobody has.

local function runtime(node) return R .. ':node:runtime:' .. node end

local function repaired()
  for _ = 1, 8 do
    if #fcall('lockless_repair') == 0 then break end
  end
  expect(fcall('lockless_check')):equals({})
end

local function dispatch(job) return fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', job) end

describe('repair', function()
  local function is_fenced_until_it_registers()
    expect(dispatch('after')):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_heartbeat', 'n1', 'INCARNATION', '1')):is_error('STALE_NODE')
    expect(fcall('lockless_register', 'n1', 2)):has('incarnation', 3):has('held', 0)
    expect(dispatch('after')):equals({ 'n1', 'after' })
  end

  it('keeps a node fenced that was lost and has lost its flags', { hosts = 'model' }, function()
    fcall('lockless_register', 'n1', 2)
    for _ = 1, 5 do
      advance(9000)
      fcall('lockless_sweep')
    end
    expect(fcall('lockless_heartbeat', 'n1', 'INCARNATION', '1')):is_error('STALE_NODE')
    redis('HDEL', runtime('n1'), 'flags')
    repaired()
    is_fenced_until_it_registers()
  end)

  it('gives nothing to a node that may drain', function()
    fcall('lockless_register', 'n1', 2)
    fcall('lockless_drain', 'n1', 'on')
    redis('HDEL', runtime('n1'), 'flags')
    repaired()
    is_fenced_until_it_registers()
  end)

  it('gives nothing to a node that may be full of foreign work, and settles its jobs', function()
    fcall('lockless_register', 'n1', 2)
    dispatch('before')
    fcall('lockless_heartbeat', 'n1', 'FOREIGN', 1)
    redis('HSET', runtime('n1'), 'foreign', -5)
    repaired()
    fcall('lockless_sweep')
    expect(fcall('lockless_job', 'before')):has('status', 'expired')
    is_fenced_until_it_registers()
  end)

  it('mends a page of nodes though the number of incarnations can not be read', function()
    fcall('lockless_register', 'n1', 2)
    redis('HDEL', R, 'incarnation')
    redis('HDEL', runtime('n1'), 'scan')
    expect(fcall('lockless_repair', 'CURSOR', '3:', 'COUNT', 10)):succeeds()
    repaired()
  end)

  local function class() return fields(fcall('lockless_node', 'n1')).class end

  for _, place in ipairs({ '+inf', '-inf', '7.5', '1e16' }) do
    it('of a full node whose place is ' .. place .. ' leaves it full', function()
      fcall('lockless_register', 'n1', 1)
      dispatch('before')
      redis('ZADD', R .. ':ready:' .. class(), place, 'n1')
      expect(fcall('lockless_repair')):equals({ 'node n1: its ready score does not say its state and load' })
      expect(dispatch('after')):is_error('NO_AVAILABLE_NODE')
      expect(fcall('lockless_check')):equals({})
    end)
  end

  for _, job in ipairs({ 'd', 'd1' }) do
    it('is not needed for a node that takes no more than it has when a job ends beside a place of no number: ' .. job, function()
      fcall('lockless_register', 'n1', 2)
      dispatch('d')
      dispatch('d1')
      redis('ZADD', R .. ':ready:' .. class(), '+inf', 'n1')
      -- On its plain way, and on the other one.
      expect(fcall('lockless_complete', job, 'n1', job == 'd' and 'finished' or 'failed')):equals('OK')
      dispatch('after1')
      dispatch('after2')
      expect(fields(fcall('lockless_node', 'n1')).current_jobs):is_at_most(2)
      repaired()
    end)
  end

  it('stops a cancelled job whose slot does not say any more that it may run', function()
    fcall('lockless_register', 'n1', 1)
    dispatch('before')
    fcall('lockless_cancel', 'before')
    redis('ZADD', R .. ':node:slots:n1', 7.5, 'jbefore')
    repaired()
    expect(dispatch('after')):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_heartbeat', 'n1')):has('stop', { 'before' })
    expect(fcall('lockless_complete', 'before', 'n1', 'finished')):equals('OK')
    expect(dispatch('after')):equals({ 'n1', 'after' })
  end)

  it('lets a job run on whose slot says that it was never acknowledged, though nothing had to be', function()
    fcall('lockless_register', 'n1', 1)
    dispatch('before')
    redis('ZADD', R .. ':node:slots:n1', 1234567, 'jbefore')
    repaired()
    fcall('lockless_sweep')
    expect(dispatch('after')):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_job', 'before')):has('status', 'running')
    expect(fcall('lockless_complete', 'before', 'n1', 'finished')):equals('OK')
    expect(dispatch('after')):equals({ 'n1', 'after' })
  end)

  it('is there for a cell in which a time that is none came due', { hosts = 'model' }, function()
    fcall('lockless_register', 'n1', 1)
    fcall('lockless_submit', 'late', 'p', 'DELAY', 300)
    redis('ZADD', R .. ':delayed', '+inf', 'late')
    advance(400)
    expect(fcall('lockless_sweep')):succeeds()
    expect(fcall('lockless_heartbeat', 'n1')):has('state', 'ready')
    repaired()
    fcall('lockless_sweep')
    expect(#fcall('lockless_pull', 'n1')[1]):equals(1)
  end)

  for _, field in ipairs({ 'created', 'updated' }) do
    it('is there for a deployment of a lost node that does not say when it was ' .. field, function()
      fcall('lockless_register', 'n1', 1)
      fcall('lockless_deploy', 'd')
      expect(fcall('lockless_claim', 'n1')):has('claimed', 'd')
      redis('HSET', R .. ':deployment:d', field, 'x')
      expect(fcall('lockless_deregister', 'n1')):succeeds()
      expect(fcall('lockless_sweep')):succeeds()
      repaired()
      fcall('lockless_register', 'n2', 1)
      expect(fcall('lockless_claim', 'n2')):has('claimed', 'd')
    end)
  end

  it('gives a class that lost its number the one that it has, or another', function()
    fcall('lockless_register', 'n1', 1, 'POOL', 'a')
    local text = redis('ZRANGE', R .. ':classes', 0, 0)[1]
    redis('ZADD', R .. ':classes', '+inf', text)
    fcall('lockless_register', 'n2', 1, 'POOL', 'a')
    repaired()
    for i = 1, 3 do fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', 'j' .. i, 'POOL', 'a') end
    expect(fields(fcall('lockless_node', 'n1')).current_jobs):equals(1)
    expect(fields(fcall('lockless_node', 'n2')).current_jobs):equals(1)
  end)

  it('finds the attributes that went between two pages in order', function()
    fcall('lockless_register', 'n1', 1)
    expect(fcall('lockless_check', 'CURSOR', '5:2:label:gone')[2]):equals({})
  end)

  it('gives up a queued job whose run limit can not be read, and those behind it run', function()
    fcall('lockless_register', 'n1', 2)
    fcall('lockless_submit', 'first', 'p')
    fcall('lockless_submit', 'second', 'p')
    local record = redis('HGET', R .. ':job:first', 'd')
    redis('HSET', R .. ':job:first', 'd', (record:gsub('3600000', 'soon')))
    expect(fcall('lockless_pull', 'n1', 'COUNT', 1)[1][1]):has('job_id', 'second')
    repaired()
    expect(fcall('lockless_job', 'first')):has('status', 'expired')
  end)

  it('draws no class from a number beyond all', function()
    fcall('lockless_register', 'n1', 1, 'POOL', 'a')
    redis('HSET', R, 'class', '9999999999')
    expect(fcall('lockless_register', 'n2', 1, 'POOL', 'a')):succeeds()
    expect(fcall('lockless_register', 'n3', 1, 'POOL', 'b')):is_error('BAD_CELL')
    repaired()
    expect(fcall('lockless_register', 'n3', 1, 'POOL', 'b')):succeeds()
    expect(fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', 'j', 'POOL', 'b')):equals({ 'n3', 'j' })
  end)
end)

-- What is damaged in a record, as text of which every number may be one.
local function damage(job, field, number)
  local words = {}
  for word in redis('HGET', R .. ':job:' .. job, field):gmatch('[^ ]+') do words[#words + 1] = word end
  words[number] = 'x'
  redis('HSET', R .. ':job:' .. job, field, table.concat(words, ' '))
end

describe('a damaged record, before repair', function()
  it('leaves the slot to the job that runs in it, when its time is over', { hosts = 'model' }, function()
    fcall('lockless_register', 'n1', 1)
    fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', 'j', 'TTL', 800)
    fcall('lockless_ack', 'j', 'n1')
    damage('j', 'd', 4)
    advance(1000)
    expect(fcall('lockless_sweep')):equals(1)
    expect(dispatch('other')):is_error('NO_AVAILABLE_NODE')
    expect(fcall('lockless_job', 'j')):has('status', 'expired'):has('stopping', 1)
    expect(fcall('lockless_check')):equals({})
    expect(fcall('lockless_stopped', 'j', 'n1', 'ok')):succeeds()
    expect(dispatch('other')):equals({ 'n1', 'other' })
  end)

  it('of a queued job does not stop the cell when its node leaves', function()
    fcall('lockless_register', 'n1', 2)
    fcall('lockless_submit', 'q', 'p')
    fcall('lockless_submit', 'sound', 'p')
    fcall('lockless_pull', 'n1')
    damage('q', 'q', 5)
    fcall('lockless_deregister', 'n1')
    expect(fcall('lockless_sweep')):succeeds()
    expect(fcall('lockless_job', 'q')):has('status', 'expired')
    expect(fcall('lockless_job', 'sound')):has('status', 'pending')
    repaired()
  end)

  it('is said to whoever names the job, and keeps no other from its node', function()
    fcall('lockless_register', 'n1', 3)
    dispatch('j')
    dispatch('other')
    damage('j', 'd', 4)
    for _, call in ipairs({ { 'job', 'j' }, { 'cancel', 'j' }, { 'retry', 'j' }, { 'release', 'j', 'n1' }, { 'stopped', 'j', 'n1', 'ok' },
      { 'reserve', 'n1', 'j', 1000 }, { 'complete', 'j', 'n1', 'failed' }, { 'submit', 'j', 'p' } }) do
      expect(fcall('lockless_' .. call[1], unpack(call, 2))):is_error('BAD_CELL'):contains("job 'j' can't be read")
    end
    expect(fcall('lockless_take', 'n1', 'COUNT', 1)[1][1]):has('job_id', 'other')
    repaired()
    expect(fcall('lockless_job', 'j')):has('status', 'expired'):has('stopping', 1)
  end)

  it('is not asked to stop, and makes no room, where more than one may be asked', function()
    local sample = { 'MEM', 20, 'TOTAL', 10000, 'AVAIL', 8000, 'CPU', 10 }
    local function tick(used, swap) return fields(fcall('lockless_tick', 'n1', 'USED', used, 'SWAP', swap, unpack(sample))) end
    fcall('lockless_register', 'n1', 2)
    fcall('lockless_config', 'preempt_count_per_tick', 2)
    fcall('lockless_submit', 'damaged', 'p', 'PRIORITY', 9, 'MEM_MB', 5000)
    fcall('lockless_submit', 'sound', 'p', 'PRIORITY', 1, 'MEM_MB', 100)
    fcall('lockless_pull', 'n1', 'COUNT', 2)
    damage('damaged', 'q', 5)
    expect(tick(8000, 100).stop):equals({ 'sound' })
    repaired()
  end)

  it('of a job whose id is made again takes that id, and no dispatch fails', function()
    fcall('lockless_register', 'n1', 3)
    expect(dispatch('s:2')):succeeds()
    damage('s:2', 'd', 4)
    local job = fcall('lockless_dispatch', 's', '-', '-', 'p')[2]
    expect(job):contains('s:2:')
    repaired()
    expect(fcall('lockless_job', job)):has('status', 'dispatched')
  end)
end)
