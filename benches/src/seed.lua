#!lua name=seed

-- The minimal spec's scripts as its pseudo-code has them, with two changes so that they run as functions: the keys
-- start with the tagged KEYS[1] instead of `scheduler`, and choose_pool_from takes the first pool of the list.

local function choose_pool_from(pools_json)
  return cjson.decode(pools_json)[1]
end

-- node_id cap_json max_jobs pool_id src tgt
local function register_node(keys, argv)
  local root, node_id = keys[1], argv[1]
  redis.call('HSET', root .. ':node:info:' .. node_id, 'online', 'true', 'cap_json', argv[2], 'max_jobs',
    tonumber(argv[3]), 'last_heartbeat_ts', tostring(redis.call('TIME')[1]))
  redis.call('HSET', root .. ':node:runtime:' .. node_id, 'current_jobs', 0)
  redis.call('SADD', root .. ':pool:' .. argv[4] .. ':members', node_id)
  redis.call('HSET', root .. ':lang:' .. argv[5] .. ':' .. argv[6], 'pools_json', cjson.encode({ argv[4] }))
  return 'OK'
end

-- node_id online load
local function heartbeat(keys, argv)
  redis.call('HSET', keys[1] .. ':node:info:' .. argv[1], 'online', argv[2], 'last_heartbeat_ts',
    tostring(redis.call('TIME')[1]), 'cap_json', argv[3])
  return 'OK'
end

-- session_id src tgt payload
local function dispatch_task(keys, argv)
  local root = keys[1]
  local session_id, src, tgt, payload = argv[1], argv[2], argv[3], argv[4]
  local session_key = root .. ':session:' .. session_id
  local preferred_pool = redis.call('HGET', session_key, 'preferred_pool')
  if not preferred_pool then
    local pools_json = redis.call('HGET', root .. ':lang:' .. src .. ':' .. tgt, 'pools_json')
    if not pools_json then return { err = 'NO_POOL_FOR_LANG_PAIR' } end
    preferred_pool = choose_pool_from(pools_json)
    redis.call('HSET', session_key, 'preferred_pool', preferred_pool, 'last_lang_pair', src .. '->' .. tgt)
  end

  local nodes = redis.call('SMEMBERS', root .. ':pool:' .. preferred_pool .. ':members')
  if not nodes or #nodes == 0 then return { err = 'EMPTY_POOL' } end
  local chosen_node_id = nil
  for i = 1, #nodes do
    local node_id = nodes[i]
    local rt_key = root .. ':node:runtime:' .. node_id
    local current_jobs = tonumber(redis.call('HGET', rt_key, 'current_jobs') or '0')
    local max_jobs = tonumber(redis.call('HGET', root .. ':node:info:' .. node_id, 'max_jobs') or '0')
    if current_jobs < max_jobs then
      chosen_node_id = node_id
      break
    end
  end
  if not chosen_node_id then return { err = 'NO_AVAILABLE_NODE' } end

  redis.call('HINCRBY', root .. ':node:runtime:' .. chosen_node_id, 'current_jobs', 1)
  local job_id = session_id .. ':' .. tostring(redis.call('INCR', root .. ':job:id_seq'))
  redis.call('HSET', root .. ':job:' .. job_id, 'node_id', chosen_node_id, 'session_id', session_id, 'src_lang', src,
    'tgt_lang', tgt, 'payload_json', payload, 'status', 'created', 'created_ts', tostring(redis.call('TIME')[1]))
  return { chosen_node_id, job_id }
end

-- job_id node_id status
local function complete_task(keys, argv)
  local root, job_id, node_id, status = keys[1], argv[1], argv[2], argv[3]
  local job_key = root .. ':job:' .. job_id
  if redis.call('HGET', job_key, 'node_id') ~= node_id then return { err = 'NODE_MISMATCH' } end
  redis.call('HSET', job_key, 'status', status)
  redis.call('HINCRBY', root .. ':node:runtime:' .. node_id, 'current_jobs', -1)
  return 'OK'
end

redis.register_function('seed_register_node', register_node)
redis.register_function('seed_heartbeat', heartbeat)
redis.register_function('seed_dispatch_task', dispatch_task)
redis.register_function('seed_complete_task', complete_task)
-- What any FCALL costs.
redis.register_function('seed_nothing', function() return 'OK' end)
