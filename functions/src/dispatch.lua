-- lockless_dispatch session src tgt payload [JOB id] [POOL p] [REGION r] [REQUIRE label]* [ACK ms] [TTL ms]
--
-- Chooses pool and node, takes a slot, creates the job. A session that is bound has its node chosen already: one job at a
-- time sits in its seat, further ones take slots of their own.
--
-- Reply:  [node_id, job_id]
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, WRONG_STATE, JOB_EXISTS, NO_POOL_FOR_LANG_PAIR,
--         EMPTY_POOL, NO_AVAILABLE_NODE
-- Calls:  10 (1 more per further matching class, 1 with ACK or a TTL within the hour, 1 while someone listens,
--         3 for a session's first job, 4 for one that is bound, 1 with the setting events = all)

local SETTLE_BEFORE_REFUSAL = 128
-- An id made from the grant's number may be one that a caller chose before: then the time is added to it.
local AUTO_ID_TRIES = 4

-- The job of that id is there already: the same call again gets the same reply, and an interrupted one is finished.
-- Returns the reply, or nil when the job has to be granted (again).
local function replay(c, job, arg, automatic)
  local rec = jobs.read_with_payload(c, job)
  if not rec then return nil end
  local same = (rec.kind == 'd' or rec.kind == 'b') and rec.session == arg.session and rec.src == arg.src and rec.tgt == arg.tgt and
    rec.payload == arg.payload
  if not same then
    if automatic then return nil, true end
    errors.fail('JOB_EXISTS', 'another job ' .. errors.shown(job) .. ' exists: other session, pair or payload')
  end
  local interrupted = tonumber(rec.grant) > c.grants
  if automatic and not interrupted then return nil, true end
  if rec.status then
    if rec.status == 'expired' or rec.status == 'cancelled' then errors.wrong_state(job, rec.status) end
    return { rec.node, job }
  end
  local score = holds.score(c, rec.node, job)
  if not score then
    cell.guard(c)
    if interrupted then return nil end
    -- Its node was lost, and it is about to be settled.
    errors.wrong_state(job, 'expired')
  end
  if interrupted then
    cell.guard(c)
    local rt = nodes.read(c, rec.node)
    local _, deadline = holds.state(score)
    local session = sessions.read_sticky(c, rec.session)
    local lease = session and session.lease
    if not lease then
      sessions.let_go(c, rec.session)
    elseif rec.kind == 'b' and lease.node == rec.node then
      leases.sit(c, rec.session, session, job)
    end
    ready.place(c, rt.class, rec.node, rt.flags, nodes.held(c, rec.node) + rt.foreign)
    if deadline < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. rec.node, deadline) end
    events.of_job(c, 'job_dispatched', rec.node, job, rec.session)
    redis.call('HSET', c.root, 'clock', c.now_text, 'grants', rec.grant)
  end
  return { rec.node, job }
end

-- What a session remembers, rewritten when it changed or a quarter of its life has passed.
local function remember(c, arg, pool)
  local pair, before = arg.pair or '-', arg.remembered
  if before and pool == before.pool and pair == before.pair and
    c.now - before.when < config.value(c, 'session_ttl_ms') / 4 then
    return
  end
  sessions.write(c, arg.session, { when = c.now_text, pool = pool, pair = pair, lease = arg.binding })
  if not arg.binding then sessions.let_go(c, arg.session) end
end

local function grant(c, arg, found, job, job_key)
  local call = redis.call
  local root, node, class = c.root, found.node, found.class
  local ttl_ms = arg.ttl or config.value(c, 'job_ttl_ms')
  local ttl_text = arg.ttl or config.text(c, 'job_ttl_ms')
  local ack_ms = arg.ack == '-' and config.value(c, 'reserve_ttl_ms') or arg.ack
  local number = c.grants + 1
  local number_text = string.format('%d', number)
  local deadline = c.now + (ack_ms or ttl_ms)
  local used = number % ready.UNIT

  call('HSET', job_key, 'd', jobs.pack(node, class, found.in_seat and 'b' or 'd', c.now_text, ack_ms or '0', ttl_text,
    number_text, arg.src, arg.tgt, arg.session), 'p', arg.payload)
  call('ZADD', keys.slots(root, node), holds.text(ack_ms and 0 or holds.DISPATCHED, deadline), 'j' .. job)
  if found.in_seat then
    leases.sit(c, arg.session, arg.remembered, job)
  else
    call('ZADD', found.key, ready.text(found.score - found.score % ready.UNIT + ready.UNIT + used), node)
  end
  if deadline < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. node, deadline) end
  remember(c, arg, found.pool)
  events.of_job(c, 'job_dispatched', node, job, arg.session)
  call('HSET', root, 'clock', c.now_text, 'grants', number_text)
  cell.announce(c, node)
  return { node, job }
end

local function dispatch(root, arg)
  local call = redis.call
  local c = cell.open_unguarded(root)
  config.check_length(c, 'payload', arg.payload)
  settle.first(c)

  local found = choose.node(c, arg)
  if not found and c.backlog then
    settle.up_to(c, SETTLE_BEFORE_REFUSAL)
    found = choose.node(c, arg)
  end
  if not found then
    local reply = arg.job and replay(c, arg.job, arg)
    if reply then return reply end
    choose.refuse(c, arg)
  end

  local job, job_key = arg.job, nil
  for try = 1, AUTO_ID_TRIES do
    if not arg.job then
      job = arg.session .. ':' .. string.format('%d', c.grants + 1)
      if try > 1 then job = job .. ':' .. c.now_text .. ':' .. try end
    end
    job_key = keys.job(root, job)
    -- This is the guard as well (cell.guard).
    local there = call('EXISTS', keys.none(root), job_key) == 1
    c.guarded = true
    if not there then break end
    local reply, taken = replay(c, job, arg, not arg.job)
    if reply then return reply end
    if not taken then break end
    if try == AUTO_ID_TRIES then
      errors.fail('JOB_EXISTS', 'job ' .. errors.shown(job) .. ' exists: name the job with JOB')
    end
  end

  if not found.pool then found.pool = call('HGET', keys.class(root, found.class), 'pools'):match('^%S+') end
  -- first write
  match.keep(c)
  return grant(c, arg, found, job, job_key)
end

return dispatch, args.language_pair
