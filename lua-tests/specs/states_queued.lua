-- The state-by-call table of jobs from the queue: every state one can be in, every call that can meet it there, and what the
-- calls of the queue make of pushed jobs (`states.lua` has the rest of theirs). A row is a call; a cell is its reply; what it
-- changes stands behind.

-- What the job was submitted with, so that it can be submitted again.
local options = {}

local function submit(...)
  options = { ... }
  return fcall('lockless_submit', 'j', 'payload', 'POOL', 'a', ...)
end

local function tick(swap)
  return fcall('lockless_tick', 'n1', 'MEM', 20, 'USED', 2000, 'TOTAL', 10000, 'AVAIL', 8000, 'SWAP', swap, 'CPU', 10)
end

local function pull() return fcall('lockless_pull', 'n1') end
local function dispatch(...) return fcall('lockless_dispatch', 's', 'en', 'zh', 'payload', 'JOB', 'j', 'POOL', 'a', ...) end
local function complete(status) return fcall('lockless_complete', 'j', 'n1', status) end
local function cancel() return fcall('lockless_cancel', 'j') end

-- A run limit that passes.
local function pass_limit()
  advance(9001)
  fcall('lockless_sweep')
end

-- How a job comes into each state. Node n1 is the only one of pool a.
local queued = {
  pending = function() submit() end,
  delayed = function() submit('DELAY', 5000) end,
  running = function() submit() pull() end,
  asked = function() submit() tick(0) tick(100) end,
  tried = function() submit() pull() complete('failed') end,
  preempted = function() submit() tick(0) tick(100) fcall('lockless_stopped', 'j', 'n1', 'ok') end,
  lost = function() submit() pull() fcall('lockless_deregister', 'n1') fcall('lockless_register', 'n1', 4, 'POOL', 'a') end,
  finished = function() submit() pull() complete('finished') end,
  failed = function() submit('RETRIES', 0) pull() complete('failed') end,
  retried = function() submit('RETRIES', 0) pull() complete('failed') fcall('lockless_retry', 'j') end,
  withdrawn = function() submit() cancel() end,
  stopping = function() submit() pull() cancel() end,
  cancelled = function() submit() pull() cancel() complete('finished') end,
  overdue = function() submit('TTL', 9000) pull() pass_limit() end,
  expired = function() submit('TTL', 9000) pull() pass_limit() fcall('lockless_stopped', 'j', 'n1', 'ok') end,
}

local pushed = {
  none = function() end,
  dispatched = function() dispatch() end,
  dispatched_ack = function() dispatch('ACK', 5000) end,
  reserved = function() fcall('lockless_reserve', 'n1', 'j', 5000) end,
  running = function() dispatch() fcall('lockless_ack', 'j', 'n1') end,
  finished = function() dispatch() complete('finished') end,
  failed = function() dispatch() complete('failed') end,
  cancelled = function() dispatch('ACK', 5000) cancel() end,
  stopping = function() dispatch() cancel() end,
  expired = function() dispatch('ACK', 5000) pass_limit() end,
  overdue = function() dispatch('TTL', 9000) fcall('lockless_ack', 'j', 'n1') pass_limit() end,
}

