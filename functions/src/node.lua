-- lockless_node node
--
-- One node: its description, state, load and holds.
--
-- Reply:  fields node_id, state, online, draining, max_jobs, current_jobs, foreign, reported, effective, incarnation,
--         instance, region, pools, pairs, labels, class, last_heartbeat_ts, presence_until_ts, cpu, gpu, mem, mem_mb,
--         cap_json, and of the queue's work: mode, started_total, completed_total, blocked_total, preempted_total,
--         failed_total, timeout_total, lost_total, emergency_ticks
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE
-- Calls:  10 (11 when it is overdue)

local function node(root, arg)
  local call = redis.call
  local c = cell.open(root)
  local rt = nodes.read(c, arg.node)
  if not rt then errors.unknown_node(arg.node) end
  -- Nothing is settled by a reader: a node that is overdue is shown as the next write call will find it.
  if rt.until_ms <= c.now and settle.is_due(c) then rt.flags = nodes.set_flag(rt.flags, 'l', true) end
  local held = nodes.held(c, arg.node)
  local r = call('HMGET', keys.runtime(root, arg.node), 'reported', 'seen', 'cpu', 'gpu', 'mem', 'mem_mb')
  local i = call('HMGET', keys.info(root, arg.node), 'region', 'pools', 'pairs', 'labels', 'cap_json')
  local m = work.metrics(c, arg.node)
  return {
    'node_id', arg.node, 'state', nodes.state(rt, held), 'online', rt.flags:find('[lo]') and 'false' or 'true',
    'draining', rt.flags:find('d', 1, true) and 'true' or 'false', 'max_jobs', classes.max_jobs(rt.class),
    'current_jobs', held, 'foreign', rt.foreign, 'reported', tonumber(r[1]), 'effective', held + rt.foreign,
    'incarnation', tonumber(rt.incarnation), 'instance', rt.instance, 'region', i[1], 'pools', classes.list(i[2]),
    'pairs', classes.list(i[3]), 'labels', classes.list(i[4]), 'class', rt.class, 'last_heartbeat_ts', tonumber(r[2]),
    'presence_until_ts', nodes.is_lost(rt) and 0 or rt.until_ms, 'cpu', r[3], 'gpu', r[4], 'mem', r[5],
    'mem_mb', tonumber(r[6]), 'cap_json', i[5], 'mode', m.mode, 'started_total', m.started,
    'completed_total', m.completed, 'blocked_total', m.blocked, 'preempted_total', m.preempted, 'failed_total', m.failed,
    'timeout_total', m.timeout, 'lost_total', m.lost, 'emergency_ticks', m.emergencies,
  }
end

return node
