-- lockless_register node max_jobs [INSTANCE id] [POOL p]* [PAIR src tgt]* [LABEL l]* [REGION r] [CAPS json]
--
-- Adds a node or replaces its whole description. With the same INSTANCE, or none, its holds stay and so does draining;
-- a new INSTANCE, and a node that was lost, draw a new incarnation, and the old one's jobs are settled as lost. Deployments of pools
-- that it left are free again; the others stay, also with a new INSTANCE.
--
-- Reply:  fields incarnation, held, heartbeat_ttl_ms, assigned
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, STALE_NODE
-- Calls:  23 for a new node of one pool and pair; 6 more and 2 per attribute for a new class; 18 when nothing
--         changed; where there was a deployment 3 and 2 per pool more, and 6 for each of a pool it left

local function register(root, arg)
  local call = redis.call
  local c = cell.open(root, 'deployments')
  settle.first(c)
  local node = arg.node
  local rt = nodes.read(c, node)
  local was_lost = rt and nodes.is_lost(rt)
  if arg.incarnation and rt and arg.incarnation ~= tonumber(rt.incarnation) then errors.stale_node(node) end

  local desc = {
    max_jobs = arg.max_jobs == '-' and config.value(c, 'max_jobs_default') or arg.max_jobs,
    region = arg.region or '',
    pools = classes.joined(arg.pools or { 'default' }),
    pairs = classes.joined(arg.pairs),
    labels = classes.joined(arg.labels),
  }
  local old_desc = rt and nodes.description(c, node, rt)
  local plan = classes.plan(c, desc)
  local interrupted = call('HGET', keys.info(root, node), 'indexing') == '1'
  local fresh = not rt or was_lost or (arg.instance and arg.instance ~= rt.instance)

  -- first write
  cell.create(c)
  local incarnation = rt and rt.incarnation
  if fresh then
    incarnation = call('HINCRBY', root, 'incarnation', '1')
    if rt and not was_lost then
      events.write(c, 'node_lost', 'node', node, 'detail', 'new instance')
      holds.abandon(c, node, rt.incarnation)
    end
  end
  local foreign = fresh and 0 or rt.foreign
  local flags = rt and rt.flags or ''
  flags = nodes.set_flag(nodes.set_flag(flags, 'l', false), 'o', false)
  if fresh then flags = nodes.set_flag(flags, 'b', false) end

  call('HSET', keys.info(root, node), 'indexing', '1', 'max_jobs', string.format('%d', desc.max_jobs),
    'region', desc.region, 'pools', desc.pools, 'pairs', desc.pairs, 'labels', desc.labels, 'cap_json', arg.caps or '')
  call('ZADD', keys.slots(root, node), '+inf', holds.SENTINEL)
  call('ZADD', keys.nodes(root), '0', node)
  local held = nodes.held(c, node)
  nodes.move_class(c, node, rt, plan, held + foreign)
  if old_desc and (interrupted or old_desc.pools ~= desc.pools) then
    claims.leave(c, node, classes.list(old_desc.pools))
    deployments.keep_pools(c, node, classes.list(desc.pools))
  end
  index.move(c, node, old_desc, desc, interrupted)
  if rt and rt.class ~= plan.class then classes.drop_if_empty(c, rt.class) end

  local ttl_ms = config.value(c, 'heartbeat_ttl_ms')
  local runtime = keys.runtime(root, node)
  local scan_ms = c.now + cell.HORIZON_MS / 2
  if fresh then
    events.write(c, 'node_online', 'node', node, 'detail', incarnation)
    call('HSET', runtime, 'reported', '0', 'cpu', '0', 'gpu', '-1', 'mem', '0', 'mem_mb', '0')
  else
    scan_ms = holds.promote_deadlines(c, node, rt)
  end
  call('HSET', runtime, 'class', plan.class, 'incarnation', incarnation, 'flags', flags, 'foreign', foreign,
    'until', string.format('%d', c.now + ttl_ms), 'seen', c.now_text,
    'scan', string.format('%d', scan_ms), 'instance', arg.instance or (rt and rt.instance) or '')
  claims.place(c, node, flags)
  cell.due_at(c, 'n' .. node, c.now + ttl_ms)
  ready.place(c, plan.class, node, flags, held + foreign)
  call('HSET', keys.info(root, node), 'indexing', '0')
  cell.touch(c)
  return { 'incarnation', tonumber(incarnation), 'held', held, 'heartbeat_ttl_ms', ttl_ms, 'assigned',
    deployments.assigned(c, node) }
end

return register
