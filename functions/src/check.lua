-- lockless_check [CURSOR c] [COUNT n]
--
-- Audits the cell: every index, count and hold against every other. What is overdue and not settled yet is sound.
-- Without CURSOR it looks at the first 10,000 items; the counters are balanced when that was the whole cell.
--
-- Reply:  the violations, none when sound; with CURSOR [next cursor, violations], the cursor being 0 after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  about 8 per node and class, 3 per hold

local WHOLE, PAGE = 10000, 1000

-- What a position in each of the audits looks like; the first has none.
local POSITIONS = { '^$', '^(%d+)$', '^%S+ (%d+)$', '^%d+ (%d+)$', '^:(.+)$', '^(%d+)$', '^(%d+)$', '^(%d+)$',
  '^%d+ (%d+)$', '^(%d+)$', '^(%d+)$', '^:(.+)$' }
local BY_NAME = { [5] = true, [12] = true }

-- The audit to go on with, arg.part, and where, arg.position.
local function validate(arg)
  local cursor = arg.cursor
  arg.part = 1
  if not cursor or cursor == '0' then return end
  local at, rest = cursor:match('^(%d%d?):(.*)$')
  local part = tonumber(at or nil)
  local found = part and POSITIONS[part] and (rest == '' and '' or rest:match(POSITIONS[part]))
  if not found or (not BY_NAME[part] and #found > 10) then
    errors.bad_argument('CURSOR', '0, or what the page before returned', cursor)
  end
  arg.part, arg.position = part, rest ~= '' and rest or nil
end

local function check(root, arg)
  local part, position = arg.part, arg.position
  local c = cell.open(root)
  local audits = { audit_cell.record, audit_cell.cache, audit_nodes.all, audit_classes.all, audit_classes.attributes,
    audit_due.list, audit_due.failed, audit_due.cancelled, audit_queues.all, audit_queues.delayed,
    audit_queues.fits, audit_deployments.all }
  local violations = {}
  local function say(sentence) violations[#violations + 1] = sentence end
  local paged = arg.cursor ~= nil
  local left = paged and (arg.count or PAGE) or arg.count or WHOLE
  local whole = part == 1
  c.live, c.tries, c.tries_lost, c.worked, c.waiting = 0, 0, 0, 0, 0
  c.pools = {}
  while c.exists and audits[part] and left > 0 do
    local used
    position, used = audits[part](c, position, left, say)
    left = left - used
    if not position then part = part + 1 end
  end
  local done = not c.exists or not audits[part]
  if whole and done and c.exists and not c.skipped then audit_cell.balance(c, say) end
  if not paged then return violations end
  return { done and '0' or part .. ':' .. (position or ''), violations }
end

return check, validate
