-- The state-by-call table of the contract (design 8.2): every state a job can be in, every call that can meet it there.
-- A row is a call; a column a state; a cell is the reply or the error code, then the status and the slots held after.

local function job_status()
  local job = fcall('lockless_job', 'j')
  if job.err then return 'none' end
  return fields(job).status
end

local function held() return fields(fcall('lockless_node', 'n1')).current_jobs end

local function dispatch(...) return fcall('lockless_dispatch', 's', 'en', 'zh', 'payload', 'JOB', 'j', 'POOL', 'a', ...) end

-- How a job comes into each state. Node n1 is the only one of pool a.
local reach = {
  none = function() end,
  dispatched = function() dispatch() end,
  dispatched_ack = function() dispatch('ACK', 5000) end,
  reserved = function() fcall('lockless_reserve', 'n1', 'j', 5000) end,
  running = function() dispatch() fcall('lockless_ack', 'j', 'n1') end,
  running_reserved = function() fcall('lockless_reserve', 'n1', 'j', 5000) fcall('lockless_ack', 'j', 'n1') end,
  finished = function() dispatch() fcall('lockless_complete', 'j', 'n1', 'finished', 'RESULT', 'first') end,
  failed = function() dispatch() fcall('lockless_complete', 'j', 'n1', 'failed', 'REASON', 'first') end,
  cancelled = function() dispatch('ACK', 5000) fcall('lockless_cancel', 'j') end,
  stopping = function() dispatch() fcall('lockless_cancel', 'j') end,
  expired = function() dispatch('ACK', 100) advance(200) fcall('lockless_sweep') end,
  overdue = function() dispatch('TTL', 9000) fcall('lockless_ack', 'j', 'n1') advance(9001) fcall('lockless_sweep') end,
}

local OK, WRONG = 'OK', 'WRONG_STATE'

local calls = {
  ack = function() return fcall('lockless_ack', 'j', 'n1') end,
  ['ack by another node'] = function() return fcall('lockless_ack', 'j', 'n2') end,
  ['complete finished'] = function() return fcall('lockless_complete', 'j', 'n1', 'finished', 'RESULT', 'second') end,
  ['complete failed'] = function() return fcall('lockless_complete', 'j', 'n1', 'failed', 'REASON', 'second') end,
  ['complete by another node'] = function() return fcall('lockless_complete', 'j', 'n2', 'finished') end,
  cancel = function() return fcall('lockless_cancel', 'j', 'REASON', 'not needed') end,
  release = function() return fcall('lockless_release', 'j', 'n1') end,
  ['release by another node'] = function() return fcall('lockless_release', 'j', 'n2') end,
  reserve = function() return fcall('lockless_reserve', 'n1', 'j', 5000) end,
  ['reserve on another node'] = function() return fcall('lockless_reserve', 'n2', 'j', 5000) end,
  ['dispatch again'] = function() return dispatch() end,
  ['dispatch other content'] = function()
    return fcall('lockless_dispatch', 's', 'en', 'zh', 'other', 'JOB', 'j', 'POOL', 'a')
  end,
  extend = function() return fcall('lockless_extend', 'j', 'n1', 60000) end,
  ['extend by another node'] = function() return fcall('lockless_extend', 'j', 'n2', 60000) end,
}

local same_reply = { 'n1', 'j' }

-- What the job of one node makes of another node's word.
local anothers_word = {
  none = { 'NO_SUCH_JOB', 'none', 0 },
  dispatched = { 'NODE_MISMATCH', 'dispatched', 1 },
  dispatched_ack = { 'NODE_MISMATCH', 'dispatched', 1 },
  reserved = { 'NODE_MISMATCH', 'dispatched', 1 },
  running = { 'NODE_MISMATCH', 'running', 1 },
  running_reserved = { 'NODE_MISMATCH', 'running', 1 },
  finished = { 'NODE_MISMATCH', 'finished', 0 },
  failed = { 'NODE_MISMATCH', 'failed', 0 },
  cancelled = { 'NODE_MISMATCH', 'cancelled', 0 },
  stopping = { 'NODE_MISMATCH', 'cancelled', 1 },
  expired = { 'NODE_MISMATCH', 'expired', 0 },
  overdue = { 'NODE_MISMATCH', 'expired', 1 },
}

