-- lockless_release job node
--
-- Gives a reservation, or a dispatched job that was not started, back. A record made by reserve goes, one made by
-- dispatch becomes cancelled.
--
-- Reply:  1, or 0 when there was no hold
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NODE_MISMATCH, STALE_NODE, WRONG_STATE
-- Calls:  13 for a reservation, 16 for a dispatched job (1 more while someone listens), 7 when there is no hold

local function release(root, arg)
  local call = redis.call
  local job, node = arg.job, arg.node
  local c = cell.open(root, 'released')
  settle.first(c)
  local rt = nodes.read(c, node)
  local rec = jobs.read(c, job)
  local job_key = keys.job(root, job)
  if not rt then errors.unknown_node(node) end
  if rec and not rec.status and rec.node ~= node and not tries.is_waiting(rec) then errors.node_mismatch(job, rec.node) end
  if nodes.is_lost(rt) or (arg.incarnation and arg.incarnation ~= tonumber(rt.incarnation)) then
    errors.stale_node(node)
  end
  local score = rec and rec.node == node and holds.score(c, node, job)
  if not score then
    -- An interrupted release has freed the slot, and left the node's place as it was, or the record.
    local was_interrupted = nodes.place(c, node, rt)
    if rec and rec.status == 'released' then was_interrupted = call('DEL', job_key) == 1 end
    return was_interrupted and 1 or 0
  end
  local state = holds.state(score)
  if state == 'running' and not rec.status then errors.wrong_state(job, 'running') end

  -- first write
  if rec.kind == 'r' and state ~= 'stopping' and (not rec.status or rec.status == 'released') then
    local ordinal = tonumber(rec.ordinal) or cell.counter(c, 'released') + 1
    call('HSET', job_key, 'f', 'released ' .. c.now_text .. ' ' .. string.format('%d', ordinal))
    if cell.counter(c, 'released') < ordinal then cell.set_counter(c, 'released', ordinal) end
    holds.free(c, node, rt, 'j' .. job)
    cell.announce(c, 'ended ' .. job)
    call('DEL', job_key)
  else
    tries.finish_any(c, node, job, rec, score, 'cancelled', 'released by its node')
    jobs.let_go(c, job)
    leases.free(c, node, rt, job, rec)
  end
  return 1
end

return release
