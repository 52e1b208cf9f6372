-- What the module's exports call. Returns, in the order of module.c: fcall, command, published, save, load.

local M = ...

local lower = string.lower
local integer = M.numbers.integer

-- Whoever hosts the module and never asks what was published must not run out of memory; in Redis, too, a listener that is too slow
-- misses messages.
local PUBLISHED_MAX = 65536

local OOM = "OOM command not allowed when used memory > 'maxmemory'."

-- The commands that Redis refuses when it is full: those that can make something grow.
local NEEDS_MEMORY = {
  decr = true, hincrby = true, hset = true, hsetnx = true, incr = true, incrby = true, sadd = true, set = true, xadd = true, zadd = true,
  zincrby = true,
}

local db = M.new(M.now_us)
local host = M.new_host(db)
do
  local name, problem = host:load(M.library_text, false)
  if not name then error(problem, 0) end
  M.library_text = nil
end

local function err(text)
  return { err = 'ERR ' .. text }
end

local function drop_old_messages()
  local published, kept = db.published, {}
  for i = #published - PUBLISHED_MAX / 2 + 1, #published do kept[#kept + 1] = published[i] end
  db.published = kept
end

local function fcall(now_us, name, keys, args, read_only, full)
  db.now_us = now_us
  if full and host:needs_memory(name) then return { err = OOM } end
  local reply = host:fcall(name, keys, args, read_only)
  if #db.published > PUBLISHED_MAX then drop_old_messages() end
  return reply
end

local special = {}

-- FCALL as Redis checks it, for calls whose number of keys is not right; the others do not come here.
local function checked_fcall(read_only)
  return function(args, full)
    local name = args[2]
    if #args < 3 then return M.wrong_arity(lower(args[1])) end
    if not host:has(name) then return err('Function not found') end
    local count = integer(args[3])
    if not count then return err('Bad number of keys provided') end
    if count > #args - 3 then return err("Number of keys can't be greater than number of args") end
    if count < 0 then return err("Number of keys can't be negative") end
    local keys, rest = {}, {}
    for i = 1, count do keys[i] = args[3 + i] end
    for i = 1, #args - 3 - count do rest[i] = args[3 + count + i] end
    return fcall(db.now_us, name, keys, rest, read_only, full)
  end
end
special.fcall = checked_fcall(false)
special.fcall_ro = checked_fcall(true)

special['function'] = function(args, full)
  if #args < 2 then return M.wrong_arity('function') end
  if lower(args[2]) ~= 'load' then return err("unknown subcommand '" .. args[2] .. "'. Try FUNCTION HELP.") end
  if full then return { err = OOM } end
  local replace = #args == 4 and lower(args[3]) == 'replace'
  if #args > 3 and not replace then return err("Unknown option given: " .. args[3]) end
  if #args < 3 then return M.wrong_arity('function|load') end
  local name, problem = host:load(args[#args], replace)
  if not name then return { err = problem } end
  return name
end

-- For tests: what the last function call did, and how the next one shall fail.
local debug_commands = {
  calls = function() return host.calls end,
  trace = function() return host:traced() end,
  keyspace = function() return db:dump() end,
  fail = function(args)
    local n = args[3] and integer(args[3])
    if not n or n < 1 then return M.not_an_integer() end
    host.fail_at, host.fail_with = n, args[4]
    return M.ok()
  end,
}

-- Redis gives memory back at once. Here it is garbage first, and a machine that was full would stay full for a while.
special.flushall = function(args)
  local reply = db:call(args)
  collectgarbage()
  return reply
end

special.debug = function(args)
  local run = args[2] and debug_commands[lower(args[2])]
  if not run then return err('DEBUG takes CALLS, TRACE, KEYSPACE or FAIL n [line]') end
  return run(args)
end

local function command(now_us, args, full)
  db.now_us = now_us
  local name = lower(args[1])
  local run = special[name]
  if run then return run(args, full) end
  if full and NEEDS_MEMORY[name] then return { err = OOM } end
  return db:call(args)
end

local function published()
  local messages = db:drain_published()
  for i = 1, #messages do messages[i] = { messages[i].channel, messages[i].message } end
  return messages
end

local function save()
  M.save(db, M.put)
end

local function load(now_us)
  local keys = M.load(M.take_text, M.take_number)
  db.now_us, db.published = now_us, {}
  db:adopt(keys)
end

return fcall, command, published, save, load
