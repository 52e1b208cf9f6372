-- lockless_bind session request_id [LEASE ms] [PAIR src tgt] [POOL p] [REGION r] [REQUIRE label]* [PREEMPT]
--
-- Chooses a node, takes a seat there and binds the session to it, in one step. The same request_id gives the same answer
-- while its lease lives; another one is told of the lease there is, or takes its place with PREEMPT. The seat it had is
-- given back, unless a job sits there: then the slot is the job's.
--
-- Reply:  fields state (bound, replayed, existing), node_id, lease_id, lease_expire_ts
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_POOL_FOR_LANG_PAIR, EMPTY_POOL, NO_AVAILABLE_NODE,
--         LEASE_MISMATCH
-- Calls:  17 (6 when there is a lease already; 1 more per further matching class, 5 when another lease gives way)

local SETTLE_BEFORE_REFUSAL = 128

local function reply(state, lease)
  return { 'state', state, 'node_id', lease.node, 'lease_id', lease.id, 'lease_expire_ts', lease.expire_ms }
end

-- The lease's own node, when its seat is the one slot that a request which preempts it can have.
local function own_seat(c, arg, lease)
  if lease.rider ~= leases.EMPTY then return nil end
  local rt = nodes.read(c, lease.node)
  -- Without a class it is changing its labels.
  local desc = rt and classes.read(c, rt.class)
  if not desc or not classes.fits(desc, arg) or ready.band(rt.flags) > 0 then return nil end
  if nodes.held(c, lease.node) - 1 + rt.foreign >= classes.max_jobs(rt.class) then return nil end
  return { node = lease.node, class = rt.class, pool = arg.pool }
end

-- A node, and the session's lease as it is then: settling may have ended the job in its seat.
local function find(c, arg, lease)
  local found = choose.any(c, arg)
  if not found and c.backlog then
    settle.up_to(c, SETTLE_BEFORE_REFUSAL)
    arg.remembered = sessions.read(c, arg.session)
    lease = arg.remembered and arg.remembered.lease
    found = choose.any(c, arg)
  end
  return found or lease and own_seat(c, arg, lease), lease
end

-- What goes with a lease that has its seat. Every step may have been done before; the mark that says so is the last.
local function make_whole(c, session, rec, drawn)
  local lease = rec.lease
  leases.free_from(c, session, lease)
  events.write(c, 'session_bound', 'node', lease.node, 'session', session, 'detail', lease.id)
  cell.set_counter(c, 'leases', math.max(drawn, leases.number(lease.id)))
  lease.from_id, lease.from_node = leases.EMPTY, leases.EMPTY
  sessions.write(c, session, rec)
end

-- Writes a lease and takes its seat. The node's place in the ready index comes before the seat: a slot that is taken is
-- never offered.
local function take_seat(c, session, rec, drawn)
  local lease = rec.lease
  local node = lease.node
  local rt, held = nodes.read(c, node), nodes.held(c, node)
  if not rt then errors.unreadable('the record of node ' .. errors.shown(node)) end
  -- first write
  match.keep(c)
  sessions.write_bound(c, session, rec)
  cell.due_at(c, 's' .. session, lease.expire_ms)
  ready.place(c, rt.class, node, rt.flags, held + 1 + rt.foreign)
  redis.call('ZADD', keys.slots(c.root, node), holds.SEAT_TEXT, leases.member(session, lease.id))
  make_whole(c, session, rec, drawn)
  return reply('bound', lease)
end

local function bind(root, arg)
  local c = cell.open(root, 'leases')
  settle.first(c)
  local session, request = arg.session, arg.request_id
  local rec = sessions.read(c, session)
  local drawn = cell.counter(c, 'leases')
  local lease = rec and rec.lease and settle.lease(c, session, rec)
  local was_interrupted = lease and not leases.is_whole(lease)
  if was_interrupted then
    make_whole(c, session, rec, drawn)
    drawn = cell.counter(c, 'leases')
  end
  if rec and sessions.is_superseded(rec, request) then
    errors.fail('LEASE_MISMATCH', 'request ' .. errors.shown(request) .. ' was superseded by ' ..
      errors.shown(rec.requests[1]) .. ': bind with a new request_id')
  end
  if lease and rec.requests[1] == request then return reply(was_interrupted and 'bound' or 'replayed', lease) end
  if lease and not arg.preempt then return reply('existing', lease) end

  arg.remembered = rec
  local found
  found, lease = find(c, arg, lease)
  if not found then choose.refuse(c, arg) end
  local pool = found.pool or redis.call('HGET', keys.class(root, found.class), 'pools'):match('^%S+')
  local length_ms = arg.lease or config.value(c, 'session_ttl_ms')

  return take_seat(c, session, {
    when = c.now_text, pool = pool, pair = arg.pair or '-', requests = sessions.requests_with(rec, request),
    lease = { id = string.format('%d-', drawn + 1) .. c.now_text, node = found.node, expire_ms = c.now + length_ms,
      length_ms = length_ms, since = c.now_text, rider = leases.EMPTY, from_id = lease and lease.id or leases.FROM_NONE,
      from_node = lease and lease.node or leases.FROM_NONE },
  }, drawn)
end

return bind
