-- The keyspace as a row of texts and numbers, to keep it somewhere and to have it again.
--
-- `M.save(db, put)` gives every live key to `put(...)`. `M.load(take_text, take_number)` reads the same row and returns the keys; it raises an error
-- when the row is not one that `save` wrote, and touches no database.

local M = ...

local pairs, sorted = pairs, M.sorted

-- Stands for "no expiry"; a time never is negative.
local NEVER = -1

local save, load = {}, {}

-- How many of something follow. There is at least one: what is empty does not exist.
local function take_count(take_number)
  local count = take_number()
  if not (count >= 1 and count % 1 == 0) then error('a count is not a whole number above zero', 0) end
  return count
end

-- A time, a place or a score, which may be infinite but must be a number.
local function take_value(take_number)
  local value = take_number()
  if value ~= value then error('a number is none', 0) end
  return value
end

function save.string(entry, put)
  put(entry.value)
end

function load.string(take_text)
  return { type = 'string', value = take_text() }
end

function save.hash(hash, put)
  put(hash.size)
  for i = 1, #hash.order do
    local field = hash.order[i]
    if field then put(field, hash.values[field]) end
  end
end

function load.hash(take_text, take_number)
  local size = take_count(take_number)
  local hash = { type = 'hash', values = {}, order = {}, size = size }
  for i = 1, size do
    local field = take_text()
    if hash.values[field] then error('a field comes twice', 0) end
    hash.values[field], hash.order[i] = take_text(), field
  end
  return hash
end

function save.set(set, put)
  put(set.size)
  for member in pairs(set.members) do put(member) end
end

function load.set(take_text, take_number)
  local set = { type = 'set', members = {}, size = take_count(take_number) }
  for _ = 1, set.size do
    local member = take_text()
    if set.members[member] then error('a member comes twice', 0) end
    set.members[member] = true
  end
  return set
end

function save.zset(zset, put)
  local members = sorted.members(zset, 1, zset.size)
  put(#members)
  for i = 1, #members do put(members[i], zset.scores[members[i]]) end
end

function load.zset(take_text, take_number)
  local zset = sorted.new()
  local last, last_score
  for _ = 1, take_count(take_number) do
    local member, score = take_text(), take_value(take_number)
    if last and not (score > last_score or (score == last_score and member > last)) then error('members are not in order', 0) end
    if zset.scores[member] then error('a member comes twice', 0) end
    sorted.append(zset, member, score)
    last, last_score = member, score
  end
  return zset
end

function save.stream(stream, put)
  put(stream.last_ms, stream.last_seq, #stream.nodes - stream.head + 1)
  for i = stream.head, #stream.nodes do
    local node = stream.nodes[i]
    put(node.used, #node)
    for j = 1, #node do
      local entry = node[j]
      put(entry.ms, entry.seq, #entry.fields)
      for k = 1, #entry.fields do put(entry.fields[k]) end
    end
  end
end

local function load_stream_entry(take_text, take_number)
  local entry = { ms = take_value(take_number), seq = take_value(take_number), fields = {} }
  for k = 1, take_count(take_number) do entry.fields[k] = take_text() end
  return entry
end

function load.stream(take_text, take_number)
  local stream = { type = 'stream', nodes = {}, head = 1, length = 0 }
  stream.last_ms, stream.last_seq = take_value(take_number), take_value(take_number)
  -- A stream may have lost all its entries, and a node some of its own.
  for i = 1, take_value(take_number) do
    local node = { used = take_value(take_number) }
    for j = 1, take_value(take_number) do node[j] = load_stream_entry(take_text, take_number) end
    stream.nodes[i] = node
    stream.length = stream.length + #node
  end
  return stream
end

function M.save(db, put)
  for name, entry in pairs(db.keys) do
    if db:is_live(entry) then
      put(entry.type, name, entry.expire_ms or NEVER)
      save[entry.type](entry, put)
    end
  end
  put('end')
end

function M.load(take_text, take_number)
  local keys = {}
  while true do
    local kind = take_text()
    if kind == 'end' then return keys end
    if not load[kind] then error("there is no type '" .. kind .. "'", 0) end
    local name, expire_ms = take_text(), take_value(take_number)
    if keys[name] then error('a key comes twice', 0) end
    keys[name] = load[kind](take_text, take_number)
    if expire_ms ~= NEVER then keys[name].expire_ms = expire_ms end
  end
end
