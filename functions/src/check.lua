-- lockless_check [CURSOR c] [COUNT n]
--
-- Audits the cell: every index, count and hold against every other. What is overdue and not settled yet is sound.
-- Without CURSOR it looks at the first 10,000 items; the counters are balanced when that was the whole cell.
--
-- Reply:  the violations, none when sound; with CURSOR [next cursor, violations], the cursor being 0 after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  about 8 per node and class, 3 per hold

local WHOLE, PAGE = 10000, 1000

return function(root, arg)
  local c = cell.open(root)
  cell.guard(c, keys.due(root), keys.nodes(root))
  local audits = { audit_cell.record, audit_cell.cache, audit_nodes.all, audit_classes.all, audit_classes.attributes,
    audit_due.list, audit_due.failed, audit_due.cancelled }
  local violations = {}
  local function say(sentence) violations[#violations + 1] = sentence end
  local paged = arg.cursor ~= nil
  local left = paged and (arg.count or PAGE) or arg.count or WHOLE
  local part, position = 1, nil
  if paged and arg.cursor ~= '0' then
    local at, rest = arg.cursor:match('^(%d):(.*)$')
    part, position = tonumber(at), rest ~= '' and rest or nil
    if not audits[part] then errors.bad_argument('CURSOR', '0, or what the page before returned', arg.cursor) end
  end
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
