-- What has ended goes away by itself: jobs, the boxes they stand in, sessions, leases, guards.

local JOBS, SESSIONS = 400, 40

local function ended(i) return ({ 'finished', 'failed', 'cancelled', 'expired', 'released' })[i % 5 + 1] end

local function run(job, how)
  local session = 's' .. job % SESSIONS
  fcall('lockless_dispatch', session, '-', '-', 'p', 'JOB', 'j' .. job, 'ACK', how == 'expired' and 1 or 60000)
  if how == 'finished' or how == 'failed' then fcall('lockless_complete', 'j' .. job, 'n1', how) end
  if how == 'cancelled' then fcall('lockless_cancel', 'j' .. job) end
  if how == 'released' then fcall('lockless_release', 'j' .. job, 'n1') end
end

local function there(prefix, count)
  local names = {}
  for i = 0, count do names[#names + 1] = R .. prefix .. i end
  return redis('EXISTS', unpack(names))
end

describe('after hundreds of jobs', function()
  it('nothing is left but the node', function()
    fcall('lockless_config', 'keep_finished_ms', 100, 'session_ttl_ms', 100, 'heartbeat_ttl_ms', 1800000)
    fcall('lockless_register', 'n1', 1000)
    for i = 0, SESSIONS, 4 do fcall('lockless_bind', 's' .. i, 'r', 'LEASE', 200) end
    for i = 1, JOBS do run(i, ended(i)) end
    fcall('lockless_limit', 'l', 5, 100)
    fcall('lockless_lock', 'l', 'a', 100)
    wait_until(function()
      fcall('lockless_sweep')
      local guards = redis('EXISTS', R .. ':limit:log:l', R .. ':lock:l')
      return there(':job:j', JOBS) + there(':session:s', SESSIONS) + guards == 0
    end, 20000)
    wait_until(function()
      fcall('lockless_sweep')
      return redis('ZCARD', R .. ':failed') + redis('ZCARD', R .. ':cancelled') == 0
    end, 20000)
    -- No lease and no box; of the node its presence, and maybe the deadline of a hold that has gone.
    for _, member in ipairs(redis('ZRANGE', R .. ':due', 0, -1)) do
      expect(member:find('^nn1$') or member:find('^hn1$') or member:find('sentinel')):is_true()
    end
    expect(fcall('lockless_node', 'n1')):has('current_jobs', 0)
    expect(fcall('lockless_check')):equals({})
  end)
end)
