-- lockless_dispatch session src tgt payload [JOB id] [POOL p] [REGION r] [REQUIRE label]* [ACK ms] [TTL ms]
--
-- Chooses pool and node, takes a slot, creates the job. A session that is bound has its node chosen already: one job at a
-- time sits in its seat, further ones take slots of their own.
--
-- Reply:  [node_id, job_id]
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, WRONG_STATE, JOB_EXISTS, NO_POOL_FOR_LANG_PAIR,
--         EMPTY_POOL, NO_AVAILABLE_NODE
-- Calls:  9 (1 more with another wish for pool, region or labels than the session has mostly, 1 with ACK, 1 per further
--         matching class, 1 with ACK or a TTL within the hour, 1 while someone listens, 4 for a session's first job, 5 for one
--         that is bound, 1 with the setting events = all)

local SPEC = contract.lockless_dispatch
local JOB_MAX = SPEC.options.JOB.max

local SETTLE_BEFORE_REFUSAL = 128
-- An id made from the grant's number may be one that a caller chose before: then the time is added to it.
local AUTO_ID_TRIES = 4

-- The job of that id is there already: the same call again gets the same reply, and an interrupted one is finished.
-- Returns the reply; or nil when the job has to be granted (again), and then also TAKEN when that needs another id, or UNDONE
-- when an interrupted grant was undone, so that a node has to be chosen anew.
local TAKEN, UNDONE = 1, 2

local function replay(c, job, arg, automatic)
  local rec = jobs.look_with_payload(c, job)
  if not rec then return nil end
  if rec.is_damaged then
    if automatic then return nil, TAKEN end
    errors.unreadable_job(job)
  end
  local same = (rec.kind == 'd' or rec.kind == 'b') and rec.session == arg.session and rec.src == arg.src and rec.tgt == arg.tgt and
    rec.payload == arg.payload
  if not same then
    if automatic then return nil, TAKEN end
    errors.fail('JOB_EXISTS', 'another job ' .. errors.shown(job) .. ' exists: other session, pair or payload')
  end
  local interrupted = tonumber(rec.grant) > c.grants
  if automatic and not interrupted then return nil, TAKEN end
  if rec.status then
    if rec.status == 'expired' or rec.status == 'cancelled' then errors.wrong_state(job, rec.status) end
    return { rec.node, job }
  end
  local score = holds.score(c, rec.node, job)
  if not score then
    cell.guard(c)
    if interrupted then
      -- The node may have been made to look fuller by a hold that it never got.
      local rt = nodes.read(c, rec.node)
      if not rt then return nil end
      nodes.place(c, rec.node, rt, rec.grant)
      return nil, UNDONE
    end
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
    nodes.place(c, rec.node, rt)
    if deadline < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. rec.node, deadline) end
    events.of_job(c, 'job_dispatched', rec.node, job, rec.session)
    c.grants = tonumber(rec.grant)
    cell.save(c)
  end
  return { rec.node, job }
end

-- The settings that every dispatch looks at. A cell without settings of its own is not asked.
local JOB_TTL, SESSION_TTL, PAYLOAD_MAX = config.settings.job_ttl_ms, config.settings.session_ttl_ms,
  config.settings.payload_max_bytes

-- A session that knows the class of some wishes learns that of others about every so many times, not each time it is asked for
-- them in turn. It depends on the time as well, or sessions that come in turn would always meet the same number.
local LEARNED_EVERY = 4

local function is_learned(c, before, wishes, number)
  if before.generation ~= c.generation then return false end
  return before.wishes == wishes or (number + c.now) % LEARNED_EVERY > 0
end

-- What a session remembers, rewritten when it changed or a quarter of its life has passed.
local function remember(c, arg, found, number)
  local pool, pair, before = found.pool, arg.pair or '-', arg.remembered
  local wishes = found.is_only and sessions.wishes(arg)
  if before and pool == before.pool and pair == before.pair and c.now - before.when < config.value(c, 'session_ttl_ms') / 4 and
    (arg.binding or not wishes or is_learned(c, before, wishes, number)) then
    return
  end
  sessions.write(c, arg.session, { when = c.now_text, pool = pool, pair = pair, generation = wishes and c.generation,
    wishes = wishes, class = wishes and found.class, lease = arg.binding })
  if not arg.binding then sessions.let_go(c, arg.session) end
