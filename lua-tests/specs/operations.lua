-- Settings, counters, explain, version, cells.

local function register(id, slots, ...) return fcall('lockless_register', id, slots, 'PAIR', 'en', 'zh', ...) end
local function dispatch(...) return fcall('lockless_dispatch', 's', 'en', 'zh', 'p', ...) end

describe('config', function()
  it('reads the defaults of a cell that does not exist, and makes none', function()
    local c = fields(fcall('lockless_config'))
    expect(c):has('heartbeat_ttl_ms', 30000):has('reserve_ttl_ms', 5000):has('keep_finished_ms', 600000)
    expect(c):has('claim_policy', 'deployment_count'):has('cpu_weight', 0.5):has('dry_run', 'false'):has('ema_alpha', 0.3)
    expect(redis('EXISTS', R)):equals(0)
  end)

  it('changes several at once, or none when one is wrong', function()
    expect(fcall('lockless_config', 'job_ttl_ms', 5000, 'events', 'all')):has('job_ttl_ms', 5000):has('events', 'all')
    expect(fcall('lockless_config', 'job_ttl_ms', 6000, 'events', 'some')):is_error('BAD_ARGUMENT')
      :contains('events takes one of lifecycle, all, given'):contains('some')
    expect(fcall('lockless_config')):has('job_ttl_ms', 5000)
    expect(fcall('lockless_config', 'no_such', 1)):is_error('BAD_ARGUMENT'):contains('no_such')
    expect(fcall('lockless_config', 'job_ttl_ms')):is_error('BAD_ARGUMENT'):contains('needs a value')
    expect(fcall('lockless_config', 'heartbeat_ttl_ms', 99)):is_error('BAD_ARGUMENT'):contains('from 100 to 1800000')
    expect(fcall('lockless_config', 'ema_alpha', 1.1)):is_error('BAD_ARGUMENT')
    expect(fcall('lockless_config', 'ema_alpha', 0.25)):has('ema_alpha', 0.25)
    expect(fcall('lockless_check')):equals({})
  end)

  it('takes effect for what comes after', function()
    register('n1', 4)
    fcall('lockless_config', 'payload_max_bytes', 3)
    expect(fcall('lockless_dispatch', 's', 'en', 'zh', 'four')):is_error('BAD_ARGUMENT'):contains('at most 3 bytes'):contains('given 4')
    expect(fcall('lockless_dispatch', 's', 'en', 'zh', 'abc', 'JOB', 'j')):succeeds()
    expect(fcall('lockless_complete', 'j', 'n1', 'finished', 'RESULT', 'four')):is_error('BAD_ARGUMENT'):contains('RESULT')
    fcall('lockless_config', 'job_ttl_ms', 1000)
    dispatch('JOB', 'k')
    expect(fields(fcall('lockless_job', 'k')).deadline_ts - now_ms()):is_at_most(1000)
  end)
end)

describe('stats', function()
  it('account for every slot ever given', function()
    register('n1', 20)
    for i = 1, 6 do dispatch('JOB', 'j' .. i) end
    fcall('lockless_reserve', 'n1', 'r1', 5000)
    fcall('lockless_reserve', 'n1', 'r2', 5000)
    fcall('lockless_release', 'r2', 'n1')
    fcall('lockless_complete', 'j1', 'n1', 'finished')
    fcall('lockless_complete', 'j2', 'n1', 'failed')
    fcall('lockless_cancel', 'j3')
    fcall('lockless_release', 'j4', 'n1')
    local s = fcall('lockless_stats')
    expect(s):has('dispatched', 6):has('reserved', 2):has('finished', 1):has('failed', 1):has('cancelled', 2)
    expect(s):has('released', 1):has('live', 3):has('expired', 0):has('dead_letters', 1):has('nodes', 1):has('classes', 1)
  end)

  it('of a cell that does not exist are zero', function()
    expect(fcall('lockless_stats')):has('live', 0):has('nodes', 0)
  end)
end)

