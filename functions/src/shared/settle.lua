-- Settles what is due. R:due is the cell's one list of deadlines, score = ms, members by their first letter:
--   n<node>                presence of a node; of a lost one: when it is forgotten
--   h<node>                no hold of the node has an earlier deadline within the horizon
--   l<incarnation> <node>  holds of an incarnation that ended, to be settled in pages
--   s<session>             the end of a session's lease
--   d<incarnation> <node>  deployments of a node that was lost, to be released in pages
--   w                      who may claim deployments is being found out anew, in pages
--   q                      the first of the jobs whose time has not come
--   f, c                   the boxes of failed and expired, and of cancelled jobs: when the oldest entry goes

local settle = {}

-- How much each write call settles before its own work.
local PER_CALL = 16

-- What is due in the due list, by kind. Each returns what it cost, at least 1, and adds what it settled to c.settled.
local kinds = {}

local function lose(c, node, rt)
  local call = redis.call
  local root = c.root
  local forget_at = c.now + config.value(c, 'forget_node_ms')
  local flags = nodes.set_flag(rt.flags, 'l', true)
  holds.abandon(c, node, rt.incarnation)
  deployments.abandon(c, node, rt.incarnation)
  claims.place(c, node, flags)
  ready.place(c, rt.class, node, flags, 0)
  events.write(c, 'node_lost', 'node', node, 'detail', 'silent')
  call('HSET', keys.runtime(root, node), 'flags', flags, 'foreign', '0', 'until', string.format('%d', forget_at))
  call('ZREM', keys.due(root), 'h' .. node)
  cell.due_at(c, 'n' .. node, forget_at)
end

local function forget(c, node, rt)
  return nodes.remove(c, node, rt, redis.call('HGET', keys.info(c.root, node), 'indexing') == '1')
end

function kinds.n(c, node)
  local rt, cost = nodes.read(c, node), 1
  if not rt then
    redis.call('ZREM', keys.due(c.root), 'n' .. node)
  elseif rt.until_ms > c.now then
    cell.due_at(c, 'n' .. node, rt.until_ms)
  else
    if nodes.is_lost(rt) then cost = forget(c, node, rt) else lose(c, node, rt) end
    c.settled = c.settled + 1
  end
  return cost
end

local UNHEARD = {
  reserved = 'not acknowledged in time',
  dispatched = 'run limit passed before it was acknowledged',
  running = 'run limit passed',
}

-- A hold whose deadline has passed. One that was never acknowledged is free again; one that may be running has
-- expired for everyone but its node, which is told to stop it. A damaged record says nothing of where the job is: it is here.
local function expire(c, node, rt, job, score)
  local call = redis.call
  local state = holds.state(score)
  local rec = tries.look(c, job)
  if rec and rec.is_damaged then rec = jobs.write_off(c, job, node, rt.class) end
  local is_elsewhere = rec and rec.node ~= node
  if rec and not is_elsewhere then tries.finish_any(c, node, job, rec, score, 'expired', UNHEARD[state]) end
  if is_elsewhere then
    -- Left by an interrupted call, after which the job went on elsewhere.
    holds.free(c, node, rt, 'j' .. job)
  elseif state == 'running' then
    call('ZADD', keys.slots(c.root, node), 'XX', holds.STOPPING_TEXT, 'j' .. job)
    cell.announce(c, node)
  else
    jobs.let_go(c, job)
    leases.free(c, node, rt, job, rec or {})
  end
end

