-- Mends nodes: what audit_nodes names of them. What a node said of itself is what counts; its place in the indexes follows from it.

local mend_nodes = {}

-- What a node said of itself, or nil when that can't be read any more.
local function said(c, node)
  local i = redis.call('HMGET', keys.info(c.root, node), 'max_jobs', 'region', 'pools', 'pairs', 'labels', 'indexing')
  return classes.described(i), i[6] == '0'
end

-- Writes what a node said of itself anew, as its class describes it.
local function say_again(c, node, desc)
  redis.call('HSET', keys.info(c.root, node), 'max_jobs', string.format('%d', desc.max_jobs), 'region', desc.region,
    'pools', desc.pools, 'pairs', desc.pairs, 'labels', desc.labels, 'indexing', '1')
  if not redis.call('HGET', keys.info(c.root, node), 'cap_json') then
    redis.call('HSET', keys.info(c.root, node), 'cap_json', '')
  end
end

-- Takes out a node that nothing is known of any more; it has to register again.
local function remove_unknown(c, node, class)
  local call = redis.call
  local incarnation = call('HINCRBY', c.root, 'incarnation', '1')
  holds.abandon(c, node, incarnation)
  deployments.abandon(c, node, incarnation)
  local desc = said(c, node)
  local plan = desc and classes.plan(c, desc)
  if not class and plan and not plan.new then class = plan.class end
  if desc then return nodes.remove(c, node, { class = class or '' }, true) end
  call('ZREM', keys.nodes(c.root), node)
  call('DEL', keys.info(c.root, node), keys.runtime(c.root, node), keys.slots(c.root, node), keys.work(c.root, node),
    keys.request(c.root, node), keys.admission(c.root, node), keys.assigned(c.root, node), keys.revoked(c.root, node))
  call('ZREM', keys.due(c.root), 'n' .. node, 'h' .. node)
end

-- A node without a runtime: what it holds is settled as lost.
function mend_nodes.forget(c, node)
  if not nodes.read(c, node) and redis.call('ZSCORE', keys.nodes(c.root), node) then remove_unknown(c, node) end
end

-- Brings a node to the class that it is of by its own words, as registering it again would.
local function move(c, node, rt, old, desc)
  local plan = classes.plan(c, desc)
  redis.call('HSET', keys.info(c.root, node), 'indexing', '1')
  local effective = nodes.held(c, node) + rt.foreign
  nodes.move_class(c, node, rt, plan, effective)
  if old then claims.leave(c, node, classes.list(old.pools)) end
  deployments.keep_pools(c, node, classes.list(desc.pools))
  index.move(c, node, old, desc, true)
  if rt.class ~= plan.class then classes.drop_if_empty(c, rt.class) end
  redis.call('HSET', keys.runtime(c.root, node), 'class', plan.class)
  claims.place(c, node, rt.flags)
  ready.place(c, plan.class, node, rt.flags, effective)
  redis.call('HSET', keys.info(c.root, node), 'indexing', '0')
end

-- Sets a node's description, its class, and its pools and pairs in the indexes right.
function mend_nodes.describe(c, node)
  local call = redis.call
  local rt = nodes.read(c, node)
  if not rt then return end
  local old = mend_classes.describe(c, rt.class)
  local desc, is_indexed = said(c, node)
  if not desc then
    if not old then return remove_unknown(c, node, rt.class) end
    say_again(c, node, old)
    desc = old
  end
  if not is_indexed or not old or classes.canonical(old) ~= classes.canonical(desc) then return move(c, node, rt, old, desc) end
  for _, pool in ipairs(classes.list(desc.pools)) do call('SADD', keys.members(c.root, pool), node) end
end

function mend_nodes.list(c, node)
  if nodes.read(c, node) then redis.call('ZADD', keys.nodes(c.root), '0', node) end
end

-- Its place in the ready index says its state and load.
function mend_nodes.place(c, node)
  local rt = nodes.read(c, node)
  if not rt then return end
  local key = keys.ready(c.root, rt.class)
  local used = ready.used(redis.call('ZSCORE', key, node))
  local score = ready.band(rt.flags) * ready.BAND + (nodes.held(c, node) + rt.foreign) * ready.UNIT + used
  redis.call('ZADD', key, ready.text(score), node)
end

function mend_nodes.presence(c, node)
  local rt = nodes.read(c, node)
  if rt then cell.due_at(c, 'n' .. node, rt.until_ms) end
end

function mend_nodes.slots(c, node)
  redis.call('ZADD', keys.slots(c.root, node), '+inf', holds.SENTINEL)
end

-- The number that was drawn last as an incarnation. One that can't be read is mended first.
local function last_drawn(c)
  local drawn = redis.call('HGET', c.root, 'incarnation')
  if cell.is_whole(drawn) then return tonumber(drawn) end
  mend_cell.number(c, 'incarnation')
  return last_drawn(c)
end

local function draw(c)
  last_drawn(c)
  return redis.call('HINCRBY', c.root, 'incarnation', '1')
end

-- A node of which nobody knows what it may take gets nothing until it has registered again: it is lost.
local function fence(c, node, key)
  redis.call('HSET', key, 'flags', 'l', 'foreign', '0', 'until',
    string.format('%d', c.now + config.value(c, 'forget_node_ms')))
  events.write(c, 'node_lost', 'node', node, 'detail', 'its record could not be read')
  mend_nodes.abandon(c, node)
  mend_nodes.place(c, node)
end

-- A number that can't be read, of what a node says with each heartbeat: as if it had just registered. An incarnation that was
-- never drawn may be drawn again, so it is.
function mend_nodes.runtime(c, node)
  local call = redis.call
  local key = keys.runtime(c.root, node)
  local rt = nodes.read(c, node)
  if not rt then return end
  if not nodes.is_known(rt) then
    fence(c, node, key)
    rt = nodes.read(c, node)
  end
  if not cell.is_time(rt.until_ms) then call('HSET', key, 'until', string.format('%d', c.now + config.value(c, 'heartbeat_ttl_ms'))) end
  if not cell.is_time(rt.scan_ms) then call('HSET', key, 'scan', '0') end
  if not tonumber(rt.incarnation or nil) then
    call('HSET', key, 'incarnation', string.format('%d', draw(c)))
  elseif tonumber(rt.incarnation) > last_drawn(c) then
    call('HSET', c.root, 'incarnation', rt.incarnation)
  end
end

-- Cuts a node that was lost off from what it has left. Under a number of its own, so that it takes no other's place.
function mend_nodes.abandon(c, node)
  local rt = nodes.read(c, node)
  if not rt or not nodes.is_lost(rt) then return end
  local incarnation = draw(c)
  holds.abandon(c, node, incarnation)
  deployments.abandon(c, node, incarnation)
end

return mend_nodes
