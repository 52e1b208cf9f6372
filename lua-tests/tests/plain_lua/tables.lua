local function list(n, f)
  local t = {}
  for i = 1, n do t[i] = f(i) end
  return t
end

-- The order in which pairs walks is not promised, but it is the same wherever the hash is.
local function walked(t)
  local found = {}
  for key, value in pairs(t) do found[#found + 1] = tostring(key) .. '=' .. tostring(value) end
  return table.concat(found, ' ')
end

say(walked { a = 1, b = 2, c = 3, 10, 20, 30, [2 ^ 31] = 'x', [-1] = 'y', [1.5] = 'z' })
for n = 1, 60 do
  local t = {}
  for i = 1, n do t['key' .. (i * 7919) % 1009] = i end
  for i = 1, n, 3 do t['key' .. (i * 7919) % 1009] = nil end
  say(n, walked(t))
  t = {}
  for i = 1, n do t[i * 1.5] = i end
  for i = 0, n do t[2 ^ 31 + i], t[2 ^ 40 + i], t[-i] = i, i, i end
  say(n, walked(t), #t)
end
for _, holes in ipairs { { 1, 2, nil, 4 }, { nil, nil, 3 }, { n = 5 }, { 1, 2, 3, nil }, {}, { nil } } do say(#holes, table.maxn(holes), walked(holes)) end

for n = 0, 40 do
  local t = list(n, function(i) return (i * 7919) % 101 end)
  table.sort(t)
  say('sorted', table.concat(t, ' '))
  table.sort(t, function(a, b) return a > b end)
  say('reversed', table.concat(t, ' '))
end
for _ = 1, 30 do
  local t = list(random() % 200, function() return random() end)
  table.sort(t)
  say('random', table.concat(t, ' '))
  t = list(random() % 50, function() return ('%x'):format(random()) end)
  table.sort(t)
  say('texts', table.concat(t, ' '))
end
try('sort', table.sort, { 3, 'x', 1 })
try('sort', table.sort, { 3, {}, 1 })
try('sort', table.sort, { 3, 2, 1, 5, 4 }, function() return true end)
try('sort', table.sort, nil)
try('sort', table.sort, { 2, 1 }, 'x')

for _, position in ipairs { 1, 2, 3, 4, 5, 0, -1, 1.9, 2 ^ 32 + 2 } do
  local t = { 'a', 'b', 'c' }
  try('insert', table.insert, t, position, 'x')
  say(walked(t), #t)
  t = { 'a', 'b', 'c' }
  try('remove', table.remove, t, position)
  say(walked(t), #t)
end
try('insert', table.insert, {})
try('insert', table.insert, {}, 1, 2, 3)
try('insert', table.insert, nil, 1)
try('remove', table.remove, {})
try('concat', table.concat, { 1, 2, 'x', 1.5 }, ', ')
try('concat', table.concat, { 1, {}, 3 })
try('concat', table.concat, { 1, 2, 3 }, '-', 2)
try('concat', table.concat, { 1, 2, 3 }, '-', 2, 2)
try('concat', table.concat, { 1, 2, 3 }, '-', 3, 2)
try('concat', table.concat, { 1, 2, 3 }, '-', 1, 5)
try('concat', table.concat, { 1, 2, 3 }, '-', 2 ^ 32 + 1, 2 ^ 32 + 2)
try('maxn', table.maxn, { [1] = 1, [10.5] = 2, [-3] = 3, [2 ^ 53] = 4 })
try('getn', table.getn, { 1, 2, 3 })
try('unpack', unpack, { 1, 2, 3 })
try('unpack', unpack, { 1, 2, 3 }, 2)
try('unpack', unpack, { 1, 2, 3 }, 2, 5)
try('unpack', unpack, {}, 1, 2 ^ 32 + 2)
try('unpack', function() return #{ unpack({}, 1, 1e6) } end)
try('next', next, {}, 'x')
try('next', next, { 5 })
try('next', next, { 5 }, 1)
try('ipairs', function() local n = 0 for i in ipairs { 1, 2, nil, 4 } do n = i end return n end)
try('rawequal', rawequal, 'a', 'a')
try('select', select, '#', nil, nil)
try('select', select, -1, 1, 2, 3)
try('select', select, 0, 1)

local meta = setmetatable({}, { __index = function(_, key) return key .. '!' end, __call = function(_, x) return x end, __len = function() return 9 end,
  __eq = function() return true end, __lt = function() return true end, __concat = function() return 'joined' end, __tostring = function() return 'shown' end,
  __unm = function() return 'negated' end, __add = function() return 'added' end, __newindex = function(t, k, v) rawset(t, k, v .. '?') end })
meta.put = 'x'
say(meta.absent, meta.put, meta(5), #meta, meta < meta, meta .. 'x', tostring(meta), -meta, meta + 1, rawget(meta, 'absent'))
