-- Chooses the node for a request: the lowest effective / max_jobs among the matching nodes, equal ones in turn.
-- A request is the arguments of dispatch, explain and bind: session, pair, pool, region, require. Its session's record is
-- req.remembered; a session that is bound has one node to choose.

local choose = {}

-- Up to so many classes all heads are compared; of more a sample, which moves on with every grant.
local SAMPLE = 8
-- So many overdue nodes are settled on the way to one that is there.
local TRIES = 16
-- So many classes are counted for the sentence of a refusal.
local COUNTED = 64
-- So many overdue nodes a reader takes into account.
local OVERDUE = 127

local SENTINEL, UNIT, WIDTH = cell.SENTINEL, ready.UNIT, classes.WIDTH

-- The first node of a class and its score, nil when it has no room. A reader passes over nodes that are overdue.
local function head(c, key, class)
  local overdue = c.overdue
  local page = redis.call('ZRANGE', key, '0', overdue and OVERDUE or '0', 'WITHSCORES')
  local at = 1
  while overdue and overdue[page[at]] do at = at + 2 end
  local node = page[at]
  if not node or node == SENTINEL then return nil end
  local score = page[at + 1] + 0
  if score < classes.max_jobs(class) * UNIT then return node, score end
end

-- The best head among `count` classes of the list from the `first` one on, around its end; nil when none has room.
local function best_of(c, list, total, first, count)
  local best, best_load, best_used
  for i = first, first + count - 1 do
    local at = (i % total) * WIDTH
    local class = list:sub(at + 1, at + WIDTH)
    local key = keys.ready(c.root, class)
    local node, score = head(c, key, class)
    if node then
      local used = score % UNIT
      local load = (score - used) / classes.max_jobs(class)
      if not best or load < best_load or (load == best_load and used < best_used) then
        best, best_load, best_used = { class = class, key = key, node = node, score = score }, load, used
      end
    end
  end
  return best
end

local function best(c, list)
  local total = #list / WIDTH
  if total <= SAMPLE then return best_of(c, list, total, 0, total) end
  local first = match.start(c, total)
  local found = best_of(c, list, total, first, SAMPLE)
  local seen = SAMPLE
  while not found and seen < total do
    found = best_of(c, list, total, first + seen, math.min(SAMPLE, total - seen))
    seen = seen + SAMPLE
  end
  return found
end

-- The best of a request's classes; of more than a page, pages are gone through until one has room or enough were seen.
local function search(c, req, pool)
  local list, pages = match.classes(c, req, pool)
  if #list == WIDTH and pages == 1 then
    -- A single class is the common case: there is nothing to compare.
    local key = keys.ready(c.root, list)
    local node, score = head(c, key, list)
    if node then return { class = list, key = key, node = node, score = score, pool = pool, is_only = true } end
    return nil
  end
  local found, seen = best(c, list), #list / WIDTH
  for further = 1, pages - 1 do
    if found or seen >= match.PAGE then break end
    list = match.classes(c, req, pool, further)
    found, seen = best(c, list), seen + #list / WIDTH
  end
  if found then found.pool = pool end
  return found
end

local function find_once(c, req)
  if req.pool then return search(c, req, req.pool) end
  local remembered = req.remembered
  return remembered and search(c, req, remembered.pool) or search(c, req)
end

-- { class, key (of its ready index), node, score, pool, is_only (no other class fits) } or nil. The pool is the one asked for, else the session's while it serves the request
-- and has room; nil when any other was taken.
function choose.any(c, req)
  if not c.exists then return nil end
  if not c.backlog or c.readonly then return find_once(c, req) end
  for _ = 1, TRIES do
    local found = find_once(c, req)
    if not found or not settle.is_overdue_node(c, found.node) then return found end
  end
end

-- The node of a lease, the same way; in_seat says that the job takes no further slot. When the node can't take it,
-- req.unable says why. What the node says of itself counts, not whether it drains or is over a threshold.
local function bound(c, req, lease)
  local node = lease.node
  local rt = nodes.read(c, node)
  local desc = nodes.description(c, node, rt)
  if not classes.fits(desc, req) then
    req.unable = 'does not fit'
    return nil
  end
  if rt.flags:find('o', 1, true) then
    req.unable = 'is offline'
    return nil
  end
  local key = keys.ready(c.root, rt.class)
  local score = tonumber(redis.call('ZSCORE', key, node) or nil)
  local in_seat = lease.rider == leases.EMPTY
  if not in_seat and not score then
    req.unable = 'is changing its labels'
    return nil
  end
  if not in_seat and ready.effective(score) >= classes.max_jobs(rt.class) then
    req.unable = 'is full'
    return nil
  end
  local remembered = { pool = req.remembered.pool }
  local pool = req.pool or classes.fits(desc, remembered) and remembered.pool or desc.pools:match('^%S+')
  return { class = rt.class, key = key, node = node, score = score, pool = pool, in_seat = in_seat }
end

-- The same for a session, which may be bound: then req.binding is its lease, and no other node will do.
function choose.node(c, req)
  if not c.exists then return nil end
  local remembered
  if req.sticky then
    remembered, req.sticky = sessions.unpack(req.sticky), nil
  else
    remembered = sessions.read_sticky(c, req.session)
  end
  req.remembered = remembered
  if req.binding then req.binding = nil end
  if remembered and remembered.lease then
    cell.guard(c)
    req.binding = settle.lease(c, req.session, remembered)
    if req.binding then return bound(c, req, req.binding) end
  end
  return choose.any(c, req)
end

