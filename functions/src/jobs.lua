-- lockless_jobs state cursor count
--
-- A page of jobs in one state: pending (queued), dispatched and running (by node), failed, expired, cancelled (by age).
--
-- Reply:  [next cursor, [job, ...]]; a page may be short and yet not be the last: the cursor is 0 after it
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  4 (2 more after the first page); for dispatched and running 1 more per node looked at, at most 101 a page

local NODES_A_PAGE = 100

local BOUNDS = { dispatched = { '-inf', '(20000000000000' }, running = { '20000000000000', '(30000000000000' } }

-- A cursor of live jobs is ':', a node, a space and how many of its jobs were given; one of ended jobs ':', a score, a
-- space and the entry given last.
local function validate(arg)
  if arg.cursor == '0' then return end
  if BOUNDS[arg.state] then
    arg.node, arg.given = arg.cursor:match('^:(%S+) (%d+)$')
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

-- Ended jobs stand in a box, oldest first; in the box of failed and expired ones a letter tells them apart.
local function boxed(c, arg)
  local call = redis.call
  local box = arg.state == 'cancelled' and keys.cancelled(c.root) or keys.failed(c.root)
  local from = 0
  if arg.entry then
    -- An entry that has gone or moved since: on from where it was.
    local score = call('ZSCORE', box, arg.entry)
    if score and tonumber(score) == tonumber(arg.given) then
      from = call('ZRANK', box, arg.entry) + 1
    else
      from = call('ZCOUNT', box, '-inf', '(' .. arg.given)
    end
  end
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
  elseif arg.state ~= 'pending' then
    out, next_cursor = boxed(c, arg)
  end
  return { next_cursor, out }
end

return list, validate
