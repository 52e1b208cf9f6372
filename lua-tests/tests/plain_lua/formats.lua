local FORMATS = { '%d', '%i', '%5d', '%-8d|', '%08d', '%+d', '% d', '%.3d', '%u', '%o', '%x', '%X', '%#x', '%#o', '%c', '%e', '%E', '%f', '%g', '%G',
  '%.0f', '%.1f', '%.14g', '%.17g', '%.3e', '%10.2f', '%-10.2f|', '%+g', '%#g', '%05.1f', '%.0e', '%.20f', '%.99f', '%99d' }

for _, n in ipairs(NUMBERS) do
  if n == n then
    for _, format in ipairs(FORMATS) do try(format, string.format, format, n) end
  else
    try('%d of nan', string.format, '%d %x %u', n, n, n)
  end
  say('tostring', n)
end

for _, value in ipairs { 'text', '', 'a\0b', '12', '0x10', ' 7 ', true, false, {}, 3 } do
  for _, format in ipairs { '%s', '%10s', '%-10s|', '%.2s', '%q', '%d', '%x', '%g', '%c', '%5.1s', '%%', '%' } do
    if type(value) ~= 'table' then try(format, string.format, format, value) end
  end
end
for _, format in ipairs { '%', '%y', '%5', '%100d', '%.100d', '%-----d', '%-+ #0d', '%ld', '%1$d', '%*d', '%p', '%a', '%', 'a%', '%s %s', '%d %d' } do
  try(format, string.format, format, 1)
end
try('no argument', string.format)
try('%q', string.format, '%q', 'line\nreturn\rzero\0quote"slash\\tab\t\127\200')
try('%q', string.format, '%q', '\0001')
try('long', string.format, '%s|%200s', ('x'):rep(1000), 'y')
try('long', string.format, '%.50s', ('x'):rep(1000))

for i = 1, 300 do
  local n = (random() / 2147483648 * 2 - 1) * 2 ^ (random() % 140 - 40)
  if i % 2 == 0 then n = math.floor(n) end
  say('random', string.format('%.17g|%.14g|%g|%f|%e|%d|%x|%o|%u|%.0f|%.2f|%c', n, n, n, n % 1e15, n, n, n, n, n, n, n, n % 128))
  say('there and back', tonumber(string.format('%.17g', n)) == n, tonumber(tostring(n)))
end
