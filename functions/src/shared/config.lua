-- The settings of a cell. Only what differs from the defaults is stored; R.configured says whether anything does,
-- so that a cell with default settings pays nothing for them.

local config = {}

-- By name, and the names in the order of the reply, both from the contract.
config.settings, config.names = {}, {}
for i = 1, #settings do
  config.names[i] = settings[i].name
  config.settings[settings[i].name] = settings[i]
end

-- The value as it is stored, or the end of the call.
function config.checked(name, value)
  local setting = config.settings[name]
  if not setting then
    errors.bad_argument('a setting', 'one of ' .. table.concat(config.names, ', '), name)
  end
  if setting.values then
    if setting.values[value] then return value end
  elseif #value <= 32 and value:find(setting.whole and '^%d+$' or '^%d+%.?%d*$') then
    local given = tonumber(value)
    if given >= setting.min and given <= setting.max then return string.format('%.14g', given) end
  end
  errors.bad_argument(name, setting.takes, value)
end

-- Those that dispatch and complete look at.
local OF_EVERY_JOB = { job_ttl_ms = true, session_ttl_ms = true, payload_max_bytes = true, keep_finished_ms = true,
  events = true }

-- What R says of the settings: '0' there are none, '1' there are some that every job asks for, '2' only others.
function config.kind(root)
  local names = redis.call('HKEYS', keys.config(root))
  for _, name in ipairs(names) do
    if OF_EVERY_JOB[name] then return '1' end
  end
  return #names > 0 and '2' or '0'
end

-- Notes that the settings were changed.
function config.changed(c)
  c.configured_as = config.kind(c.root)
  c.configured, c.config, c.rest = c.configured_as ~= '0', nil, nil
end

-- What the cell stores of a setting, or false.
function config.stored(c, name)
  if not c.configured then return false end
  if not c.config then
    c.config = {}
    local flat = redis.call('HGETALL', keys.config(c.root))
    for i = 1, #flat, 2 do c.config[flat[i]] = flat[i + 1] end
  end
  return c.config[name] or false
end

-- The value in force: a number, or a word for a choice.
function config.value(c, name)
  local setting = config.settings[name]
  if not c.configured then return setting.default end
  local stored = config.stored(c, name)
  if not stored then return setting.default end
  -- One that is no number is damage, which check names.
  return setting.values and stored or tonumber(stored) or setting.default
end

-- The same as text, for records: a number that is turned into text costs as much as a command.
function config.text(c, name)
  return config.stored(c, name) or config.settings[name].text
end

-- Ends the call when what a caller gave under this name is longer than the cell takes.
function config.check_length(c, name, given)
  if #given > config.value(c, 'payload_max_bytes') then
    errors.fail('BAD_ARGUMENT', name .. ' takes at most ' .. config.value(c, 'payload_max_bytes') ..
      ' bytes (payload_max_bytes), given ' .. #given .. ' bytes')
  end
end

return config
