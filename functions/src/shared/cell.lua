-- A call's view of its cell: the record R, the clock, the counters, and the list of deadlines.
--
-- R is a hash. What every call needs is one field of it, which names the schema, so that a library finds only what it can
-- read: "clock grants finished wake generation listen configured", that is the last time the cell saw, the slots ever given,
-- the jobs that finished, before which time no deadline in the due list is, the generation of the class set, until when
-- someone waits, and whether there are settings (config.kind). One text is read and written for a fraction of what seven fields cost.
-- The other fields: schema, grace (nothing is overdue until then), incarnation, class, leases, tokens and queues (the last
-- ones drawn), and one counter per outcome. What counts jobs from the queue (tries.lua) is there once there was one.

local cell = {}

-- Deadlines nearer than this are in the due list; those further off are put there by the node's heartbeats, which
-- look twice within it. So it is also more than any heartbeat_ttl_ms.
cell.HORIZON_MS = 3600000

-- Longer than 64 bytes, so that the sorted set that holds it never has the encoding whose cost grows with its size,
-- and no key of that kind ever empties. It has a space, so it is no id.
cell.SENTINEL = '~ sentinel: keeps this sorted set alive and in its skiplist encoding ~'

cell.NEVER = 9007199254740991

-- Whether a text is a whole number that was counted, drawn, or is a time.
function cell.is_whole(text)
  return text and text:find('^%d+$') ~= nil and text + 0 < cell.NEVER
end

-- Whether the score of a member, or what a record says, is a time.
function cell.is_time(score)
  return score and score + 0 >= 0 and score + 0 <= cell.NEVER
end

-- The time that a score says; where it says none, the nearest one.
function cell.time(score)
  return math.min(math.max(score, 0), cell.NEVER)
end

-- An outage shorter than this is no outage.
local OUTAGE_MS = 10000

-- The clock in R may lag by so much: calls that have nothing else to write there leave it alone for that long.
local SEEN_MS = 1000
cell.SEEN_MS = SEEN_MS

-- Someone who waits is remembered for so long.
local LISTEN_MS = 120000

local WHOLE = '%d'
local SCHEMA = about.schema .. ''
local STATE = 'state' .. SCHEMA
-- What is rarely changed comes last, so that it can be written back as it was read.
local FORM = '^(%d+) (%d+) (%d+) ((%d+) (%d+) (%d+) ([012]))$'

-- The names of the numbers in it, in order, for those who look at one that may be damaged.
cell.STATE, cell.NUMBERS = STATE, { 'clock', 'grants', 'finished', 'wake', 'generation', 'listen', 'configured' }

function cell.check_root(root)
  if not root then errors.fail('BAD_CELL', 'KEYS[1] is missing: it takes a cell such as scheduler:{main}') end
  if #root > 256 or not root:find('^[^{]*{[^}]+}$') then
    errors.fail('BAD_CELL', 'KEYS[1] takes at most 256 bytes that end in a non-empty hash tag, such as ' ..
      'scheduler:{main}, given ' .. errors.shown(root))
  end
end

-- Fails with CELL_MOVING while the cell's slot is being moved. Of several keys asked for at once none may be missing in a
-- slot that moves, neither where it comes from nor where it goes to: one that is never there tells it on both sides,
-- however many of the others have been moved. It holds for the whole call.
function cell.guard(c)
  if not c.guarded then redis.call('EXISTS', c.root, keys.none(c.root)) end
  c.guarded = true
end

-- The reply of a call that has nothing else to say. It is never written to.
cell.OK = { ok = 'OK' }

-- A cell without this schema's record: it does not exist, or another library wrote it.
local function opened_without(root, now, now_text)
  cell.check_root(root)
  local schema = redis.call('HGET', root, 'schema')
  if schema and schema ~= SCHEMA then
    errors.fail('SCHEMA_MISMATCH', 'the cell has schema ' .. errors.shown(schema) .. ', this library has ' .. SCHEMA ..
      ': deploy the library that wrote it')
  end
  if schema then errors.unreadable("the cell's record") end
  local c = { root = root, now = now, now_text = now_text, gap = 0, wake = cell.NEVER, grants = 0, finished = '0',
    generation = '0', listen = 0, configured_as = '0', settled = 0 }
  cell.guard(c)
  return c
end

