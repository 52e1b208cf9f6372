-- lockless_stats
--
-- The cell's counters. dispatched + reserved + started_total + withdrawn = live + finished + failed + expired + cancelled +
-- released + requeued, and submitted_total + retried + requeued = pending + started_total + withdrawn.
--
-- Reply:  fields schema, now_ts, nodes, classes, dispatched, reserved, live, finished, failed, expired, cancelled,
--         released, dead_letters, overdue, pending, requeued, retried, withdrawn, and the metrics of the queue:
--         submitted_total, started_total, completed_total, blocked_total, preempted_total, failed_total, timeout_total,
--         lost_total, emergency_ticks
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  10

local ENDS = { 'finished', 'failed', 'expired', 'cancelled', 'released' }

-- The counters of the queue, and their names in R.
local QUEUE = { 'requeued', 'requeued', 'retried', 'retried', 'withdrawn', 'withdrawn', 'submitted_total', 'submitted',
  'started_total', 'started', 'completed_total', 'tries_completed', 'blocked_total', 'blocked', 'preempted_total',
  'tries_preempted', 'failed_total', 'tries_failed', 'timeout_total', 'tries_timeout', 'lost_total', 'tries_lost',
  'emergency_ticks', 'emergencies' }

return function(root)
  local call = redis.call
  local c = cell.open(root)
  local r = call('HMGET', root, 'reserved', unpack(ENDS))
  local ended, reply = 0, {}
  for i, name in ipairs(ENDS) do
    local count = name == 'finished' and cell.counter(c, name) or tonumber(r[i + 1] or '0')
    ended = ended + count
    reply[#reply + 1] = name
    reply[#reply + 1] = count
  end
  local reserved = tonumber(r[1] or '0')
  local queue, of = {}, {}
  for i = 2, #QUEUE, 2 do queue[#queue + 1] = QUEUE[i] end
  queue = call('HMGET', root, unpack(queue))
  for i, value in ipairs(queue) do of[QUEUE[2 * i - 1]] = tonumber(value or '0') end
  local out = {
    'schema', about.schema, 'now_ts', c.now, 'nodes', call('ZCARD', keys.nodes(root)),
    'classes', call('ZCARD', keys.classes(root)), 'dispatched', c.grants - reserved - of.started_total, 'reserved', reserved,
    'live', c.grants + of.withdrawn - of.requeued - ended, reply[1], reply[2], reply[3], reply[4], reply[5], reply[6], reply[7], reply[8],
    reply[9], reply[10], 'dead_letters', call('ZCARD', keys.failed(root)),
    'overdue', call('ZCOUNT', keys.due(root), '-inf', c.now_text),
    'pending', tries.waiting_count(c),
  }
  for i = 1, #QUEUE, 2 do
    out[#out + 1] = QUEUE[i]
    out[#out + 1] = of[QUEUE[i]]
  end
  return out
end
