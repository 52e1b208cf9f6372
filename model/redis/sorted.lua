-- How a sorted set is kept: members in the order of (score, member bytes), in chunks of limited size.
--
-- Layout: scores[member] = number; size = how many there are; chunks = lists of members, in order, none of them empty unless it is
-- the only one. A change shifts one chunk, so it costs about the same in a set of ten and of a hundred thousand. A place is a
-- position in the whole, counted from 1.

local M = ...

local insert, remove = table.insert, table.remove

local CHUNK_MAX = 128

local sorted = {}
M.sorted = sorted

function sorted.new()
  return { type = 'zset', scores = {}, size = 0, chunks = { {} } }
end

-- The chunk, and the offset in it, of the first element that is not before (score, member); past the last chunk's end when all are.
local function locate(zset, score, member)
  local chunks, scores = zset.chunks, zset.scores
  local low, high = 1, #chunks
  while low < high do
    local middle = (low + high) / 2
    middle = middle - middle % 1
    local chunk = chunks[middle]
    local last = chunk[#chunk]
    local last_score = scores[last]
    if last_score < score or (last_score == score and last < member) then low = middle + 1 else high = middle end
  end
  local chunk = chunks[low]
  local first, after = 1, #chunk + 1
  while first < after do
    local middle = (first + after) / 2
    middle = middle - middle % 1
    local other = chunk[middle]
    local other_score = scores[other]
    if other_score < score or (other_score == score and other < member) then first = middle + 1 else after = middle end
  end
  return low, first
end

local function split(chunks, number)
  local chunk, upper = chunks[number], {}
  local keep = math.floor(#chunk / 2)
  for i = keep + 1, #chunk do
    upper[i - keep], chunk[i] = chunk[i], nil
  end
  insert(chunks, number + 1, upper)
end

local function drop_if_empty(chunks, number)
  if #chunks[number] == 0 and #chunks > 1 then remove(chunks, number) end
end

-- Puts the small remains of two neighbours together, so that the number of chunks follows the number of members.
local function join_if_small(chunks, number)
  local chunk, neighbour = chunks[number], chunks[number + 1]
  if not neighbour or #chunk + #neighbour > CHUNK_MAX / 2 then return end
  local size = #chunk
  for i = 1, #neighbour do chunk[size + i] = neighbour[i] end
  remove(chunks, number + 1)
end

local function add(zset, member, score)
  local number, offset = locate(zset, score, member)
  local chunk = zset.chunks[number]
  insert(chunk, offset, member)
  zset.scores[member] = score
  if #chunk > CHUNK_MAX then split(zset.chunks, number) end
end

local function take(zset, member, number, offset)
  local chunks = zset.chunks
  remove(chunks[number], offset)
  zset.scores[member] = nil
  if #chunks[number] < CHUNK_MAX / 4 then
    drop_if_empty(chunks, number)
    if chunks[number] then join_if_small(chunks, number) end
  end
end

-- Whether a member can get another score and stay where it is.
local function stays(zset, member, score, number, offset)
  local chunk, scores = zset.chunks[number], zset.scores
  local before, after = chunk[offset - 1], chunk[offset + 1]
  if not before or not after then return false end
  local low, high = scores[before], scores[after]
  return (low < score or (low == score and before < member)) and (high > score or (high == score and after > member))
end

-- Adds a member or changes its score.
function sorted.put(zset, member, score)
  local current = zset.scores[member]
  if not current then
    add(zset, member, score)
    zset.size = zset.size + 1
  elseif current ~= score then
    local number, offset = locate(zset, current, member)
    if stays(zset, member, score, number, offset) then
      zset.scores[member] = score
    else
      take(zset, member, number, offset)
      add(zset, member, score)
    end
  end
end

-- Returns whether the member was there.
function sorted.take_out(zset, member)
  local score = zset.scores[member]
  if not score then return false end
  take(zset, member, locate(zset, score, member))
  zset.size = zset.size - 1
  return true
end

-- How many members are in the chunks before this one.
local function size_before(zset, number)
  local size = 0
  for i = 1, number - 1 do size = size + #zset.chunks[i] end
  return size
end

-- The place of a member; it must be there.
function sorted.place(zset, member)
  local number, offset = locate(zset, zset.scores[member], member)
  return size_before(zset, number) + offset
end

-- How many elements come first for which is_below(member, score, key, inclusive) holds; it must hold for none after one for which it does not.
function sorted.count_below(zset, is_below, key, inclusive)
  local chunks, scores = zset.chunks, zset.scores
  local low, high = 1, #chunks
  while low < high do
    local middle = (low + high) / 2
    middle = middle - middle % 1
    local chunk = chunks[middle]
    local last = chunk[#chunk]
    if is_below(last, scores[last], key, inclusive) then low = middle + 1 else high = middle end
  end
  local chunk = chunks[low]
  local first, after = 1, #chunk + 1
  while first < after do
    local middle = (first + after) / 2
    middle = middle - middle % 1
    local other = chunk[middle]
    if is_below(other, scores[other], key, inclusive) then first = middle + 1 else after = middle end
  end
  return size_before(zset, low) + first - 1
end

-- The members of the places first..last, in order.
function sorted.members(zset, first, last)
  local out, n = {}, 0
  local chunks = zset.chunks
  local number, before = 1, 0
  while number < #chunks and before + #chunks[number] < first do
    before = before + #chunks[number]
    number = number + 1
  end
  local offset = first - before
  for _ = first, last do
    if offset > #chunks[number] then
      number, offset = number + 1, 1
    end
    n = n + 1
    out[n] = chunks[number][offset]
    offset = offset + 1
  end
  return out
end

-- Removes the places first..last and returns how many there were.
function sorted.cut(zset, first, last)
  local gone = sorted.members(zset, first, last)
  for i = 1, #gone do sorted.take_out(zset, gone[i]) end
  return #gone
end

-- Adds a member that comes after all others.
function sorted.append(zset, member, score)
  local chunks = zset.chunks
  local chunk = chunks[#chunks]
  -- Full chunks would split at the next insertion.
  if #chunk >= CHUNK_MAX / 2 then
    chunk = {}
    chunks[#chunks + 1] = chunk
  end
  chunk[#chunk + 1] = member
  zset.scores[member] = score
  zset.size = zset.size + 1
end