-- expected[call][state] = { reply or code, status after, held after }
local expected = {
  ack = {
    none = { 'NO_SUCH_JOB', 'none', 0 },
    dispatched = { OK, 'running', 1 },
    dispatched_ack = { OK, 'running', 1 },
    reserved = { OK, 'running', 1 },
    running = { OK, 'running', 1 },
    running_reserved = { OK, 'running', 1 },
    finished = { WRONG, 'finished', 0 },
    failed = { WRONG, 'failed', 0 },
    cancelled = { WRONG, 'cancelled', 0 },
    stopping = { WRONG, 'cancelled', 1 },
    expired = { WRONG, 'expired', 0 },
    overdue = { WRONG, 'expired', 1 },
  },
  ['ack by another node'] = anothers_word,
  ['complete finished'] = {
    none = { 'NO_SUCH_JOB', 'none', 0 },
    dispatched = { OK, 'finished', 0 },
    dispatched_ack = { OK, 'finished', 0 },
    reserved = { OK, 'finished', 0 },
    running = { OK, 'finished', 0 },
    running_reserved = { OK, 'finished', 0 },
    finished = { OK, 'finished', 0 },
    failed = { WRONG, 'failed', 0 },
    cancelled = { WRONG, 'cancelled', 0 },
    stopping = { OK, 'cancelled', 0 },
    expired = { WRONG, 'expired', 0 },
    overdue = { OK, 'expired', 0 },
  },
  ['complete failed'] = {
    none = { 'NO_SUCH_JOB', 'none', 0 },
    dispatched = { OK, 'failed', 0 },
    dispatched_ack = { OK, 'failed', 0 },
    reserved = { OK, 'failed', 0 },
    running = { OK, 'failed', 0 },
    running_reserved = { OK, 'failed', 0 },
    finished = { WRONG, 'finished', 0 },
    failed = { OK, 'failed', 0 },
    cancelled = { WRONG, 'cancelled', 0 },
    stopping = { OK, 'cancelled', 0 },
    expired = { WRONG, 'expired', 0 },
    overdue = { OK, 'expired', 0 },
  },
  ['complete by another node'] = anothers_word,
  cancel = {
    none = { 'NO_SUCH_JOB', 'none', 0 },
    dispatched = { OK, 'cancelled', 1 },
    dispatched_ack = { OK, 'cancelled', 0 },
    reserved = { OK, 'cancelled', 0 },
    running = { OK, 'cancelled', 1 },
    running_reserved = { OK, 'cancelled', 1 },
    finished = { WRONG, 'finished', 0 },
    failed = { WRONG, 'failed', 0 },
    cancelled = { OK, 'cancelled', 0 },
    stopping = { OK, 'cancelled', 1 },
    expired = { WRONG, 'expired', 0 },
    overdue = { WRONG, 'expired', 1 },
  },
  release = {
    none = { 0, 'none', 0 },
    dispatched = { 1, 'cancelled', 0 },
    dispatched_ack = { 1, 'cancelled', 0 },
    reserved = { 1, 'none', 0 },
    running = { WRONG, 'running', 1 },
    running_reserved = { WRONG, 'running', 1 },
    finished = { 0, 'finished', 0 },
    failed = { 0, 'failed', 0 },
    cancelled = { 0, 'cancelled', 0 },
    stopping = { 1, 'cancelled', 0 },
    expired = { 0, 'expired', 0 },
    overdue = { 1, 'expired', 0 },
  },
  ['release by another node'] = {
    none = { 0, 'none', 0 },
    dispatched = { 'NODE_MISMATCH', 'dispatched', 1 },
    dispatched_ack = { 'NODE_MISMATCH', 'dispatched', 1 },
    reserved = { 'NODE_MISMATCH', 'dispatched', 1 },
    running = { 'NODE_MISMATCH', 'running', 1 },
    running_reserved = { 'NODE_MISMATCH', 'running', 1 },
    finished = { 0, 'finished', 0 },
    failed = { 0, 'failed', 0 },
    cancelled = { 0, 'cancelled', 0 },
    stopping = { 0, 'cancelled', 1 },
    expired = { 0, 'expired', 0 },
    overdue = { 0, 'expired', 1 },
  },
  reserve = {
    none = { 1, 'dispatched', 1 },
    dispatched = { 'JOB_EXISTS', 'dispatched', 1 },
    dispatched_ack = { 'JOB_EXISTS', 'dispatched', 1 },
    reserved = { 1, 'dispatched', 1 },
    running = { 'JOB_EXISTS', 'running', 1 },
    running_reserved = { 1, 'running', 1 },
    finished = { 'JOB_EXISTS', 'finished', 0 },
    failed = { 'JOB_EXISTS', 'failed', 0 },
    cancelled = { 'JOB_EXISTS', 'cancelled', 0 },
    stopping = { 'JOB_EXISTS', 'cancelled', 1 },
    expired = { 'JOB_EXISTS', 'expired', 0 },
    overdue = { 'JOB_EXISTS', 'expired', 1 },
  },
  ['reserve on another node'] = {
    none = { 1, 'dispatched', 0 },
    dispatched = { 'NODE_MISMATCH', 'dispatched', 1 },
    dispatched_ack = { 'NODE_MISMATCH', 'dispatched', 1 },
    reserved = { 'NODE_MISMATCH', 'dispatched', 1 },
    running = { 'NODE_MISMATCH', 'running', 1 },
    running_reserved = { 'NODE_MISMATCH', 'running', 1 },
    finished = { 'NODE_MISMATCH', 'finished', 0 },
    failed = { 'NODE_MISMATCH', 'failed', 0 },
    cancelled = { 'NODE_MISMATCH', 'cancelled', 0 },
    stopping = { 'NODE_MISMATCH', 'cancelled', 1 },
    expired = { 'NODE_MISMATCH', 'expired', 0 },
    overdue = { 'NODE_MISMATCH', 'expired', 1 },
  },
  ['dispatch again'] = {
    none = { same_reply, 'dispatched', 1 },
    dispatched = { same_reply, 'dispatched', 1 },
    dispatched_ack = { same_reply, 'dispatched', 1 },
    reserved = { 'JOB_EXISTS', 'dispatched', 1 },
    running = { same_reply, 'running', 1 },
    running_reserved = { 'JOB_EXISTS', 'running', 1 },
    finished = { same_reply, 'finished', 0 },
    failed = { same_reply, 'failed', 0 },
    cancelled = { WRONG, 'cancelled', 0 },
    stopping = { WRONG, 'cancelled', 1 },
    expired = { WRONG, 'expired', 0 },
    overdue = { WRONG, 'expired', 1 },
  },
  ['dispatch other content'] = {
    none = { same_reply, 'dispatched', 1 },
    dispatched = { 'JOB_EXISTS', 'dispatched', 1 },
    dispatched_ack = { 'JOB_EXISTS', 'dispatched', 1 },
    reserved = { 'JOB_EXISTS', 'dispatched', 1 },
    running = { 'JOB_EXISTS', 'running', 1 },
    running_reserved = { 'JOB_EXISTS', 'running', 1 },
    finished = { 'JOB_EXISTS', 'finished', 0 },
    failed = { 'JOB_EXISTS', 'failed', 0 },
    cancelled = { 'JOB_EXISTS', 'cancelled', 0 },
    stopping = { 'JOB_EXISTS', 'cancelled', 1 },
    expired = { 'JOB_EXISTS', 'expired', 0 },
    overdue = { 'JOB_EXISTS', 'expired', 1 },
  },
  extend = {
    none = { 'NO_SUCH_JOB', 'none', 0 },
    dispatched = { 'deadline', 'dispatched', 1 },
    dispatched_ack = { WRONG, 'dispatched', 1 },
    reserved = { WRONG, 'dispatched', 1 },
    running = { 'deadline', 'running', 1 },
    running_reserved = { 'deadline', 'running', 1 },
    finished = { WRONG, 'finished', 0 },
    failed = { WRONG, 'failed', 0 },
    cancelled = { WRONG, 'cancelled', 0 },
    stopping = { WRONG, 'cancelled', 1 },
    expired = { WRONG, 'expired', 0 },
    overdue = { WRONG, 'expired', 1 },
  },
  ['extend by another node'] = anothers_word,
}

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

