-- From the value a function returns to the reply a RESP2 client gets.

local M = ...

local floor, ceil = math.floor, math.ceil

local replies = {}
M.replies = replies

local MIN_INTEGER = -9223372036854775808
local DEPTH_MAX = 200

-- Numbers lose their fraction; what does not fit 64 bits becomes the smallest integer, as a C cast on x86-64 does.
local function integer(number)
  if number ~= number or number >= -MIN_INTEGER or number < MIN_INTEGER then return MIN_INTEGER end
  return number < 0 and ceil(number) or floor(number)
end

local function one_line(text)
  return (text:gsub('[\r\n]', ' '))
end

local convert

local function flattened(map, with_values, depth)
  local out = {}
  for key, value in pairs(map) do
    out[#out + 1] = convert(key, depth)
    if with_values then out[#out + 1] = convert(value, depth) end
  end
  return out
end

local function array(list, depth)
  local out, n = {}, 0
  while true do
    local item = list[n + 1]
    if item == nil then return out end
    n = n + 1
    out[n] = convert(item, depth)
  end
end

local function from_table(value, depth)
  if depth > DEPTH_MAX then return { err = 'reached lua stack limit' } end
  if type(value.err) == 'string' then return { err = one_line(value.err) } end
  if type(value.ok) == 'string' then return { ok = one_line(value.ok) } end
  if type(value.double) == 'number' then return M.numbers.format(value.double) end
  if type(value.map) == 'table' then return flattened(value.map, true, depth) end
  if type(value.set) == 'table' then return flattened(value.set, false, depth) end
  if type(value.big_number) == 'string' then return one_line(value.big_number) end
  local verbatim = value.verbatim_string
  if type(verbatim) == 'table' and type(verbatim.string) == 'string' and type(verbatim.format) == 'string' then
    return verbatim.string
  end
  return array(value, depth)
end

convert = function(value, depth)
  local kind = type(value)
  if kind == 'string' then return value end
  if kind == 'number' then return integer(value) end
  if kind == 'table' then return from_table(value, depth + 1) end
  if value == true then return 1 end
  return false
end

-- The reply in the model's form: numbers, strings, false, {ok}, {err}, arrays.
function replies.from_lua(value)
  return convert(value, 0)
end

-- redis.error_reply: a leading minus goes, a single word gets the general code.
function replies.error_reply(...)
  local text = ...
  if select('#', ...) ~= 1 or type(text) ~= 'string' then return { err = 'ERR wrong number or type of arguments' } end
  text = text:gsub('^%-', ''):gsub('^[\r\n]+', ''):gsub('[\r\n]+$', '')
  if not text:find(' ', 1, true) then text = 'ERR ' .. text end
  return { err = text }
end

function replies.status_reply(...)
  local text = ...
  if select('#', ...) ~= 1 or type(text) ~= 'string' then return { err = 'ERR wrong number or type of arguments' } end
  return { ok = text }
end
