local TEXTS = { '0', '-0', '+1', '1', '-1', '007', '1.', '.1', '1.5', '1e5', '1E5', '1e+5', '1e-5', '1e', '1e+', 'e5', '.', '', ' ', ' 1', '1 ', '\t1\n', '1 2',
  '0x', '0x0', '0xff', '0XFF', '0xffffffff', '0x100000000', '0xffffffffff', '0x7fffffffffffffff', '0x8000000000000000', '0xffffffffffffffff',
  '0x10000000000000000', '-0xff', '0x1p4', '0x.8', '0b1', '1_000', '1,5', 'inf', 'INF', '-inf', 'infinity', 'nan', 'NaN', 'nan(1)', '1e308', '1e309', '-1e309', '1e-323',
  '1e-324', '4.9e-324', '2.2250738585072014e-308', '1.7976931348623157e308', '1.7976931348623159e308', '9007199254740993', '18446744073709551616',
  '123456789012345', '1234567890123456', '12345678901234567', '123456789012345678901234567890', '0.1', '0.30000000000000004', '1x', 'x1', '１', '1\0', '\0', '--1', '+-1', '1d', '1f', '1l',
  '00000000000000000000000000000000001', '0.000000000000000000000000000000000000000001', '999999999999999', '-999999999999999', '99999999999999999999' }

for _, text in ipairs(TEXTS) do
  try('tonumber ' .. text:gsub('%z', '\\0'), tonumber, text)
  for _, base in ipairs { 2, 8, 10, 16, 36 } do try('base ' .. base, tonumber, text, base) end
end
for _, text in ipairs { 'zz', 'ZZ', '7fffffffff', 'ffffffffffffffff', '10000000000000000', '-ff', ' ff ', 'f f', '1.5', '2', '0xff', '' } do
  for base = 1, 37 do try(text .. ' in ' .. base, tonumber, text, base) end
end
try('base', tonumber, '1', 2 ^ 32 + 10)
try('base', tonumber, '1', -1)
try('base', tonumber, '1', 'x')
try('base', tonumber, 10, 16)
try('value', tonumber, nil)
try('value', tonumber, {})
try('value', tonumber)
try('value', tonumber, true, 10)
for _, value in ipairs { true, false, 1, 'x' } do say(tostring(value), type(value)) end
try('tostring', tostring)

for i = 1, 400 do
  local digits = {}
  for place = 1, random() % 22 + 1 do digits[place] = random() % 10 end
  local text = (i % 3 == 0 and '-' or '') .. table.concat(digits)
  if i % 4 == 0 then text = text .. '.' .. random() end
  if i % 5 == 0 then text = text .. 'e' .. (random() % 700 - 350) end
  say(text, tonumber(text), tonumber(text, 10))
end
