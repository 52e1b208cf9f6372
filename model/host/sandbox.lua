-- The two environments of a Redis library: almost nothing while it loads, the allowed part of Lua while its functions run.
--
-- All code of a library shares one globals table. It is empty; what a name means is decided by the table behind it, which is
-- exchanged when loading ends. So a function that was compiled while `string` did not exist finds it when it is called.
--
-- Left out on purpose although Redis has them, because the library must do without: cjson, cmsgpack, struct, bit, coroutine,
-- collectgarbage, load, loadstring, math.random, redis.sha1hex, redis.set_repl, redis.acl_check_cmd.

local M = ...

local error, getmetatable, pairs, pcall, rawset, setmetatable, type = error, getmetatable, pairs, pcall, rawset, setmetatable, type

local READ_ONLY = 'Attempt to modify a readonly table'

local sandbox = {}
M.sandbox = sandbox

-- Tables that stand in front of others and must never get content of their own.
local fronts = setmetatable({}, { __mode = 'k' })

local function refuse_write()
  error(READ_ONLY, 2)
end

local function refuse_unknown(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

-- A table that shows `content` and refuses changes. With `strict`, names it does not have are errors.
local function front(content, strict)
  if strict then
    local plain = content
    content = setmetatable({}, { __index = refuse_unknown })
    for name, value in pairs(plain) do rawset(content, name, value) end
  end
  local out = setmetatable({}, { __index = content, __newindex = refuse_write })
  fronts[out] = true
  return out
end

local function copied(library, without)
  local out = {}
  for name, value in pairs(library) do
    if not without[name] then out[name] = value end
  end
  return front(out)
end

-- Redis's own pcall: an error table with a text arrives as that text.
local function unwrap(ok, problem, ...)
  if not ok and type(problem) == 'table' and (type(problem.err) == 'string' or type(problem.err) == 'number') then
    return false, problem.err
  end
  return ok, problem, ...
end

local function library_pcall(...)
  return unwrap(pcall(...))
end

local function library_rawset(target, key, value)
  if fronts[target] then error(READ_ONLY, 0) end
  return rawset(target, key, value)
end

local function library_setmetatable(target, metatable)
  if fronts[target] then error(READ_ONLY, 0) end
  return setmetatable(target, metatable)
end

local HIDDEN_METATABLE = front({})

-- The metatables of fronts and of strings are shared with the host: the library sees only that there is one.
local function library_getmetatable(value)
  if type(value) == 'string' or fronts[value] then return HIDDEN_METATABLE end
  return getmetatable(value)
end

-- The libraries are shared by all functions: they are read-only.
local LIBRARIES = {
  string = copied(string, { dump = true }),
  table = copied(table, {}),
  math = copied(math, { random = true, randomseed = true }),
}

local function call_time_globals(globals, redis)
  return {
    _G = globals,
    _VERSION = _VERSION,
    assert = assert,
    error = error,
    getmetatable = library_getmetatable,
    ipairs = ipairs,
    math = LIBRARIES.math,
    next = next,
    pairs = pairs,
    pcall = library_pcall,
    rawequal = rawequal,
    rawget = rawget,
    rawset = library_rawset,
    redis = front(redis),
    select = select,
    setmetatable = library_setmetatable,
    string = LIBRARIES.string,
    table = LIBRARIES.table,
    tonumber = tonumber,
    tostring = tostring,
    type = type,
    unpack = unpack,
    xpcall = xpcall,
  }
end

local function strict(content)
  return setmetatable(content, { __index = refuse_unknown })
end

-- Makes the globals of one library. `load_redis` and `call_redis` are what `redis` is in either phase.
-- Returns the table to use with setfenv and a function that ends the loading phase.
function sandbox.new(load_redis, call_redis)
  local metatable = { __newindex = refuse_write }
  local globals = setmetatable({}, metatable)
  fronts[globals] = true
  metatable.__index = strict({ redis = front(load_redis, true) })
  local function finish_loading()
    metatable.__index = strict(call_time_globals(globals, call_redis))
  end
  return globals, finish_loading
end