-- The time of a reply of TIME in ms, as text. Microseconds come without leading zeros.
local function in_ms(time)
  local micros = time[2]
  return time[1] .. (#micros == 6 and micros or ('00000' .. micros):sub(-6)):sub(1, 3)
end

-- For those on the way of every job. Most calls find a cell that is quiet: nothing is due, and it saw a call within the last
-- second. Returns now, the same as text, grants, finished, rest, generation, listen and configured, as they stand in R; nothing
-- when the cell is not quiet, or not there. Nothing is guarded.
function cell.quiet(root)
  local call = redis.call
  local time = call('TIME')
  local state = call('HGET', root, STATE)
  if not state then return nil end
  local clock, grants, finished, rest, wake, generation, listen, configured = state:match(FORM)
  if not clock then return nil end
  local now_text = in_ms(time)
  local now = now_text + 0
  local gap = now - clock
  if gap < 0 or gap > SEEN_MS or now >= wake + 0 then return nil end
  return now, now_text, grants, finished, rest, generation, listen, configured
end

-- What opens the cell for a call that found it quiet and needs more of it: what `quiet` returned becomes what
-- `open_unguarded` returns.
function cell.opened(root, now, now_text, grants, finished, rest, generation, listen, configured)
  local c = { root = root, now = now, now_text = now_text, gap = 0, exists = true, grants = grants + 0, finished = finished,
    rest = rest, wake = rest:match('^%d+') + 0, generation = generation, listen = listen + 0, configured = configured ~= '0',
    configured_as = configured, settled = 0 }
  -- The settings are another key, and may be read at any time from now on.
  if c.configured then cell.guard(c) end
  return c
end

-- Writes the state of a cell that was quiet: `rest` is as it was read.
function cell.save_quiet(root, now_text, grants, finished, rest)
  redis.call('HSET', root, STATE, now_text .. ' ' .. grants .. ' ' .. finished .. ' ' .. rest)
end

-- Reads the clock and R. `counter` is the one counter the caller is about to change. A caller on the way of every job
-- may open the cell unguarded: it must then guard before it writes a key that it has not found here, and before any
-- answer that rests on something being absent.
function cell.open_unguarded(root, counter)
  local call = redis.call
  local time = call('TIME')
  local state, count
  if counter then
    local fields = call('HMGET', root, STATE, counter)
    state, count = fields[1], tonumber(fields[2] or nil)
  else
    state = call('HGET', root, STATE)
  end
  -- A text becomes a number by arithmetic, which costs half of a tonumber.
  local now_text = in_ms(time)
  local now = now_text + 0
  if not state then return opened_without(root, now, now_text) end
  local clock_text, grants, finished, rest, wake, generation, listen, configured = state:match(FORM)
  if not clock_text then errors.unreadable("the cell's record") end
  local clock = clock_text + 0
  local gap = now - clock
  if gap < 0 then now, now_text, gap = clock, clock_text, 0 end
  local c = { root = root, now = now, now_text = now_text, gap = gap, exists = true, clock = clock, grants = grants + 0,
    finished = finished, rest = rest, wake = wake + 0, generation = generation, listen = listen + 0,
    configured = configured ~= '0', configured_as = configured, settled = 0, counter = counter, count = count }
  -- The settings are another key, and may be read at any time from now on.
  if c.configured then cell.guard(c) end
  return c
end

-- The same as open_unguarded, for everyone else: nothing is read or written in a cell that moves.
function cell.open(root, counter)
  local c = cell.open_unguarded(root, counter)
  cell.guard(c)
  return c
end

-- Writes the state of the cell, with the clock, and whatever other fields of R are given. Who changes wake, generation, listen
-- or configured takes c.rest away.
function cell.save(c, ...)
  local rest = c.rest
  if not rest then
    rest = WHOLE:format(c.wake) .. ' ' .. c.generation .. ' ' .. WHOLE:format(c.listen) .. ' ' .. c.configured_as
    c.rest = rest
  end
  redis.call('HSET', c.root, STATE, c.now_text .. ' ' .. WHOLE:format(c.grants) .. ' ' .. c.finished .. ' ' .. rest, ...)
  c.clock = c.now
end

-- Writes a new cell. The sentinel comes first: whoever finds R finds all of it.
function cell.create(c)
  if c.exists then return end
  redis.call('ZADD', keys.due(c.root), '+inf', cell.SENTINEL)
  cell.save(c, 'schema', SCHEMA, 'grace', '0', 'incarnation', '0', 'class', '0', 'leases', '0', 'tokens', '0', 'reserved', '0',
    'failed', '0', 'expired', '0', 'cancelled', '0', 'released', '0')
  c.exists = true
end

-- A counter of R. The one read or set last is kept.
function cell.counter(c, name)
  if name == 'finished' then return c.finished + 0 end
  if c.counter ~= name then
    c.counter, c.count = name, tonumber(redis.call('HGET', c.root, name) or nil)
  end
  return c.count or 0
end

-- Sets a counter, and with it the clock and whatever else is given.
function cell.set_counter(c, name, value, ...)
  if name == 'finished' then
    c.finished = WHOLE:format(value)
    return cell.save(c, ...)
  end
  cell.save(c, name, WHOLE:format(value), ...)
  c.counter, c.count = name, value
end

-- Notes that the cell saw this call. Calls that write R anyway do it there.
function cell.touch(c)
  if c.clock ~= c.now then cell.save(c) end
  c.gap = 0
end

-- True when the cell saw no call for so long that what looks overdue may only be the outage.
function cell.was_away(c)
  return c.gap > OUTAGE_MS and c.gap > config.value(c, 'heartbeat_ttl_ms') / 2
end

-- Tells those who wait, while someone does: the id of a node that has something to fetch (a job, or a stop),
-- 'ended <job>', or 'event'. It may not fail: a caller without the right to the channel just wakes nobody.
function cell.announce(c, message)
  if c.now < c.listen then cell.publish(c.root, message) end
end

-- The same where it is known that someone waits.
function cell.publish(root, message)
  redis.pcall('SPUBLISH', keys.wake(root), message)
end

-- Has dispatches, stops, ends and events announced from now on for two minutes; a caller who waits asks again within one.
function cell.listen(c)
  if c.listen < c.now + LISTEN_MS / 2 then
    c.listen, c.rest = c.now + LISTEN_MS, nil
    cell.save(c)
  end
end

-- Has the due list looked at by then. It goes before what is due, so it is never too late.
local function wake_at(c, at)
  if at < c.wake then
    c.wake, c.rest = at, nil
    cell.save(c)
  end
end

-- Puts a deadline into the due list unless an earlier one is there.
function cell.due(c, member, at)
  wake_at(c, at)
  redis.call('ZADD', keys.due(c.root), 'LT', WHOLE:format(at), member)
end

-- Replaces a deadline.
function cell.due_at(c, member, at)
  wake_at(c, at)
  redis.call('ZADD', keys.due(c.root), WHOLE:format(at), member)
end

return cell
