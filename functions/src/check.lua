-- lockless_check [CURSOR c] [COUNT n]
--
-- Audits the cell: every index, count and hold against every other. What is overdue and not settled yet is sound.
-- Without CURSOR it looks at the first 10,000 items; the counters are balanced when that was the whole cell.
--
-- Reply:  the violations, none when sound; with CURSOR [next cursor, violations], the cursor being 0 after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  about 8 per node and class, 3 per hold

local WHOLE, PAGE = 10000, 1000

-- What a position in each of the audits looks like; those of one item have none.
local POSITIONS = { [3] = '^%S+ (%d+)$', [4] = '^%d+ (%d+)$', [5] = '^:(.+)$', [6] = '^(%d+)$', [7] = '^(%d+)$',
  [8] = '^(%d+)$' }

-- The audit to go on with and where, or the end of the call.
local function read_cursor(cursor)
  if not cursor or cursor == '0' then return 1, nil end
  local at, rest = cursor:match('^(%d):(.*)$')
  local part = tonumber(at or nil)
  if part and part >= 1 and part <= 8 then
    if rest == '' then return part, nil end
    local found = POSITIONS[part] and rest:match(POSITIONS[part])
    if found and (part == 5 or #found <= 10) then return part, rest end
  end
  errors.bad_argument('CURSOR', '0, or what the page before returned', cursor)
end

return function(root, arg)
  local part, position = read_cursor(arg.cursor)
  local c = cell.open(root)
  local audits = { audit_cell.record, audit_cell.cache, audit_nodes.all, audit_classes.all, audit_classes.attributes,
    audit_due.list, audit_due.failed, audit_due.cancelled }
  local violations = {}
  local function say(sentence) violations[#violations + 1] = sentence end
  local paged = arg.cursor ~= nil
  local left = paged and (arg.count or PAGE) or arg.count or WHOLE
  local whole = part == 1
  c.live = 0
  while c.exists and audits[part] and left > 0 do
    local used
    position, used = audits[part](c, position, left, say)
    left = left - used
    if not position then part = part + 1 end
  end
  local done = not c.exists or not audits[part]
  if whole and done and c.exists then audit_cell.balance(c, c.live, say) end
  if not paged then return violations end
  return { done and '0' or part .. ':' .. (position or ''), violations }
end
