-- lockless_holds node cursor count
--
-- A page of what takes a node's slots, by state and deadline: jobs, and the seats of bound sessions that nobody sits in. Slots
-- taken by work that this cell did not give are not among them.
--
-- Reply:  [next cursor, [[state, job_id, session_id, lease_id, deadline_ts], ...]]; the state is reserved, dispatched,
--         running, stopping or seat; the cursor is 0 after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE
-- Calls:  5 (2 more after the first page)

local function validate(arg)
  if arg.cursor == '0' then return end
  arg.given, arg.entry = arg.cursor:match('^:(%d+) (.+)$')
  if not arg.given or #arg.given > 16 then pages.bad_cursor(arg.cursor) end
end

local function item(member, score)
  local session, lease = member:match('^s(%S+) (%S+)$')
  if session then return { 'seat', '', session, lease, '' } end
  local state, deadline = holds.state(score)
  return { state, member:sub(2), '', '', deadline or '' }
end

local function list(root, arg)
  local c = cell.open(root)
  if not nodes.read(c, arg.node) then errors.unknown_node(arg.node) end
  local key = keys.slots(root, arg.node)
  local from = pages.rank_after(key, arg.given, arg.entry)
  local page = redis.call('ZRANGE', key, from, from + arg.count - 1, 'WITHSCORES')
  local out = {}
  for i = 1, #page, 2 do
    if page[i] ~= holds.SENTINEL then out[#out + 1] = item(page[i], tonumber(page[i + 1])) end
  end
  -- The sentinel is the last of all.
  if #page / 2 < arg.count or page[#page - 1] == holds.SENTINEL then return { '0', out } end
  return { ':' .. string.format('%d', page[#page]) .. ' ' .. page[#page - 1], out }
end

return list, validate
