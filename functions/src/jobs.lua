-- lockless_jobs state cursor count
--
-- A page of jobs in one state: pending (by queue, in order, then those whose time has not come), dispatched and running (by
-- node), failed, expired, cancelled (by age).
--
-- Reply:  [next cursor, [job, ...]]; a page may be short and yet not be the last: the cursor is 0 after it
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  4 (2 more after the first page); for dispatched and running 1 more per node looked at, at most 101 a page, for
--         pending 1 more per queue, at most 101

local NODES_A_PAGE, QUEUES_A_PAGE = 100, 100

local BOUNDS = { dispatched = { '-inf', '(20000000000000' }, running = { '20000000000000', '(30000000000000' } }

-- A cursor of live jobs is ':', a node, a space and how many of its jobs were given; one of ended jobs ':', a score, a
-- space and the entry given last; one of pending jobs the same after the queue's number, or d for those that wait for their
-- time, and a space.
local function validate(arg)
  if arg.cursor == '0' then return end
  if BOUNDS[arg.state] then
    arg.node, arg.given = arg.cursor:match('^:(%S+) (%d+)$')
  elseif arg.state == 'pending' then
    arg.queue, arg.given, arg.entry = arg.cursor:match('^:(%w+) (%d+) (%S+)$')
    if arg.queue and arg.queue ~= 'd' and not arg.queue:find('^%d+$') or #(arg.queue or '') > 16 then arg.given = nil end
  else
    arg.given, arg.entry = arg.cursor:match('^:(%d+) (%S+)$')
  end
  if not arg.given or #arg.given > 16 then pages.bad_cursor(arg.cursor) end
end

-- Live jobs stand in the slots of the nodes.
local function live(c, arg)
  local bounds, count = BOUNDS[arg.state], arg.count
  local out = {}
  local names, next_names = pages.names(keys.nodes(c.root), arg.node and ':' .. arg.node or '0', NODES_A_PAGE)
  if arg.node then table.insert(names, 1, arg.node) end
  for i, name in ipairs(names) do
    local from = i == 1 and tonumber(arg.given) or 0
    local page = redis.call('ZRANGEBYSCORE', keys.slots(c.root, name), bounds[1], bounds[2], 'LIMIT', from, count - #out)
    for _, member in ipairs(page) do out[#out + 1] = member:sub(2) end
    if #out >= count then return out, ':' .. name .. ' ' .. string.format('%d', from + #page) end
  end
  if next_names == '0' then return out, '0' end
  return out, ':' .. names[#names] .. ' 1000000'
end

-- Jobs that wait stand in their queues, and before their time in a list of its own.
local function waiting(c, arg)
  local call = redis.call
  local numbers = {}
  if arg.queue ~= 'd' then
    numbers = call('ZRANGEBYSCORE', keys.queues(c.root), arg.queue or '-inf', '+inf', 'WITHSCORES', 'LIMIT', '0',
      QUEUES_A_PAGE)
    for i = 1, #numbers / 2 do numbers[i] = string.format('%d', numbers[2 * i]) end
    for i = #numbers, #numbers / 2 + 1, -1 do numbers[i] = nil end
    if #numbers < QUEUES_A_PAGE then numbers[#numbers + 1] = 'd' end
  else
    numbers[1] = 'd'
  end
  local out = {}
  for _, number in ipairs(numbers) do
    local key = number == 'd' and keys.delayed(c.root) or keys.queue(c.root, number)
    local from = number == arg.queue and pages.rank_after(key, arg.given, arg.entry) or 0
    local page = call('ZRANGE', key, from, from + arg.count - #out - 1, 'WITHSCORES')
    for i = 1, #page, 2 do out[#out + 1] = page[i] end
    if #out >= arg.count then
      return out, ':' .. number .. ' ' .. string.format('%d', page[#page]) .. ' ' .. page[#page - 1]
    end
  end
  if numbers[#numbers] == 'd' then return out, '0' end
  return out, ':' .. string.format('%d', numbers[#numbers] + 1) .. ' 0 -'
end

-- Ended jobs stand in a box, oldest first; in the box of failed and expired ones a letter tells them apart.
local function boxed(c, arg)
  local call = redis.call
  local box = arg.state == 'cancelled' and keys.cancelled(c.root) or keys.failed(c.root)
  local from = pages.rank_after(box, arg.given, arg.entry)
  local page = call('ZRANGE', box, from, from + arg.count - 1, 'WITHSCORES')
  local letter = arg.state:sub(1, 1)
  local out = {}
  for i = 1, #page, 2 do
    if arg.state == 'cancelled' then
      out[#out + 1] = page[i]
    elseif page[i]:sub(1, 1) == letter then
      out[#out + 1] = page[i]:sub(2)
    end
  end
  if #page / 2 < arg.count then return out, '0' end
  return out, ':' .. string.format('%d', page[#page]) .. ' ' .. page[#page - 1]
end

local function list(root, arg)
  local c = cell.open(root)
  local out, next_cursor = {}, '0'
  if BOUNDS[arg.state] then
    out, next_cursor = live(c, arg)
  elseif arg.state == 'pending' then
    out, next_cursor = waiting(c, arg)
  else
    out, next_cursor = boxed(c, arg)
  end
  return { next_cursor, out }
end

return list, validate