local calls = {
  ['ack'] = function() return fcall('lockless_ack', 'j', 'n1') end,
  ['ack by another node'] = function() return fcall('lockless_ack', 'j', 'n2') end,
  ['complete finished'] = function() return complete('finished') end,
  ['complete failed'] = function() return complete('failed') end,
  ['complete by another node'] = function() return fcall('lockless_complete', 'j', 'n2', 'finished') end,
  ['cancel'] = cancel,
  ['release'] = function() return fcall('lockless_release', 'j', 'n1') end,
  ['release by another node'] = function() return fcall('lockless_release', 'j', 'n2') end,
  ['reserve'] = function() return fcall('lockless_reserve', 'n1', 'j', 5000) end,
  ['dispatch'] = function() return dispatch() end,
  ['extend'] = function() return fcall('lockless_extend', 'j', 'n1', 60000) end,
  ['extend by another node'] = function() return fcall('lockless_extend', 'j', 'n2', 60000) end,
  ['stopped ok'] = function() return fcall('lockless_stopped', 'j', 'n1', 'ok') end,
  ['stopped failed'] = function() return fcall('lockless_stopped', 'j', 'n1', 'failed') end,
  ['stopped ok by another node'] = function() return fcall('lockless_stopped', 'j', 'n2', 'ok') end,
  ['stopped failed by another node'] = function() return fcall('lockless_stopped', 'j', 'n2', 'failed') end,
  ['retry'] = function() return fcall('lockless_retry', 'j') end,
  ['submit again'] = function() return submit(unpack(options)) end,
  ['submit other content'] = function() return fcall('lockless_submit', 'j', 'other', 'POOL', 'a') end,
}

-- The columns: a state, and the job's status and the slots held on n1 in it.
local queued_columns = {
  { 'pending', 'pending 0' }, { 'delayed', 'pending 0' }, { 'tried', 'pending 0' },
  { 'preempted', 'pending 0' }, { 'lost', 'pending 0' }, { 'retried', 'pending 0' }, { 'running', 'running 1' },
  { 'asked', 'running 1' }, { 'stopping', 'cancelled 1' }, { 'overdue', 'expired 1' },
  { 'finished', 'finished 0' }, { 'failed', 'failed 0' }, { 'withdrawn', 'cancelled 0' },
  { 'cancelled', 'cancelled 0' }, { 'expired', 'expired 0' },
}

local pushed_columns = {
  { 'none', 'none 0' }, { 'dispatched', 'dispatched 1' }, { 'dispatched_ack', 'dispatched 1' },
  { 'reserved', 'dispatched 1' }, { 'running', 'running 1' }, { 'stopping', 'cancelled 1' },
  { 'overdue', 'expired 1' }, { 'finished', 'finished 0' }, { 'failed', 'failed 0' },
  { 'cancelled', 'cancelled 0' }, { 'expired', 'expired 0' },
}

-- What a cell says: a reply (ok, 0, 1; t: a time), or an error.
local CODES = { W = 'WRONG_STATE', M = 'NODE_MISMATCH', X = 'JOB_EXISTS', N = 'NO_SUCH_JOB' }

-- A call, its cells in the order of the columns, and the status and slots after it where they change.
local queued_rows = {
  { 'ack', 'W  W  W  W  W  W  ok ok W  W  W  W  W  W  W' },
  { 'ack by another node', 'W  W  M  M  M  W  M  M  M  M  M  M  W  M  M' },
  { 'complete finished', 'W  W  W  W  W  W  ok ok ok ok ok W  W  W  W',
    { running = 'finished 0', asked = 'finished 0', stopping = 'cancelled 0', overdue = 'expired 0' } },
  { 'complete failed', 'W  W  ok W  W  W  ok ok ok ok W  ok W  W  W',
    { running = 'pending 0', asked = 'pending 0', stopping = 'cancelled 0', overdue = 'expired 0' } },
  { 'complete by another node', 'W  W  M  M  M  W  M  M  M  M  M  M  W  M  M' },
  { 'cancel', 'ok ok ok ok ok ok ok ok ok W  W  W  ok ok W',
    { pending = 'cancelled 0', delayed = 'cancelled 0', tried = 'cancelled 0', preempted = 'cancelled 0',
      lost = 'cancelled 0', retried = 'cancelled 0', running = 'cancelled 1', asked = 'cancelled 1' } },
  { 'release', '0  0  0  0  0  0  W  W  1  1  0  0  0  0  0', { stopping = 'cancelled 0', overdue = 'expired 0' } },
  { 'release by another node', '0  0  0  0  0  0  M  M  0  0  0  0  0  0  0' },
  { 'reserve', 'X  X  X  X  X  X  X  X  X  X  X  X  X  X  X' },
  { 'dispatch', 'X  X  X  X  X  X  X  X  X  X  X  X  X  X  X' },
  { 'extend', 'W  W  W  W  W  W  t  t  W  W  W  W  W  W  W' },
  { 'extend by another node', 'W  W  M  M  M  W  M  M  M  M  M  M  W  M  M' },
  { 'stopped ok', 'W  W  W  ok W  W  ok ok ok ok W  W  ok ok ok',
    { running = 'pending 0', asked = 'pending 0', stopping = 'cancelled 0', overdue = 'expired 0' } },
  { 'stopped failed', 'W  W  W  W  W  W  ok ok ok ok W  W  W  W  W' },
  { 'stopped ok by another node', 'W  W  M  M  M  W  M  M  M  M  M  M  ok M  M' },
  { 'stopped failed by another node', 'W  W  M  M  M  W  M  M  M  M  M  M  W  M  M' },
  { 'retry', 'ok ok ok ok ok ok W  W  W  W  W  ok W  W  ok', { failed = 'pending 0', expired = 'pending 0' } },
  { 'submit again', '0  0  0  0  0  0  0  0  0  0  0  0  0  0  0' },
  { 'submit other content', 'X  X  X  X  X  X  X  X  X  X  X  X  X  X  X' },
}

