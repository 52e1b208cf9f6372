-- lockless_events after count
--
-- What happened after an event, oldest first: `after` is the id of the last one seen, '-' for the oldest that is kept,
-- '$' for none before now. Whoever follows asks with the last id of the reply before, and waits on R:wake
-- (lockless_listen) for the word 'event'.
--
-- Reply:  [last id, [[id, type, ts, node_id, job_id, session_id, detail], ...]]; the last id is that of the last event
--         given, else where the caller was
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  4

local FIRST = '0-0'

-- Where to start, exclusive: arg.from; nil for only what comes.
local function validate(arg)
  local after = arg.after
  if after == '-' or after == '0' then
    arg.from = FIRST
  elseif after ~= '$' then
    local ms, seq = after:match('^(%d+)%-(%d+)$')
    if not ms or #ms > 15 or #seq > 15 then
      errors.bad_argument('after', "'-', '$', or the id of an event", after)
    end
    arg.from = after
  end
end

-- An entry's fields in the order of the reply.
local function event(entry)
  local given, out = entry[2], { entry[1] }
  local values = {}
  for i = 1, #given, 2 do values[given[i]] = given[i + 1] end
  for i, name in ipairs(events.FIELDS) do out[i + 1] = values[name] or '' end
  out[3] = tonumber(out[3])
  return out
end

local function list(root, arg)
  cell.open(root)
  local stream = keys.events(root)
  if not arg.from then
    local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', '1')
    return { last[1] and last[1][1] or FIRST, {} }
  end
  local out = {}
  local page = redis.call('XRANGE', stream, '(' .. arg.from, '+', 'COUNT', arg.count)
  for i, entry in ipairs(page) do out[i] = event(entry) end
  return { page[1] and page[#page][1] or arg.from, out }
end

return list, validate
