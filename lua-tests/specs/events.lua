-- Events: which are written, with what, how many are kept, and who hears of them.

local function events(after, count) return fcall('lockless_events', after or '-', count or 1000) end

-- What was written since, as 'type node job session detail', without what is empty.
local function since(id)
  local out = {}
  for _, event in ipairs(events(id)[2]) do
    local words = { event[2] }
    for i = 4, 7 do
      if event[i] ~= '' then words[#words + 1] = event[i] end
    end
    out[#out + 1] = table.concat(words, ' ')
  end
  return out
end

local function now() return events('$')[1] end
local function submit(job, ...) return fcall('lockless_submit', job, 'p', ...) end

-- A tick of a node of this use of memory; at 99 % it is in an emergency.
local function tick(mem)
  return fcall('lockless_tick', 'n1', 'MEM', mem, 'USED', mem, 'TOTAL', 100000, 'AVAIL', 90000, 'SWAP', 0, 'CPU', 0)
end

local function dispatch(job, ...) return fcall('lockless_dispatch', 's', '-', '-', 'p', 'JOB', job, ...) end

-- What happens, and the events it leaves in the default setting and with `all`.
local rows = {
  { 'a node that registers', function() fcall('lockless_register', 'n2', 4) end, { 'node_online n2 2' } },
  { 'a node that registers again', function() fcall('lockless_register', 'n1', 4) end, {} },
  { 'a new instance', function() fcall('lockless_register', 'n1', 4, 'INSTANCE', 'b') end,
    { 'node_lost n1 new instance', 'node_online n1 2' } },
  { 'a heartbeat', function() fcall('lockless_heartbeat', 'n1', 'CPU', 99) end, {} },
  { 'a node that leaves', function() fcall('lockless_deregister', 'n1') end, { 'node_lost n1 deregistered' } },
  { 'a node that falls silent', function()
    for _ = 1, 4 do
      advance(9000)
      fcall('lockless_sweep')
    end
  end, { 'node_lost n1 silent' } },
  { 'draining, said twice', function()
    fcall('lockless_drain', 'n1', 'on')
    fcall('lockless_drain', 'n1', 'on')
    fcall('lockless_drain', 'n1', 'off')
  end, { 'node_draining n1 on', 'node_draining n1 off' } },
  { 'a job that finishes', function()
    dispatch('j')
    dispatch('j')
    fcall('lockless_ack', 'j', 'n1')
    fcall('lockless_complete', 'j', 'n1', 'finished')
    fcall('lockless_complete', 'j', 'n1', 'finished')
  end, {}, { 'job_dispatched n1 j s', 'job_completed n1 j s' } },
  { 'a job that fails', function()
    dispatch('j')
    fcall('lockless_complete', 'j', 'n1', 'failed', 'REASON', 'out of memory')
    fcall('lockless_complete', 'j', 'n1', 'failed')
  end, { 'job_failed n1 j s out of memory' }, { 'job_dispatched n1 j s', 'job_failed n1 j s out of memory' } },
  { 'a job that expires', function()
    dispatch('j', 'ACK', 10)
    advance(20)
    fcall('lockless_sweep')
  end, { 'job_expired n1 j s not acknowledged in time' },
    { 'job_dispatched n1 j s', 'job_expired n1 j s not acknowledged in time' } },
  { 'a job that is cancelled', function()
    dispatch('j')
    fcall('lockless_cancel', 'j', 'REASON', 'why')
    fcall('lockless_cancel', 'j')
    fcall('lockless_complete', 'j', 'n1', 'finished')
  end, {}, { 'job_dispatched n1 j s', 'job_cancelled n1 j s why' } },
  { 'a reservation', function()
    fcall('lockless_reserve', 'n1', 'r', 10)
    advance(20)
    fcall('lockless_sweep')
    fcall('lockless_reserve', 'n1', 'q', 5000)
    fcall('lockless_release', 'q', 'n1')
  end, { 'job_expired n1 r not acknowledged in time' } },
  { 'the jobs of a node that leaves', function()
    dispatch('j')
    fcall('lockless_deregister', 'n1')
  end, { 'node_lost n1 deregistered', 'job_expired n1 j s node lost' },
    { 'job_dispatched n1 j s', 'node_lost n1 deregistered', 'job_expired n1 j s node lost' } },
  { 'a job of the queue that finishes', function()
    submit('j')
    submit('j')
    fcall('lockless_pull', 'n1')
    fcall('lockless_complete', 'j', 'n1', 'finished')
    fcall('lockless_complete', 'j', 'n1', 'finished')
  end, {}, { 'job_submitted j', 'job_started n1 j try 1', 'job_completed n1 j' } },
  { 'a job that waits and is cancelled', function()
    submit('j', 'DELAY', 9000)
    fcall('lockless_cancel', 'j', 'REASON', 'why')
    fcall('lockless_cancel', 'j')
  end, {}, { 'job_submitted j', 'job_cancelled j why' } },
  { 'a job that is tried again and fails', function()
    fcall('lockless_config', 'retry_backoff_ms', 0)
    submit('j', 'RETRIES', 1)
    for try = 1, 2 do
      fcall('lockless_pull', 'n1')
      fcall('lockless_complete', 'j', 'n1', 'failed', 'REASON', 'broke ' .. try)
      fcall('lockless_complete', 'j', 'n1', 'failed')
    end
    fcall('lockless_retry', 'j')
    fcall('lockless_retry', 'j')
  end, { 'config_changed retry_backoff_ms 0', 'job_requeued n1 j failed: broke 1',
    'job_failed n1 j try 1: broke 1\ntry 2: broke 2', 'job_requeued j retried' },
    { 'config_changed retry_backoff_ms 0', 'job_submitted j', 'job_started n1 j try 1', 'job_requeued n1 j failed: broke 1',
      'job_started n1 j try 2', 'job_failed n1 j try 1: broke 1\ntry 2: broke 2', 'job_requeued j retried' } },
  { 'a job of the queue whose node leaves', function()
    submit('j')
    fcall('lockless_pull', 'n1')
    fcall('lockless_deregister', 'n1')
  end, { 'node_lost n1 deregistered', 'job_requeued n1 j lost: node lost' },
    { 'job_submitted j', 'job_started n1 j try 1', 'node_lost n1 deregistered', 'job_requeued n1 j lost: node lost' } },
  { 'a job that makes room', function()
    submit('j')
    tick(1)
    tick(99)
    tick(99)
    fcall('lockless_stopped', 'j', 'n1', 'failed')
    fcall('lockless_stopped', 'j', 'n1', 'failed')
    tick(99)
    fcall('lockless_stopped', 'j', 'n1', 'ok')
    fcall('lockless_stopped', 'j', 'n1', 'ok')
  end, { 'node_mode n1 NORMAL -> EMERGENCY', 'TASK_STOP_FAILED n1 j PREEMPTED', 'TASK_STOPPED n1 j PREEMPTED',
    'job_requeued n1 j preempted' },
    { 'job_submitted j', 'job_started n1 j try 1', 'node_mode n1 NORMAL -> EMERGENCY', 'TASK_STOP_FAILED n1 j PREEMPTED',
      'TASK_STOPPED n1 j PREEMPTED', 'job_requeued n1 j preempted' } },
  { 'a job of the queue that runs too long', function()
    submit('j', 'TTL', 9000)
    fcall('lockless_pull', 'n1')
    advance(9001)
    fcall('lockless_sweep')
    fcall('lockless_stopped', 'j', 'n1', 'failed')
    fcall('lockless_stopped', 'j', 'n1', 'ok')
    fcall('lockless_stopped', 'j', 'n1', 'ok')
  end, { 'job_expired n1 j try 1: run limit passed', 'TASK_STOP_FAILED n1 j expired', 'TASK_STOPPED n1 j expired' },
    { 'job_submitted j', 'job_started n1 j try 1', 'job_expired n1 j try 1: run limit passed',
      'TASK_STOP_FAILED n1 j expired', 'TASK_STOPPED n1 j expired' } },
  { 'a pushed job that is cancelled and stops', function()
    dispatch('j')
    fcall('lockless_cancel', 'j')
    fcall('lockless_stopped', 'j', 'n1', 'ok')
  end, { 'TASK_STOPPED n1 j s cancelled' },
    { 'job_dispatched n1 j s', 'job_cancelled n1 j s', 'TASK_STOPPED n1 j s cancelled' } },
  { 'a node whose mode changes', function()
    fcall('lockless_config', 'ema_alpha', 1, 'emergency_cooldown_ticks', 0)
    for _, mem in ipairs({ 1, 85, 85, 99, 99, 1, 1 }) do tick(mem) end
  end, { 'config_changed ema_alpha 1 emergency_cooldown_ticks 0', 'node_mode n1 NORMAL -> HIGH',
    'node_mode n1 HIGH -> EMERGENCY', 'node_mode n1 EMERGENCY -> NORMAL' } },
  { 'a tick that is sent again', function()
    for _ = 1, 2 do
      fcall('lockless_tick', 'n1', 'MEM', 99, 'USED', 1, 'TOTAL', 1, 'AVAIL', 0, 'SWAP', 0, 'CPU', 0, 'REQUEST', 'r')
    end
  end, { 'node_mode n1 NORMAL -> EMERGENCY' } },
  { 'a setting that is changed, and one that is not', function()
    fcall('lockless_config', 'job_ttl_ms', 5000, 'reserve_ttl_ms', 5000)
    fcall('lockless_config', 'job_ttl_ms', 5000)
    fcall('lockless_config')
  end, { 'config_changed job_ttl_ms 5000' } },
}

describe('events', function()
  before_each(function() fcall('lockless_register', 'n1', 4, 'INSTANCE', 'a') end)

  for _, row in ipairs(rows) do
    it('tell of ' .. row[1], function()
      local before = now()
      row[2]()
      expect(since(before)):equals(row[3])
    end)

    it('tell of ' .. row[1] .. ' with all', function()
      fcall('lockless_config', 'events', 'all')
      local before = now()
      row[2]()
      expect(since(before)):equals(row[4] or row[3])
    end)
  end

  it('tell of a binding and of its loss', function()
    local before = now()
    local lease = fields(fcall('lockless_bind', 's', 'r')).lease_id
    fcall('lockless_bind', 's', 'r')
    fcall('lockless_bind', 't', 'r')
    fcall('lockless_dispatch', 't', '-', '-', 'p', 'JOB', 'j')
    local other = fields(fcall('lockless_bind', 't', 'r')).lease_id
    fcall('lockless_deregister', 'n1')
    local told = since(before)
    expect({ told[1], told[2], told[3] }):equals(
      { 'session_bound n1 s ' .. lease, 'session_bound n1 t ' .. other, 'node_lost n1 deregistered' })
    expect(told):contains('session_lost n1 s ' .. lease):contains('session_lost n1 t ' .. other):has_length(6)
  end)

  it('tell nothing of a lease that ends or is given up', function()
    local lease = fields(fcall('lockless_bind', 's', 'r')).lease_id
    fcall('lockless_bind', 't', 'r', 'LEASE', 1000)
    local before = now()
    fcall('lockless_unbind', 's', lease)
    advance(2000)
    fcall('lockless_sweep')
    expect(since(before)):equals({})
  end)

  it('carry the time and their ids in order', function()
    local before = now_ms()
    fcall('lockless_register', 'n2', 1)
    fcall('lockless_drain', 'n2', 'on')
    local list = events()[2]
    expect(list):has_length(3)
    expect(list[3][3]):is_at_least(before):is_at_most(now_ms())
    for i = 2, 3 do expect(list[i][1]):differs_from(list[i - 1][1]) end
  end)

  it('are read in pages, each from where the one before ended', function()
    for i = 1, 9 do fcall('lockless_drain', 'n1', i % 2 == 1 and 'on' or 'off') end
    local at, seen = '-', {}
    repeat
      local page = events(at, 4)
      for _, event in ipairs(page[2]) do seen[#seen + 1] = event[1] end
      at = page[1]
    until #page[2] == 0
    expect(seen):has_length(10)
    expect(at):equals(seen[10])
    expect(events('$')):equals({ at, {} })
    expect(events(seen[9])[2]):has_length(1)
    fcall('lockless_drain', 'n1', 'off')
    expect(since(at)):equals({ 'node_draining n1 off' })
  end)

  it('are read the same on a replica', function()
    expect(fcall_ro('lockless_events', '0', 10)):equals(events())
  end)

  it('are kept up to events_max, about', function()
    fcall('lockless_config', 'events_max', 20)
    for i = 1, 300 do fcall('lockless_drain', 'n1', i % 2 == 1 and 'on' or 'off') end
    expect(#events()[2]):is_at_least(20):is_at_most(220)
    expect(redis('XLEN', R .. ':events')):is_at_most(220)
  end)

  it('refuse a position that is none', function()
    for _, bad in ipairs({ 'x', '1', '1-', '-1', '1-1-1', '(1-1', '+', '1-99999999999999999999' }) do
      expect(fcall('lockless_events', bad, 10)):is_error('BAD_ARGUMENT'):contains('after')
    end
  end)

  it('are announced while someone listens, once a call', function()
    hear()
    fcall('lockless_register', 'n2', 1)
    expect(heard()):equals({})
    fcall('lockless_listen')
    fcall('lockless_drain', 'n2', 'on')
    expect(heard()):equals({ 'event' })
    fcall('lockless_drain', 'n2', 'on')
    dispatch('a')
    fcall('lockless_complete', 'a', 'n1', 'finished')
    expect(heard()):equals({ 'n1', 'ended a' })
    for i = 1, 3 do dispatch('j' .. i) end
    heard()
    fcall('lockless_deregister', 'n1')
    local told, count = heard(), 0
    for _, message in ipairs(told) do count = count + (message == 'event' and 1 or 0) end
    expect(count):equals(1)
    expect(told):has_length(4)
  end)
end)

describe('events of a cell that does not exist', function()
  it('are none', function()
    expect(events()):equals({ '0-0', {} })
    expect(events('$')):equals({ '0-0', {} })
  end)
end)
