-- What others find between an interrupted change of a node's labels and its repetition: the old class has gone, the
-- runtime still names it.

local function bind(session, request, ...) return fcall('lockless_bind', session, request, ...) end
local function dispatch(session, job) return fcall('lockless_dispatch', session, '-', '-', 'p', 'JOB', job) end

-- The heartbeat fails at the write of the runtime, its last but one step.
local function interrupt()
  local call = { 'lockless_heartbeat', 'n1', 'LABEL', 'b' }
  for at = 1, 100 do
    fail_at(at)
    expect(fcall(unpack(call))):is_error()
    if redis('EXISTS', R .. ':class:' .. redis('HGET', R .. ':node:runtime:n1', 'class')) == 0 then return end
  end
  error('the old class never went')
end

local rows = {
  { 'completes a job', function()
    expect(fcall('lockless_complete', 'plain', 'n1', 'finished')):equals('OK')
    expect(fcall('lockless_job', 'plain')):has('status', 'finished')
  end },
  { 'completes a job in a seat', function()
    expect(fcall('lockless_complete', 'rider', 'n1', 'finished')):equals('OK')
  end },
  { 'refuses a job beside the seat of a bound session', function()
    expect(dispatch('s', 'second')):is_error('NO_AVAILABLE_NODE'):contains('labels')
  end },
  { 'puts a job into the seat of a bound session', function()
    fcall('lockless_complete', 'rider', 'n1', 'finished')
    expect(dispatch('s', 'second')):equals({ 'n1', 'second' })
  end },
  { 'refuses to bind a session to the seat it has', function()
    fcall('lockless_complete', 'rider', 'n1', 'finished')
    expect(bind('s', 'r2', 'PREEMPT')):is_error('NO_AVAILABLE_NODE')
  end },
  { 'unbinds', function()
    fcall('lockless_complete', 'rider', 'n1', 'finished')
    local lease = fields(bind('s', 'r1')).lease_id
    expect(fcall('lockless_unbind', 's', lease)):equals(1)
  end },
  { 'hands out nothing from the queue', function()
    fcall('lockless_complete', 'plain', 'n1', 'finished')
    fcall('lockless_submit', 'queued', 'p')
    expect(fcall('lockless_pull', 'n1')[1]):equals({})
    expect(redis('EXISTS', R .. ':fits:' .. redis('HGET', R .. ':node:runtime:n1', 'class'))):equals(0)
    expect(fcall('lockless_heartbeat', 'n1', 'LABEL', 'b')):succeeds()
    expect(fcall('lockless_pull', 'n1')[1]):has_length(1)
  end },
  { 'drains', function() expect(fcall('lockless_drain', 'n1', 'on')):equals('OK') end },
}

describe('while the class of a node has gone, the cell', function()
  before_each(function()
    fcall('lockless_register', 'n1', 4, 'LABEL', 'a')
    bind('s', 'r1')
    dispatch('s', 'rider')
    for _, job in ipairs({ 'plain', 'other', 'last' }) do dispatch('t', job) end
    interrupt()
  end)

  for _, row in ipairs(rows) do
    it(row[1] .. ', and is sound again with the next heartbeat', { hosts = 'model' }, function()
      row[2]()
      expect(fcall('lockless_heartbeat', 'n1', 'LABEL', 'b')):succeeds()
      expect(fcall('lockless_check')):equals({})
    end)
  end
end)

describe('a session record that is not one', function()
  it('stops nobody, and is named by check', function()
    fcall('lockless_register', 'n1', 4)
    bind('s', 'r1')
    local lease = fields(bind('s', 'r1')).lease_id
    for _, damage in ipairs({ 'x', '1 default - 1-1 n1 soon 5 1 - - -', 'when default -' }) do
      redis('HSET', R .. ':session:s', 'sticky', damage)
      expect(table.concat(fcall('lockless_check'), ' ')):contains('can not be read')
      expect(fcall('lockless_renew', 's', lease)):is_error('NO_SUCH_SESSION')
      expect(fcall('lockless_unbind', 's', lease)):equals(0)
    end
    expect(dispatch('s', 'j')):equals({ 'n1', 'j' })
  end)
end)

describe('between an interrupted grant and its repetition a slot is never given twice', function()
  local function send(job, ...) return fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', job, ...) end
  -- Each takes the only slot of a node.
  local grants = {
    ['dispatch'] = function(_, job) return send(job) end,
    ['dispatch under ACK'] = function(_, job) return send(job, 'ACK', 5000) end,
    ['reserve'] = function(node, job) return fcall('lockless_reserve', node, job, 5000) end,
    ['bind'] = function(_, job) return fcall('lockless_bind', job, 'r1') end,
    ['pull'] = function(node) return fcall('lockless_pull', node, 'REQUEST', 'q') end,
  }
  for name, grant in pairs(grants) do
    it(name, { hosts = 'model' }, function()
      for at = 1, 100 do
        local node = 'n' .. at
        fcall('lockless_register', node, 1)
        -- The session knows its class, so that a dispatch takes the plain way.
        send('warm' .. at)
        fcall('lockless_complete', 'warm' .. at, node, 'finished')
        if name == 'pull' then fcall('lockless_submit', 'queued' .. at, 'p') end
        fail_at(at)
        local reply = grant(node, 'first' .. at)
        fcall('lockless_dispatch', 't', '-', '-', 'p', 'JOB', 'second' .. at)
        expect(fields(fcall('lockless_node', node)).current_jobs):is_at_most(1)
        fcall('lockless_deregister', node)
        fcall('lockless_sweep')
        if not (type(reply) == 'table' and reply.err) then return end
      end
      error('it never came through')
    end)
  end
end)
