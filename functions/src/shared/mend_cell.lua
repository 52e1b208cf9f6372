-- Mends the cell's record, its settings, its cache and its counters: what audit_cell names. Every mend looks again at what it
-- mends, because another one may have mended it, and can be made again.

local mend_cell = {}

local WHOLE = '%d'

function mend_cell.schema(c)
  redis.call('HSET', c.root, 'schema', about.schema)
end

-- The greatest number that a class has. It has ten digits, so that the time is none. One that is listed for no class may be damaged as well.
local function last_class(c)
  local call = redis.call
  local rank = call('ZCOUNT', keys.classes(c.root), '-inf', classes.LAST_TEXT) - 1
  while rank >= 0 do
    local text, number = unpack(call('ZRANGE', keys.classes(c.root), rank, rank, 'WITHSCORES'))
    local desc = classes.is_number(number) and classes.parse(text)
    if desc and call('EXISTS', keys.class(c.root, classes.code(number, desc.max_jobs))) == 1 then return tonumber(number) end
    rank = rank - 1
  end
  return 0
end

-- What becomes of a number that can't be read. Those that are drawn must never be drawn again: the time in ms is beyond all that
-- were. After a record without a clock nothing is overdue for a while, as after an outage.
local NUMBERS = {
  clock = function(c) return c.now end,
  grace = function(c) return c.now + config.value(c, 'heartbeat_ttl_ms') end,
  class = last_class,
}
NUMBERS.incarnation, NUMBERS.generation, NUMBERS.leases = NUMBERS.clock, NUMBERS.clock, NUMBERS.clock
NUMBERS.tokens, NUMBERS.queues, NUMBERS.deployments = NUMBERS.clock, NUMBERS.clock, NUMBERS.clock

local IN_STATE = {}
for i = 1, #cell.NUMBERS do IN_STATE[cell.NUMBERS[i]] = true end

function mend_cell.number(c, name)
  local value = NUMBERS[name] and NUMBERS[name](c) or 0
  if not IN_STATE[name] then
    redis.call('HSET', c.root, name, WHOLE:format(value))
    if c.counter == name then c.counter = nil end
    return
  end
  if name == 'configured' then
    config.changed(c)
  elseif name == 'generation' or name == 'finished' then
    c[name] = WHOLE:format(value)
  elseif name ~= 'clock' then
    c[name] = value
  end
  c.rest = nil
  if name == 'clock' then cell.save(c, 'grace', WHOLE:format(NUMBERS.grace(c))) else cell.save(c) end
end

function mend_cell.sentinel(c)
  redis.call('ZADD', keys.due(c.root), '+inf', cell.SENTINEL)
end

-- A name among others that are in the order of the names.
function mend_cell.listed(_, key, name)
  redis.call('ZADD', key, 'XX', '0', name)
end

-- Looked at by the next call, which finds out when the first deadline is.
function mend_cell.wake(c)
  c.wake, c.rest = 0, nil
  cell.save(c)
end

function mend_cell.go_on_reindexing(c)
  cell.due_at(c, 'w', c.now)
end

-- One that is not valid is as if it had never been changed.
function mend_cell.setting(c, name)
  redis.call('HDEL', keys.config(c.root), name)
  mend_cell.number(c, 'configured')
end

function mend_cell.cached(c, shape)
  redis.call('HDEL', keys.match(c.root, c.generation), shape)
end

local COUNTED = { 'failed', 'expired', 'cancelled', 'released', 'requeued', 'withdrawn', 'submitted', 'retried',
  'started' }

-- Balances the counters by counting up: which one is wrong can't be known, and a number that was counted is never given
-- again. A try nobody knows of was lost, a job that neither waits nor was started was withdrawn, one that was granted and is
-- neither live nor ended has expired.
function mend_cell.counters(c)
  local n, written = { grants = c.grants, finished = cell.counter(c, 'finished') }, {}
  for i, value in ipairs(redis.call('HMGET', c.root, unpack(COUNTED))) do n[COUNTED[i]] = tonumber(value or nil) or 0 end
  local function raise(name, by)
    if by <= 0 then return end
    n[name] = n[name] + by
    if name == 'grants' then return end
    written[#written + 1] = name
    written[#written + 1] = WHOLE:format(n[name])
  end
  local ends = 0
  for _, kind in ipairs(work.ENDS) do
    local name = 'tries_' .. kind
    n[name] = tonumber(redis.call('HGET', c.root, name) or nil) or 0
    ends = ends + n[name]
  end
  raise('tries_lost', n.started - ends - c.tries)
  raise('started', ends + c.tries - n.started)
  local queued, used = n.submitted + n.retried + n.requeued, c.waiting + n.started + n.withdrawn
  raise('submitted', used - queued)
  raise('withdrawn', queued - used)
  local ended = n.finished + n.failed + n.expired + n.cancelled + n.released + n.requeued + c.live
  raise('grants', math.max(ended - n.withdrawn, c.last_grant) - n.grants)
  raise('expired', n.grants + n.withdrawn - ended)
  if #written > 0 or n.grants > c.grants then
    c.grants = n.grants
    cell.save(c, unpack(written))
  end
  c.counter = nil
end

return mend_cell
