-- The Redis Functions host: loads libraries and calls their functions on a model database.
--
-- `M.new_host(db)` gives a host with
--   host:load(source, replace)               -> library name, or nil and the error line
--   host:fcall(name, keys, args, read_only)  -> reply in the model's form
--   host.calls     how many redis.call and redis.pcall the last fcall made
--   host:traced()  their command names and first keys: a list of { name, key }
--   host:has(name) whether there is such a function; host:needs_memory(name) whether Redis refuses it when it is full
--   host.fail_at   n: the n-th call of the next fcall fails without running, with the error line host.fail_with when that is set
--   host.logged    a list of { level, text } written by redis.log, drained by its reader

local M = ...

local error, select, type, xpcall = error, select, type, xpcall
local format, lower = string.format, string.lower
local commands, find_command, arity_fits = M.commands, M.find_command, M.arity_fits
-- Whoever runs this where there is no debug library may give a `getinfo` of its own.
local getinfo = M.getinfo or (debug and debug.getinfo)

local CHUNK = '@user_function'

local Host = {}
Host.__index = Host

local function fields_of_redis(host)
  return {
    LOG_DEBUG = 0,
    LOG_VERBOSE = 1,
    LOG_NOTICE = 2,
    LOG_WARNING = 3,
    REDIS_VERSION = '7.0.15',
    REDIS_VERSION_NUM = 458767,
    log = function(...)
      local level = ...
      if select('#', ...) < 2 then error({ err = 'ERR redis.log() requires two arguments or more.' }, 0) end
      if type(level) ~= 'number' then error({ err = 'ERR First argument must be a number (log level).' }, 0) end
      if level < 0 or level > 3 then error({ err = 'ERR Invalid debug level.' }, 0) end
      local words = {}
      for i = 2, select('#', ...) do words[#words + 1] = tostring((select(i, ...))) end
      host.logged[#host.logged + 1] = { level = level, text = table.concat(words, ' ') }
    end,
  }
end

-- What a function passed to redis.call as a list of strings, and its length; nil and the length when that can not be made.
-- Whoever runs this may give a quicker one.
local words = M.words or function(...)
  local list, count = { ... }, select('#', ...)
  if count == 0 then return nil, 0 end
  for i = 1, count do
    local kind = type(list[i])
    if kind == 'number' then
      list[i] = format('%.17g', list[i])
    elseif kind ~= 'string' then
      return nil, count
    end
  end
  return list, count
end

-- Why a command is not run inside a function.
local function refusal(command, count)
  if not command then return 'ERR Unknown Redis command called from script' end
  if not arity_fits(command, count) then return 'ERR Wrong number of args calling Redis command from script' end
  return 'ERR Write commands are not allowed from read-only scripts.'
end

-- Everything a function does goes through here, so calls that would only make it easier to read are written out.
local function run(host, args, count)
  if not args then
    if count == 0 then return { err = 'ERR Please specify at least one argument for this redis lib call' } end
    return { err = 'ERR Lua redis lib command arguments must be strings or integers' }
  end
  local calls, name = host.calls + 1, args[1]
  -- Made into a list only when somebody asks; entries beyond `calls` are left from an earlier function.
  host.calls, host.trace[calls] = calls, args
  if calls == host.fail_at then return { err = host.fail_with or 'ERR injected failure' } end
  local command = commands[name] or find_command(name)
  local arity = command and command.arity
  if not command or (count ~= arity and (arity > 0 or count < -arity)) or (command.write and host.read_only) then
    return { err = refusal(command, count) }
  end
  return command.run(host.db, args, count)
end

local function call_time_redis(host)
  local redis = fields_of_redis(host)
  function redis.call(...)
    local reply = run(host, words(...))
    if type(reply) == 'table' and reply.err then error(reply, 0) end
    return reply
  end
  function redis.pcall(...)
    return run(host, words(...))
  end
  function redis.setresp(...)
    if select('#', ...) ~= 1 then error({ err = 'ERR redis.setresp() requires one argument.' }, 0) end
    -- Replies have their RESP2 form in every host of the library; a function that asks for RESP3 would differ between them.
    if (...) == 3 then error({ err = 'ERR RESP3 is not modelled.' }, 0) end
    if (...) ~= 2 then error({ err = 'ERR RESP version must be 2 or 3.' }, 0) end
  end
  redis.error_reply = M.replies.error_reply
  redis.status_reply = M.replies.status_reply
  return redis
end

local function load_time_redis(host, functions)
  local redis = fields_of_redis(host)
  redis.register_function = M.library.registrar(functions)
  return redis
end

-- The line of the library that raised the error; `?` when a tail call has removed it from the stack.
local function raising_line()
  if not getinfo then return '?' end
  local level = 3
  while true do
    local info = getinfo(level, 'Sl')
    if not info or info.what == 'tail' then return '?' end
    if info.source == CHUNK then return info.currentline end
    level = level + 1
  end
end

local function error_handler(problem)
  local text = type(problem) == 'table' and problem.err or 'ERR ' .. tostring(problem)
  return { err = text, line = raising_line() }
end

function M.new_host(db)
  return setmetatable({ db = db, libraries = {}, functions = {}, calls = 0, trace = {}, logged = {} }, Host)
end

-- Runs the chunk of a library in the loading phase. Returns what it registered, or nil and the error line.
function Host:run_library(code)
  local chunk, compile_error = loadstring(code, CHUNK)
  if not chunk then return nil, 'ERR Error compiling function: ' .. compile_error end
  local functions = {}
  local globals, finish_loading = M.sandbox.new(load_time_redis(self, functions), call_time_redis(self))
  setfenv(chunk, globals)
  local ok, problem = xpcall(chunk, error_handler)
  if not ok then return nil, 'ERR Error registering functions: ' .. problem.err end
  if next(functions) == nil then return nil, 'ERR No functions registered' end
  finish_loading()
  return functions
end

function Host:load(source, replace)
  local name, code = M.library.read_header(source)
  if not name then return nil, code end
  if self.libraries[name] and not replace then return nil, "ERR Library '" .. name .. "' already exists" end
  local functions, problem = self:run_library(code)
  if not functions then return nil, problem end
  for id, registered in pairs(functions) do
    local other = self.functions[id]
    if other and other.library ~= name then return nil, 'ERR Function ' .. registered.name .. ' already exists' end
  end
  for id in pairs(self.libraries[name] or {}) do self.functions[id] = nil end
  self.libraries[name] = functions
  for id, registered in pairs(functions) do
    registered.library = name
    self.functions[id] = registered
  end
  return name
end

local function find_function(host, name)
  return host.functions[name] or host.functions[lower(name)]
end

function Host:has(name)
  return find_function(self, name) ~= nil
end

function Host:needs_memory(name)
  local registered = find_function(self, name)
  return registered ~= nil and not registered.flags['allow-oom'] and not registered.flags['no-writes']
end

function Host:traced()
  local list = {}
  for i = 1, self.calls do list[i] = { lower(self.trace[i][1]), self.trace[i][2] or '' } end
  return list
end

function Host:fcall(name, keys, args, read_only)
  local registered = find_function(self, name)
  if not registered then return { err = 'ERR Function not found' } end
  local no_writes = registered.flags['no-writes']
  if read_only and not no_writes then
    return { err = 'ERR Can not execute a script with write flag using *_ro command.' }
  end
  self.calls, self.read_only = 0, no_writes
  self.db:begin(not no_writes)
  local callback = registered.callback
  -- A tail call leaves no frame of the host on the stack, so `error(text, 2)` finds no position to add, as in Redis.
  local ok, result = xpcall(function() return callback(keys, args) end, error_handler)
  self.fail_at, self.fail_with = nil, nil
  if ok then return M.replies.from_lua(result) end
  return M.replies.from_lua({ err = result.err .. ' script: ' .. name .. ', on ' .. CHUNK .. ':' .. result.line .. '.' })
end
