-- Mends classes and what is found by their attributes: what audit_classes names.

local mend_classes = {}

-- A set of more members is not gone through, but made anew: each of its nodes is then found to be missing, and put back.
local WALKED = 10000

-- What is cached, also by sessions, was found with sets that were wrong. Once a call is enough: nothing is matched meanwhile.
local function forget_matches(c)
  if not c.has_forgotten then classes.next_generation(c) end
  c.has_forgotten = true
end

-- The description that a class is listed with, or nil.
local function listed(c, class)
  local number = string.format('%d', tonumber(class:sub(1, 10) or nil) or 0)
  local text = redis.call('ZRANGEBYSCORE', keys.classes(c.root), number, number)[1]
  local desc = text and classes.parse(text)
  if desc and classes.code(number, desc.max_jobs) == class then return desc, text end
end

-- The classes there are by their descriptions, read once in a call, however many entries ask.
local function by_description(c)
  if c.described then return c.described end
  c.described = {}
  for _, class in ipairs(redis.call('SINTER', keys.attr(c.root, 'all'))) do
    local desc = class:find('^%d+$') and #class == classes.WIDTH and classes.read(c, class)
    if desc then c.described[classes.canonical(desc)] = class end
  end
  return c.described
end

-- An entry that describes nothing, or whose number is lost: it has that of the class which is so described, or goes.
function mend_classes.relist(c, text)
  local call = redis.call
  local class = by_description(c)[text]
  local desc = class and classes.read(c, class)
  if desc and classes.canonical(desc) == text then
    call('ZADD', keys.classes(c.root), string.format('%d', class:sub(1, 10)), text)
  else
    call('ZREM', keys.classes(c.root), text)
  end
end

-- Writes the description of a class as it is listed, if it is, unless it is listed by a number that another class of this description does
-- not have. Returns the description it has then.
function mend_classes.describe(c, class)
  local desc, text = listed(c, class)
  local found = classes.read(c, class)
  if desc and not found and by_description(c)[text] then
    mend_classes.relist(c, text)
    return nil
  end
  if not desc or (found and classes.canonical(found) == text) then return found end
  redis.call('HSET', keys.class(c.root, class), 'max_jobs', string.format('%d', desc.max_jobs), 'region', desc.region,
    'pools', desc.pools, 'pairs', desc.pairs, 'labels', desc.labels)
  return desc
end

function mend_classes.sentinel(c, class)
  redis.call('ZADD', keys.ready(c.root, class), '+inf', cell.SENTINEL)
end

function mend_classes.drop(c, class)
  classes.drop_if_empty(c, class)
end

-- Puts a class into the set of an attribute it has.
function mend_classes.add(c, class, attr)
  redis.call('SADD', keys.attr(c.root, attr), class)
  redis.call('ZADD', keys.attrs(c.root), '0', attr)
  forget_matches(c)
end

-- Takes out a class that does not have it.
function mend_classes.remove(c, class, attr)
  redis.call('SREM', keys.attr(c.root, attr), class)
  forget_matches(c)
end

function mend_classes.list_attribute(c, attr)
  redis.call('ZADD', keys.attrs(c.root), '0', attr)
end

function mend_classes.unlist_attribute(c, attr)
  if redis.call('EXISTS', keys.attr(c.root, attr)) == 0 then redis.call('ZREM', keys.attrs(c.root), attr) end
end

-- Takes a node that is not of the class out of its ready index.
function mend_classes.remove_stranger(c, class, node)
  local rt = nodes.read(c, node)
  if not rt or rt.class ~= class then redis.call('ZREM', keys.ready(c.root, class), node) end
end

-- Takes those out of a pool's members that are not; those that are missing are named one by one.
function mend_classes.members(c, pool)
  local call = redis.call
  local key = keys.members(c.root, pool)
  if call('SCARD', key) > WALKED then return call('DEL', key) end
  for _, node in ipairs(call('SINTER', key)) do
    if not deployments.is_in_pool(c, node, pool) then call('SREM', key, node) end
  end
end

function mend_classes.count_pair(c, pair, pool)
  index.recount(c, pair, pool)
end

-- What is mended by what its causes say: every one of them is named as well.
function mend_classes.by_its_causes() end

return mend_classes
