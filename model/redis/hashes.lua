-- Hashes. Fields keep the order in which they came, as small hashes do in Redis; large ones have no order there, so rely on none.
--
-- Layout: values[field], order = list of fields, size. A large hash from which fields are deleted also has position[field] = place in
-- order, and `holes` in it: places that are `false` because their field was deleted.

local M = ...

local command, numbers, err = M.command, M.numbers, M.err

-- In a list of this length looking for a field costs less than keeping its place.
local SEARCHED_MAX = 32

local function create(db, key)
  local entry = { type = 'hash', values = {}, order = {}, size = 0 }
  db.keys[key] = entry
  return entry
end

-- Returns whether the field is new.
local function put(hash, field, value)
  local values = hash.values
  local is_new = values[field] == nil
  values[field] = value
  if is_new then
    local order = hash.order
    local place = #order + 1
    order[place] = field
    if hash.position then hash.position[field] = place end
    hash.size = hash.size + 1
  end
  return is_new
end

local function note_positions(hash)
  hash.position, hash.holes = {}, 0
  for i = 1, #hash.order do hash.position[hash.order[i]] = i end
end

local function close_holes(hash)
  local order = {}
  for i = 1, #hash.order do
    if hash.order[i] then order[#order + 1] = hash.order[i] end
  end
  hash.order, hash.position, hash.holes = order, nil, nil
end

local function leave_order(hash, field)
  local order = hash.order
  if not hash.position and #order <= SEARCHED_MAX then
    local place = 1
    while order[place] ~= field do place = place + 1 end
    table.remove(order, place)
    return
  end
  if not hash.position then note_positions(hash) end
  order[hash.position[field]], hash.position[field] = false, nil
  hash.holes = hash.holes + 1
  -- Copying only when half of the list is holes keeps a deletion cheap on average.
  if hash.holes > hash.size then close_holes(hash) end
end

local function remove(hash, field)
  if hash.values[field] == nil then return false end
  hash.values[field] = nil
  hash.size = hash.size - 1
  leave_order(hash, field)
  return true
end

function M.describe.hash(hash, quoted)
  local fields, pieces = {}, {}
  for field in pairs(hash.values) do fields[#fields + 1] = field end
  table.sort(fields)
  for i = 1, #fields do pieces[i] = quoted(fields[i]) .. '=' .. quoted(hash.values[fields[i]]) end
  return pieces
end

-- A command that reads one hash: run(hash, args, n), with `missing` as the reply when there is none.
local function reader(name, arity, missing, run)
  command(name, arity, 'read', function(db, args, n)
    local hash, wrong = db:lookup(args[2], 'hash')
    if wrong then return wrong end
    if not hash then
      if missing == 'empty' then return {} end
      return missing
    end
    return run(hash, args, n)
  end)
end

reader('hget', 3, false, function(hash, args) return hash.values[args[3]] or false end)
reader('hlen', 2, 0, function(hash) return hash.size end)
reader('hexists', 3, 0, function(hash, args) return hash.values[args[3]] and 1 or 0 end)
reader('hstrlen', 3, 0, function(hash, args) return #(hash.values[args[3]] or '') end)

reader('hgetall', 2, 'empty', function(hash)
  local out, n = {}, 0
  for i = 1, #hash.order do
    local field = hash.order[i]
    if field then
      out[n + 1], out[n + 2] = field, hash.values[field]
      n = n + 2
    end
  end
  return out
end)

reader('hkeys', 2, 'empty', function(hash)
  local out = {}
  for i = 1, #hash.order do
    if hash.order[i] then out[#out + 1] = hash.order[i] end
  end
  return out
end)

local NO_VALUES = {}

command('hmget', -3, 'read', function(db, args, n)
  local hash, wrong = db:lookup(args[2], 'hash')
  if wrong then return wrong end
  local values, out = hash and hash.values or NO_VALUES, {}
  for i = 3, n do out[i - 2] = values[args[i]] or false end
  return out
end)

command('hset', -4, 'write', function(db, args, n)
  if n % 2 == 1 then return M.wrong_arity('hset') end
  local hash, wrong = db:lookup(args[2], 'hash')
  if wrong then return wrong end
  hash = hash or create(db, args[2])
  local added = 0
  for i = 3, n, 2 do
    if put(hash, args[i], args[i + 1]) then added = added + 1 end
  end
  return added
end)

command('hsetnx', 4, 'write', function(db, args)
  local hash, wrong = db:lookup(args[2], 'hash')
  if wrong then return wrong end
  if hash and hash.values[args[3]] then return 0 end
  put(hash or create(db, args[2]), args[3], args[4])
  return 1
end)

command('hdel', -3, 'write', function(db, args, n)
  local hash, wrong = db:lookup(args[2], 'hash')
  if wrong then return wrong end
  if not hash then return 0 end
  local removed = 0
  for i = 3, n do
    if remove(hash, args[i]) then removed = removed + 1 end
  end
  db:remove_if_empty(args[2], hash.size)
  return removed
end)

command('hincrby', 4, 'write', function(db, args)
  if not numbers.integer(args[4]) then return M.not_an_integer() end
  local hash, wrong = db:lookup(args[2], 'hash')
  if wrong then return wrong end
  local current = hash and hash.values[args[3]] or '0'
  if not numbers.integer(current) then return err('hash value is not an integer') end
  local sum = numbers.sum(current, args[4])
  if not sum then return err('increment or decrement would overflow') end
  put(hash or create(db, args[2]), args[3], sum)
  return tonumber(sum)
end)
