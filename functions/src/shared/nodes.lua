-- Nodes.
--
-- R:node:info:<node> is what the node says of itself (region, pools, pairs, labels, cap_json); `indexing` is 1 while
-- its place in the indexes is being changed. R:node:runtime:<node> is what the calls on a job's way need, and what
-- heartbeats change: class, incarnation, instance, flags (see ready.lua), foreign, reported, until (presence),
-- scan (when its far deadlines are looked at next), seen, cpu, gpu, mem, mem_mb.

local nodes = {}

-- The runtime of a node, or nil.
function nodes.read(c, node)
  local f = redis.call('HMGET', keys.runtime(c.root, node), 'class', 'incarnation', 'flags', 'foreign', 'until', 'scan',
    'instance')
  if not f[1] then return nil end
  return { class = f[1], incarnation = f[2], flags = f[3], foreign = tonumber(f[4]), until_ms = tonumber(f[5]),
    scan_ms = tonumber(f[6]), instance = f[7] }
end

local FOREIGN_MAX = contract.lockless_heartbeat.options.FOREIGN.max

-- Whether it can be known what a node may take: without its flags it may be fenced, without its load it may be full.
function nodes.is_known(rt)
  local flags, foreign = rt.flags, rt.foreign
  return flags and flags:find('^[lodb]*$') and foreign and foreign >= 0 and foreign <= FOREIGN_MAX and foreign % 1 == 0
end

function nodes.is_lost(rt)
  return rt.flags:find('l', 1, true) ~= nil
end

-- The runtime of a node whose own word this call is: fenced when it was lost or is not the newest incarnation.
function nodes.own_word(c, node, incarnation)
  local rt = nodes.read(c, node)
  if not rt then errors.unknown_node(node) end
  if nodes.is_lost(rt) or (incarnation and incarnation ~= tonumber(rt.incarnation)) then errors.stale_node(node) end
  return rt
end

-- The holds of a node: one member of its slots is the sentinel.
function nodes.held(c, node)
  return math.max(0, redis.call('ZCARD', keys.slots(c.root, node)) - 1)
end

-- Sets a node's place in the ready index from its holds; whether it was another, as after a call that was interrupted between the
-- two. `undone` as for ready.place.
function nodes.place(c, node, rt, undone)
  return ready.place(c, rt.class, node, rt.flags, nodes.held(c, node) + rt.foreign, undone)
end

-- The description of a node. While it changes class, its old class may have gone already: then it is what the node says.
function nodes.description(c, node, rt)
  local desc = classes.read(c, rt.class)
  if desc then return desc end
  local i = redis.call('HMGET', keys.info(c.root, node), 'max_jobs', 'region', 'pools', 'pairs', 'labels')
  return { max_jobs = tonumber(i[1]), region = i[2], pools = i[3], pairs = i[4], labels = i[5] }
end

-- offline, draining, busy, full or ready, in this order.
function nodes.state(rt, held)
  local band = ready.band(rt.flags)
  if band == ready.OFFLINE then return 'offline' end
  if band == ready.DRAINING then return 'draining' end
  if band == ready.BUSY then return 'busy' end
  if held + rt.foreign >= classes.max_jobs(rt.class) then return 'full' end
  return 'ready'
end

function nodes.set_flag(flags, flag, on)
  if not on and flags == '' then return flags end
  local without = flags:gsub(flag, '')
  return on and without .. flag or without
end

-- Moves a node from its class to a planned one. It is in one ready index at the most, and in the new one among the nodes that are
-- offline until it has arrived: calls go by the class that the runtime names, and no other may offer its slots. The runtime still
-- names the old class, so that an interrupted move is found and finished by the next call of the same kind; the caller writes
-- the new class there last, and then has it arrive (ready.place).
function nodes.move_class(c, node, rt, plan, effective)
  local call = redis.call
  classes.create(c, plan)
  local class, used = rt and rt.class or plan.class, '0'
  if class ~= plan.class then
    used = call('ZSCORE', keys.ready(c.root, class), node) or used
    call('ZREM', keys.ready(c.root, class), node)
  end
  local score = ready.OFFLINE * ready.BAND + effective * ready.UNIT + ready.used(used)
  call('ZADD', keys.ready(c.root, plan.class), 'NX', ready.text(score), node)
end

-- Gives a node other labels, and with them a planned class, which the caller writes to its runtime before it has it arrive there.
function nodes.change_labels(c, node, rt, plan, effective)
  redis.call('HSET', keys.info(c.root, node), 'labels', plan.desc.labels)
  nodes.move_class(c, node, rt, plan, effective)
  if rt.class ~= plan.class then classes.drop_if_empty(c, rt.class) end
end

-- Takes a node out of everything. Its holds were abandoned before. Returns what it cost, in index entries.
function nodes.remove(c, node, rt, interrupted)
  local call = redis.call
  local root = c.root
  local desc = nodes.description(c, node, rt)
  call('HSET', keys.info(root, node), 'indexing', '1')
  call('ZREM', keys.ready(root, rt.class), node)
  index.move(c, node, desc, nil, interrupted)
  claims.leave(c, node, classes.list(desc.pools))
  classes.drop_if_empty(c, rt.class)
  call('ZREM', keys.nodes(root), node)
  call('DEL', keys.info(root, node), keys.runtime(root, node), keys.slots(root, node), keys.work(root, node),
    keys.request(root, node), keys.admission(root, node), keys.assigned(root, node), keys.revoked(root, node))
  -- Last, so that an interrupted removal of a node that was forgotten is found and repeated.
  call('ZREM', keys.due(root), 'n' .. node, 'h' .. node)
  return 1 + #classes.list(desc.pools) * #classes.list(desc.pairs)
end

return nodes