local pushed_rows = {
  { 'stopped ok', 'N  W  W  W  W  ok ok W  W  ok ok', { stopping = 'cancelled 0', overdue = 'expired 0' } },
  { 'stopped failed', 'N  W  W  W  W  ok ok W  W  W  W' },
  { 'stopped ok by another node', 'N  M  M  M  M  M  M  M  M  M  M' },
  { 'stopped failed by another node', 'N  M  M  M  M  M  M  M  M  M  M' },
  { 'retry', 'N  W  W  W  W  W  W  W  W  W  W' },
  { 'submit again', '1  X  X  X  X  X  X  X  X  X  X', { none = 'pending 0' } },
  { 'submit other content', '1  X  X  X  X  X  X  X  X  X  X', { none = 'pending 0' } },
}

local function status_and_slots()
  local job = fcall('lockless_job', 'j')
  local status = job.err and 'none' or fields(job).status
  return status .. ' ' .. fields(fcall('lockless_node', 'n1')).current_jobs
end

local function expect_reply(reply, cell, status)
  if CODES[cell] then
    expect(reply):is_error(CODES[cell])
    if cell == 'W' then expect(reply):contains('is ' .. status) end
  elseif cell == 't' then
    expect(reply):is_at_least(now_ms() + 59000):is_at_most(now_ms() + 60000)
  else
    expect(reply):equals(cell == 'ok' and 'OK' or tonumber(cell))
  end
end

local function table_of(kind, reach, columns, rows)
  for _, row in ipairs(rows) do
    local call, cells, changes = row[1], {}, row[3] or {}
    for cell in row[2]:gmatch('%S+') do cells[#cells + 1] = cell end
    assert(#cells == #columns, call .. ' has a cell too many or too few')
    assert(calls[call], call .. ' is no call')
    for i, column in ipairs(columns) do
      local state, before = column[1], column[2]
      it(call .. ' meets a ' .. kind .. ' job that is ' .. state, function()
        fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'PAIR', 'en', 'zh')
        fcall('lockless_register', 'n2', 4, 'POOL', 'b', 'PAIR', 'en', 'zh')
        reach[state]()
        expect(status_and_slots()):equals(before)
        expect_reply(calls[call](), cells[i], before:match('^%S+'))
        expect(status_and_slots()):equals(changes[state] or before)
        expect(fcall('lockless_check')):equals({})
      end)
    end
  end
end

describe('the table', function()
  table_of('queued', queued, queued_columns, queued_rows)
  table_of('pushed', pushed, pushed_columns, pushed_rows)
end)
