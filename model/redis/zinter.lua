-- ZINTER: what all of these sorted sets have, in the order of the weighted sums of its scores. A set counts as a sorted one
-- of ones.

local M = ...

local command, numbers, err, sorted = M.command, M.numbers, M.err, M.sorted
local lower = string.lower

-- The keys' weights and whether scores are asked for, or an error.
local function read_options(args, n, count)
  local weights, with_scores = {}, false
  for i = 1, count do weights[i] = 1 end
  local at = 3 + count
  while at <= n do
    local option = lower(args[at])
    if option == 'weights' and at + count <= n then
      for i = 1, count do
        weights[i] = numbers.score(args[at + i])
        if not weights[i] then return nil, err('weight value is not a float') end
      end
      at = at + count + 1
    elseif option == 'withscores' then
      with_scores = true
      at = at + 1
    else
      return nil, M.syntax_error()
    end
  end
  return { weights = weights, with_scores = with_scores }
end

local function ones(set)
  local zset = { list = {}, scores = {} }
  for member in pairs(set.members) do
    zset.list[#zset.list + 1] = member
    zset.scores[member] = 1
  end
  return zset
end

-- Redis calls what is not a number zero.
local function number(value)
  return value == value and value or 0
end

command('zinter', -3, 'read', function(db, args, n)
  local count = numbers.integer(args[2])
  if not count then return err('value is not an integer or out of range') end
  if count < 1 then return err("at least 1 input key is needed for 'zinter' command") end
  if count > n - 2 then return M.syntax_error() end
  local sets, missing = {}, false
  for i = 1, count do
    local entry = db:entry(args[2 + i])
    if entry and entry.type == 'set' then
      sets[i] = ones(entry)
    else
      local zset, wrong = db:lookup(args[2 + i], 'zset')
      if wrong then return wrong end
      sets[i] = zset and { list = sorted.members(zset, 1, zset.size), scores = zset.scores }
    end
    missing = missing or not entry
  end
  local options, unreadable = read_options(args, n, count)
  if unreadable then return unreadable end
  if missing then return {} end
  -- The smallest comes first, which tells with infinities.
  for i, set in ipairs(sets) do set.weight = options.weights[i] end
  table.sort(sets, function(a, b) return #a.list < #b.list end)
  local found, sums = {}, {}
  for _, member in ipairs(sets[1].list) do
    local sum = number(sets[1].scores[member] * sets[1].weight)
    for i = 2, count do
      local score = sets[i].scores[member]
      sum = score and sum and number(sum + score * sets[i].weight)
    end
    if sum then
      found[#found + 1] = member
      sums[member] = sum
    end
  end
  table.sort(found, function(a, b)
    if sums[a] ~= sums[b] then return sums[a] < sums[b] end
    return a < b
  end)
  if not options.with_scores then return found end
  local out = {}
  for i, member in ipairs(found) do out[2 * i - 1], out[2 * i] = member, numbers.format(sums[member]) end
  return out
end)