-- For readers, who settle nothing: the nodes that the next write call would find lost.
function choose.note_overdue(c)
  if not settle.is_due(c) then return end
  c.overdue = {}
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', keys.due(c.root), '-inf', c.now_text, 'LIMIT', '0', OVERDUE)) do
    local rt = member:sub(1, 1) == 'n' and nodes.read(c, member:sub(2))
    if rt and not nodes.is_lost(rt) and rt.until_ms <= c.now then c.overdue[member:sub(2)] = rt.class end
  end
end

-- Adds the nodes of a class to the counts: how many are out, and for which reason first.
local function count_class(c, class, counts)
  local call = redis.call
  local key = keys.ready(c.root, class)
  local full = classes.max_jobs(class) * ready.UNIT
  local function between(from, to)
    return call('ZCOUNT', key, ready.text(from), '(' .. ready.text(to))
  end
  local all = math.max(0, call('ZCARD', key) - 1)
  local open = between(0, full)
  local capacity = between(full, ready.BAND)
  counts.matching = counts.matching + all
  counts.available = counts.available + open
  counts.capacity = counts.capacity + capacity
  if open + capacity < all then
    local resource = between(ready.BUSY * ready.BAND, ready.DRAINING * ready.BAND)
    local draining = between(ready.DRAINING * ready.BAND, ready.OFFLINE * ready.BAND)
    counts.resource = counts.resource + resource
    counts.draining = counts.draining + draining
    counts.offline = counts.offline + all - open - capacity - resource - draining
  end
end

-- Counts an overdue node as offline instead of what its place in the ready index says.
local function recount_overdue(c, node, class, counts)
  local score = tonumber(redis.call('ZSCORE', keys.ready(c.root, class), node) or '0')
  local band = math.floor(score / ready.BAND)
  if band == ready.OFFLINE then return end
  local full = score >= classes.max_jobs(class) * ready.UNIT
  local counted = band == ready.DRAINING and 'draining' or band == ready.BUSY and 'resource' or full and 'capacity' or
    'available'
  counts[counted] = counts[counted] - 1
  counts.offline = counts.offline + 1
end

-- Counts the matching nodes by state.
function choose.count(c, req, limit)
  local list, pages = match.classes(c, req, req.pool)
  local total = #list / classes.WIDTH
  local counts = { matching = 0, available = 0, capacity = 0, resource = 0, draining = 0, offline = 0,
    partial = pages > 1 or total > limit }
  local seen = {}
  for i = 0, math.min(total, limit) - 1 do
    local class = list:sub(i * classes.WIDTH + 1, (i + 1) * classes.WIDTH)
    seen[class] = true
    count_class(c, class, counts)
  end
  for node, class in pairs(c.overdue or {}) do
    if seen[class] then recount_overdue(c, node, class, counts) end
  end
  return counts
end

-- How many nodes there are in the classes that have all these attributes; `out.partial` when not all were counted.
local function nodes_with(c, sets, out)
  local nodes_found, found = 0, match.intersect(c, sets)
  if #found > match.PAGE then out.partial = true end
  for i = 1, math.min(#found, match.PAGE) do
    nodes_found = nodes_found + math.max(0, redis.call('ZCARD', keys.ready(c.root, found[i])) - 1)
  end
  return nodes_found
end

-- How many nodes do not match, and for which reason first. `considered` are those of the pool asked for, else all.
function choose.excluded(c, req)
  local call = redis.call
  local considered = req.pool and call('SCARD', keys.members(c.root, req.pool)) or call('ZCARD', keys.nodes(c.root))
  local out = { considered = considered }
  local with_pair = req.pair and nodes_with(c, match.attributes(c, req, req.pool, 'pair'), out) or considered
  local with_region = req.region and nodes_with(c, match.attributes(c, req, req.pool, 'region'), out) or with_pair
  local with_labels = req.require and nodes_with(c, match.attributes(c, req, req.pool), out) or with_region
  out.pair, out.region, out.label = considered - with_pair, with_pair - with_region, with_region - with_labels
  return out
end

-- The error of a request that found no node.
function choose.refuse(c, req)
  local call = redis.call
  local lang, members = keys.lang(c.root, req.pair or ''), keys.members(c.root, req.pool or '')
  cell.guard(c)
  match.keep(c)
  if req.pair and call('EXISTS', lang) == 0 then
    errors.fail('NO_POOL_FOR_LANG_PAIR', 'no registered node serves ' .. errors.shown(req.pair:gsub(':', '->')))
  end
  if req.pool and call('EXISTS', members) == 0 then
    errors.fail('EMPTY_POOL', 'the pool ' .. errors.shown(req.pool) .. ' has no registered node')
  end
  if not c.exists then errors.fail('NO_AVAILABLE_NODE', 'no node is registered in this cell') end
  if req.binding then
    errors.fail('NO_AVAILABLE_NODE', 'bound: the session is bound to node ' .. errors.shown(req.binding.node) ..
      ', which ' .. req.unable)
  end
  local counts = choose.count(c, req, COUNTED)
  if counts.matching == 0 then
    local out = choose.excluded(c, req)
    errors.fail('NO_AVAILABLE_NODE', 'no node matches; of ' .. out.considered .. ' considered' ..
      (out.partial and ', counted in part' or '') .. ': pair ' .. out.pair .. ', region ' .. out.region .. ', label ' ..
      out.label)
  end
  errors.fail('NO_AVAILABLE_NODE', 'no node can take it now; of ' .. counts.matching ..
    (counts.partial and ' or more' or '') .. ' that match: offline ' .. counts.offline .. ', draining ' ..
    counts.draining .. ', resource ' .. counts.resource .. ', capacity ' .. counts.capacity)
end

return choose
