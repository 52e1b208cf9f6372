#!lua name=seed

-- The rules that Lockless replaces, as the documents it grew from have them, so that both can be given the same history.
--
-- counter:   the minimal spec (LOCKLESS_MINIMAL_SCHEDULER_SPEC_v1), its pseudo-code of sections 3.2, 4.2, 5.2 and 6.2, line by line.
-- capacity:  the document on capacity control: effective_jobs = max(current_jobs, reserved_jobs), sections 2.2 to 2.5 and 4.1,
--            where the spec's section 5.2 only counts. Its two steps, choosing and reserving, are one here, as it wishes for.
--
-- Changed so that they run as functions: keys start with the tagged KEYS[1] instead of `scheduler`, and where the pseudo-code
-- leaves a gap (pools of a node, reading pools_json, choose_pool_from) the gap is filled by the plainest thing that fits.

local function now_s() return tostring(redis.call('TIME')[1]) end

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- spec 3.2, step 3: "read pools_json, update the JSON array and write it back".
local function add_pool(lang_key, pool)
  local pools = redis.call('HGET', lang_key, 'pools_json') or '[]'
  if pools:find('"' .. pool .. '"', 1, true) then return end
  local inner = pools:sub(2, -2)
  redis.call('HSET', lang_key, 'pools_json', '[' .. inner .. (inner == '' and '' or ',') .. '"' .. pool .. '"]')
end

-- spec 5.2, step 2: "choose one pool_id (at random, or in a fixed order)".
local function choose_pool_from(pools_json) return pools_json:match('"([^"]*)"') end

-- spec 3.2: node_id cap_json max_jobs pool [src tgt]*
local function register_node(keys, argv)
  local root, node_id, pool = keys[1], argv[1], argv[4]
  redis.call('HSET', root .. ':node:info:' .. node_id, 'online', 'true', 'cap_json', argv[2], 'max_jobs',
    tonumber(argv[3]), 'last_heartbeat_ts', now_s())
  redis.call('HSET', root .. ':node:runtime:' .. node_id, 'current_jobs', 0)
  redis.call('SADD', root .. ':pool:' .. pool .. ':members', node_id)
  for i = 5, #argv, 2 do add_pool(root .. ':lang:' .. argv[i] .. ':' .. argv[i + 1], pool) end
  return 'OK'
end

-- spec 4.2: node_id online load [current_jobs]; capacity 1, point 4: "nodes report current_jobs from time to time".
local function heartbeat(keys, argv)
  local root, node_id = keys[1], argv[1]
  redis.call('HSET', root .. ':node:info:' .. node_id, 'online', argv[2], 'last_heartbeat_ts', now_s(), 'cap_json', argv[3])
  if argv[4] then redis.call('HSET', root .. ':node:runtime:' .. node_id, 'current_jobs', argv[4]) end
  return 'OK'
end

-- spec 5.2, steps 1 to 3: the nodes of the session's pool, or of a pool for the language pair.
local function candidates(root, session_id, src, tgt)
  local session_key = root .. ':session:' .. session_id
  local preferred_pool = redis.call('HGET', session_key, 'preferred_pool')
  if not preferred_pool then
    local pools_json = redis.call('HGET', root .. ':lang:' .. src .. ':' .. tgt, 'pools_json')
    if not pools_json then return nil, { err = 'NO_POOL_FOR_LANG_PAIR no pool' } end
    preferred_pool = choose_pool_from(pools_json)
    redis.call('HSET', session_key, 'preferred_pool', preferred_pool, 'last_lang_pair', src .. '->' .. tgt)
  end
  local nodes = redis.call('SMEMBERS', root .. ':pool:' .. preferred_pool .. ':members')
  if not nodes or #nodes == 0 then return nil, { err = 'EMPTY_POOL no node' } end
  return nodes
end

