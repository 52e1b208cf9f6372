-- lockless_check [CURSOR c] [COUNT n]
--
-- Audits the cell: every index, count and hold against every other. What is overdue and not settled yet is sound.
-- Without CURSOR it looks at the first 10,000 items; the counters are balanced when that was the whole cell.
--
-- Reply:  the violations, none when sound; with CURSOR [next cursor, violations], the cursor being 0 after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  about 9 per node and class, 3 per hold

local function check(root, arg)
  local violations = {}
  local function say(sentence) violations[#violations + 1] = sentence end
  local next_cursor = audit.run(audit.open(root), arg, say)
  if not next_cursor then return violations end
  return { next_cursor, violations }
end

return check, audit.validate
