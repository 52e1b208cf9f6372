-- lockless_jobs state cursor count
--
-- A page of jobs in one state: pending (queued), dispatched and running (by node), failed, expired, cancelled (by age).
--
-- Reply:  [next cursor, [job, ...]]; a page may be short and yet not be the last: the cursor is 0 after it
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  5; for dispatched and running 1 more per node looked at, at most 100 a page

local NODES_A_PAGE = 100

local BOUNDS = { dispatched = { '-inf', '(20000000000000' }, running = { '20000000000000', '(30000000000000' } }

-- Live jobs stand in the slots of the nodes. The cursor is ':' and a node, '/' and how many of its jobs were given.
local function live(c, state, cursor, count)
  local bounds = BOUNDS[state]
  local out = {}
  local after, node, given = cursor, nil, 0
  if cursor ~= '0' then
    local name, offset = cursor:match('^:(.*) (%d+)$')
    if not name or #offset > 10 then errors.bad_argument('cursor', '0, or what the page before returned', cursor) end
    node, given, after = name, tonumber(offset), ':' .. name
  end
  local names, next_names = pages.names(keys.nodes(c.root), after, NODES_A_PAGE)
  if node then table.insert(names, 1, node) end
  for i, name in ipairs(names) do
    local from = i == 1 and given or 0
    local page = redis.call('ZRANGEBYSCORE', keys.slots(c.root, name), bounds[1], bounds[2], 'LIMIT', from, count - #out)
    for _, member in ipairs(page) do out[#out + 1] = member:sub(2) end
    if #out >= count then return out, ':' .. name .. ' ' .. string.format('%d', from + #page) end
  end
  if next_names == '0' then return out, '0' end
  return out, ':' .. names[#names] .. ' 1000000'
end

-- Ended jobs stand in a box, oldest first; in the box of failed and expired ones a letter tells them apart.
local function boxed(c, state, cursor, count)
  local from = tonumber(cursor:match('^:?(%d+)$') or nil)
  if not from or from > 9999999999 then errors.bad_argument('cursor', '0, or what the page before returned', cursor) end
  local box = state == 'cancelled' and keys.cancelled(c.root) or keys.failed(c.root)
  local page = redis.call('ZRANGE', box, from, from + count - 1)
  local letter = state:sub(1, 1)
  local out = {}
  for _, member in ipairs(page) do
    if state == 'cancelled' then
      out[#out + 1] = member
    elseif member:sub(1, 1) == letter then
      out[#out + 1] = member:sub(2)
    end
  end
  return out, #page < count and '0' or ':' .. string.format('%d', from + #page)
end

return function(root, arg)
  local c = cell.open(root)
  local out, next_cursor = {}, '0'
  if BOUNDS[arg.state] then
    out, next_cursor = live(c, arg.state, arg.cursor, arg.count)
  elseif arg.state ~= 'pending' then
    out, next_cursor = boxed(c, arg.state, arg.cursor, arg.count)
  end
  return { next_cursor, out }
end
