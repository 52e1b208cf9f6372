-- The Redis Functions host: loads libraries and calls their functions on a model database.
--
-- `M.new_host(db)` gives a host with
--   host:load(source, replace)               -> library name, or nil and the error line
--   host:fcall(name, keys, args, read_only)  -> reply in the model's form
--   host.calls     how many redis.call and redis.pcall the last fcall made
--   host.trace     their command names and first keys: a list of { name, key }
--   host.fail_at   n: the n-th call of the next fcall fails without running, with the error line host.fail_with when that is set
--   host.logged    a list of { level, text } written by redis.log, drained by its reader

local M = ...

local error, select, type, xpcall = error, select, type, xpcall
local format, lower = string.format, string.lower
local find_command, arity_fits = M.find_command, M.arity_fits
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

-- Turns what a function passed to redis.call into a list of strings in place; returns an error text when that can not be done.
local function stringify(args, count)
  if count == 0 then return 'ERR Please specify at least one argument for this redis lib call' end
  for i = 1, count do
    local kind = type(args[i])
    if kind == 'number' then
      args[i] = format('%.17g', args[i])
    elseif kind ~= 'string' then
      return 'ERR Lua redis lib command arguments must be strings or integers'
    end
  end
  return nil
end

-- What stops a command inside a function before it runs, or nil.
local function refusal(host, command, count)
  if not command then return 'ERR Unknown Redis command called from script' end
  if not arity_fits(command, count) then return 'ERR Wrong number of args calling Redis command from script' end
  if host.read_only and command.write then return 'ERR Write commands are not allowed from read-only scripts.' end
  return nil
end

local function run(host, args, count)
  local problem = stringify(args, count)
  if problem then return { err = problem } end
  host.calls = host.calls + 1
  host.trace[host.calls] = { lower(args[1]), args[2] or '' }
  if host.calls == host.fail_at then return { err = host.fail_with or 'ERR injected failure' } end
  local command = find_command(args[1])
  problem = refusal(host, command, count)
  if problem then return { err = problem } end
  return command.run(host.db, args, count)
end

local function call_time_redis(host)
  local redis = fields_of_redis(host)
  function redis.call(...)
    local reply = run(host, { ... }, select('#', ...))
    if type(reply) == 'table' and reply.err then error(reply, 0) end
    return reply
  end
  function redis.pcall(...)
    return run(host, { ... }, select('#', ...))
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

function Host:fcall(name, keys, args, read_only)
  local registered = self.functions[name] or self.functions[lower(name)]
  if not registered then return { err = 'ERR Function not found' } end
  local no_writes = registered.flags['no-writes']
  if read_only and not no_writes then
    return { err = 'ERR Can not execute a script with write flag using *_ro command.' }
  end
  self.calls, self.trace, self.read_only = 0, {}, no_writes
  local callback = registered.callback
  -- A tail call leaves no frame of the host on the stack, so `error(text, 2)` finds no position to add, as in Redis.
  local ok, result = xpcall(function() return callback(keys, args) end, error_handler)
  self.fail_at, self.fail_with = nil, nil
  if ok then return M.replies.from_lua(result) end
  return M.replies.from_lua({ err = result.err .. ' script: ' .. name .. ', on ' .. CHUNK .. ':' .. result.line .. '.' })
end
