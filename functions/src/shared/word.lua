-- A node's word on a job that does not hold the slot one would expect: says what is wrong, in the order of the errors.

local word = {}

-- The record, the node's runtime and the status when the word may be heard. A live record without a hold is one whose node
-- was lost and that is about to be settled: its status is what it will be. A job that went back to its queue was on the
-- node it came from.
function word.on_job(c, job, node, incarnation)
  local rt = nodes.read(c, node)
  local rec = jobs.look(c, job)
  cell.guard(c)
  if not rt then errors.unknown_node(node) end
  if not rec or rec.status == 'released' then errors.no_such_job(job) end
  if rec.is_damaged then errors.unreadable_job(job) end
  local at, status = rec.node, rec.status or 'expired'
  if rec.kind == 'q' then
    tries.read(c, job, rec)
    status = rec.status or tries.fate(rec)
    if tries.is_waiting(rec) then at, status = rec.last and rec.last.node or jobs.NOWHERE, 'pending' end
  end
  if at ~= node and at ~= jobs.NOWHERE then errors.node_mismatch(job, at) end
  if nodes.is_lost(rt) or (incarnation and incarnation ~= tonumber(rt.incarnation)) then errors.stale_node(node) end
  return rec, rt, status
end

-- A word about an earlier try than the one that runs now is heard too late.
function word.is_of_this_try(job, rec, attempt)
  if attempt and rec.q and attempt ~= rec.q.attempt then
    errors.wrong_state(job, 'in its try ' .. rec.q.attempt .. ', and this was said of try ' .. attempt)
  end
end

-- The incarnation given with a word about a job that is held is the node's own.
function word.is_current(c, node, incarnation)
  if not incarnation then return end
  local current = redis.call('HGET', keys.runtime(c.root, node), 'incarnation')
  if not current or incarnation ~= current + 0 then
    cell.guard(c)
    errors.stale_node(node)
  end
end

return word
