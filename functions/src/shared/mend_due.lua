-- Mends the due list, the holds of incarnations that ended, and the boxes of ended jobs: what audit_due names.

local mend_due = {}

function mend_due.remove(c, member)
  redis.call('ZREM', keys.due(c.root), member)
end

-- What has no time is looked at by the next call.
function mend_due.at_once(c, member)
  cell.due_at(c, member, c.now)
end

-- Holds of an incarnation that ended, without the sentinel that goes last: they are settled; without any: there is nothing to.
function mend_due.lost(c, rest)
  local lost = keys.lost(c.root, rest:match('^(%S+) %S+$') or '')
  if redis.call('EXISTS', lost) == 1 then
    redis.call('ZADD', lost, '+inf', holds.SENTINEL)
  else
    redis.call('ZREM', keys.due(c.root), 'l' .. rest)
  end
end

function mend_due.lost_hold(c, incarnation, member)
  if not jobs.look(c, member:sub(2)) then redis.call('ZREM', keys.lost(c.root, incarnation), member) end
end

local BOXES = { f = keys.failed, c = keys.cancelled }

-- An entry that has no time goes with its job's record.
function mend_due.box_time(c, due, entry)
  local job = due == 'f' and entry:sub(2) or entry
  local left_ms = redis.call('PTTL', keys.job(c.root, job))
  if left_ms < 0 then left_ms = config.value(c, 'keep_finished_ms') end
  redis.call('ZADD', BOXES[due](c.root), 'XX', string.format('%d', c.now + left_ms), entry)
end

-- An entry of a job that has no record, or has ended otherwise.
function mend_due.box_entry(c, due, entry)
  redis.call('ZREM', BOXES[due](c.root), entry)
end

return mend_due
