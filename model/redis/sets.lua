-- Sets. Redis gives members in no order; here lists of members are sorted.

local M = ...

local command, numbers, err = M.command, M.numbers, M.err
local lower = string.lower

local function sorted(members)
  local out = {}
  for member in pairs(members) do out[#out + 1] = member end
  table.sort(out)
  return out
end

function M.describe.set(set, quoted)
  local members = sorted(set.members)
  for i = 1, #members do members[i] = quoted(members[i]) end
  return members
end

command('sadd', -3, 'write', function(db, args, n)
  local set, wrong = db:lookup(args[2], 'set')
  if wrong then return wrong end
  if not set then
    set = { type = 'set', members = {}, size = 0 }
    db.keys[args[2]] = set
  end
  local before = set.size
  for i = 3, n do
    if not set.members[args[i]] then
      set.members[args[i]] = true
      set.size = set.size + 1
    end
  end
  return set.size - before
end)

command('srem', -3, 'write', function(db, args, n)
  local set, wrong = db:lookup(args[2], 'set')
  if wrong then return wrong end
  if not set then return 0 end
  local before = set.size
  for i = 3, n do
    if set.members[args[i]] then
      set.members[args[i]] = nil
      set.size = set.size - 1
    end
  end
  db:remove_if_empty(args[2], set.size)
  return before - set.size
end)

command('scard', 2, 'read', function(db, args)
  local set, wrong = db:lookup(args[2], 'set')
  if wrong then return wrong end
  return set and set.size or 0
end)

command('sismember', 3, 'read', function(db, args)
  local set, wrong = db:lookup(args[2], 'set')
  if wrong then return wrong end
  return set and set.members[args[3]] and 1 or 0
end)

command('smismember', -3, 'read', function(db, args, n)
  local set, wrong = db:lookup(args[2], 'set')
  if wrong then return wrong end
  local out = {}
  for i = 3, n do out[i - 2] = set and set.members[args[i]] and 1 or 0 end
  return out
end)

command('smembers', 2, 'read', function(db, args)
  local set, wrong = db:lookup(args[2], 'set')
  if wrong then return wrong end
  return set and sorted(set.members) or {}
end)

-- The members that all sets args[first..last] share, up to a limit (0 = none), as a table of members. Every key is checked for its
-- type, also when an earlier one is missing.
local function intersection(db, args, first, last, limit)
  local sets, smallest, missing = {}, nil, false
  for i = first, last do
    local set, wrong = db:lookup(args[i], 'set')
    if wrong then return nil, wrong end
    if not set then
      missing = true
    else
      sets[#sets + 1] = set
      if not smallest or set.size < smallest.size then smallest = set end
    end
  end
  local shared, count = {}, 0
  if missing then return shared, nil, 0 end
  for member in pairs(smallest.members) do
    local everywhere = true
    for i = 1, #sets do
      if not sets[i].members[member] then
        everywhere = false
        break
      end
    end
    if everywhere then
      shared[member] = true
      count = count + 1
      if count == limit then break end
    end
  end
  return shared, nil, count
end

command('sinter', -2, 'read', function(db, args, n)
  local shared, wrong = intersection(db, args, 2, n, 0)
  if wrong then return wrong end
  return sorted(shared)
end)

command('sintercard', -3, 'read', function(db, args, n)
  local keys = numbers.integer(args[2])
  if not keys or keys < 1 then return err('numkeys should be greater than 0') end
  if keys > n - 2 then return err("Number of keys can't be greater than number of args") end
  local limit = 0
  local i = keys + 3
  while i <= n do
    if lower(args[i]) ~= 'limit' or i == n then return M.syntax_error() end
    limit = numbers.integer(args[i + 1])
    if not limit or limit < 0 then return err("LIMIT can't be negative") end
    i = i + 2
  end
  local _, wrong, count = intersection(db, args, 3, keys + 2, limit)
  if wrong then return wrong end
  return count
end)
