-- Reading a library: its first line, and what it registers.

local M = ...

local library = {}
M.library = library

local BAD_NAME = 'Library names can only contain letters, numbers, or underscores(_) and must be at least one character long'

local FLAGS = {
  ['no-writes'] = true,
  ['allow-oom'] = true,
  ['allow-stale'] = true,
  ['no-cluster'] = true,
  ['allow-cross-slot-keys'] = true,
}

local function is_name(text)
  return text:find('^[%w_]+$') ~= nil
end

-- Reads `#!lua name=<name>`. Returns the name and the source with that line blank, so that line numbers stay right; or nil and the error.
function library.read_header(source)
  if source:sub(1, 2) ~= '#!' then return nil, 'ERR Missing library metadata' end
  local line_end = source:find('\n', 1, true)
  if not line_end then return nil, 'ERR Invalid library metadata' end
  local engine, name
  for word in source:sub(3, line_end - 1):gmatch('%S+') do
    if not engine then
      engine = word
    elseif word:sub(1, 5):lower() == 'name=' then
      if name then return nil, 'ERR Invalid metadata value, name argument was given multiple times' end
      name = word:sub(6)
    else
      return nil, 'ERR Invalid metadata value given: ' .. word
    end
  end
  if not name then return nil, 'ERR Library name was not given' end
  if not is_name(name) then return nil, 'ERR ' .. BAD_NAME end
  if not engine or engine:lower() ~= 'lua' then return nil, "ERR Engine '" .. (engine or '') .. "' not found" end
  return name, source:sub(line_end)
end

local function refuse(text)
  error({ err = 'ERR ' .. text }, 0)
end

local function is_text(value)
  return type(value) == 'string' or type(value) == 'number'
end

local function read_flags(list)
  local flags, i = {}, 1
  while list[i] ~= nil do
    if not FLAGS[list[i]] then refuse('unknown flag given') end
    flags[list[i]] = true
    i = i + 1
  end
  return flags
end

local READERS = {
  function_name = function(given, value)
    if not is_text(value) then refuse('function_name argument given to redis.register_function must be a string') end
    given.name = tostring(value)
  end,
  description = function(_, value)
    if not is_text(value) then refuse('description argument given to redis.register_function must be a string') end
  end,
  callback = function(given, value)
    if type(value) ~= 'function' then refuse('callback argument given to redis.register_function must be a function') end
    given.callback = value
  end,
  flags = function(given, value)
    if type(value) ~= 'table' then
      refuse('flags argument to redis.register_function must be a table representing function flags')
    end
    given.flags = read_flags(value)
  end,
}

local function named_arguments(arguments)
  local given = { flags = {} }
  for key, value in pairs(arguments) do
    if not is_text(key) then refuse('named argument key given to redis.register_function is not a string') end
    local reader = READERS[tostring(key):lower()]
    if not reader then refuse('unknown argument given to redis.register_function') end
    reader(given, value)
  end
  if not given.name then refuse('redis.register_function must get a function name argument') end
  if not given.callback then refuse('redis.register_function must get a callback argument') end
  return given
end

local function positional_arguments(name, callback)
  if not is_text(name) then refuse('first argument to redis.register_function must be a string') end
  if type(callback) ~= 'function' then refuse('second argument to redis.register_function must be a function') end
  return { name = tostring(name), callback = callback, flags = {} }
end

-- redis.register_function for a library that collects into `functions`, by lower-case name: Redis does not tell the case of names apart.
function library.registrar(functions)
  return function(...)
    local count, first, second = select('#', ...), ...
    if count < 1 or count > 2 then refuse('wrong number of arguments to redis.register_function') end
    if count == 1 and type(first) ~= 'table' then
      refuse('calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).')
    end
    local given = count == 1 and named_arguments(first) or positional_arguments(first, second)
    if not is_name(given.name) then refuse(BAD_NAME) end
    if functions[given.name:lower()] then refuse('Function already exists in the library') end
    functions[given.name:lower()] = given
  end
end
