-- Sorted sets: scores, additions and removals by name. Ranges are in zranges.lua, the order of members is kept by sorted.lua.

local M = ...

local command, numbers, err, sorted = M.command, M.numbers, M.err, M.sorted
local lower, read_score = string.lower, M.numbers.score

function M.describe.zset(zset, quoted)
  local pieces = sorted.members(zset, 1, zset.size)
  for i = 1, #pieces do pieces[i] = quoted(pieces[i]) .. '=' .. numbers.format(zset.scores[pieces[i]]) end
  return pieces
end

-- As they are mostly written, so that the case need not be changed first.
local OPTIONS = { NX = 'nx', XX = 'xx', GT = 'gt', LT = 'lt', CH = 'ch', INCR = 'incr' }
for _, option in ipairs({ 'nx', 'xx', 'gt', 'lt', 'ch', 'incr' }) do OPTIONS[option] = option end
local NO_OPTIONS = {}

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
  -- All are read before the first is used; the one of a single pair, which is usual, needs no list.
  local score_first, scores = read_score(args[first]), nil
  if not score_first then return err('value is not a valid float') end
  if pairs_count > 1 then
    scores = {}
    for i = first + 2, n, 2 do
      scores[i] = read_score(args[i])
      if not scores[i] then return err('value is not a valid float') end
    end
  end
  local key = args[2]
  local zset, wrong = db:lookup(key, 'zset')
  if wrong then return wrong end
  if not zset then
    if options.xx then
      if options.incr then return false end
      return 0
    end
    zset = sorted.new()
    db.keys[key] = zset
  end
  local added, updated, last_score = 0, 0, false
  for i = first, n, 2 do
    local member = args[i + 1]
    local what, score = outcome(zset.scores[member], i == first and score_first or scores[i], options)
    if not what then return err('resulting score is not a number (NaN)') end
    if what == 'added' or what == 'updated' then sorted.put(zset, member, score + 0) end
    if what == 'added' then added = added + 1 end
    if what == 'updated' then updated = updated + 1 end
    if what ~= 'skipped' then last_score = score + 0 end
  end
  if options.incr then return last_score and numbers.format(last_score) end
  return options.ch and added + updated or added
end

command('zadd', -4, 'write', function(db, args, n)
  local options, first = NO_OPTIONS, 3
  while first <= n do
    local option = OPTIONS[args[first]] or OPTIONS[lower(args[first])]
    if not option then break end
    if first == 3 then options = {} end
    options[option] = true
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
    if sorted.take_out(zset, args[i]) then removed = removed + 1 end
  end
  db:remove_if_empty(args[2], zset.size)
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
  return zset and zset.size or 0
end)

command('zrank', 3, 'read', function(db, args)
  local zset, wrong = db:lookup(args[2], 'zset')
  if wrong then return wrong end
  if not zset or not zset.scores[args[3]] then return false end
  return sorted.place(zset, args[3]) - 1
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
  local members = sorted.members(zset, 1, math.min(count, zset.size))
  for i = 1, #members do
    out[2 * i - 1], out[2 * i] = members[i], numbers.format(zset.scores[members[i]])
  end
  sorted.cut(zset, 1, #members)
  db:remove_if_empty(args[2], zset.size)
  return out
end)
