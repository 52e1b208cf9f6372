-- Which classes a request fits: the intersection of the class sets of its attributes, cached per request shape under
-- the generation of the class set.

local match = {}

-- A request looks at so many classes at most; of more, a page at a time, another one with each grant.
match.PAGE = 512
-- A cache that grows beyond this starts anew.
local SHAPES_MAX = 1000

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
  return found
end

local function page_field(field, page)
  return string.format('%d', page) .. '#' .. field
end

-- Resolves a shape: one field with all classes or, with more than a page of them, 'N' and the number of pages, and a
-- field for each page. They are put into the cache by `keep`.
local function resolve(c, req, pool, field)
  cell.guard(c)
  local found = match.intersect(c, match.attributes(c, req, pool))
  c.matched = c.matched or {}
  if #found <= match.PAGE then
    c.matched[field] = table.concat(found)
    return
  end
  local pages = math.ceil(#found / match.PAGE)
  local size = math.ceil(#found / pages)
  c.matched[field] = 'N' .. pages
  for page = 0, pages - 1 do
    local first = page * size + 1
    c.matched[page_field(field, page)] = table.concat(found, '', first, math.min(#found, first + size - 1))
  end
end

local function lookup(c, field)
  return c.matched and c.matched[field] or redis.call('HGET', keys.match(c.root, c.generation), field)
end

-- Where to start among so many: spread, so that neither a rhythm of requests nor a refusal, after which nothing has
-- changed but the time, always meets the same start.
function match.start(c, total)
  return (c.grants + c.now) % 2097152 * 2654435761 % 4294967296 % total
end

-- The classes that fit, as one string of classes.WIDTH characters each, and on how many pages they stand. `further` asks
-- for the page so many after the one to start with.
function match.classes(c, req, pool, further)
  local field = shapes.text(req, pool)
  local found = lookup(c, field)
  if not found then
    resolve(c, req, pool, field)
    found = lookup(c, field)
  end
  -- 'N' and a number is shorter than a class.
  if #found % classes.WIDTH == 0 then return found, 1 end
  local pages = tonumber(found:sub(2))
  return lookup(c, page_field(field, (match.start(c, pages) + (further or 0)) % pages)), pages
end

-- Writes what was found to the cache, once nothing can fail any more.
function match.keep(c)
  if not c.matched then return end
  local call = redis.call
  local key = keys.match(c.root, c.generation)
  if call('HLEN', key) >= SHAPES_MAX then call('DEL', key) end
  for field, joined in pairs(c.matched) do call('HSET', key, field, joined) end
end

return match
