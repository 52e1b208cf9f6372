-- Which classes a request fits: the intersection of the class sets of its attributes, cached per request shape under
-- the generation of the class set.

local match = {}

-- Beyond this many classes a request is matched with the first ones only.
local CLASSES_MAX = 512
-- A cache that grows beyond this starts anew.
local SHAPES_MAX = 1000

-- Length-prefixed, so that no two requests share a shape. Labels are taken in the caller's order.
local function shape(req, pool)
  local text = ''
  if pool then text = 'P' .. #pool .. ':' .. pool end
  if req.pair then text = text .. 'L' .. #req.pair .. ':' .. req.pair end
  if req.region then text = text .. 'R' .. #req.region .. ':' .. req.region end
  if req.require then
    for _, label in ipairs(req.require) do text = text .. 'Q' .. #label .. ':' .. label end
  end
  return text
end

-- The attribute sets of a request, as keys; `upto` leaves out what comes after 'pair' or 'region'.
function match.attributes(c, req, pool, upto)
  local out = { keys.attr(c.root, pool and 'pool:' .. pool or 'all') }
  if req.pair then out[#out + 1] = keys.attr(c.root, 'pair:' .. req.pair) end
  if upto == 'pair' then return out end
  if req.region then out[#out + 1] = keys.attr(c.root, 'region:' .. req.region) end
  if upto == 'region' then return out end
  for _, label in ipairs(req.require or {}) do out[#out + 1] = keys.attr(c.root, 'label:' .. label) end
  return out
end

-- The classes in all of these sets, in order.
function match.intersect(c, sets)
  local found = redis.call('SINTER', unpack(sets))
  table.sort(found)
  for i = #found, CLASSES_MAX + 1, -1 do found[i] = nil end
  return found
end

-- The classes that fit, as one string of classes.WIDTH characters each. What was not in the cache is put there by `keep`.
function match.classes(c, req, pool)
  local key, field = keys.match(c.root, c.generation), shape(req, pool)
  local cached = c.matched and c.matched[field] or redis.call('HGET', key, field)
  if cached then return cached end
  local sets = match.attributes(c, req, pool)
  cell.guard(c)
  local joined = table.concat(match.intersect(c, sets))
  c.matched = c.matched or {}
  c.matched[field] = joined
  return joined
end

-- Writes what was found to the cache, once nothing can fail any more.
function match.keep(c)
  local call = redis.call
  local key = keys.match(c.root, c.generation)
  for field, joined in pairs(c.matched or {}) do
    if call('HLEN', key) >= SHAPES_MAX then call('DEL', key) end
    call('HSET', key, field, joined)
  end
end

return match
