-- lockless_config [field value]*
--
-- Reads the cell's settings, or changes those given and then reads them.
--
-- Reply:  fields, every setting
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  3 (4 in a cell with settings; 7 and 1 per setting when it changes some)

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

local WEIGHTS = { cpu_weight = true, mem_weight = true }
local SETTLE_AFTER = 1000

local function configure(root, arg)
  local call = redis.call
  local c = cell.open(root)
  if #arg.changed > 0 then
    settle.first(c)
    local told, gives_weights = {}, false
    for i = 1, #arg.changed, 2 do
      local name, value = arg.changed[i], arg.changed[i + 1]
      if value ~= config.text(c, name) then told[#told + 1] = name .. ' ' .. value end
      gives_weights = gives_weights or WEIGHTS[name]
    end
    -- first write
    cell.create(c)
    -- Also when they are what they were: this may be an interrupted call that is made again.
    if gives_weights and claims.is_used(c) then claims.reindex(c) end
    if #told > 0 then events.write(c, 'config_changed', 'detail', table.concat(told, ' ')) end
    for i = 1, #arg.changed, 2 do
      local name, value = arg.changed[i], arg.changed[i + 1]
      if value == config.settings[name].text then
        call('HDEL', keys.config(root), name)
      else
        call('HSET', keys.config(root), name, value)
      end
    end
    config.changed(c)
    cell.save(c)
    if gives_weights then settle.up_to(c, SETTLE_AFTER) end
  end
  local reply = {}
  for _, name in ipairs(config.names) do
    reply[#reply + 1] = name
    reply[#reply + 1] = config.text(c, name)
  end
  return reply
end

return configure, validate
