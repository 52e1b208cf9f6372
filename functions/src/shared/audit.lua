-- What check and repair share: the audits, in order, and how they are gone through in pages.
--
-- An audit is a function of (c, position, budget, say): it looks at up to `budget` items from `position` on (nil at the
-- start), says what is wrong, and returns where to go on (nil at the end, '' at its start) and how many items it looked at, which is all of
-- `budget` when the page is to end here; c.page is the budget of the whole page, where there are pages. It says a
-- sentence, what mends it (mend_*.lua), and the arguments for that. Check takes the sentence, repair all of it.

local audit = {}

local WHOLE, PAGE = 10000, 1000

local AUDITS = { audit_cell.record, audit_cell.cache, audit_nodes.all, audit_classes.all, audit_classes.attributes,
  audit_due.list, audit_due.failed, audit_due.cancelled, audit_queues.all, audit_queues.delayed, audit_queues.fits,
  audit_deployments.all }

-- What a position in each of the audits looks like; the first has none.
local POSITIONS = { '^$', '^(%d+)$', '^%S+ (%d+)$', '^%d+%.?%d* (%d+)$', '^2?:(.+)$', '^(%d+)$', '^(%d+)$', '^(%d+)$',
  '^%d+ (%d+)$', '^(%d+)$', '^(%d+)$', '^:(.+)$' }
local BY_NAME = { [5] = true, [12] = true }

-- The audit to go on with, arg.part, and where, arg.position.
function audit.validate(arg)
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

-- Opens a cell whose record may be damaged or gone: what can't be read there is as in a cell that was just made, and named.
function audit.open(root)
  local call = redis.call
  cell.check_root(root)
  local schema, grace = unpack(call('HMGET', root, 'schema', 'grace'))
  local state = audit_cell.state(root)
  local is_other = schema and schema ~= about.schema .. ''
  local is_absent = not schema and call('EXISTS', root) == 0 and call('EXISTS', keys.due(root)) == 0
  local is_sound = schema and state.is_sound and tonumber(grace or nil)
  if is_other or is_absent or is_sound then return cell.open(root) end
  local time = call('TIME')
  local now = math.max(time[1] * 1000 + math.floor(time[2] / 1000), state.clock or 0)
  local c = { root = root, now = now, now_text = string.format('%d', now), gap = 0, exists = true, is_damaged = true,
    clock = now, wake = state.wake or 0, configured = (state.configured or 0) > 0,
    configured_as = string.format('%d', state.configured or 0), grants = state.grants or 0,
    finished = string.format('%d', state.finished or 0), generation = string.format('%d', state.generation or 0),
    listen = state.listen or 0, settled = 0 }
  cell.guard(c)
  return c
end

-- Goes through the cell from arg.part and arg.position on, and returns what a caller goes on with: the next cursor, or nil
-- when the whole was asked for.
function audit.run(c, arg, say)
  local part, position = arg.part, arg.position
  local paged = arg.cursor ~= nil
  local left = paged and (arg.count or PAGE) or arg.count or WHOLE
  local whole = part == 1
  c.live, c.tries, c.tries_lost, c.worked, c.waiting, c.last_grant = 0, 0, 0, 0, 0, 0
  c.pools, c.page = {}, paged and left
  while c.exists and AUDITS[part] and left > 0 do
    local used
    position, used = AUDITS[part](c, position, left, say)
    left = left - used
    if not position then part = part + 1 end
  end
  local done = not c.exists or not AUDITS[part]
  if whole and done and c.exists and not c.skipped then audit_cell.balance(c, say) end
  if paged then return done and '0' or part .. ':' .. (position or '') end
end

return audit
