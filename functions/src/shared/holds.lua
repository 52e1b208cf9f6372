-- Holds: the slots taken on a node. R:node:slots:<node> is a sorted set with one member per hold, 'j' and the job id or
-- 's' and a session's lease (leases.lua), and a sentinel, so that the key exists as long as the node is there.
--
-- The score is the hold's state and its deadline in one:
--   deadline                      reserved    dispatched, the node must acknowledge by then
--   10^13 + deadline              dispatched  without ACK: the node may run it, and must have stopped by then
--   2 * 10^13 + deadline          running     acknowledged; the run limit
--   2.5 * 10^13 + deadline        running     and asked to stop, to make room
--   3 * 10^13                     stopping    ended for everyone but the node, which is told to stop it
--   4 * 10^13                     a seat that nobody sits in

local holds = {}

holds.DISPATCHED = 10000000000000
holds.RUNNING = 20000000000000
-- Deadlines have 13 digits, so the first of 14 is the band.
holds.RUNNING_DIGIT = '2'
holds.ASKED = 25000000000000
holds.ASKED_TEXT = '25000000000000'
holds.STOPPING = 30000000000000
holds.STOPPING_TEXT = '30000000000000'
holds.SEAT_TEXT = '40000000000000'
holds.SENTINEL = '#'

function holds.text(band, deadline)
  return string.format('%d', band + deadline)
end

-- The state and the deadline in ms (none while stopping) of a score.
function holds.state(score)
  if score < holds.DISPATCHED then return 'reserved', score end
  if score < holds.RUNNING then return 'dispatched', score - holds.DISPATCHED end
  if score < holds.ASKED then return 'running', score - holds.RUNNING end
  if score < holds.STOPPING then return 'running', score - holds.ASKED end
  return 'stopping'
end

-- Whether the hold of such a job may have a score: a reservation only where there is something to acknowledge, and no deadline before
-- there was the job.
function holds.may_be(rec, score)
  local state, deadline = holds.state(score)
  if state == 'stopping' then return score == holds.STOPPING end
  if state == 'reserved' and not rec.ack_ms:find('^[1-9]') then return false end
  return deadline % 1 == 0 and deadline >= tonumber(rec.created)
end

-- Whether a job that runs was asked to stop.
function holds.is_asked(score)
  return score >= holds.ASKED and score < holds.STOPPING
end

-- The score of a job's hold on a node, or nil.
function holds.score(c, node, job)
  return tonumber(redis.call('ZSCORE', keys.slots(c.root, node), 'j' .. job) or nil)
end

-- Gives a slot back: the hold goes, then the node's place in the ready index is set from those that are left. In this order, because
-- a slot must not be offered while a hold has it. Whoever repeats an interrupted call knows by the hold that there is something
-- left to do, or sets the node's place (nodes.place).
function holds.free(c, node, rt, member)
  redis.call('ZREM', keys.slots(c.root, node), member)
  nodes.place(c, node, rt)
end

-- How many holds of a node are jobs'.
function holds.of_jobs(c, node)
  return redis.call('ZCOUNT', keys.slots(c.root, node), '-inf', holds.STOPPING_TEXT)
end

-- The jobs a node must stop, at most 64: those that make room, then those that have ended for everyone else.
function holds.to_stop(c, node)
  local stop = redis.call('ZRANGEBYSCORE', keys.slots(c.root, node), holds.ASKED_TEXT, holds.STOPPING_TEXT,
    'LIMIT', '0', '64')
  for i = 1, #stop do stop[i] = stop[i]:sub(2) end
  return stop
end

-- The bounds of the bands that have deadlines.
local BANDS = {
  { 0, '-inf', '(10000000000000' },
  { holds.DISPATCHED, '10000000000000', '(20000000000000' },
  { holds.RUNNING, '20000000000000', '(25000000000000' },
  { holds.ASKED, holds.ASKED_TEXT, '(30000000000000' },
}

-- The earliest deadline of a node's holds, or nil.
function holds.earliest(c, node)
  local earliest
  for _, band in ipairs(BANDS) do
    local first = redis.call('ZRANGEBYSCORE', keys.slots(c.root, node), band[2], band[3], 'WITHSCORES', 'LIMIT', '0', '1')
    if first[2] then
      local deadline = tonumber(first[2]) - band[1]
      if not earliest or deadline < earliest then earliest = deadline end
    end
  end
  return earliest
end

-- Deadlines beyond the horizon are not in the due list; before they come into it, they are put there. Returns when to
-- look next.
function holds.promote_deadlines(c, node, rt)
  if c.now < rt.scan_ms then return rt.scan_ms end
  local earliest = holds.earliest(c, node)
  if earliest and earliest < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. node, earliest) end
  return c.now + cell.HORIZON_MS / 2
end

-- Up to `limit` holds whose deadline has passed: { job, score, job, score, ... }.
function holds.overdue(c, node, limit)
  local out = {}
  for _, band in ipairs(BANDS) do
    local left = limit - #out / 2
    if left <= 0 then break end
    local page = redis.call('ZRANGEBYSCORE', keys.slots(c.root, node), band[2], holds.text(band[1], c.now),
      'WITHSCORES', 'LIMIT', '0', left)
    for i = 1, #page, 2 do
      out[#out + 1] = page[i]:sub(2)
      out[#out + 1] = tonumber(page[i + 1])
    end
  end
  return out
end

-- Cuts a node off from its holds in one step, however many there are. They are settled in pages through the due list.
function holds.abandon(c, node, incarnation)
  local call = redis.call
  local slots = keys.slots(c.root, node)
  work.abandon(c, node, incarnation)
  if call('ZCARD', slots) > 1 then
    cell.due(c, 'l' .. incarnation .. ' ' .. node, c.now)
    call('RENAME', slots, keys.lost(c.root, incarnation))
  else
    call('DEL', slots)
  end
end

-- Of what is overdue, so much is looked at.
local OVERDUE_LOOKED_AT = 1000

-- Whether holds of an incarnation of this node that ended may still have to be settled, seats among them. The overdue
-- are read once in a call, however many leases ask.
function holds.is_being_lost(c, node)
  if not c.being_lost then
    local overdue = redis.call('ZRANGEBYSCORE', keys.due(c.root), '-inf', c.now_text, 'LIMIT', '0', OVERDUE_LOOKED_AT)
    c.being_lost, c.more_overdue = {}, #overdue == OVERDUE_LOOKED_AT
    for _, member in ipairs(overdue) do
      local lost = member:match('^l%S+ (%S+)$')
      if lost then c.being_lost[lost] = true end
    end
  end
  return c.more_overdue or c.being_lost[node]
end

return holds
