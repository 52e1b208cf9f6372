-- lockless_snapshot
--
-- Writes what a dashboard shows to R:snapshot, for a minute, and returns it: nodes by state, slots and their use in all and
-- by pool, jobs, how often sessions were bound, the rates of these since the snapshot before, the longest queues, languages,
-- models and services with their nodes, why nodes take no work, and what it was in the snapshots before. One that is less than
-- a second old is returned as it is. Slots and nodes of lists are those of nodes that are not offline. Jobs that are pending
-- wait in a queue or, delayed, for their time. Rows of the history are at least five seconds apart, the newest last, and the
-- numbers of jobs in it are counters.
--
-- Reply:  JSON
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  14 with one class of up to 64 nodes; at most 103 per class, and 256 classes; 1 per queue, and 1000 queues

local KEPT_MS, YOUNG_MS = 60000, 1000
-- Without another snapshot for so long there are no rates.
local COUNTED_FROM_MS = 120000
local LISTED = 64
-- The history is for a chart of some ten minutes.
local HISTORY_STEP_MS, HISTORY_ROWS = 5000, 120

local COUNTERS = { 'reserved', 'failed', 'expired', 'cancelled', 'released', 'submitted', 'started',
  'retried', 'requeued', 'withdrawn', 'leases' }

-- The counters by name, and as one line with the time.
local function counters(c)
  local values = redis.call('HMGET', c.root, unpack(COUNTERS))
  local out = { grants = c.grants, finished = cell.counter(c, 'finished') }
  for i, name in ipairs(COUNTERS) do out[name] = tonumber(values[i] or '0') end
  out.dispatched = out.grants - out.reserved - out.started
  out.bound = out.leases
  out.live = out.grants + out.withdrawn - out.requeued - out.finished - out.failed - out.expired - out.cancelled -
    out.released
  out.pending = out.submitted + out.retried + out.requeued - out.started - out.withdrawn
  return out
end

-- What is kept of a snapshot: the time, these counters, and then these levels. One of an older library has fewer of them.
local RATED = { 'dispatched', 'finished', 'failed', 'expired', 'cancelled', 'submitted', 'started', 'bound' }
local LEVELS = { 'live', 'pending', 'slots', 'used' }

