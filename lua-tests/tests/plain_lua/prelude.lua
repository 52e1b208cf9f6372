-- Before each of the other files: `say(...)` writes a line, `try(f, ...)` writes a line with what a call gives or raises, `random()`
-- gives whole numbers below 2^31. What is returned is the text of all lines.

local lines = {}

-- The sign of a NaN differs between processors.
local function show(value)
  if value ~= value then return 'nan' end
  local kind = type(value)
  if kind == 'number' then return string.format('%.17g', value) .. ' ' .. tostring(value) end
  if kind == 'table' or kind == 'function' then return kind end
  return tostring(value)
end

local function say(...)
  local words = {}
  for i = 1, select('#', ...) do words[i] = show((select(i, ...))) end
  lines[#lines + 1] = table.concat(words, '\t')
end

local function try(name, f, ...)
  say(name, pcall(f, ...))
end

local seed = tonumber(args[1])
local function random()
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed
end

-- Numbers where representations end, and their neighbours.
local NUMBERS = { 0, -0, 1, -1, 2, 0.1, -0.1, 0.5, 1 / 3, 1e-10, 1e-320, 5e-324, 1e15, 1e16, 1e17, 1e18, 1e19, 1e100, 1e300, -1e300,
  1.7976931348623157e308, 123456789012, 1722470400123, 1722470400123456, 99999999999999, 999999999999999, 1 / 0, -1 / 0, 0 / 0 }
for _, bits in ipairs { 7, 8, 15, 16, 24, 31, 32, 33, 40, 52, 53, 54, 62, 63, 64, 65, 100 } do
  for _, near in ipairs { -1, -0.5, 0, 0.5, 1 } do
    NUMBERS[#NUMBERS + 1] = 2 ^ bits + near
    NUMBERS[#NUMBERS + 1] = -(2 ^ bits) + near
  end
end