end

local UNIT, DISPATCHED, HORIZON_MS, SENTINEL = ready.UNIT, holds.DISPATCHED, cell.HORIZON_MS, cell.SENTINEL
local REMEMBERED_MS = SESSION_TTL.default / 4
local SESSION, READY, JOB, NONE, SLOTS = keys.SESSION, keys.READY, keys.JOB, keys.NONE, keys.SLOTS

-- `number`, of the grant, is given as text as well.
local function grant(c, arg, found, job, job_key, number, number_text)
  local call, format = redis.call, string.format
  local root, node, session, now, now_text, score = c.root, found.node, arg.session, c.now, c.now_text, found.score
  local ttl_ms, ttl_text, ack_ms = arg.ttl, arg.ttl, arg.ack
  if not ttl_ms then
    ttl_ms, ttl_text = JOB_TTL.default, JOB_TTL.text
    if c.configured then ttl_ms, ttl_text = config.value(c, 'job_ttl_ms'), config.text(c, 'job_ttl_ms') end
  end
  if ack_ms == '-' then ack_ms = config.value(c, 'reserve_ttl_ms') end
  local deadline = now + (ack_ms or ttl_ms)

  call('HSET', job_key, 'd', jobs.pack(node, found.class, found.in_seat and 'b' or 'd', now_text, ack_ms or '0', ttl_text,
    number_text, arg.src, arg.tgt, session), 'p', arg.payload)
  -- The node's place comes before the hold: a slot that is taken is never offered.
  if not found.in_seat then call('ZADD', found.key, format('%d', score - score % UNIT + UNIT + number % UNIT), node) end
  call('ZADD', keys.slots(root, node), format('%d', ack_ms and deadline or DISPATCHED + deadline), 'j' .. job)
  if found.in_seat then leases.sit(c, session, arg.remembered, job) end
  if deadline < now + HORIZON_MS then cell.due(c, 'h' .. node, deadline) end
  remember(c, arg, found, number)
  if c.configured then events.of_job(c, 'job_dispatched', node, job, session) end
  c.grants = number
  cell.save(c)
  if now < c.listen then cell.announce(c, node) end
  return { node, job }
end

-- The options as one word, which is what a session remembers of them, without a JOB that comes first (arg.job). They are not looked
-- at: a session remembers none but those that were. Nil when they can't be remembered.
local function as_given(arg, argv)
  local first = SPEC.positional + 1
  if argv[first] == 'JOB' then
    local job = argv[first + 1]
    if not job or #job > JOB_MAX or not job:find(PRINTABLE) then return nil end
    arg.job, first = job, first + 2
  end
  return sessions.as_one(argv, first)
end

