-- lockless_config [field value]*
--
-- Reads the cell's settings, or changes those given and then reads them.
--
-- Reply:  fields, every setting
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  3 (7 when it changes something)

return function(root, arg)
  local call = redis.call
  local given = arg.rest
  if #given % 2 == 1 then
    errors.fail('BAD_ARGUMENT', 'the setting ' .. errors.shown(given[#given]) .. ' needs a value')
  end
  local changed, seen = {}, {}
  for i = 1, #given, 2 do
    if seen[given[i]] then errors.fail('BAD_ARGUMENT', given[i] .. ' may be given once, given twice') end
    changed[i], changed[i + 1] = given[i], config.checked(given[i], given[i + 1])
    seen[given[i]] = true
  end
  local c = cell.open(root)
  if #changed > 0 then
    settle.first(c)
    -- first write
    cell.create(c)
    call('HSET', keys.config(root), unpack(changed))
    call('HSET', root, 'configured', '1', 'clock', c.now_text)
    c.configured, c.config = true, nil
  end
  local reply = {}
  for _, name in ipairs(config.names) do
    reply[#reply + 1] = name
    reply[#reply + 1] = config.stored(c, name) or string.format('%s', config.settings[name].default)
  end
  return reply
end
