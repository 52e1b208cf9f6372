-- How Redis reads and writes numbers.
--
-- Lua 5.1 has doubles only, Redis has 64-bit integers too. Counters therefore stay strings: sums beyond 2^53 are made digit by
-- digit, so that what is stored is exact. Only an integer *reply* beyond 2^53 is rounded, as it is inside a Redis function.
-- `%.0f` is used instead of `%d`, because where a C `long` has 32 bits (WebAssembly) `%d` would cut.

local M = ...

local HUGE = math.huge
local EXACT = 9007199254740992
local MAX_DIGITS, MIN_DIGITS = '9223372036854775807', '9223372036854775808'
local find, sub, format, lower, byte = string.find, string.sub, string.format, string.lower, string.byte

local numbers = {}
M.numbers = numbers

local function longer_or_greater(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

-- The integer a string stands for, or nil: no blanks, no plus, no leading zeros, within 64 bits.
function numbers.integer(text)
  if not find(text, '^%-?[1-9]%d*$') then
    if text == '0' then return 0 end
    return nil
  end
  if #text > 18 then
    local negative = byte(text) == 45
    local digits = negative and sub(text, 2) or text
    if longer_or_greater(digits, negative and MIN_DIGITS or MAX_DIGITS) then return nil end
  end
  return tonumber(text)
end

-- The i-th digit from the right, counted from 0; zero beyond the left end.
local function digit(digits, i)
  return i < #digits and byte(digits, #digits - i) - 48 or 0
end

local function add_digits(a, b)
  local out, carry = {}, 0
  for i = 0, math.max(#a, #b) - 1 do
    local sum = digit(a, i) + digit(b, i) + carry
    carry = sum >= 10 and 1 or 0
    out[#out + 1] = sum - carry * 10
  end
  if carry == 1 then out[#out + 1] = 1 end
  return table.concat(out):reverse()
end

-- a - b for digit strings with a >= b.
local function subtract_digits(a, b)
  local out, borrow = {}, 0
  for i = 0, #a - 1 do
    local difference = digit(a, i) - digit(b, i) - borrow
    borrow = difference < 0 and 1 or 0
    out[#out + 1] = difference + borrow * 10
  end
  local digits = table.concat(out):reverse():gsub('^0+', '')
  return digits == '' and '0' or digits
end

-- The sum of two integer strings as a string, or nil when it leaves 64 bits.
function numbers.sum(a, b)
  local x, y = tonumber(a), tonumber(b)
  local sum = x + y
  if x < EXACT and x > -EXACT and y < EXACT and y > -EXACT and sum < EXACT and sum > -EXACT then
    return format('%.0f', sum)
  end
  local a_negative, b_negative = byte(a) == 45, byte(b) == 45
  local a_digits, b_digits = a:gsub('^%-', ''), b:gsub('^%-', '')
  local digits, negative
  if a_negative == b_negative then
    digits, negative = add_digits(a_digits, b_digits), a_negative
  elseif longer_or_greater(b_digits, a_digits) then
    digits, negative = subtract_digits(b_digits, a_digits), b_negative
  else
    digits, negative = subtract_digits(a_digits, b_digits), a_negative
  end
  if longer_or_greater(digits, negative and MIN_DIGITS or MAX_DIGITS) then return nil end
  if digits == '0' then return '0' end
  return (negative and '-' or '') .. digits
end

-- The value of a decimal or hexadecimal number with an optional sign; nil for anything else. Infinities are accepted, not-a-number is not.
-- Hexadecimal fractions, which C also reads, are refused.
local function float(text)
  -- Almost every score is one of these.
  if #text <= 15 and find(text, '^%d+$') then return tonumber(text), text end
  local sign, rest = text:match('^([+-]?)(.*)$')
  local word = lower(rest)
  local value
  if word == 'inf' or word == 'infinity' then
    value = HUGE
  elseif find(word, '^0x%x+$') then
    value = 0
    for nibble in word:sub(3):gmatch('.') do value = value * 16 + tonumber(nibble, 16) end
  elseif find(word, '^%d+%.?%d*$') or find(word, '^%.%d+$') or find(word, '^%d+%.?%d*e[+-]?%d+$') or find(word, '^%.%d+e[+-]?%d+$') then
    value = tonumber(word)
  end
  if value and sign == '-' then value = -value end
  return value, word
end

-- A score as ZADD takes it. What does not fit a double is refused; minus zero is stored as zero.
function numbers.score(text)
  local value, word = float(text)
  if not value then return nil end
  if (value == HUGE or value == -HUGE) and not find(word, '^inf') then return nil end
  if value == 0 and find(word:gsub('e.*$', ''), '[1-9a-f]') and not find(word, '^0x') then return nil end
  return value + 0
end

-- One end of a score range: its value and whether it is exclusive; nil when it is not a float.
-- Leading blanks and the empty string (zero) pass here, as they do in Redis.
function numbers.bound(text)
  local exclusive = byte(text) == 40
  if exclusive then text = sub(text, 2) end
  if text == '' then return 0, exclusive end
  return (float((text:gsub('^%s+', '')))), exclusive
end

-- A score as Redis prints it.
function numbers.format(value)
  if value == HUGE then return 'inf' end
  if value == -HUGE then return '-inf' end
  return format('%.17g', value)
end