for _, call in ipairs(sorted(calls)) do
  describe(call, function()
    before_each(function()
      fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'PAIR', 'en', 'zh')
      fcall('lockless_register', 'n2', 4, 'POOL', 'b', 'PAIR', 'en', 'zh')
    end)

    for _, state in ipairs(sorted(reach)) do
      local row = assert(expected[call][state], call .. ' has no cell for ' .. state)
      it('meets a job that is ' .. state, function()
        reach[state]()
        local reply = calls[call]()
        if row[1] == 'deadline' then
          expect(reply):is_at_least(now_ms() + 59000):is_at_most(now_ms() + 60000)
        elseif type(row[1]) == 'string' and row[1] ~= OK then
          expect(reply):is_error(row[1])
          if row[1] == WRONG then expect(reply):matches(job_status()) end
        else
          expect(reply):equals(row[1])
        end
        expect(job_status()):equals(row[2])
        expect(held()):equals(row[3])
        expect(fcall('lockless_check')):equals({})
      end)
    end
  end)
end

describe('what is said twice', function()
  before_each(function() fcall('lockless_register', 'n1', 4, 'POOL', 'a', 'PAIR', 'en', 'zh') end)

  it('keeps the first result', function()
    reach.finished()
    calls['complete finished']()
    expect(fcall('lockless_job', 'j')):has('result', 'first')
  end)

  it('keeps the first reason', function()
    reach.failed()
    calls['complete failed']()
    expect(fcall('lockless_job', 'j')):has('reason', 'first')
  end)

  it('renews a reservation', function()
    fcall('lockless_reserve', 'n1', 'j', 10000)
    advance(8000)
    expect(fcall('lockless_reserve', 'n1', 'j', 10000)):equals(1)
    advance(8000)
    expect(fcall('lockless_sweep')):equals(0)
    expect(job_status()):equals('dispatched')
    advance(2001)
    fcall('lockless_sweep')
    expect(job_status()):equals('expired')
  end)

  it('frees an id once its record is gone', function()
    fcall('lockless_config', 'keep_finished_ms', 100)
    reach.finished()
    wait_until(function() return job_status() == 'none' end, 5000)
    expect(fcall('lockless_dispatch', 's', 'en', 'zh', 'other', 'JOB', 'j')):equals({ 'n1', 'j' })
  end)
end)
