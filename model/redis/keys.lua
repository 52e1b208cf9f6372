-- Commands on keys of any type, on the clock and on channels.

local M = ...

local command, numbers, err = M.command, M.numbers, M.err
local lower = string.lower

-- A time in milliseconds above this does not fit 64 bits.
local LIMIT = 9223372036854775807

command('time', 1, 'read', function(db)
  local seconds = math.floor(db.now_us / 1000000)
  return { ('%.0f'):format(seconds), ('%.0f'):format(db.now_us - seconds * 1000000) }
end)

command('exists', -2, 'read', function(db, args, n)
  local count = 0
  for i = 2, n do
    if db:entry(args[i]) then count = count + 1 end
  end
  return count
end)

local function delete(db, args, n)
  local count = 0
  for i = 2, n do
    if db:entry(args[i]) then
      db:remove(args[i])
      count = count + 1
    end
  end
  return count
end
command('del', -2, 'write', delete)
command('unlink', -2, 'write', delete)

command('type', 2, 'read', function(db, args)
  local entry = db:entry(args[2])
  return { ok = entry and entry.type or 'none' }
end)

command('rename', 3, 'write', function(db, args)
  local entry = db:entry(args[2])
  if not entry then return err('no such key') end
  if args[2] ~= args[3] then
    local expire_ms = entry.expire_ms
    db:remove(args[2])
    db:store(args[3], entry, expire_ms)
  end
  return M.ok()
end)

-- The flags of an EXPIRE command, or an error.
local function expire_flags(args, n)
  local flags = {}
  for i = 4, n do
    local option = lower(args[i])
    if option ~= 'nx' and option ~= 'xx' and option ~= 'gt' and option ~= 'lt' then
      return nil, err('Unsupported option ' .. args[i])
    end
    flags[option] = true
  end
  if flags.nx and (flags.xx or flags.gt or flags.lt) then
    return nil, err('NX and XX, GT or LT options at the same time are not compatible')
  end
  if flags.gt and flags.lt then return nil, err('GT and LT options at the same time are not compatible') end
  return flags
end

local function expire_applies(flags, current, at)
  if flags.nx and current then return false end
  if flags.xx and not current then return false end
  if flags.gt and (not current or at <= current) then return false end
  if flags.lt and current and at >= current then return false end
  return true
end

local function expire_command(name, unit_ms, absolute)
  command(name, -3, 'write', function(db, args, n)
    local flags, flags_error = expire_flags(args, n)
    if flags_error then return flags_error end
    local amount = numbers.integer(args[3])
    if not amount then return M.not_an_integer() end
    local base = absolute and 0 or db:now_ms()
    local at = amount * unit_ms
    if at > LIMIT - base or at < -LIMIT or (unit_ms > 1 and at >= LIMIT) then
      return err("invalid expire time in '" .. name .. "' command")
    end
    at = at + base
    local entry = db:entry(args[2])
    if not entry or not expire_applies(flags, entry.expire_ms, at) then return 0 end
    if at <= db:now_ms() then
      db:remove(args[2])
    else
      db:set_expiry(args[2], entry, at)
    end
    return 1
  end)
end
expire_command('expire', 1000, false)
expire_command('pexpire', 1, false)
expire_command('pexpireat', 1, true)

command('pttl', 2, 'read', function(db, args)
  local entry = db:entry(args[2])
  if not entry then return -2 end
  if not entry.expire_ms then return -1 end
  return entry.expire_ms - db:now_ms()
end)

command('persist', 2, 'write', function(db, args)
  local entry = db:entry(args[2])
  if not entry or not entry.expire_ms then return 0 end
  db:set_expiry(args[2], entry, nil)
  return 1
end)

-- Reads a [...] class whose first character after the bracket is at p; returns whether it has c, and where the pattern goes on.
local function class_has(pattern, p, c)
  local negated = pattern:sub(p, p) == '^'
  if negated then p = p + 1 end
  local found = false
  while p <= #pattern do
    local ch = pattern:sub(p, p)
    if ch == ']' then break end
    if ch == '\\' and p < #pattern then
      p = p + 1
      if pattern:sub(p, p) == c then found = true end
    elseif pattern:sub(p + 1, p + 1) == '-' and p + 2 <= #pattern then
      local from, to = ch, pattern:sub(p + 2, p + 2)
      if from > to then from, to = to, from end
      if c >= from and c <= to then found = true end
      p = p + 2
    elseif ch == c then
      found = true
    end
    p = p + 1
  end
  return found ~= negated, p + 1
end

-- Redis's glob: * ? [a-z] [^a] and backslash.
local function matches(pattern, p, text, t)
  while p <= #pattern do
    local ch = pattern:sub(p, p)
    if ch == '*' then
      for from = t, #text + 1 do
        if matches(pattern, p + 1, text, from) then return true end
      end
      return false
    end
    if t > #text then return false end
    local c = text:sub(t, t)
    if ch == '[' then
      local inside, after = class_has(pattern, p + 1, c)
      if not inside then return false end
      p = after
    else
      if ch == '\\' and p < #pattern then
        p = p + 1
        ch = pattern:sub(p, p)
        if ch ~= c then return false end
      elseif ch ~= '?' and ch ~= c then
        return false
      end
      p = p + 1
    end
    t = t + 1
  end
  return t > #text
end

-- Redis gives the keys in no order; here they are sorted.
command('keys', 2, 'read', function(db, args)
  local found = {}
  for name, entry in pairs(db.keys) do
    if db:is_live(entry) and matches(args[2], 1, name, 1) then found[#found + 1] = name end
  end
  table.sort(found)
  return found
end)

command('dbsize', 1, 'read', function(db)
  local count = 0
  for _, entry in pairs(db.keys) do
    if db:is_live(entry) then count = count + 1 end
  end
  return count
end)

command('flushall', -1, 'write', function(db, args, n)
  local mode = args[2] and lower(args[2])
  if n > 2 or (mode and mode ~= 'sync' and mode ~= 'async') then return M.syntax_error() end
  db:adopt({})
  return M.ok()
end)

-- Nobody listens here, so the reply is 0; the owner of the database drains what was said.
-- Redis counts both as writes when a read-only function calls them.
local function publish(sharded)
  return function(db, args)
    db.published[#db.published + 1] = { channel = args[2], message = args[3], sharded = sharded }
    return 0
  end
end
command('publish', 3, 'write', publish(false))
command('spublish', 3, 'write', publish(true))
