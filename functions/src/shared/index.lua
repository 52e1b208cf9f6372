-- The indexes of the minimal spec: R:pool:<pool>:members (node ids) and R:lang:<src>:<tgt> (pool -> how many of its
-- nodes serve the pair). They are written when a node's description changes, never on the way of a job.

local index = {}

local NOTHING = { pools = '', pairs = '' }

local function set_of(joined)
  local out = {}
  for _, item in ipairs(classes.list(joined)) do out[item] = true end
  return out
end

-- Counts one node more or less that serves a pair, in each of these pools. Of several at once, so that a node of many pools and
-- pairs costs by their sum and not by their product.
local function add(c, pair, pools, by)
  local call = redis.call
  local key = keys.lang(c.root, pair)
  if #pools == 1 then
    if call('HINCRBY', key, pools[1], by) <= 0 then call('HDEL', key, pools[1]) end
    return
  end
  local counts, counted, gone = call('HMGET', key, unpack(pools)), {}, {}
  for i, pool in ipairs(pools) do
    -- The first one, and the last one, of very many pools are no numbers that have to be made.
    local count = counts[i] or '0'
    if by < 0 and count + 0 <= 1 then
      gone[#gone + 1] = pool
    else
      counted[#counted + 1], counted[#counted + 2] = pool, count == '0' and '1' or string.format('%d', count + by)
    end
  end
  if #counted > 0 then call('HSET', key, unpack(counted)) end
  if #gone > 0 then call('HDEL', key, unpack(gone)) end
end

-- Counts a pair's nodes in a pool anew, from the classes.
function index.recount(c, pair, pool)
  local call = redis.call
  local key = keys.lang(c.root, pair)
  local nodes = 0
  for _, class in ipairs(call('SINTER', keys.attr(c.root, 'pair:' .. pair), keys.attr(c.root, 'pool:' .. pool))) do
    nodes = nodes + math.max(0, call('ZCARD', keys.ready(c.root, class)) - 1)
  end
  if nodes > 0 then call('HSET', key, pool, nodes) else call('HDEL', key, pool) end
end

-- Moves a node from one description to another. `interrupted` says that an earlier call may have done part of it; the
-- counts are then made anew instead of being moved by one.
function index.move(c, node, old, new, interrupted)
  local call = redis.call
  old, new = old or NOTHING, new or NOTHING
  if old.pools == new.pools and old.pairs == new.pairs and not interrupted then return end
  local old_pools, new_pools = set_of(old.pools), set_of(new.pools)
  local old_pairs, new_pairs = set_of(old.pairs), set_of(new.pairs)
  for pool in pairs(new_pools) do call('SADD', keys.members(c.root, pool), node) end
  for pool in pairs(old_pools) do
    if not new_pools[pool] then call('SREM', keys.members(c.root, pool), node) end
  end
  local function each(pairs_of, pools_of, other_pairs, other_pools, by)
    for pair in pairs(pairs_of) do
      local changed = {}
      for pool in pairs(pools_of) do
        if interrupted then
          index.recount(c, pair, pool)
        elseif not (other_pairs[pair] and other_pools[pool]) then
          changed[#changed + 1] = pool
        end
      end
      if #changed > 0 then add(c, pair, changed, by) end
    end
  end
  each(new_pairs, new_pools, old_pairs, old_pools, 1)
  each(old_pairs, old_pools, new_pairs, new_pools, -1)
end

return index
