for _, n in ipairs(NUMBERS) do
  say('arithmetic', n, n + 1, n - 1, n * 3, n / 7, n % 7, -n % 7, n % -7, n % 0.3, 7 % n, -n, n ^ 2)
  say('compared', n < 1, n <= 1, n == n, n > 2 ^ 53, n ~= 0.1, n < 2 ^ 63)
  say('math', math.floor(n), math.ceil(n), math.abs(n), math.max(n, 0), math.min(n, 0), math.modf(n))
  say('fmod', math.fmod(n, 3), math.fmod(n, -3), math.fmod(3, n), math.sqrt(math.abs(n)), math.frexp(n))
  say('ldexp', math.ldexp(n, 3), math.ldexp(n, -3), math.ldexp(0.5, n % 64 == n % 64 and n % 64 or 0))
  local step, turns = math.abs(n) > 1e15 and math.min(math.abs(n), 1e300) or 1e15, 0
  for i = -step, step, step / 2 do turns = turns + (i < n and 1 or 0) end
  say('turns', turns)
  local t = { [2147483647] = 'a', [-2147483648] = 'b', [0] = 'c', [1] = 'd', [4294967296] = 'e', [9007199254740992] = 'f' }
  say('found', t[n], t[n + 1], t[-n])
  if n == n then
    t[n] = 'here'
    say('put', t[n], t[n + 0], t[0], t[1], t[2147483647], t[-2147483648], #t)
  else
    try('put', function() t[n] = 1 end)
  end
end

-- Functions whose last digit depends on the library of mathematics, to the digits that tostring shows.
for _, x in ipairs { 0, 0.1, 0.5, 1, 1.5, 2, 3, 10, 100, 1000.5 } do
  for _, name in ipairs { 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'exp', 'log', 'log10', 'rad', 'deg' } do
    local y = math[name](x)
    say(name, tostring(x), y == y and tostring(y) or 'nan')
  end
  say('pow', tostring(x ^ 0.5), tostring(x ^ 3), tostring(2 ^ x), tostring(math.pow(x, 1.5)), tostring(math.atan2(x, 2)))
end

local function add(a, b) return a + b end
for _, text in ipairs { '10', ' 10 ', '0x10', '1e2', '10a', '', ' ', '1 0', '-5', '- 5', '0x', 'inf', 'nan', '1e400', '.5', '5.', '.', '\0', '1\0' } do
  try('text as number', add, text, 1)
  try('text negated', function() return -text end)
  try('text in for', function() for i = text, 3 do return i end end)
end
say(1 .. '', 1.5 .. '', -0 .. '', 1e15 .. '', 1e14 .. '', 123456789012345 .. '', 0.1 .. '', 100 .. 'x' .. 2 ^ 53)

local last
for i = 1, 300 do
  local fraction = random() / 2147483648 * 2 - 1
  local n = fraction * 2 ^ (random() % 140 - 40)
  if i % 3 == 0 then n = math.floor(n) end
  say('random', n, n + (last or 0), n * (last or 1), n / (last or 1), n % (last or 1), math.floor(n), n == last, n < (last or 0))
  last = n
end
