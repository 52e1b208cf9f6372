-- When keys expire, and the removal of those nobody asks for any more.
--
-- Redis looks for expired keys now and then. Here every call that may write removes the first few whose time has passed, so that work
-- is bounded and the same calls always remove the same keys. Calls that only read remove nothing.
--
-- Layout: a heap of the keys that will expire, the earliest first: due_keys[i] and due_ms[i], and entry.due_at = its place.

local M = ...

local Database = M.Database
local floor = math.floor

-- More than any function of the library makes in one call on its common path, so that they go at least as fast as they come.
local REMOVED_PER_CALL = 16

local function put_at(db, place, key, ms)
  db.due_keys[place], db.due_ms[place] = key, ms
  db.keys[key].due_at = place
end

local function sift_up(db, place, key, ms)
  local due_keys, due_ms = db.due_keys, db.due_ms
  while place > 1 do
    local parent = floor(place / 2)
    if due_ms[parent] <= ms then break end
    put_at(db, place, due_keys[parent], due_ms[parent])
    place = parent
  end
  put_at(db, place, key, ms)
end

local function sift_down(db, place, key, ms)
  local due_keys, due_ms = db.due_keys, db.due_ms
  local size = #due_keys
  while true do
    local child = place * 2
    if child > size then break end
    if child < size and due_ms[child + 1] < due_ms[child] then child = child + 1 end
    if due_ms[child] >= ms then break end
    put_at(db, place, due_keys[child], due_ms[child])
    place = child
  end
  put_at(db, place, key, ms)
end

local function place_again(db, place, key, ms)
  if place > 1 and db.due_ms[floor(place / 2)] > ms then
    sift_up(db, place, key, ms)
  else
    sift_down(db, place, key, ms)
  end
end

local function leave_heap(db, entry)
  local due_keys, due_ms = db.due_keys, db.due_ms
  local place, size = entry.due_at, #due_keys
  local last_key, last_ms = due_keys[size], due_ms[size]
  due_keys[size], due_ms[size], entry.due_at = nil, nil, nil
  if place < size then place_again(db, place, last_key, last_ms) end
end

-- Sets when a key that is there expires; nil is never.
function Database:set_expiry(key, entry, expire_ms)
  entry.expire_ms = expire_ms
  if not expire_ms then
    if entry.due_at then leave_heap(self, entry) end
  elseif entry.due_at then
    place_again(self, entry.due_at, key, expire_ms)
  else
    sift_up(self, #self.due_keys + 1, key, expire_ms)
  end
end

-- Stores an entry under a name, in place of what may be there.
function Database:store(key, entry, expire_ms)
  local before = self.keys[key]
  if before and before.due_at then leave_heap(self, before) end
  self.keys[key] = entry
  if expire_ms then self:set_expiry(key, entry, expire_ms) end
end

-- Removes a key that is there.
function Database:remove(key)
  local entry = self.keys[key]
  if entry.due_at then leave_heap(self, entry) end
  self.keys[key] = nil
end

-- Removes some keys whose time has passed.
function Database:remove_overdue()
  local due_ms = self.due_ms
  local earliest = due_ms[1]
  if not earliest then return end
  local now = self:now_ms()
  for _ = 1, REMOVED_PER_CALL do
    earliest = due_ms[1]
    if not earliest or earliest >= now then return end
    self:remove(self.due_keys[1])
  end
end

-- Takes these entries by name for its keyspace.
function Database:adopt(keys)
  self.keys, self.due_keys, self.due_ms = keys, {}, {}
  for key, entry in pairs(keys) do
    entry.due_at = nil
    if entry.expire_ms then sift_up(self, #self.due_keys + 1, key, entry.expire_ms) end
  end
end