local function line(c, counts)
  local out = { c.now_text }
  for _, name in ipairs(RATED) do out[#out + 1] = string.format('%d', counts[name]) end
  for _, name in ipairs(LEVELS) do out[#out + 1] = string.format('%d', counts[name]) end
  return table.concat(out, ' ')
end

-- The lines of the snapshots before, the newest first, and the numbers of that one. In front of the others the newest stays
-- only if it is far enough from them.
local function earlier(text)
  local lines, before = {}, nil
  for one in (text or ''):gmatch('[^\n]+') do lines[#lines + 1] = one end
  if lines[1] then
    before = {}
    for number in lines[1]:gmatch('%d+') do before[#before + 1] = tonumber(number) end
    if lines[2] and before[1] - tonumber(lines[2]:match('^%d+')) < HISTORY_STEP_MS then table.remove(lines, 1) end
  end
  for i = #lines, HISTORY_ROWS, -1 do lines[i] = nil end
  return lines, before
end

-- The lines as rows of numbers, the oldest first; those of another library's form are left out.
local function history(lines)
  local columns, rows = { '"ts"' }, {}
  for _, names in ipairs({ RATED, LEVELS }) do
    for _, name in ipairs(names) do columns[#columns + 1] = json.string(name) end
  end
  for i = #lines, 1, -1 do
    local row, count = lines[i]:gsub(' ', ',')
    if count == #columns - 1 then rows[#rows + 1] = '[' .. row .. ']' end
  end
  return json.object({ 'columns', json.array(columns), 'rows', json.array(rows) })
end

local function rates(c, before, counts)
  local out = {}
  local seconds = before and before[1] < c.now and (c.now - before[1]) / 1000
  for i, name in ipairs(RATED) do
    out[#out + 1] = name .. '_per_s'
    out[#out + 1] = seconds and before[i + 1] and json.number((counts[name] - before[i + 1]) / seconds) or 'null'
  end
  return json.object(out)
end

local function named(key, of)
  local out = {}
  for i, entry in ipairs(survey.greatest(of, LISTED)) do
    out[i] = json.object({ key, json.string(entry.name), 'nodes', json.number(entry.nodes), 'slots',
      json.number(entry.slots), 'used', json.number(entry.used) })
  end
  return json.array(out)
end

local function text_or_null(text)
  return text and json.string(text) or 'null'
end

local function longest_queues(c)
  local out = {}
  for i, queue in ipairs(survey.queues(c, LISTED)) do
    local wishes, labels = queue.wishes, {}
    for n, label in ipairs(wishes.require or {}) do labels[n] = json.string(label) end
    out[i] = json.object({ 'pool', text_or_null(wishes.pool), 'pair', text_or_null(wishes.pair),
      'region', text_or_null(wishes.region), 'labels', json.array(labels), 'pending', json.number(queue.pending) })
  end
  return json.array(out)
end

local REASONS = { capacity = 'full', resource = 'busy', draining = 'draining', offline = 'offline' }

-- Why nodes take no work, the reason of the most first.
local function exclusions(states)
  local of, out = {}, {}
  for reason, state in pairs(REASONS) do
    if states[state] > 0 then of[reason] = { name = reason, nodes = states[state] } end
  end
  for i, entry in ipairs(survey.greatest(of, LISTED)) do
    out[i] = json.object({ 'reason', json.string(entry.name), 'nodes', json.number(entry.nodes) })
  end
  return json.array(out)
end

local function numbers(of, names)
  local out = {}
  for _, name in ipairs(names) do
    out[#out + 1] = name
    out[#out + 1] = json.number(of[name])
  end
  return json.object(out)
end

local function snapshot(root)
  local call = redis.call
  local c = cell.open(root)
  settle.first(c)
  local before_key, key = keys.snapshot_before(root), keys.snapshot(root)
  local lines, before = earlier(call('GET', before_key))
  local stored = before and before[1] > c.now - YOUNG_MS and call('GET', key)
  if stored then return stored end

  local counts, seen = counters(c), survey.nodes(c)
  counts.dead_letters = call('ZCARD', keys.failed(root))
  counts.delayed = call('ZCARD', keys.delayed(root))
  counts.slots, counts.used = seen.slots, seen.used
  seen.states.total = call('ZCARD', keys.nodes(root))
  table.insert(lines, 1, line(c, counts))
  local text = json.object({
    'cell', json.string(root), 'ts', json.number(c.now), 'since_ts', before and json.number(before[1]) or 'null',
    'nodes', numbers(seen.states, { 'total', 'ready', 'full', 'busy', 'draining', 'offline' }),
    'slots', json.number(seen.slots), 'used', json.number(seen.used), 'pools', named('pool', seen.pools),
    'jobs', numbers(counts, { 'live', 'dispatched', 'reserved', 'submitted', 'started', 'pending', 'delayed', 'finished',
      'failed', 'expired', 'cancelled', 'released', 'dead_letters' }),
    'sessions', numbers(counts, { 'bound' }), 'rates', rates(c, before, counts), 'queues', longest_queues(c), 'languages', named('pair', seen.pairs),
    'models', named('model', seen.models),
    'services', named('service', seen.services), 'exclusions', exclusions(seen.states),
    'partial', seen.partial and 'true' or 'false', 'history', history(lines),
  })
  if not c.exists then return text end

  -- first write
  call('SET', key, text, 'PXAT', string.format('%d', c.now + KEPT_MS))
  call('SET', before_key, table.concat(lines, '\n'), 'PXAT', string.format('%d', c.now + COUNTED_FROM_MS))
  cell.touch(c)
  return text
end

return snapshot
