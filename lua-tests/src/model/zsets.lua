-- Sorted sets: storage, scores, additions and removals by name. Ranges are in zranges.lua.
--
-- Layout: scores[member] = number; list = the members in the order of (score, member bytes). A look-up by name costs one access,
-- one by place a binary search, a change one shift of the list.

local M = ...

local command, numbers, err = M.command, M.numbers, M.err
local insert, remove = table.insert, table.remove
local lower = string.lower

local zsets = {}
M.zsets = zsets

function M.describe.zset(zset, quoted)
  local pieces = {}
  for i = 1, #zset.list do
    pieces[i] = quoted(zset.list[i]) .. '=' .. numbers.format(zset.scores[zset.list[i]])
  end
  return pieces
end

-- The first place whose element is not before (score, member).
local function place_of(zset, score, member)
  local list, scores = zset.list, zset.scores
  local low, high = 1, #list + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = list[middle]
    local other_score = scores[other]
    if other_score < score or (other_score == score and other < member) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Where a member stands, counted from 1; the member must be there.
function zsets.rank(zset, member)
  return place_of(zset, zset.scores[member], member)
end

-- A member that moves shifts only what stands between its old and its new place: most scores change by little.
local function move(zset, member, current, score)
  local list = zset.list
  local from, to = place_of(zset, current, member), place_of(zset, score, member)
  if score > current then
    to = to - 1
    for i = from, to - 1 do list[i] = list[i + 1] end
  else
    for i = from, to + 1, -1 do list[i] = list[i - 1] end
  end
  list[to] = member
end

local function put(zset, member, score)
  local current = zset.scores[member]
  if not current then
    insert(zset.list, place_of(zset, score, member), member)
  elseif current ~= score then
    move(zset, member, current, score)
  end
  zset.scores[member] = score
end

function zsets.take_out(zset, member)
  local score = zset.scores[member]
  if not score then return false end
  remove(zset.list, place_of(zset, score, member))
  zset.scores[member] = nil
  return true
end

-- Removes the places first..last in one pass and returns how many there were.
function zsets.cut(zset, first, last)
  local list, scores = zset.list, zset.scores
  local count, size = last - first + 1, #zset.list
  if count <= 0 then return 0 end
  for i = first, last do scores[list[i]] = nil end
  for i = first, size do list[i] = list[i + count] end
  return count
end

local OPTIONS = { nx = true, xx = true, gt = true, lt = true, ch = true, incr = true }

-- What one pair does to the set: 'added', 'updated', 'same' or 'skipped', and the resulting score; nil when that is not a number.
local function outcome(current, score, options)
  if not current then return options.xx and 'skipped' or 'added', score end
  if options.nx then return 'skipped', current end
  if options.incr then
    score = current + score
    if score ~= score then return nil end
  end
  if (options.lt and score >= current) or (options.gt and score <= current) then return 'skipped', current end
  return score == current and 'same' or 'updated', score
end

local function zadd(db, args, n, first, options)
  local pairs_count = (n - first + 1) / 2
  if pairs_count < 1 or pairs_count % 1 ~= 0 then return M.syntax_error() end
  if options.nx and options.xx then return err('XX and NX options at the same time are not compatible') end
  if (options.gt and options.nx) or (options.lt and options.nx) or (options.gt and options.lt) then
    return err('GT, LT, and/or NX options at the same time are not compatible')
  end
  if options.incr and pairs_count > 1 then return err('INCR option supports a single increment-element pair') end
  local scores = {}
  for i = first, n, 2 do
    scores[i] = numbers.score(args[i])
    if not scores[i] then return err('value is not a valid float') end
  end
  local key = args[2]
  local zset, wrong = db:lookup(key, 'zset')
  if wrong then return wrong end
  if not zset then
    if options.xx then
      if options.incr then return false end
      return 0
    end
    zset = { type = 'zset', scores = {}, list = {} }
    db.keys[key] = zset
  end
  local added, updated, last_score = 0, 0, false
  for i = first, n, 2 do
    local member = args[i + 1]
    local what, score = outcome(zset.scores[member], scores[i], options)
    if not what then return err('resulting score is not a number (NaN)') end
    if what == 'added' or what == 'updated' then put(zset, member, score + 0) end
    if what == 'added' then added = added + 1 end
    if what == 'updated' then updated = updated + 1 end
    if what ~= 'skipped' then last_score = numbers.format(score + 0) end
  end
  if options.incr then return last_score end
  return options.ch and added + updated or added
end

command('zadd', -4, 'write', function(db, args, n)
  local options, first = {}, 3
  while first <= n and OPTIONS[lower(args[first])] do
    options[lower(args[first])] = true
    first = first + 1
  end
  return zadd(db, args, n, first, options)
end)

command('zincrby', 4, 'write', function(db, args, n)
  return zadd(db, args, n, 3, { incr = true })
end)

command('zrem', -3, 'write', function(db, args, n)
  local zset, wrong = db:lookup(args[2], 'zset')
  if wrong then return wrong end
  if not zset then return 0 end
  local removed = 0
  for i = 3, n do
    if zsets.take_out(zset, args[i]) then removed = removed + 1 end
  end
  db:remove_if_empty(args[2], #zset.list)
  return removed
end)

local function score_of(zset, member)
  local score = zset and zset.scores[member]
  return score and numbers.format(score) or false
end

command('zscore', 3, 'read', function(db, args)
  local zset, wrong = db:lookup(args[2], 'zset')
  if wrong then return wrong end
  return score_of(zset, args[3])
end)

command('zmscore', -3, 'read', function(db, args, n)
  local zset, wrong = db:lookup(args[2], 'zset')
  if wrong then return wrong end
  local out = {}
  for i = 3, n do out[i - 2] = score_of(zset, args[i]) end
  return out
end)

command('zcard', 2, 'read', function(db, args)
  local zset, wrong = db:lookup(args[2], 'zset')
  if wrong then return wrong end
  return zset and #zset.list or 0
end)

command('zrank', 3, 'read', function(db, args)
  local zset, wrong = db:lookup(args[2], 'zset')
  if wrong then return wrong end
  if not zset or not zset.scores[args[3]] then return false end
  return zsets.rank(zset, args[3]) - 1
end)

command('zpopmin', -2, 'write', function(db, args, n)
  if n > 3 then return M.syntax_error() end
  local count = 1
  if n == 3 then
    count = numbers.integer(args[3])
    if not count or count < 0 then return err('value is out of range, must be positive') end
  end
  local zset, wrong = db:lookup(args[2], 'zset')
  if wrong then return wrong end
  if not zset then return {} end
  local out = {}
  local last = math.min(count, #zset.list)
  for i = 1, last do
    out[2 * i - 1], out[2 * i] = zset.list[i], numbers.format(zset.scores[zset.list[i]])
  end
  zsets.cut(zset, 1, last)
  db:remove_if_empty(args[2], #zset.list)
  return out
end)