describe('explain', function()
  it('names the node a dispatch then chooses', function()
    register('n1', 2, 'POOL', 'a')
    register('n2', 4, 'POOL', 'b')
    for _ = 1, 6 do
      local why = fields(fcall('lockless_explain', 's', 'en', 'zh'))
      expect(dispatch()[1]):equals(why.node_id)
    end
    expect(fcall('lockless_explain', 's', 'en', 'zh')):has('node_id', ''):has('capacity', 2):has('available', 0)
  end)

  it('counts each node once, under the first reason', function()
    fcall('lockless_register', 'pair', 1, 'PAIR', 'xx', 'yy')
    register('region', 1, 'REGION', 'us')
    register('label', 1, 'REGION', 'eu')
    for _, id in ipairs({ 'offline', 'draining', 'busy', 'full', 'free' }) do
      register(id, 1, 'REGION', 'eu', 'LABEL', 'x')
      if id ~= 'free' then
        fcall('lockless_reserve', id, 'r' .. id, 60000)
        if id ~= 'full' then fcall('lockless_heartbeat', id, 'CPU', 99) end
        if id ~= 'full' and id ~= 'busy' then fcall('lockless_drain', id, 'on') end
        if id == 'offline' then fcall('lockless_heartbeat', id, 'ONLINE', 'false') end
      end
    end
    local why = fcall('lockless_explain', 's', 'en', 'zh', 'REGION', 'eu', 'REQUIRE', 'x')
    expect(why):has('node_id', 'free'):has('considered', 8):has('available', 1):has('pair', 1):has('region', 1)
    expect(why):has('label', 1):has('offline', 1):has('draining', 1):has('resource', 1):has('capacity', 1)
    expect(why):has('partial', 0)
  end)

  it('considers the pool asked for', function()
    register('n1', 2, 'POOL', 'a')
    register('n2', 4, 'POOL', 'b')
    expect(fcall('lockless_explain', 's', 'en', 'zh', 'POOL', 'a')):has('considered', 1):has('node_id', 'n1'):has('pool', 'a')
  end)

  it('changes nothing', { hosts = 'in_process' }, function()
    register('n1', 2)
    local before = dump()
    fcall('lockless_explain', 's', 'en', 'zh', 'REQUIRE', 'x')
    expect(dump()):equals(before)
  end)

  it('runs read-only, like every function that only reads', function()
    register('n1', 2)
    dispatch('JOB', 'j')
    expect(fcall_ro('lockless_explain', 's', 'en', 'zh')):succeeds()
    expect(fcall_ro('lockless_job', 'j')):succeeds()
    expect(fcall_ro('lockless_jobs', 'running', 0, 1)):succeeds()
    expect(fcall_ro('lockless_node', 'n1')):succeeds()
    expect(fcall_ro('lockless_nodes', 0, 1)):succeeds()
    expect(fcall_ro('lockless_stats')):succeeds()
    expect(fcall_ro('lockless_check')):equals({})
    expect(fcall_ro('lockless_version')):succeeds()
    expect(fcall_ro('lockless_sweep')):is_error('ERR')
  end)
end)

describe('a cell', function()
  it('must end in a non-empty hash tag', function()
    for _, root in ipairs({ 'scheduler', 'scheduler:{}', 'a{b}c', '{a}x{b}', ('x'):rep(300) .. '{a}' }) do
      expect(fcall_on(root, 'lockless_stats')):is_error('BAD_CELL')
    end
    expect(fcall_keys({}, 'lockless_version')):is_error('BAD_CELL')
    expect(fcall_on('{a}', 'lockless_version')):succeeds()
  end)

  it('of another schema is refused, and left alone', function()
    register('n1', 1)
    redis('HSET', R, 'schema', 2)
    expect(dispatch()):is_error('SCHEMA_MISMATCH')
    expect(fcall('lockless_check')):is_error('SCHEMA_MISMATCH')
    redis('HSET', R, 'schema', 1)
    expect(dispatch()):succeeds()
  end)

  it('is independent of every other', function()
    local other = R:gsub('{', 'other:{')
    register('n1', 1)
    fcall_on(other, 'lockless_register', 'n1', 1, 'PAIR', 'en', 'zh')
    dispatch()
    expect(dispatch()):is_error('NO_AVAILABLE_NODE')
    expect(fcall_on(other, 'lockless_dispatch', 's', 'en', 'zh', 'p')):succeeds()
  end)
end)

describe('version', function()
  it('tells version, schema and digest', function()
    local v = fields(fcall('lockless_version'))
    expect(v.version):matches('^%d+%.%d+%.%d+$')
    expect(v.digest):has_length(40)
    expect(v.schema):equals(1)
  end)
end)
