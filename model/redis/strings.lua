-- Strings and counters.

local M = ...

local command, numbers, err = M.command, M.numbers, M.err
local lower = string.lower

local LIMIT = 9223372036854775807

function M.describe.string(entry, quoted)
  return { quoted(entry.value) }
end

command('get', 2, 'read', function(db, args)
  local entry, wrong = db:lookup(args[2], 'string')
  if wrong then return wrong end
  return entry and entry.value or false
end)

-- Options of SET: NX or XX, and one of EX, PX, PXAT, KEEPTTL. The others Redis has are refused.
local function set_options(args, n)
  local options = {}
  local i = 4
  while i <= n do
    local option = lower(args[i])
    if option == 'nx' and not options.xx then
      options.nx = true
    elseif option == 'xx' and not options.nx then
      options.xx = true
    elseif option == 'keepttl' and not options.unit_ms then
      options.keepttl = true
    elseif (option == 'ex' or option == 'px' or option == 'pxat') and not options.unit_ms and not options.keepttl and i < n then
      options.unit_ms = option == 'ex' and 1000 or 1
      options.absolute = option == 'pxat'
      i = i + 1
      options.amount = args[i]
    else
      return nil
    end
    i = i + 1
  end
  return options
end

command('set', -3, 'write', function(db, args, n)
  local options = set_options(args, n)
  if not options then return M.syntax_error() end
  local expire_ms
  if options.unit_ms then
    local amount = numbers.integer(options.amount)
    if not amount then return M.not_an_integer() end
    local now = options.absolute and 0 or db:now_ms()
    if amount <= 0 or amount * options.unit_ms > LIMIT - now then return err("invalid expire time in 'set' command") end
    expire_ms = now + amount * options.unit_ms
  end
  local key = args[2]
  local entry = db:entry(key)
  if (options.nx and entry) or (options.xx and not entry) then return false end
  if options.keepttl and entry then expire_ms = entry.expire_ms end
  db:store(key, { type = 'string', value = args[3] }, expire_ms)
  return M.ok()
end)

local function add(db, key, amount)
  local entry, wrong = db:lookup(key, 'string')
  if wrong then return wrong end
  local current = entry and entry.value or '0'
  if not numbers.integer(current) then return M.not_an_integer() end
  local sum = numbers.sum(current, amount)
  if not sum then return err('increment or decrement would overflow') end
  if entry then
    entry.value = sum
  else
    db.keys[key] = { type = 'string', value = sum }
  end
  return tonumber(sum)
end

command('incr', 2, 'write', function(db, args) return add(db, args[2], '1') end)
command('decr', 2, 'write', function(db, args) return add(db, args[2], '-1') end)

command('incrby', 3, 'write', function(db, args)
  if not numbers.integer(args[3]) then return M.not_an_integer() end
  return add(db, args[2], args[3])
end)
