-- Mends leases and seats: what audit_nodes and audit_due name of them.

local mend_leases = {}

-- A seat is that of its session's lease, on the lease's node, and empty; any other is given back.
function mend_leases.seat(c, node, member)
  local rt = nodes.read(c, node)
  if not rt or not redis.call('ZSCORE', keys.slots(c.root, node), member) then return end
  local session, id = member:match('^s(%S+) (%S+)$')
  local rec = session and sessions.read_sticky(c, session)
  local lease = rec and rec.lease
  local is_own = lease and lease.id == id and lease.node == node
  if not is_own or (lease.rider ~= leases.EMPTY and leases.has_seat(c, session, lease)) then
    return holds.free(c, node, rt, member)
  end
  if lease.rider ~= leases.EMPTY then
    lease.rider = leases.EMPTY
    sessions.write(c, session, rec)
  end
  redis.call('ZADD', keys.slots(c.root, node), holds.SEAT_TEXT, member)
end

-- Makes a lease whose rider is none of its session's jobs, or has no slot any more, one that nobody rides.
local function unseat(c, session, rec)
  local lease = rec.lease
  if lease.rider == leases.EMPTY then return end
  local job = lease.rider:sub(2)
  local rider = jobs.look(c, job)
  local is_own = rider and rider.session == session and rider.kind == 'b'
  if is_own and leases.has_seat(c, session, lease) then return end
  if is_own then
    jobs.finish(c, job, rider, nil, rider.status or 'expired', 'its slot was lost')
    jobs.let_go(c, job)
  end
  lease.rider = leases.EMPTY
  sessions.write(c, session, rec)
end

-- Gives a lease that lost its seat another one on its node. Without room there it ends.
local function seat_again(c, session, rec)
  local lease = rec.lease
  if leases.has_seat(c, session, lease) then return end
  local rt = nodes.read(c, lease.node)
  local held = rt and nodes.held(c, lease.node)
  if not rt or nodes.is_lost(rt) or held + rt.foreign >= classes.max_jobs(rt.class) then return leases.lose(c, session, rec) end
  ready.place(c, rt.class, lease.node, rt.flags, held + 1 + rt.foreign)
  redis.call('ZADD', keys.slots(c.root, lease.node), holds.SEAT_TEXT, leases.member(session, lease.id))
end

-- What a session's record says of a lease: that it is there, when it ends, who sits in its seat.
function mend_leases.lease(c, session)
  local call = redis.call
  local key = keys.session(c.root, session)
  local rec = sessions.read_sticky(c, session)
  if not rec then call('DEL', key) end
  if not rec or not rec.lease then return call('ZREM', keys.due(c.root), 's' .. session) end
  local at = tonumber(call('ZSCORE', keys.due(c.root), 's' .. session) or nil)
  if not at or at > rec.lease.expire_ms then cell.due_at(c, 's' .. session, rec.lease.expire_ms) end
  call('PERSIST', key)
  unseat(c, session, rec)
  if not holds.is_being_lost(c, rec.lease.node) then seat_again(c, session, rec) end
end

return mend_leases
