-- lockless_config [field value]*
--
-- Reads the cell's settings, or changes those given and then reads them.
--
-- Reply:  fields, every setting
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  3 (7 when it changes something)

-- The settings to change, as they are stored: arg.changed.
local function validate(arg)
  local given, seen = arg.rest, {}
  if #given % 2 == 1 then
    errors.fail('BAD_ARGUMENT', 'the setting ' .. errors.shown(given[#given]) .. ' needs a value')
  end
  arg.changed = {}
  for i = 1, #given, 2 do
    local name = given[i]
    if seen[name] then errors.fail('BAD_ARGUMENT', name .. ' may be given once, given twice') end
    arg.changed[i], arg.changed[i + 1] = name, config.checked(name, given[i + 1])
    seen[name] = true
  end
end

local function configure(root, arg)
  local call = redis.call
  local c = cell.open(root)
  if #arg.changed > 0 then
    settle.first(c)
    -- first write
    cell.create(c)
    call('HSET', keys.config(root), unpack(arg.changed))
    call('HSET', root, 'configured', '1', 'clock', c.now_text)
    c.configured, c.config = true, nil
  end
  local reply = {}
  for _, name in ipairs(config.names) do
    reply[#reply + 1] = name
    reply[#reply + 1] = config.text(c, name)
  end
  return reply
end

return configure, validate
