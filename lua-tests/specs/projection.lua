-- What a tick starts changes what it may start after that: the cumulative projection, the dry run, the order in which jobs are
-- looked at, and the averages behind all of it.

local function submit(job, ...) expect(fcall('lockless_submit', job, 'p', ...)):equals(1) end

-- A tick of a calm machine of 10,000 MB and a GPU of as many, with what a test says instead.
local function tick(sample)
  local s = { MEM = 20, USED = 2000, TOTAL = 10000, AVAIL = 8000, SWAP = 0, CPU = 10, GPU_USED = 1000, GPU_TOTAL = 10000 }
  for name, value in pairs(sample or {}) do s[name] = value or nil end
  local args = {}
  for name, value in pairs(s) do
    args[#args + 1] = name
    args[#args + 1] = value
  end
  local reply = fields(fcall('lockless_tick', 'n1', unpack(args)))
  for i, item in ipairs(reply.start) do reply.start[i] = fields(item).job_id end
  return reply
end

local function is_sound() expect(fcall('lockless_check')):equals({}) end

-- What three jobs take each, the least that is too much after two, the most that is not, and the reason for the third. 2000 MB, 10 % and 1000 MB of
-- GPU memory are in use; 9200 - 512, 95 and 9500 may not be reached.
local kinds = {
  { 'memory', 'MEM_MB', 3000, 688, 687, 'projected memory emergency' },
  { 'CPU', 'CPU', 40, 5, 4.9, 'projected cpu hard limit' },
  { 'GPU memory', 'GPU_MB', 4000, 500, 499, 'projected gpu memory emergency' },
}

describe('what a tick has started', function()
  before_each(function()
    fcall('lockless_register', 'n1', 100)
    fcall('lockless_config', 'ema_alpha', 1, 'max_workers', 100, 'max_start_per_tick_normal', 100)
  end)

  for _, kind in ipairs(kinds) do
    local name, option, each, too_much, rest, reason = unpack(kind)

    it('counts as ' .. name .. ' for what comes after', function()
      for i = 1, 3 do submit('j' .. i, option, each) end
      submit('more', option, too_much)
      submit('rest', option, rest)
      local reply = tick()
      expect(reply.start):equals({ 'j1', 'j2', 'rest' })
      expect(reply.blocked):equals({ { 'j3', reason }, { 'more', reason } })
      is_sound()
    end)

    it('is seen as ' .. name .. ' by the next sample, and not added to it', function()
      for i = 1, 4 do submit('j' .. i, option, each) end
      expect(tick().start):equals({ 'j1', 'j2' })
      expect(tick().start):equals({ 'j3', 'j4' })
    end)

    it('stays added as ' .. name .. ' in a dry run, once, until it ends', function()
      fcall('lockless_config', 'dry_run', 'true')
      for i = 1, 4 do submit('j' .. i, option, each) end
      expect(tick()):has('start', { 'j1', 'j2' }):has('blocked', { { 'j3', reason }, { 'j4', reason } })
      expect(tick()):has('start', {}):has('blocked', { { 'j3', reason }, { 'j4', reason } })
      submit('rest', option, rest)
      expect(tick().start):equals({ 'rest' })
      fcall('lockless_complete', 'rest', 'n1', 'finished')
      fcall('lockless_complete', 'j1', 'n1', 'finished')
      expect(tick()):has('start', { 'j3' }):has('blocked', { { 'j4', reason } })
      is_sound()
    end)
  end
end)

describe('jobs are looked at', function()
  before_each(function() fcall('lockless_register', 'n1', 100, 'POOL', 'a', 'LABEL', 'x', 'PAIR', 'en', 'zh', 'REGION', 'eu') end)

  it('in their order, and a blocked one keeps its place', function()
    submit('big', 'MEM_MB', 7000, 'PRIORITY', 1)
    submit('low', 'PRIORITY', 9)
    submit('mid', 'MEM_MB', 5000, 'PRIORITY', 5)
    expect(tick({ USED = 4000 })):has('start', { 'low' })
      :has('blocked', { { 'big', 'projected memory emergency' }, { 'mid', 'projected memory emergency' } })
    submit('new', 'PRIORITY', 1)
    fcall('lockless_config', 'ema_alpha', 1, 'max_workers', 100, 'max_start_per_tick_normal', 100)
    expect(fcall('lockless_jobs', 'pending', '0', 10)[2]):equals({ 'big', 'new', 'mid' })
    expect(tick({ USED = 0 })):has('start', { 'big', 'new' })
    expect(fcall('lockless_job', 'big')):has('attempts', 1)
    is_sound()
  end)

  it('up to tick_scan_limit in a tick', function()
    fcall('lockless_config', 'tick_scan_limit', 3)
    for i = 1, 3 do submit('big' .. i, 'MEM_MB', 9000, 'PRIORITY', 1) end
    submit('small', 'PRIORITY', 9)
    expect(tick()):has('start', {})
    fcall('lockless_config', 'tick_scan_limit', 4)
    local reply = tick()
    expect(reply.start):equals({ 'small' })
    expect(reply.blocked):has_length(3)
    expect(fcall('lockless_stats')):has('blocked_total', 6)
  end)

  it('only if they fit the node', function()
    fcall('lockless_config', 'max_workers', 100, 'max_start_per_tick_normal', 100)
    local rows = { { 'POOL', 'a' }, { 'POOL', 'b' }, { 'REQUIRE', 'x' }, { 'REQUIRE', 'y' }, { 'PAIR', 'en', 'zh' },
      { 'PAIR', 'zh', 'en' }, { 'REGION', 'eu' }, { 'REGION', 'us' }, { 'REQUIRE', 'x', 'REQUIRE', 'y' } }
    for i, wish in ipairs(rows) do submit('j' .. i, unpack(wish)) end
    expect(tick()):has('start', { 'j1', 'j3', 'j5', 'j7' }):has('blocked', {})
    expect(fcall('lockless_stats')):has('pending', 5)
    is_sound()
  end)

  it('also on a node over resource_threshold_pct, which gets no other work', function()
    fcall('lockless_config', 'resource_threshold_pct', 30)
    submit('j')
    submit('k')
    expect(tick({ MEM = 31 }).start):equals({ 'j', 'k' })
    submit('l')
    expect(fcall('lockless_node', 'n1')):has('state', 'busy')
    expect(fcall('lockless_dispatch', 's', '-', '-', 'p')):is_error('NO_AVAILABLE_NODE'):contains('resource 1')
    expect(fcall('lockless_pull', 'n1')[1]):equals({})
    expect(tick({ MEM = 31 }).start):equals({ 'l' })
    is_sound()
  end)

  it('not at all by a node that drains or is offline', function()
    submit('j')
    fcall('lockless_drain', 'n1', 'on')
    expect(tick()):has('mode', 'NORMAL'):has('start', {}):has('blocked', {})
    fcall('lockless_drain', 'n1', 'off')
    fcall('lockless_heartbeat', 'n1', 'ONLINE', 'false')
    expect(tick().start):equals({})
    fcall('lockless_heartbeat', 'n1', 'ONLINE', 'true')
    expect(tick().start):equals({ 'j' })
  end)
end)

-- What is kept of a node's samples.
local function smoothed()
  local out = {}
  for i, name in ipairs({ 'mem', 'used_mb', 'swap', 'cpu', 'gpu_used_mb', 'gpu' }) do
    out[i] = tonumber(redis('HGET', R .. ':node:admission:n1', name)) or 'none'
  end
  return out
end

describe('averages', function()
  before_each(function() fcall('lockless_register', 'n1', 100) end)

  it('are alpha times the sample and the rest of the one before, the first sample as it is', function()
    fcall('lockless_config', 'ema_alpha', 0.25)
    tick({ MEM = 20, USED = 2000, SWAP = 8, CPU = 10, GPU_USED = 4000 })
    expect(smoothed()):equals({ 20, 2000, 8, 10, 4000, 40 })
    tick({ MEM = 40, USED = 4000, SWAP = 0, CPU = 50, GPU_USED = 2000 })
    expect(smoothed()):equals({ 25, 2500, 6, 20, 3500, 35 })
    tick({ MEM = 41, USED = 1000, SWAP = 10, CPU = 0, GPU_USED = 5500 })
    expect(smoothed()):equals({ 29, 2125, 7, 15, 4000, 40 })
  end)

  it('are exactly what the arithmetic of doubles gives', function()
    tick({ MEM = 20.1 })
    tick({ MEM = 33.3 })
    tick({ MEM = 47.7 })
    local second = 0.3 * 33.3 + (1 - 0.3) * 20.1
    expect(smoothed()[1]):equals(0.3 * 47.7 + (1 - 0.3) * second)
  end)

  it('are the samples with an alpha of 1, and the first one with 0', function()
    fcall('lockless_config', 'ema_alpha', 1)
    tick({ MEM = 20 })
    tick({ MEM = 30 })
    expect(smoothed()[1]):equals(30)
    fcall('lockless_config', 'ema_alpha', 0)
    tick({ MEM = 70 })
    expect(smoothed()[1]):equals(30)
  end)

  it('of a GPU that went and came back start anew, and nothing else does', function()
    fcall('lockless_config', 'ema_alpha', 0.5)
    tick({ GPU_USED = 8000, MEM = 20 })
    tick({ GPU_USED = false, GPU_TOTAL = false, MEM = 40 })
    expect(smoothed()):equals({ 30, 2000, 0, 10, 'none', 'none' })
    tick({ GPU_USED = 1000, MEM = 40 })
    expect(smoothed()):equals({ 35, 2000, 0, 10, 1000, 10 })
  end)
end)
