-- A survey of the nodes by class: how many are in which state, and how many slots they have and use, in all and by pool,
-- pair, model and service; and of the queues. The work is bounded whatever the number of nodes and jobs.

local survey = {}

-- So many classes are looked at, the oldest first.
local CLASSES = 256
-- The nodes of a class with so many or fewer are looked at one by one; of more they are counted by load, in so many steps.
local ONE_BY_ONE = 64
local STEPS = 32

local STATES = { [0] = 'ready', [ready.BUSY] = 'busy', [ready.DRAINING] = 'draining', [ready.OFFLINE] = 'offline' }

local function one_by_one(key, full, counts)
  local page = redis.call('ZRANGE', key, '0', ONE_BY_ONE, 'WITHSCORES')
  for i = 1, #page, 2 do
    if page[i] ~= cell.SENTINEL then
      local score = tonumber(page[i + 1])
      local band = math.floor(score / ready.BAND)
      local load = ready.effective(score)
      local state = band == 0 and load >= full and 'full' or STATES[band]
      counts[state] = counts[state] + 1
      if band < ready.OFFLINE then counts.used = counts.used + math.min(load, full) end
    end
  end
end

-- The sum of all loads is the sum, over each load there can be, of how many nodes have at least that.
local function by_load(key, full, counts)
  local step = math.ceil(full / STEPS)
  for band = 0, ready.OFFLINE do
    local from, to = band * ready.BAND, '(' .. ready.text((band + 1) * ready.BAND)
    local nodes_here = redis.call('ZCOUNT', key, ready.text(from), to)
    counts[STATES[band]] = counts[STATES[band]] + nodes_here
    local load = step
    while nodes_here > 0 and load <= full and band < ready.OFFLINE do
      nodes_here = redis.call('ZCOUNT', key, ready.text(from + load * ready.UNIT), to)
      counts.used = counts.used + nodes_here * step
      load = load + step
    end
    if band == 0 then
      local full_here = redis.call('ZCOUNT', key, ready.text(full * ready.UNIT), to)
      counts.ready, counts.full = counts.ready - full_here, counts.full + full_here
    end
  end
end

-- Adds a class to what is known of one of its names.
local function add(of, name, counts, slots)
  local entry = of[name] or { name = name, nodes = 0, slots = 0, used = 0 }
  of[name] = entry
  entry.nodes, entry.slots, entry.used = entry.nodes + counts.here, entry.slots + slots, entry.used + counts.used
end

local STATE_NAMES = { 'ready', 'full', 'busy', 'draining', 'offline' }

-- The nodes of one class: of those that are not offline, how many, their slots, and how many of these are used.
local function one_class(c, class, max_jobs, states)
  local key = keys.ready(c.root, class)
  local total = math.max(0, redis.call('ZCARD', key) - 1)
  local counts = { ready = 0, full = 0, busy = 0, draining = 0, offline = 0, used = 0 }
  if total <= ONE_BY_ONE then one_by_one(key, max_jobs, counts) else by_load(key, max_jobs, counts) end
  for _, state in ipairs(STATE_NAMES) do states[state] = states[state] + counts[state] end
  counts.here = total - counts.offline
  return counts
end

-- { states, slots, used, pools, pairs, models, services, partial }; the last four by name.
function survey.nodes(c)
  local out = { states = { ready = 0, full = 0, busy = 0, draining = 0, offline = 0 }, slots = 0, used = 0, pools = {},
    pairs = {}, models = {}, services = {} }
  local page = redis.call('ZRANGE', keys.classes(c.root), '0', CLASSES, 'WITHSCORES')
  out.partial = #page / 2 > CLASSES
  for i = 1, math.min(#page, CLASSES * 2), 2 do
    local max_text, pools, language_pairs, labels = page[i]:match('^(%d+)\n[^\n]*\n([^\n]*)\n([^\n]*)\n([^\n]*)$')
    local max_jobs = tonumber(max_text)
    local counts = one_class(c, classes.code(tonumber(page[i + 1]), max_jobs), max_jobs, out.states)
    local slots = counts.here * max_jobs
    out.slots, out.used = out.slots + slots, out.used + counts.used
    for _, pool in ipairs(classes.list(pools)) do add(out.pools, pool, counts, slots) end
    for _, pair in ipairs(classes.list(language_pairs)) do add(out.pairs, pair, counts, slots) end
    for _, label in ipairs(classes.list(labels)) do
      local kind, name = label:match('^(%a+):(.+)$')
      if kind == 'model' then add(out.models, name, counts, slots) end
      if kind == 'service' then add(out.services, name, counts, slots) end
    end
  end
  return out
end

-- The entries of the most nodes, at most so many, in order.
function survey.greatest(of, limit)
  local list = {}
  for _, entry in pairs(of) do list[#list + 1] = entry end
  table.sort(list, function(a, b)
    if a.nodes ~= b.nodes then return a.nodes > b.nodes end
    return a.name < b.name
  end)
  for i = #list, limit + 1, -1 do list[i] = nil end
  return list
end

-- The longest queues, at most so many: { number =, wishes =, pending = }. Of equally long ones the oldest comes first.
function survey.queues(c, limit)
  local page = redis.call('ZRANGE', keys.queues(c.root), '0', queues.MAX - 1, 'WITHSCORES')
  local list = {}
  for i = 1, #page, 2 do
    list[#list + 1] = { number = tonumber(page[i + 1]), wishes = queues.wishes(page[i]) or {},
      pending = redis.call('ZCARD', keys.queue(c.root, page[i + 1])) }
  end
  table.sort(list, function(a, b)
    if a.pending ~= b.pending then return a.pending > b.pending end
    return a.number < b.number
  end)
  for i = #list, limit + 1, -1 do list[i] = nil end
  return list
end

return survey