-- The way of most jobs: from a session that is known, in a cell that is quiet and has no settings that concern them. The same as
-- what is below, in three quarters of the time. Returns nothing, and has written nothing, when it is any other.
local function plainly(root, arg, wishes, now, now_text, grants, finished, rest, generation, listen)
  if #arg.payload > PAYLOAD_MAX.default then return nil end
  local call, format = redis.call, string.format
  local session, sticky = arg.session, arg.sticky
  if sticky == nil then
    sticky = call('HGET', root .. SESSION .. session, 'sticky')
    arg.sticky = sticky
  end
  if not sticky then return nil end
  -- Its time comes first and has 13 digits; its class, which has 16, comes last, after what it is the class of.
  local text = string.sub
  local known = ' ' .. (arg.pair or '-') .. ' ' .. generation .. ' ' .. wishes .. ' '
  if text(sticky, -16 - #known, -17) ~= known or now - text(sticky, 1, 13) >= REMEMBERED_MS then return nil end
  local class = text(sticky, -16)
  local ready_key = root .. READY .. class
  local head = call('ZRANGE', ready_key, '0', '0', 'WITHSCORES')
  local node = head[1]
  -- None at all is there when the slot is being moved.
  if not node or node == SENTINEL then return nil end
  local score = head[2] + 0
  if score >= text(class, 11) * UNIT then return nil end
  local number = grants + 1
  local number_text = format('%d', number)
  local job = arg.job or session .. ':' .. number_text
  local job_key = root .. JOB .. job
  -- This is the guard as well (cell.guard).
  if call('EXISTS', root .. NONE, job_key) == 1 then return nil end

  -- first write
  call('HSET', job_key, 'd', jobs.pack(node, class, 'd', now_text, '0', JOB_TTL.text, number_text, arg.src, arg.tgt, session),
    'p', arg.payload)
  call('ZADD', ready_key, format('%d', score - score % UNIT + UNIT + number % UNIT), node)
  call('ZADD', root .. SLOTS .. node, format('%d', DISPATCHED + JOB_TTL.default + now), 'j' .. job)
  cell.save_quiet(root, now_text, number_text, finished, rest)
  if now < listen + 0 then cell.publish(root, node) end
  return { node, job }
end

local function dispatch(root, arg, argv)
  local call = redis.call
  local now, now_text, grants, finished, rest, generation, listen, configured = cell.quiet(root)
  local may_be_plain = now and configured ~= '1'
  local given = may_be_plain and as_given(arg, argv)
  local reply = given and plainly(root, arg, given, now, now_text, grants, finished, rest, generation, listen)
  if reply then return reply end
  if #argv > SPEC.positional then
    arg.job = nil
    args.options(SPEC, argv, arg)
    -- The same wishes in another order.
    local wishes = may_be_plain and not (arg.ack or arg.ttl) and sessions.wishes(arg)
    if wishes and wishes ~= given then
      reply = plainly(root, arg, wishes, now, now_text, grants, finished, rest, generation, listen)
      if reply then return reply end
    end
  end
  local c
  if now then
    c = cell.opened(root, now, now_text, grants, finished, rest, generation, listen, configured)
  else
    c = cell.open_unguarded(root)
    settle.first(c)
  end
  if c.configured or #arg.payload > PAYLOAD_MAX.default then config.check_length(c, 'payload', arg.payload) end

  local found = choose.node(c, arg)
  if not found and c.backlog then
    settle.up_to(c, SETTLE_BEFORE_REFUSAL)
    found = choose.node(c, arg)
  end
  if not found then
    local why
    if arg.job then reply, why = replay(c, arg.job, arg) end
    if reply then return reply end
    found = why == UNDONE and choose.node(c, arg) or choose.refuse(c, arg)
  end

  local number = c.grants + 1
  local number_text = string.format('%d', number)
  local job, job_key = arg.job, nil
  for try = 1, AUTO_ID_TRIES do
    if not arg.job then
      job = arg.session .. ':' .. number_text
      if try > 1 then job = job .. ':' .. c.now_text .. ':' .. try end
    end
    job_key = keys.job(root, job)
    -- This is the guard as well (cell.guard).
    local there = call('EXISTS', keys.none(root), job_key) == 1
    c.guarded = true
    if not there then break end
    local why
    reply, why = replay(c, job, arg, not arg.job)
    if reply then return reply end
    if why == UNDONE then found = choose.node(c, arg) or choose.refuse(c, arg) end
    if why ~= TAKEN then break end
    if try == AUTO_ID_TRIES then
      errors.fail('JOB_EXISTS', 'job ' .. errors.shown(job) .. ' exists: name the job with JOB')
    end
  end

  if not found.pool then found.pool = call('HGET', keys.class(root, found.class), 'pools'):match('^%S+') end
  -- first write
  if c.matched then match.keep(c) end
  return grant(c, arg, found, job, job_key, number, number_text)
end

return dispatch, args.language_pair, true
