-- lockless_pull node [COUNT n] [REQUEST id]
--
-- Starts the next jobs from the queue that the node may run, as far as it has slots, and names the jobs it must stop. The
-- REQUEST that was handed jobs last gives what it gave then and changes nothing; one that was handed none may be used again.
--
-- Reply:  [[job item, ...], [stop ids]]
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  10 with nothing to hand over, 16 more per job, 1 when it was the last of its queue, 1 per queue looked into, 5 when
--         there are queues that nodes of its class have not met, with REQUEST 1 more, and 1 more when there are jobs

local DEFAULT_COUNT = 16

local function pull(root, arg)
  local c = cell.open(root)
  settle.first(c)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local before, stopped = handed.before(c, arg, rt, 'pull')
  if before then return { intake.again(c, node, rt, before), stopped } end

  local stop = holds.to_stop(c, node)
  local count = math.min(arg.count or DEFAULT_COUNT, intake.room(rt, nodes.held(c, node), true))
  local planned = {}
  if count > 0 then
    intake.each(c, rt, count + config.value(c, 'tick_scan_limit'), function(job, rec)
      planned[#planned + 1] = intake.plan(c, job, rec)
      return #planned >= count
    end)
  end

  -- first write
  handed.note(c, arg, rt, 'pull', intake.noted(planned), stop)
  local items = intake.start(c, node, rt, planned)
  cell.touch(c)
  return { items, stop }
end

return pull
