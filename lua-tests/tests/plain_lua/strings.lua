local POSITIONS = { 0, 1, 2, 3, 5, 6, -1, -2, -5, -6, 1.5, -1.5, 2 ^ 31 - 1, 2 ^ 31, -2 ^ 31, -2 ^ 31 - 1, 2 ^ 32, 2 ^ 32 + 2, -2 ^ 32 - 1, 2 ^ 53, -2 ^ 53, 2 ^ 63, -2 ^ 63, 2 ^ 64,
  1e300, -1e300, 1 / 0, -1 / 0, 0 / 0 }

for _, from in ipairs(POSITIONS) do
  try('sub', string.sub, 'hello', from)
  try('byte', string.byte, 'hello', from)
  try('find', string.find, 'hello hello', 'l', from)
  try('plain', string.find, 'hello hello', 'l', from, true)
  try('match', string.match, 'hello', '.', from)
  try('char', string.char, from)
  -- A count is taken modulo 2^32, and may not be what it seems.
  if from ~= 2 ^ 31 - 1 and from ~= -2 ^ 31 - 1 then try('rep', string.rep, 'ab', from) end
  try('select', select, from, 'a', 'b', 'c')
  for _, to in ipairs(POSITIONS) do
    try('sub', string.sub, 'hello', from, to)
    try('byte', string.byte, 'hello', from, to)
  end
end

for _, text in ipairs { '', 'a', 'Hello World', 'a\0b', '\255\128\0', 'ÄÖÜ straße', ('x'):rep(2000) } do
  say('of', #text, text:len(), text:upper(), text:lower(), text:reverse(), text:byte(1, -1))
  for _, other in ipairs { '', 'a', 'b', 'A', 'a\0a', 'a\0c', '\255', '\128', 'Hello', 'Hello World!', ('x'):rep(1999) .. 'y', ('x'):rep(2001) } do
    say('order', text < other, text <= other, text == other, text > other)
  end
end

try('char', string.char, 72, 101, 108, 108, 111, 0, 255)
try('char', string.char, 256)
try('char', string.char, -1)
try('char', string.char, 'x')
try('char', string.char)
try('char', string.char, '65')
try('rep', string.rep, 'x', 3)
try('rep', string.rep, '', 100)
try('rep', string.rep, 'x', -5)
try('rep', string.rep, 'x')
try('rep', string.rep, 7, 3)
try('sub', string.sub, 12345, 2, 3)
try('sub', string.sub)
try('sub', string.sub, 'x', {})
try('len', string.len, {})
try('upper', string.upper, nil)
say(('x'):rep(3), ('%d'):format(3), #'\0\0', 'a' .. 1 .. 2, 'a\65\066\9b', 'line\
end', [[
first line is dropped
]], [==[a]]b]==])

for _ = 1, 200 do
  local bytes = {}
  for i = 1, random() % 20 do bytes[i] = string.char(random() % 256) end
  local text, from, to = table.concat(bytes), random() % 50 - 25, random() % 50 - 25
  say('random', text:sub(from, to), text:byte(from), text:reverse(), text:upper() == text, text < 'm', ('%q'):format(text))
end
