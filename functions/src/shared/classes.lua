-- Classes: all nodes with the same pools, pairs, labels, region and max_jobs are one class. Constraints are matched
-- against classes, so that what a request needs is decided once for all nodes that are alike.
--
-- A class is written as 16 digits: its number (10) and its max_jobs (6). R:classes maps the canonical description to
-- the number, R:class:<class> keeps the description, R:attr:<attribute> has the classes with that attribute, and
-- R:attrs lists the attributes there are.

local classes = {}

classes.WIDTH = 16

-- The greatest number that a class can have.
classes.LAST, classes.LAST_TEXT = 9999999999, '9999999999'

-- Whether a class can have a number, given as text.
function classes.is_number(text)
  return cell.is_whole(text) and text + 0 >= 1 and text + 0 <= classes.LAST
end

function classes.code(number, max_jobs)
  return string.format('%010d%06d', number, max_jobs)
end

function classes.max_jobs(class)
  return class:sub(11) + 0
end

-- A sorted list without repeats, as one string; ids have no spaces.
function classes.joined(list)
  local seen, out = {}, {}
  for _, item in ipairs(list or {}) do
    if not seen[item] then
      seen[item] = true
      out[#out + 1] = item
    end
  end
  table.sort(out)
  return table.concat(out, ' ')
end

function classes.list(joined)
  local out = {}
  for item in joined:gmatch('%S+') do out[#out + 1] = item end
  return out
end

-- The same description always gives the same text. Spaces separate the items, line ends the parts.
local function canonical(desc)
  return table.concat({ string.format('%d', desc.max_jobs), desc.region, desc.pools, desc.pairs, desc.labels }, '\n')
end

-- The description that such a text stands for, or nil.
function classes.parse(text)
  local max_jobs, region, pools, pairs, labels = text:match('^(%d+)\n([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$')
  if max_jobs then
    return { max_jobs = tonumber(max_jobs), region = region, pools = pools, pairs = pairs, labels = labels }
  end
end

-- The names of the attribute sets a class belongs to.
function classes.attributes(desc)
  local out = { 'all' }
  if desc.region ~= '' then out[#out + 1] = 'region:' .. desc.region end
  for _, pool in ipairs(classes.list(desc.pools)) do out[#out + 1] = 'pool:' .. pool end
  for _, pair in ipairs(classes.list(desc.pairs)) do out[#out + 1] = 'pair:' .. pair end
  for _, label in ipairs(classes.list(desc.labels)) do out[#out + 1] = 'label:' .. label end
  return out
end

local MAX_JOBS = contract.lockless_register.args[2]

-- A description from what is written of it, in the order max_jobs, region, pools, pairs, labels; nil when that is not all of it, or
-- can't be read.
function classes.described(fields)
  local max_jobs = tonumber(fields[1] or nil)
  if not (max_jobs and fields[2] and fields[3] and fields[4] and fields[5]) then return nil end
  if max_jobs < MAX_JOBS.min or max_jobs > MAX_JOBS.max or max_jobs % 1 > 0 then return nil end
  return { max_jobs = max_jobs, region = fields[2], pools = fields[3], pairs = fields[4], labels = fields[5] }
end

-- The description of a class, nil when it has none.
function classes.read(c, class)
  return classes.described(redis.call('HMGET', keys.class(c.root, class), 'max_jobs', 'region', 'pools', 'pairs', 'labels'))
end

-- Whether a class of this description is one that a request may be given to.
function classes.fits(desc, req)
  local function has(joined, item) return (' ' .. joined .. ' '):find(' ' .. item .. ' ', 1, true) ~= nil end
  if req.pool and not has(desc.pools, req.pool) then return false end
  if req.pair and not has(desc.pairs, req.pair) then return false end
  if req.region and desc.region ~= req.region then return false end
  for _, label in ipairs(req.require or {}) do
    if not has(desc.labels, label) then return false end
  end
  return true
end

-- Finds the class of a description, or plans a new one: { class, new, number, is_drawn }. One that is listed and has no
-- description is one whose creation was interrupted: it is written again.
function classes.plan(c, desc)
  local call = redis.call
  local listed = call('ZSCORE', keys.classes(c.root), canonical(desc))
  if classes.is_number(listed) then
    local class = classes.code(listed, desc.max_jobs)
    return { desc = desc, new = call('EXISTS', keys.class(c.root, class)) == 0, number = listed, class = class, is_drawn = true }
  end
  local last = tonumber(call('HGET', c.root, 'class') or '0')
  if not last or last >= classes.LAST then errors.unreadable('the number of the last class') end
  local number = last + 1
  return { desc = desc, new = true, number = number, class = classes.code(number, desc.max_jobs) }
end

-- Match results are cached under the generation of the class set: a new one starts empty.
function classes.next_generation(c)
  redis.call('DEL', keys.match(c.root, c.generation))
  c.generation, c.rest = string.format('%d', c.generation + 1), nil
  c.matched = nil
  cell.save(c)
end

-- Writes a planned class. Its number is drawn first, so that no other class gets it, and its description comes last: by that it is
-- whole.
function classes.create(c, plan)
  if not plan.new then return end
  local call = redis.call
  local desc = plan.desc
  local number = string.format('%d', plan.number)
  if not plan.is_drawn then call('HSET', c.root, 'class', number) end
  call('ZADD', keys.classes(c.root), number, canonical(desc))
  call('ZADD', keys.ready(c.root, plan.class), '+inf', cell.SENTINEL)
  for _, attr in ipairs(classes.attributes(desc)) do
    call('SADD', keys.attr(c.root, attr), plan.class)
    call('ZADD', keys.attrs(c.root), '0', attr)
  end
  classes.next_generation(c)
  call('HSET', keys.class(c.root, plan.class), 'max_jobs', string.format('%d', desc.max_jobs), 'region', desc.region,
    'pools', desc.pools, 'pairs', desc.pairs, 'labels', desc.labels)
end

-- Deletes a class that has no nodes left. It is listed no more first, so that no node joins what is half gone, and its description goes
-- last: an interrupted deletion can be repeated. The same description may be listed for another class by then.
function classes.drop_if_empty(c, class)
  local call = redis.call
  if call('ZCARD', keys.ready(c.root, class)) > 1 then return end
  local desc = classes.read(c, class)
  if not desc then return end
  local text = canonical(desc)
  local listed = tonumber(call('ZSCORE', keys.classes(c.root), text) or nil)
  if listed and classes.code(listed, desc.max_jobs) == class then call('ZREM', keys.classes(c.root), text) end
  for _, attr in ipairs(classes.attributes(desc)) do
    call('SREM', keys.attr(c.root, attr), class)
    if call('EXISTS', keys.attr(c.root, attr)) == 0 then call('ZREM', keys.attrs(c.root), attr) end
  end
  classes.next_generation(c)
  call('DEL', keys.ready(c.root, class), keys.fits(c.root, class), keys.class(c.root, class))
end

classes.canonical = canonical

return classes