-- spec 5.2, step 6.
local function create_job(root, node_id, session_id, src, tgt, payload)
  local job_id = session_id .. ':' .. tostring(redis.call('INCR', root .. ':job:id_seq'))
  redis.call('HSET', root .. ':job:' .. job_id, 'node_id', node_id, 'session_id', session_id, 'src_lang', src,
    'tgt_lang', tgt, 'payload_json', payload, 'status', 'created', 'created_ts', now_s())
  return { node_id, job_id }
end

local function load_of(root, node_id)
  local current_jobs = tonumber(redis.call('HGET', root .. ':node:runtime:' .. node_id, 'current_jobs') or '0')
  local max_jobs = tonumber(redis.call('HGET', root .. ':node:info:' .. node_id, 'max_jobs') or '0')
  return current_jobs, max_jobs
end

-- spec 5.2: session_id src tgt payload
local function dispatch_counted(keys, argv)
  local root = keys[1]
  local nodes, problem = candidates(root, argv[1], argv[2], argv[3])
  if not nodes then return problem end
  local chosen_node_id = nil
  for i = 1, #nodes do
    local current_jobs, max_jobs = load_of(root, nodes[i])
    if current_jobs < max_jobs then
      chosen_node_id = nodes[i]
      break
    end
  end
  if not chosen_node_id then return { err = 'NO_AVAILABLE_NODE all are full' } end
  redis.call('HINCRBY', root .. ':node:runtime:' .. chosen_node_id, 'current_jobs', 1)
  return create_job(root, chosen_node_id, argv[1], argv[2], argv[3], argv[4])
end

-- capacity 2.3 and 2.4.2 in the order of 4.1: the least loaded of those with room, then a reservation. ... ttl_ms
local function dispatch_reserved(keys, argv)
  local root, now = keys[1], string.format('%.0f', now_ms())
  local nodes, problem = candidates(root, argv[1], argv[2], argv[3])
  if not nodes then return problem end
  local chosen_node_id, least = nil, nil
  for i = 1, #nodes do
    local reserved_key = root .. ':node:reserved:' .. nodes[i]
    -- Those that have not expired: what ZREMRANGEBYSCORE and ZCARD give, in one command.
    local reserved = redis.call('ZCOUNT', reserved_key, '(' .. now, '+inf')
    local current_jobs, max_jobs = load_of(root, nodes[i])
    local effective = math.max(current_jobs, reserved)
    if effective < max_jobs and (not least or effective < least) then chosen_node_id, least = nodes[i], effective end
  end
  if not chosen_node_id then return { err = 'NO_AVAILABLE_NODE all are full' } end
  local made = create_job(root, chosen_node_id, argv[1], argv[2], argv[3], argv[4])
  redis.call('ZADD', root .. ':node:reserved:' .. chosen_node_id, string.format('%.0f', now_ms() + tonumber(argv[5])), made[2])
  return made
end

-- capacity 2.5.1, step 4: reserved_jobs -= 1, current_jobs += 1. job_id node_id
local function ack(keys, argv)
  redis.call('ZREM', keys[1] .. ':node:reserved:' .. argv[2], argv[1])
  redis.call('HINCRBY', keys[1] .. ':node:runtime:' .. argv[2], 'current_jobs', 1)
  return 'OK'
end

-- spec 6.2: job_id node_id status
local function complete_task(keys, argv)
  local root, job_id, node_id, status = keys[1], argv[1], argv[2], argv[3]
  local job_key = root .. ':job:' .. job_id
  if redis.call('HGET', job_key, 'node_id') ~= node_id then return { err = 'NODE_MISMATCH not its node' } end
  redis.call('HSET', job_key, 'status', status)
  redis.call('HINCRBY', root .. ':node:runtime:' .. node_id, 'current_jobs', -1)
  return 'OK'
end

redis.register_function('seed_register_node', register_node)
redis.register_function('seed_heartbeat', heartbeat)
redis.register_function('seed_dispatch_counted', dispatch_counted)
redis.register_function('seed_dispatch_reserved', dispatch_reserved)
redis.register_function('seed_ack', ack)
redis.register_function('seed_complete_task', complete_task)
