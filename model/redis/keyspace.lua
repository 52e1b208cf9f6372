-- The keyspace: entries by name, expiry, the call table, dumps and copies.
--
-- `M.new(now_us)` makes a database. `db:call(args)` runs one command given as a list of strings and returns its reply in the form
-- Redis gives to Lua: integers are numbers, bulk strings are strings, nil is false, a status is {ok=...}, an error is {err=...} and
-- an array is a table. Replies are fresh tables: whoever gets one may change it.
--
-- The clock is `db.now_us`. It stands still until its owner moves it.

local M = ...

local lower, upper = string.lower, string.upper

local Database = {}
M.Database = Database

-- name (lower case) -> { run, arity, write }. A negative arity is a minimum, as in Redis.
M.commands = {}

function M.command(name, arity, mode, run)
  local command = { name = name, arity = arity, write = mode == 'write', run = run }
  M.commands[name] = command
  M.commands[upper(name)] = command
end

function M.find_command(name)
  return M.commands[name] or M.commands[lower(name)]
end

function M.arity_fits(command, count)
  local arity = command.arity
  return count == arity or (arity < 0 and count >= -arity)
end

function M.err(text)
  return { err = 'ERR ' .. text }
end

function M.ok()
  return { ok = 'OK' }
end

function M.wrong_arity(name)
  return M.err("wrong number of arguments for '" .. name .. "' command")
end

function M.syntax_error()
  return M.err('syntax error')
end

function M.not_an_integer()
  return M.err('value is not an integer or out of range')
end

function M.new(now_us)
  local db = { now_us = now_us or 0, keys = {}, due_keys = {}, due_ms = {}, published = {} }
  -- Every command calls some of these: finding them in the database itself costs less than by a metatable.
  for name, method in pairs(Database) do db[name] = method end
  return db
end

-- Says whether the commands that follow may write. Those that may also remove what is overdue.
function Database:begin(may_write)
  self.may_write = may_write
  if may_write then self:remove_overdue() end
end

local function unknown_command(args)
  local shown = ''
  for i = 2, #args do
    if #shown >= 128 then break end
    shown = shown .. "'" .. args[i]:sub(1, 128 - #shown) .. "' "
  end
  return M.err("unknown command '" .. args[1]:sub(1, 128) .. "', with args beginning with: " .. shown)
end

function Database:call(args)
  local command = M.find_command(args[1])
  if not command then return unknown_command(args) end
  if not M.arity_fits(command, #args) then return M.wrong_arity(command.name) end
  self:begin(command.write)
  return command.run(self, args, #args)
end

function Database:now_ms()
  return math.floor(self.now_us / 1000)
end

function Database:is_live(entry)
  return not entry.expire_ms or self:now_ms() <= entry.expire_ms
end

-- The live entry of a key, or nil. A key whose time has passed is removed on access, unless the call must leave everything as it is.
function Database:entry(key)
  local entry = self.keys[key]
  if entry and entry.expire_ms and not self:is_live(entry) then
    if self.may_write then self:remove(key) end
    return nil
  end
  return entry
end

-- The entry when it is of the wanted type; the second value is the error when it is of another.
function Database:lookup(key, kind)
  local entry = self.keys[key]
  if not entry then return nil end
  if entry.expire_ms then
    entry = self:entry(key)
    if not entry then return nil end
  end
  if entry.type ~= kind then return nil, { err = 'WRONGTYPE Operation against a key holding the wrong kind of value' } end
  return entry
end

function Database:remove_if_empty(key, size)
  if size == 0 then self:remove(key) end
end

local function copy(value)
  if type(value) ~= 'table' then return value end
  local out = {}
  for k, v in pairs(value) do out[k] = copy(v) end
  return out
end

-- A copy of everything, to go back to with `restore` any number of times.
function Database:snapshot()
  return copy({ now_us = self.now_us, keys = self.keys, published = self.published })
end

function Database:restore(state)
  state = copy(state)
  self.now_us, self.published = state.now_us, state.published
  self:adopt(state.keys)
end

-- Hands over the messages published since the last call: a list of { channel, message, sharded }.
function Database:drain_published()
  local messages = self.published
  self.published = {}
  return messages
end

local function quoted(text)
  return '"' .. text:gsub('[%c\128-\255"\\]', function(c) return ('\\x%02x'):format(c:byte()) end) .. '"'
end

-- How each type writes its value, as a list of pieces in a fixed order; filled in by the type's own file.
M.describe = {}

-- Every live key on a line of its own: name, type, `ttl` when it will expire, value. Equal states give equal text.
function Database:dump()
  local names, lines = {}, {}
  for name, entry in pairs(self.keys) do
    if self:is_live(entry) then names[#names + 1] = name end
  end
  table.sort(names)
  for i = 1, #names do
    local entry = self.keys[names[i]]
    local pieces = M.describe[entry.type](entry, quoted)
    lines[i] = quoted(names[i]) .. ' ' .. entry.type .. (entry.expire_ms and ' ttl ' or ' ') .. table.concat(pieces, ' ')
  end
  return table.concat(lines, '\n')
end
