-- Leases. A session that is bound to a node has a seat there, a slot taken for it: a hold 's<session> <lease>'. Its lease
-- is in the session's record (sessions.lua), and its end in the due list, as s<session>.
--
-- A job that sits in the seat has its hold in place of the seat's, and the lease names it as its rider, '-' for none. So
-- the slots held do not change with it, and a lease that ends meanwhile has nothing to hand over: the hold is the job's.
-- from_id and from_node say that a lease is new: until all that goes with it is written they are the seat it takes over
-- from, '+' for none, and then '-'. So a bind that was interrupted is found, whatever came since.

local leases = {}

leases.EMPTY = '-'
leases.FROM_NONE = '+'

-- Whether the bind that made the lease did all of it.
function leases.is_whole(lease)
  return lease.from_id == leases.EMPTY
end

function leases.member(session, id)
  return 's' .. session .. ' ' .. id
end

-- The number of a lease: ids are the cell's number and the time, so that none comes again even after a failover.
function leases.number(id)
  return tonumber(id:match('^%d+'))
end

-- Whether the lease's slot is still taken. It is not when its node was lost, whether or not that is settled yet.
function leases.has_seat(c, session, lease)
  local member = lease.rider == leases.EMPTY and leases.member(session, lease.id) or lease.rider
  return redis.call('ZSCORE', keys.slots(c.root, lease.node), member) ~= false
end

local function forget(c, session, rec)
  rec.lease = nil
  sessions.let_go(c, session)
  sessions.write(c, session, rec)
end

-- Gives an empty seat back. Of one that is not there, the node's place may have been taken for it.
local function free_seat(c, node, member)
  local rt = nodes.read(c, node)
  if not rt then return end
  if redis.call('ZSCORE', keys.slots(c.root, node), member) then
    holds.free(c, node, rt, member)
  else
    nodes.place(c, node, rt)
  end
end

-- Gives the seat back that a new lease takes over from.
function leases.free_from(c, session, lease)
  if lease.from_id ~= leases.EMPTY and lease.from_id ~= leases.FROM_NONE then
    free_seat(c, lease.from_node, leases.member(session, lease.from_id))
  end
end

-- Gives back every seat that a lease names. Its own may be there also while it has a rider, when putting the job into it,
-- or the end of that job, was interrupted.
local function give_up(c, session, lease)
  free_seat(c, lease.node, leases.member(session, lease.id))
  leases.free_from(c, session, lease)
end

-- Ends a lease whose time has passed. Its deadline goes last: by it an interrupted end is found.
function leases.expire(c, session, rec)
  give_up(c, session, rec.lease)
  forget(c, session, rec)
  redis.call('ZREM', keys.due(c.root), 's' .. session)
end

-- Ends a lease that lives. An interrupted end is found by the lease.
function leases.finish(c, session, rec)
  give_up(c, session, rec.lease)
  redis.call('ZREM', keys.due(c.root), 's' .. session)
  forget(c, session, rec)
end

-- Ends a lease whose node was lost, and its seat with it; or one that never had a seat, of which nobody was told.
function leases.lose(c, session, rec)
  local lease = rec.lease
  if leases.is_whole(lease) then
    events.write(c, 'session_lost', 'node', lease.node, 'session', session, 'detail', lease.id)
  end
  give_up(c, session, lease)
  redis.call('ZREM', keys.due(c.root), 's' .. session)
  forget(c, session, rec)
end

-- The lease of this session whose seat a lost node had: by its id, or by the rider that sat there.
function leases.lose_if(c, session, id, rider)
  local rec = sessions.read_sticky(c, session)
  local lease = rec and rec.lease
  if lease and (lease.id == id or lease.rider == rider) then leases.lose(c, session, rec) end
end

-- Puts a job, whose hold is there, into the seat, unless another sits there.
function leases.sit(c, session, rec, job)
  local lease, rider = rec.lease, 'j' .. job
  if lease.rider ~= leases.EMPTY and lease.rider ~= rider then return end
  lease.rider = rider
  sessions.write(c, session, rec)
  redis.call('ZREM', keys.slots(c.root, lease.node), leases.member(session, lease.id))
end

-- Gives the slot of a job back: to the lease whose seat it sat in, if that lives, else to the node.
function leases.free(c, node, rt, job, rec)
  local hold = 'j' .. job
  local session = rec.kind == 'b' and sessions.read_sticky(c, rec.session)
  local lease = session and session.lease
  if lease and lease.rider == hold then
    redis.call('ZADD', keys.slots(c.root, node), holds.SEAT_TEXT, leases.member(rec.session, lease.id))
    lease.rider = leases.EMPTY
    sessions.write(c, rec.session, session)
    -- The seat is there again, so the slot stays taken; both count until the hold goes.
    ready.place(c, rt.class, node, rt.flags, nodes.held(c, node) - 1 + rt.foreign)
    redis.call('ZREM', keys.slots(c.root, node), hold)
    return
  end
  holds.free(c, node, rt, hold)
end

return leases
