-- Ranges of sorted sets: by place, by score, by name. Every range is first turned into the places it covers.

local M = ...

local command, numbers, err, sorted = M.command, M.numbers, M.err, M.sorted
local lower, sub = string.lower, string.sub

local NOT_A_FLOAT = 'min or max is not a float'
local NOT_A_LEX_ITEM = 'min or max not valid string range item'

-- A parsed range is a function from a sorted set to its first and last place; nil with an error when it can not be read.

local function by_rank(from, to)
  from, to = numbers.integer(from), numbers.integer(to)
  if not from or not to then return nil, M.not_an_integer() end
  return function(zset, reverse)
    local size = zset.size
    local first, last = from, to
    if first < 0 then first = math.max(size + first, 0) end
    if last < 0 then last = size + last end
    last = math.min(last, size - 1)
    if first > last then return 1, 0 end
    if reverse then return size - last, size - first end
    return first + 1, last + 1
  end
end

local function score_is_below(_, score, bound, inclusive)
  return score < bound or (inclusive and score == bound)
end

local function by_score(min, max)
  local low, low_exclusive = numbers.bound(min)
  local high, high_exclusive = numbers.bound(max)
  if not low or not high then return nil, err(NOT_A_FLOAT) end
  return function(zset)
    local first = sorted.count_below(zset, score_is_below, low, low_exclusive) + 1
    return first, sorted.count_below(zset, score_is_below, high, not high_exclusive)
  end
end

-- One end of a name range: 'below', 'above' everything, or 'in'/'ex' with the name.
local function lex_end(text)
  if text == '-' then return 'below' end
  if text == '+' then return 'above' end
  local sign = sub(text, 1, 1)
  if sign == '[' then return 'in', sub(text, 2) end
  if sign == '(' then return 'ex', sub(text, 2) end
  return nil
end

local function name_is_below(member, _, bound, inclusive)
  return member < bound or (inclusive and member == bound)
end

local function by_lex(min, max)
  local low_kind, low = lex_end(min)
  local high_kind, high = lex_end(max)
  if not low_kind or not high_kind then return nil, err(NOT_A_LEX_ITEM) end
  return function(zset)
    -- An empty range is told before the search, because both searches rest on the low end being below the high one.
    if low_kind == 'above' or high_kind == 'below' then return 1, 0 end
    local first, last = 1, zset.size
    if low_kind ~= 'below' then first = sorted.count_below(zset, name_is_below, low, low_kind == 'ex') + 1 end
    if high_kind ~= 'above' then last = sorted.count_below(zset, name_is_below, high, high_kind == 'in') end
    return first, last
  end
end

local PARSERS = { rank = by_rank, score = by_score, lex = by_lex }

-- Cuts places down to LIMIT offset count. A negative offset leaves nothing, a negative count is no limit.
local function limited(first, last, options)
  if not options.offset then return first, last end
  if options.offset < 0 then return 1, 0 end
  if options.reverse then
    last = last - options.offset
    if options.count >= 0 then first = math.max(first, last - options.count + 1) end
  else
    first = first + options.offset
    if options.count >= 0 then last = math.min(last, first + options.count - 1) end
  end
  return first, last
end

-- Reads the options from args[5] on into `options`, which may already fix the kind of range and the direction.
local function read_options(args, n, options)
  local i = 5
  while i <= n do
    local option = lower(args[i])
    if option == 'withscores' then
      options.withscores = true
    elseif option == 'limit' and i + 2 <= n then
      options.offset, options.count = numbers.integer(args[i + 1]), numbers.integer(args[i + 2])
      if not options.offset or not options.count then return M.not_an_integer() end
      i = i + 2
    elseif option == 'rev' and options.reverse == nil then
      options.reverse = true
    elseif option == 'bylex' and not options.kind then
      options.kind = 'lex'
    elseif option == 'byscore' and not options.kind then
      options.kind = 'score'
    else
      return M.syntax_error()
    end
    i = i + 1
  end
  options.kind = options.kind or 'rank'
  if options.kind == 'rank' then
    -- A count of -1 is what Redis takes for "no LIMIT given".
    if options.count and options.count ~= -1 then
      return err('syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX')
    end
    options.offset = nil
  end
  if options.withscores and options.kind == 'lex' then
    return err('syntax error, WITHSCORES not supported in combination with BYLEX')
  end
  return nil
end

local function listed(zset, first, last, options)
  local members = sorted.members(zset, first, last)
  if not options.reverse and not options.withscores then return members end
  local out, n = {}, 0
  local from, to, step = 1, #members, 1
  if options.reverse then from, to, step = #members, 1, -1 end
  for i = from, to, step do
    local member = members[i]
    n = n + 1
    out[n] = member
    if options.withscores then
      n = n + 1
      out[n] = numbers.format(zset.scores[member])
    end
  end
  return out
end

local function range_command(name, kind, reverse)
  command(name, -4, 'read', function(db, args, n)
    local options = { kind = kind, reverse = reverse }
    local wrong = read_options(args, n, options)
    if wrong then return wrong end
    local from, to = args[3], args[4]
    if options.reverse and options.kind ~= 'rank' then from, to = to, from end
    local places, unreadable = PARSERS[options.kind](from, to)
    if unreadable then return unreadable end
    local zset, wrong_type = db:lookup(args[2], 'zset')
    if wrong_type then return wrong_type end
    if not zset then return {} end
    local first, last = places(zset, options.reverse)
    first, last = limited(first, last, options)
    return listed(zset, first, last, options)
  end)
end
range_command('zrange', nil, nil)
range_command('zrevrange', 'rank', true)
range_command('zrangebyscore', 'score', false)
range_command('zrevrangebyscore', 'score', true)
range_command('zrangebylex', 'lex', false)

-- A command `name key min max` that replies with a number; `use` makes it of the set and its places.
local function counting(name, mode, kind, use)
  command(name, 4, mode, function(db, args)
    local places, unreadable = PARSERS[kind](args[3], args[4])
    if unreadable then return unreadable end
    local zset, wrong = db:lookup(args[2], 'zset')
    if wrong then return wrong end
    if not zset then return 0 end
    local first, last = places(zset)
    return use(db, args[2], zset, first, last)
  end)
end

local function count(_, _, _, first, last)
  return math.max(last - first + 1, 0)
end

local function remove(db, key, zset, first, last)
  local removed = sorted.cut(zset, first, last)
  db:remove_if_empty(key, zset.size)
  return removed
end

counting('zcount', 'read', 'score', count)
counting('zlexcount', 'read', 'lex', count)
counting('zremrangebyscore', 'write', 'score', remove)
counting('zremrangebyrank', 'write', 'rank', remove)
