-- A call's view of its cell: the record R, the clock, the counters, and the list of deadlines.
--
-- R is a hash: schema, clock (the last time the cell saw), wake (no deadline in the due list is earlier),
-- configured, grants (slots ever given), generation (of the class set), listen (someone waits until then),
-- grace (nothing is overdue until then), incarnation, class, leases, tokens and queues (the last ones drawn), and one
-- counter per outcome. What counts jobs from the queue (tries.lua) is there once there was one.

local cell = {}

-- Deadlines nearer than this are in the due list; those further off are put there by the node's heartbeats, which
-- look twice within it. So it is also more than any heartbeat_ttl_ms.
cell.HORIZON_MS = 3600000

-- Longer than 64 bytes, so that the sorted set that holds it never has the encoding whose cost grows with its size,
-- and no key of that kind ever empties. It has a space, so it is no id.
cell.SENTINEL = '~ sentinel: keeps this sorted set alive and in its skiplist encoding ~'

cell.NEVER = 9007199254740991

-- An outage shorter than this is no outage.
local OUTAGE_MS = 10000

-- The clock in R may lag by so much: calls that have nothing else to write there leave it alone for that long.
cell.SEEN_MS = 1000

-- Someone who waits is remembered for so long.
local LISTEN_MS = 120000

local WHOLE = '%d'
local SCHEMA = about.schema .. ''

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

-- Reads the clock and R. `counter` is the one counter the caller is about to change. A caller on the way of every job
-- may open the cell unguarded: it must then guard before it writes a key that it has not found here, and before any
-- answer that rests on something being absent.
function cell.open_unguarded(root, counter)
  local call = redis.call
  local time = call('TIME')
  local r
  if counter then
    r = call('HMGET', root, 'schema', 'clock', 'wake', 'configured', 'grants', 'generation', 'listen', counter)
  else
    r = call('HMGET', root, 'schema', 'clock', 'wake', 'configured', 'grants', 'generation', 'listen')
  end
  -- Microseconds come without leading zeros.
  local micros = time[2]
  local now_text = time[1] .. (#micros == 6 and micros or ('00000' .. micros):sub(-6)):sub(1, 3)
  local now = tonumber(now_text)
  if not r[1] then
    local c = { root = root, now = now, now_text = now_text, gap = 0, wake = cell.NEVER, grants = 0, generation = '0',
      listen = 0, settled = 0 }
    cell.guard(c)
    return c
  end
  if r[1] ~= SCHEMA then
    errors.fail('SCHEMA_MISMATCH', 'the cell has schema ' .. errors.shown(r[1]) .. ', this library has ' .. SCHEMA ..
      ': deploy the library that wrote it')
  end
  local clock = tonumber(r[2])
  local gap = now - clock
  if gap < 0 then now, now_text, gap = clock, r[2], 0 end
  local c = { root = root, now = now, now_text = now_text, gap = gap, exists = true, clock = clock, wake = tonumber(r[3]),
    configured = r[4] == '1', grants = tonumber(r[5]), generation = r[6], listen = tonumber(r[7]), settled = 0,
    counter = counter, count = counter and tonumber(r[8] or nil) }
  -- The settings are another key, and may be read at any time from now on.
  if c.configured then cell.guard(c) end
  return c
end

-- The same, for everyone else: nothing is read or written in a cell that moves.
function cell.open(root, counter)
  local c = cell.open_unguarded(root, counter)
  cell.guard(c)
  return c
end

-- Writes a new cell. The sentinel comes first: whoever finds R finds all of it.
function cell.create(c)
  if c.exists then return end
  local call = redis.call
  call('ZADD', keys.due(c.root), '+inf', cell.SENTINEL)
  call('HSET', c.root, 'schema', SCHEMA, 'clock', c.now_text, 'wake', WHOLE:format(cell.NEVER),
    'configured', '0', 'grants', '0', 'generation', '0', 'listen', '0', 'grace', '0', 'incarnation', '0', 'class', '0',
    'leases', '0', 'tokens', '0', 'reserved', '0', 'finished', '0', 'failed', '0', 'expired', '0', 'cancelled', '0',
    'released', '0')
  c.exists, c.clock = true, c.now
end

-- A counter of R. The one read or set last is kept.
function cell.counter(c, name)
  if c.counter ~= name then
    c.counter, c.count = name, tonumber(redis.call('HGET', c.root, name) or nil)
  end
  return c.count or 0
end

-- Sets a counter, and with it the clock and whatever else is given.
function cell.set_counter(c, name, value, ...)
  redis.call('HSET', c.root, 'clock', c.now_text, name, WHOLE:format(value), ...)
  c.counter, c.count = name, value
end

-- Notes that the cell saw this call. Calls that write R anyway do it there.
function cell.touch(c)
  if c.clock ~= c.now then redis.call('HSET', c.root, 'clock', c.now_text) end
  c.gap, c.clock = 0, c.now
end

-- True when the cell saw no call for so long that what looks overdue may only be the outage.
function cell.was_away(c)
  return c.gap > OUTAGE_MS and c.gap > config.value(c, 'heartbeat_ttl_ms') / 2
end

-- Tells those who wait, while someone does: the id of a node that has something to fetch (a job, or a stop),
-- 'ended <job>', or 'event'. It may not fail: a caller without the right to the channel just wakes nobody.
function cell.announce(c, message)
  if c.now < c.listen then redis.pcall('SPUBLISH', keys.wake(c.root), message) end
end

-- Has dispatches, stops, ends and events announced from now on for two minutes; a caller who waits asks again within one.
function cell.listen(c)
  if c.listen < c.now + LISTEN_MS / 2 then
    c.listen = c.now + LISTEN_MS
    redis.call('HSET', c.root, 'clock', c.now_text, 'listen', WHOLE:format(c.listen))
    c.clock = c.now
  end
end

-- Puts a deadline into the due list unless an earlier one is there. R.wake goes first, so it is never too late.
function cell.due(c, member, at)
  local text = WHOLE:format(at)
  if at < c.wake then
    redis.call('HSET', c.root, 'wake', text)
    c.wake = at
  end
  redis.call('ZADD', keys.due(c.root), 'LT', text, member)
end

-- Replaces a deadline.
function cell.due_at(c, member, at)
  local text = WHOLE:format(at)
  if at < c.wake then
    redis.call('HSET', c.root, 'wake', text)
    c.wake = at
  end
  redis.call('ZADD', keys.due(c.root), text, member)
end

return cell
