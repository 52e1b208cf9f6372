-- What a node is known by: region, zone, features, models and services are labels and a region, and take effect at once.

local function dispatch(...) return fcall('lockless_dispatch', 's', '-', '-', 'p', ...) end
local function node(id) return fields(fcall('lockless_node', id)) end

local KNOWN_BY = { 'LABEL', 'zone:a', 'LABEL', 'feature:emotion', 'LABEL', 'model:whisper@2', 'LABEL', 'service:tts@1' }

describe('what a node says of itself', function()
  before_each(function() fcall('lockless_register', 'n1', 4, 'REGION', 'eu', unpack(KNOWN_BY)) end)

  it('is read as it was said, with when it was heard last', function()
    local seen = node('n1')
    expect(seen.region):equals('eu')
    expect(seen.labels):equals({ 'feature:emotion', 'model:whisper@2', 'service:tts@1', 'zone:a' })
    advance(1000)
    fcall('lockless_heartbeat', 'n1', 'CPU', 12.5, 'GPU', -1, 'MEM', 40)
    local later = node('n1')
    expect(later.last_heartbeat_ts - seen.last_heartbeat_ts):is_at_least(1000)
    expect(later):has('cpu', 12.5):has('gpu', -1):has('mem', 40):has('current_jobs', 0):has('max_jobs', 4)
  end)

  for _, label in ipairs({ 'zone:a', 'feature:emotion', 'model:whisper@2', 'service:tts@1' }) do
    it('has requests for ' .. label .. ' find it', function()
      fcall('lockless_register', 'n2', 4, 'REGION', 'eu')
      for _ = 1, 3 do expect(dispatch('REQUIRE', label, 'REGION', 'eu')[1]):equals('n1') end
    end)
  end

  it('tells versions apart', function()
    fcall('lockless_register', 'n2', 4, 'LABEL', 'model:whisper@3')
    expect(dispatch('REQUIRE', 'model:whisper@3')[1]):equals('n2')
    expect(dispatch('REQUIRE', 'model:whisper@2')[1]):equals('n1')
    expect(dispatch('REQUIRE', 'model:whisper')):is_error('NO_AVAILABLE_NODE')
  end)

  it('takes effect for the next dispatch when a heartbeat changes it', function()
    expect(dispatch('REQUIRE', 'model:new@1')):is_error('NO_AVAILABLE_NODE')
    fcall('lockless_heartbeat', 'n1', 'LABEL', 'model:new@1')
    expect(dispatch('REQUIRE', 'model:new@1')[1]):equals('n1')
    expect(dispatch('REQUIRE', 'model:whisper@2')):is_error('NO_AVAILABLE_NODE')
  end)

  it('takes effect for the next dispatch when a register changes it', function()
    expect(dispatch('REGION', 'eu')[1]):equals('n1')
    fcall('lockless_register', 'n1', 4, 'REGION', 'us', 'LABEL', 'service:asr@1')
    expect(dispatch('REGION', 'eu')):is_error('NO_AVAILABLE_NODE')
    expect(dispatch('REGION', 'us', 'REQUIRE', 'service:asr@1')[1]):equals('n1')
  end)

  it('is not matched once it is silent, though it is still known', function()
    for _ = 1, 4 do
      advance(9000)
      fcall('lockless_sweep')
    end
    expect(dispatch('REQUIRE', 'zone:a')):is_error('NO_AVAILABLE_NODE'):contains('offline 1')
    expect(node('n1')):has('online', 'false'):has('region', 'eu')
  end)
end)

describe('among ten thousand nodes', function()
  it('a model that two have is found in as many calls as one that all have', { hosts = 'model' }, function()
    fcall('lockless_config', 'heartbeat_ttl_ms', 1800000)
    for i = 1, 10000 do
      local rare = i > 9998 and { 'LABEL', 'model:rare@1' } or {}
      fcall('lockless_register', 'n' .. i, 4, 'LABEL', 'model:common@1', unpack(rare))
    end
    local function calls(model)
      -- The second request of a shape finds what matches in the cache. With ACK the session's own knowledge is not asked; a
      -- session that always asks for the same has it as it is.
      for _ = 1, 2 do fcall('lockless_dispatch', model, '-', '-', 'p', 'REQUIRE', model, 'ACK', '60000') end
      local found = fcall('lockless_dispatch', model, '-', '-', 'p', 'REQUIRE', model, 'ACK', '60000')
      return call_count(), found[1]
    end
    local rare_calls, rare_node = calls('model:rare@1')
    expect(rare_node == 'n9999' or rare_node == 'n10000'):equals(true)
    -- All have the common one: in two classes, so one more head is looked at.
    expect(calls('model:common@1') - 1):equals(rare_calls)
    fcall('lockless_register', 'n9999', 4, 'LABEL', 'model:rare@1')
    fcall('lockless_register', 'n10000', 4, 'LABEL', 'model:rare@1')
    expect((calls('model:common@1'))):equals(rare_calls)
    expect((calls('model:rare@1'))):equals(rare_calls)
  end)
end)
