-- lockless_stats
--
-- The cell's counters. dispatched + reserved = live + finished + failed + expired + cancelled + released.
--
-- Reply:  fields schema, now_ts, nodes, classes, dispatched, reserved, live, finished, failed, expired, cancelled,
--         released, dead_letters, overdue
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  8

local ENDS = { 'finished', 'failed', 'expired', 'cancelled', 'released' }

return function(root)
  local call = redis.call
  local c = cell.open(root)
  local r = call('HMGET', root, 'reserved', unpack(ENDS))
  local ended, reply = 0, {}
  for i, name in ipairs(ENDS) do
    local count = tonumber(r[i + 1] or '0')
    ended = ended + count
    reply[#reply + 1] = name
    reply[#reply + 1] = count
  end
  local reserved = tonumber(r[1] or '0')
  return {
    'schema', about.schema, 'now_ts', c.now, 'nodes', call('ZCARD', keys.nodes(root)),
    'classes', call('ZCARD', keys.classes(root)), 'dispatched', c.grants - reserved, 'reserved', reserved,
    'live', c.grants - ended, reply[1], reply[2], reply[3], reply[4], reply[5], reply[6], reply[7], reply[8],
    reply[9], reply[10], 'dead_letters', call('ZCARD', keys.failed(root)),
    'overdue', call('ZCOUNT', keys.due(root), '-inf', c.now_text),
  }
end