function kinds.h(c, node, budget)
  local rt = nodes.read(c, node)
  if not rt or nodes.is_lost(rt) then
    redis.call('ZREM', keys.due(c.root), 'h' .. node)
    return 1
  end
  local overdue = holds.overdue(c, node, budget)
  for i = 1, #overdue, 2 do expire(c, node, rt, overdue[i], overdue[i + 1]) end
  c.settled = c.settled + #overdue / 2
  -- A call that gave a slot back may have been interrupted before the node's place was set.
  nodes.place(c, node, rt)
  local earliest = holds.earliest(c, node)
  if earliest then
    cell.due_at(c, 'h' .. node, earliest)
  else
    redis.call('ZREM', keys.due(c.root), 'h' .. node)
  end
  return math.max(1, #overdue / 2)
end

function kinds.l(c, rest, budget)
  local call = redis.call
  local incarnation, node = rest:match('^(%S+) (%S+)$')
  local lost = keys.lost(c.root, incarnation)
  local page = call('ZRANGE', lost, '0', budget - 1, 'WITHSCORES')
  local settled = 0
  for i = 1, #page, 2 do
    local session, id = page[i]:match('^s(%S+) (%S+)$')
    if session then
      leases.lose_if(c, session, id)
      call('ZREM', lost, page[i])
      settled = settled + 1
    elseif page[i] ~= holds.SENTINEL then
      local job = page[i]:sub(2)
      local rec = tries.look(c, job)
      if rec and rec.is_damaged then rec = jobs.write_off(c, job, node, '-') end
      local score = tonumber(page[i + 1])
      if rec and rec.kind == 'q' then
        tries.lose(c, node, job, rec, score)
      else
        if rec then jobs.finish(c, job, rec, score, 'expired', 'node lost') end
        if rec and rec.kind == 'b' then leases.lose_if(c, rec.session, nil, page[i]) end
        jobs.let_go(c, job)
      end
      call('ZREM', lost, page[i])
      settled = settled + 1
    end
  end
  if call('ZCARD', lost) <= 1 then
    call('DEL', lost)
    call('ZREM', keys.due(c.root), 'l' .. rest)
  end
  c.settled = c.settled + settled
  return math.max(1, settled)
end

function kinds.d(c, rest, budget)
  local incarnation, node = rest:match('^(%S+) (%S+)$')
  local released, is_all = deployments.release(c, node, incarnation, budget)
  if is_all then redis.call('ZREM', keys.due(c.root), 'd' .. rest) end
  c.settled = c.settled + released
  return math.max(1, released)
end

function kinds.w(c, _, budget)
  local call = redis.call
  local names, next_cursor = pages.names(keys.nodes(c.root), call('HGET', c.root, 'reindex') or '0', budget)
  for _, node in ipairs(names) do
    local rt = nodes.read(c, node)
    if rt then claims.place(c, node, rt.flags) end
  end
  if next_cursor == '0' then
    call('HDEL', c.root, 'reindex')
    call('ZREM', keys.due(c.root), 'w')
  else
    call('HSET', c.root, 'reindex', next_cursor)
  end
  return math.max(1, #names)
end

function kinds.s(c, session)
  local rec = sessions.read_sticky(c, session)
  local lease = rec and rec.lease
  if not lease then
    redis.call('ZREM', keys.due(c.root), 's' .. session)
  elseif lease.expire_ms > c.now then
    cell.due_at(c, 's' .. session, lease.expire_ms)
  else
    leases.expire(c, session, rec)
    c.settled = c.settled + 1
  end
  return 1
end

-- Notes when the first entry of a sorted set of times is due.
local function note_first(c, member, key)
  local first = redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')
  if first[2] then
    cell.due_at(c, member, cell.time(first[2]))
  else
    redis.call('ZREM', keys.due(c.root), member)
  end
end

-- Puts the jobs whose time has come into their queues.
function kinds.q(c, _, budget)
  local call = redis.call
  local delayed = keys.delayed(c.root)
  local page = call('ZRANGEBYSCORE', delayed, '-inf', c.now_text, 'LIMIT', '0', budget)
  for _, job in ipairs(page) do
    local rec = tries.waiting(c, job)
    if rec and rec.is_damaged then
      -- Damage that check names: looked at again later, never dropped.
      call('ZADD', delayed, string.format('%d', c.now + config.value(c, 'heartbeat_ttl_ms')), job)
    else
      if rec and rec.node == jobs.NOWHERE then queues.put(c, job, rec.q) end
      call('ZREM', delayed, job)
    end
  end
  note_first(c, 'q', delayed)
  c.settled = c.settled + #page
  return math.max(1, #page)
end

-- Takes entries whose record has gone out of a box.
local function trim(c, member, box, budget)
  local call = redis.call
  local old = call('ZRANGEBYSCORE', box, '-inf', c.now_text, 'LIMIT', '0', budget)
  for _, entry in ipairs(old) do call('ZREM', box, entry) end
  note_first(c, member, box)
  return math.max(1, #old)
end

function kinds.f(c, _, budget) return trim(c, 'f', keys.failed(c.root), budget) end
function kinds.c(c, _, budget) return trim(c, 'c', keys.cancelled(c.root), budget) end

-- Does up to `limit` items' work and notes when to look again. c.backlog says whether more is overdue.
local function pass(c, limit)
  local call = redis.call
  local due = keys.due(c.root)
  local left = limit
  while left > 0 do
    local items = call('ZRANGEBYSCORE', due, '-inf', c.now_text, 'LIMIT', '0', math.min(left, 64))
    if #items == 0 then break end
    for _, item in ipairs(items) do
      local kind = kinds[item:sub(1, 1)]
      if not kind then
        -- Of a newer library, or damage that check names: looked at again later, never dropped.
        cell.due_at(c, item, c.now + config.value(c, 'heartbeat_ttl_ms'))
        left = left - 1
      elseif left > 0 then
        left = left - kind(c, item:sub(2), left)
      end
    end
  end
  local first = call('ZRANGE', due, '0', '0', 'WITHSCORES')
  local wake = cell.NEVER
  if first[1] and first[1] ~= cell.SENTINEL then wake = cell.time(first[2]) end
  c.wake, c.rest = wake, nil
  c.backlog = wake <= c.now
  cell.save(c)
end

local function is_past_grace(c)
  return c.now >= tonumber(redis.call('HGET', c.root, 'grace'))
end

-- Whether anything may be settled now. After a time without any call nothing is overdue for one heartbeat_ttl_ms:
-- those who were meant to speak could not.
local function may_settle(c)
  if not c.exists then return false end
  if cell.was_away(c) then
    cell.guard(c)
    cell.save(c, 'grace', string.format('%d', c.now + config.value(c, 'heartbeat_ttl_ms')))
    c.gap = 0
    return false
  end
  -- Every call counts as one the cell saw, also one that is refused.
  if c.gap > cell.SEEN_MS then
    cell.guard(c)
    cell.touch(c)
  end
  if c.now < c.wake then return false end
  cell.guard(c)
  return is_past_grace(c)
end

-- Notes that the cell saw this call, for one that settles nothing: an outage before it is none for those who come after.
function settle.see(c)
  may_settle(c)
end

-- Settles up to `limit` items; how many nodes, jobs and leases were settled.
function settle.up_to(c, limit)
  if may_settle(c) then pass(c, limit) end
  return c.settled
end

-- What each write call does first.
function settle.first(c)
  -- The common case, without another call: nothing is due, and the cell saw a call within the last second.
  if c.now < c.wake and c.gap <= cell.SEEN_MS then return end
  settle.up_to(c, PER_CALL)
end

-- Whether the next write call would settle something.
function settle.is_due(c)
  return c.exists and not cell.was_away(c) and c.now >= c.wake and is_past_grace(c)
end

-- With overdue items left over, a node that is about to be used may be one of them.
function settle.is_overdue_node(c, node)
  if not c.backlog then return false end
  local at = redis.call('ZSCORE', keys.due(c.root), 'n' .. node)
  if not at or tonumber(at) > c.now then return false end
  kinds.n(c, node)
  return true
end

-- The lease of a session's record if it lives. One that is over, or whose node was lost, is settled now, unless by a
-- reader, so that nobody finds a lease that only a backlog kept.
function settle.lease(c, session, rec)
  local lease = rec.lease
  if lease.expire_ms <= c.now and not cell.was_away(c) and is_past_grace(c) then
    if not c.readonly then leases.expire(c, session, rec) end
    return nil
  end
  if c.readonly then
    local is_lost = c.overdue and c.overdue[lease.node] or not leases.has_seat(c, session, lease)
    return not is_lost and lease or nil
  end
  settle.is_overdue_node(c, lease.node)
  if leases.has_seat(c, session, lease) then return lease end
  leases.lose(c, session, rec)
end

return settle
