local SUBJECTS = { '', 'a', 'abc', 'hello world', 'key=value, other = thing', '  trim me  ', 'f(a(b)c)d', 'THE (quick) fox', '2026-01-31T12:00:00Z', 'a,b,,c', '\0a\0b', '\255\128x',
  'aaa', 'a.b.c', 'x = 1.5e-3', '[bracket]', '100%', 'one;two;;four' }
local PATTERNS = { '', '.', '.*', '.-', '.+', 'a', 'a*', 'a+', 'a-', 'a?', '^a', 'a$', '^$', '^', '$', '%a+', '%d+', '%s*', '%w+', '%p', '%c', '%x+', '%l+', '%u+', '%z', '%A', '%D', '%S+', '%W',
  '(%w+)=(%w+)', '(%w+)%s*=%s*(%w+)', '^%s*(.-)%s*$', '%b()', '%((%a+)%)', '(%d+)%-(%d+)%-(%d+)', '[abc]', '[^abc]', '[a-c]+', '[%a_][%w_]*', '[]]', '[^]]', '[a-]', '[-a]', '[%]]', '()', '()a()',
  '(a)(b)(c)', '(a(b))', '(.)%1', '%f[%w]%w+', '%f[%a]', '[%z]', '[\128-\255]', 'a.-c', '.-,', '(.-),', '%%', '%.', '((((a))))',
  -- These are errors.
  '%', '[a', '[', '(', ')', 'a)', '(a', '%1', '(a)%2', '%b', '%bx', '%f', '%fa', '[%', '[a-' }

for _, subject in ipairs(SUBJECTS) do
  for _, pattern in ipairs(PATTERNS) do
    try('find ' .. pattern, string.find, subject, pattern)
    try('match', string.match, subject, pattern)
    try('gsub', string.gsub, subject, pattern, '<%0>')
    try('from', string.find, subject, pattern, 3)
    try('gmatch', function()
      local found = {}
      for a, b in subject:gmatch(pattern) do
        found[#found + 1] = tostring(a) .. ':' .. tostring(b)
        if #found > 30 then break end
      end
      return table.concat(found, ' ')
    end)
  end
  try('plain', string.find, subject, '.', 1, true)
  try('plain', string.find, subject, '', 2, true)
end

for _, with in ipairs { '%1', '%2', '%0%0', '%%', '%', '%x', 'x%9', '' } do
  try('with ' .. with, string.gsub, 'hello world', '(%w)(%w)', with)
end
try('limited', string.gsub, 'aaaa', 'a', 'b', 2)
try('limited', string.gsub, 'aaaa', 'a', 'b', 0)
try('limited', string.gsub, 'aaaa', 'a', 'b', -1)
try('limited', string.gsub, 'aaaa', 'a', 'b', 2 ^ 32 + 1)
try('table', string.gsub, 'a b c', '%w', { a = '1', b = 2, c = false })
try('function', string.gsub, 'a b c', '%w', function(c) if c ~= 'b' then return c .. c end end)
try('function', string.gsub, 'abc', '%w', function() return {} end)
try('number', string.gsub, 'abc', 'b', 5)
try('nothing', string.gsub, 'abc', 'b')
local function captures(n) return #{ string.find(('a'):rep(40), ('(a)'):rep(n)) } end
try('captures', captures, 32)
try('captures', captures, 33)
try('number', string.find, 12345, 34)
try('deep', string.find, ('a'):rep(500), ('a?'):rep(500))
try('long', string.match, ('x'):rep(5000) .. 'y', '^(x*)y$')
