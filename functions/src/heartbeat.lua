-- lockless_heartbeat node [ONLINE true|false] [JOBS n] [FOREIGN n] [CPU pct] [GPU pct] [MEM pct] [MEM_MB mb]
--   [LABEL l]* [CAPS json]
--
-- Presence for heartbeat_ttl_ms, load and resource use. An absent option keeps its last value.
--
-- Reply:  fields state, held, foreign, stop
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  9 (1 less with CPU, GPU and MEM; 1 more with holds, 1 with JOBS, 2 when its place in the ready index changes;
--         where there was a deployment 3 and 2 per pool with CPU or MEM_MB, or when it takes part from now on, or no more)

local function heartbeat(root, arg)
  local c = cell.open(root, 'deployments')
  settle.first(c)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local held = nodes.held(c, node)
  local stop = held > 0 and holds.to_stop(c, node) or {}
  presence.note(c, node, rt, arg, held)
  return { 'state', nodes.state(rt, held), 'held', held, 'foreign', rt.foreign, 'stop', stop }
end

return heartbeat
