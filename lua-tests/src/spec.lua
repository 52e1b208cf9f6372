-- The words specs are written with.
--
--   describe(name, fn)            a group; groups nest
--   before_each(fn)               runs before each `it` of its group and the groups inside
--   it(name, [options,] fn)       one test; options.hosts = 'model', 'real', or names with blanks between
--
--   R                             the root key of this test's own cell
--   fcall(fn, ...)                FCALL with KEYS = { R }; fcall_on(root, fn, ...) with another root; fcall_ro likewise read-only
--   fcall_keys(keys, fn, ...)     with any list of keys
--   redis(command, ...)           a plain command
--   fields(reply)                 { a = 1, ... } from the flat list { 'a', 1, ... }
--   now_ms()                      the cell's clock: the later of TIME and the field `clock` of R
--   advance(ms)                   moves the cell's clock on
--   outage(ms)                    makes the cell believe that it last saw a call that long ago
--   pass_time(ms)                 lets the host's own clock run on (a real server is waited for)
--   wait_until(fn, timeout_ms)    until fn() is true
--   hear()                        hears what is announced on R:wake from now on
--   heard()                       what was announced since it was asked last, in order
--   keyspace()                    every key of the cell, by its suffix to R, as text; without the record's clock and wake
--   finds_and_mends(damage)       two tests: check names what damage.hurt() does with damage.words, whole and (unless damage.whole) in
--                                 pages, repair mends what check names, and then no key differs from what it was before but those
--                                 that a word of damage.changed is a part of (R: the record)
--   host_name                     'in_process', 'wasm', 'standalone' or 'cluster'
--   on_model                      whether it is one of the first two
--   call_count() call_trace() fail_at(n) dump()     on a model only
--
--   expect(x):equals(y) :differs_from(y) :is_null() :is_true() :succeeds() :is_error('CODE') :contains(item or text) :lacks(...)
--            :matches(pattern) :has(field, value) :has_length(n) :is_at_least(n) :is_at_most(n); they can be chained
--
-- Replies are plain values: numbers, strings, tables, `null` for nil, { err = 'CODE text' } for an error.

local host, file = ...

null = host.null

local tests, scopes = {}, {}

local function show(value, indent)
  if value == null then return 'null' end
  if type(value) == 'string' then return (('%q'):format(value):gsub('\\\n', '\\n')) end
  if type(value) ~= 'table' then return tostring(value) end
  if value.err and next(value, next(value)) == nil then return 'error ' .. show(value.err) end
  local parts, deeper = {}, indent .. '  '
  local listed = #value
  for i = 1, listed do parts[i] = show(value[i], deeper) end
  local names = {}
  for key in pairs(value) do
    if not (type(key) == 'number' and key >= 1 and key <= listed and key % 1 == 0) then names[#names + 1] = key end
  end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(names) do parts[#parts + 1] = tostring(key) .. ' = ' .. show(value[key], deeper) end
  local line = '{ ' .. table.concat(parts, ', ') .. ' }'
  if #line <= 100 then return line end
  -- A long flat list of fields and values is read two by two.
  local rows, i = {}, 1
  while i <= #parts do
    local paired = i < listed and listed % 2 == 0 and type(value[i]) == 'string' and type(value[i + 1]) ~= 'table'
    rows[#rows + 1] = deeper .. parts[i] .. (paired and ', ' .. parts[i + 1] or '')
    i = i + (paired and 2 or 1)
  end
  return '{\n' .. table.concat(rows, ',\n') .. '\n' .. indent .. '}'
end

local function shown(value) return show(value, '  ') end

local function same(a, b)
  if a == b then return true end
  if type(a) ~= 'table' or type(b) ~= 'table' then return false end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

local function is_error(value) return type(value) == 'table' and type(value.err) == 'string' end

function fields(reply)
  if type(reply) ~= 'table' or is_error(reply) or #reply % 2 == 1 then
    error('expected a list of fields, got ' .. shown(reply), 2)
  end
  local out = {}
  for i = 1, #reply, 2 do out[reply[i]] = reply[i + 1] end
  return out
end

local Expectation = {}
Expectation.__index = Expectation

-- Defines expect(x):name(...). `check` returns nil when it holds, otherwise what was wanted.
local function expectation(name, check)
  Expectation[name] = function(self, ...)
    local wanted = check(self.value, ...)
    if wanted then error('expected ' .. wanted .. '\n  got ' .. shown(self.value), 2) end
    return self
  end
end

function expect(value) return setmetatable({ value = value }, Expectation) end

local function has_item(value, wanted)
  if type(value) == 'string' then return value:find(wanted, 1, true) ~= nil end
  if is_error(value) then return value.err:find(wanted, 1, true) ~= nil end
  if type(value) == 'table' then
    for _, item in ipairs(value) do
      if same(item, wanted) then return true end
    end
  end
  return false
end

local function field_of(value, name)
  if type(value) ~= 'table' then return nil end
  if value[name] ~= nil then return value[name] end
  for i = 1, #value - 1, 2 do
    if value[i] == name then return value[i + 1] end
  end
  return nil
end

local function ordered(test, words)
  return function(value, limit)
    local number = tonumber(value)
    return not (number and test(number, limit)) and words .. ' ' .. tostring(limit) or nil
  end
end

expectation('equals', function(value, wanted) return not same(value, wanted) and shown(wanted) or nil end)
expectation('differs_from', function(value, other) return same(value, other) and 'anything but this' or nil end)
expectation('is_null', function(value) return value ~= null and 'null' or nil end)
expectation('is_true', function(value) return (not value or value == null) and 'a true value' or nil end)
expectation('succeeds', function(value) return is_error(value) and 'no error' or nil end)
expectation('is_error', function(value, code)
  if is_error(value) and (code == nil or value.err:match('^%S+') == code) then return nil end
  return 'an error ' .. (code or '')
end)
expectation('contains', function(value, item) return not has_item(value, item) and 'something with ' .. shown(item) or nil end)
expectation('lacks', function(value, item) return has_item(value, item) and 'something without ' .. shown(item) or nil end)
expectation('matches', function(value, pattern)
  local text = is_error(value) and value.err or value
  return not (type(text) == 'string' and text:find(pattern)) and 'a match of ' .. shown(pattern) or nil
end)
expectation('has_length', function(value, length)
  return (type(value) ~= 'table' and type(value) ~= 'string' or #value ~= length) and 'a length of ' .. length or nil
end)
-- Numbers count as their text here, because replies carry most numbers as strings.
expectation('has', function(value, name, wanted)
  local got = field_of(value, name)
  if got == nil then return 'a field ' .. shown(name) end
  if wanted == nil or same(got, wanted) then return nil end
  if type(wanted) == 'number' and tonumber(got) == wanted then return nil end
  return 'the field ' .. name .. ' to be ' .. shown(wanted) .. ', not ' .. shown(got)
end)
expectation('is_at_least', ordered(function(a, b) return a >= b end, 'at least'))
expectation('is_at_most', ordered(function(a, b) return a <= b end, 'at most'))

function describe(name, fn)
  scopes[#scopes + 1] = { name = name, before = {} }
  fn()
  scopes[#scopes] = nil
end

function before_each(fn)
  assert(#scopes > 0, 'before_each belongs inside a describe')
  table.insert(scopes[#scopes].before, fn)
end

function it(name, options, fn)
  if type(options) == 'function' then options, fn = {}, options end
  local path, chain = {}, {}
  for i, scope in ipairs(scopes) do path[i], chain[i] = scope.name, scope end
  path[#path + 1] = name
  tests[#tests + 1] = { path = path, chain = chain, hosts = options.hosts or 'model real', run = fn }
end

local function texts(...)
  local out = {}
  for i = 1, select('#', ...) do
    local value = select(i, ...)
    local kind = type(value)
    if kind == 'number' then
      out[i] = value % 1 == 0 and ('%.0f'):format(value) or ('%.17g'):format(value)
    elseif kind == 'string' then
      out[i] = value
    else
      error('argument ' .. i .. ' is ' .. shown(value) .. ', not a string or a number', 3)
    end
  end
  return out
end

function redis(...) return host.command(texts(...)) end
function fcall(name, ...) return host.fcall(name, { R }, texts(...), false) end
function fcall_on(root, name, ...) return host.fcall(name, { root }, texts(...), false) end
function fcall_ro(name, ...) return host.fcall(name, { R }, texts(...), true) end
function fcall_keys(keys, name, ...) return host.fcall(name, keys, texts(...), false) end
function pass_time(ms) host.pass_time(ms) end
function hear() host.hear(R .. ':wake') end
function heard() return host.heard() end

function now_ms()
  local time = redis('TIME')
  local server = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  return math.max(server, tonumber(state('clock') or '0'))
end

-- The field of R that every call reads, and what its words are.
local STATE, WORDS = 'state2', { 'clock', 'grants', 'finished', 'wake', 'generation', 'listen', 'configured' }

local function state_of(text)
  local out, at = {}, 0
  for word in text:gmatch('%S+') do
    at = at + 1
    out[WORDS[at]] = word
  end
  return out
end

local function state_text(words)
  local out = {}
  for i, name in ipairs(WORDS) do out[i] = words[name] end
  return table.concat(out, ' ')
end

function state(name)
  local text = redis('HGET', R, STATE)
  return text ~= null and state_of(text)[name] or nil
end

function set_state(name, value)
  local text = redis('HGET', R, STATE)
  local words = state_of(text ~= null and text or '0 0 0 0 0 0 0')
  words[name] = texts(value)[1]
  redis('HSET', R, STATE, state_text(words))
end

function advance(ms) set_state('clock', now_ms() + ms) end
function outage(ms) set_state('clock', now_ms() - ms) end

function wait_until(fn, timeout_ms)
  local waited = 0
  while not fn() do
    if waited >= timeout_ms then error('nothing came in ' .. timeout_ms .. ' ms', 2) end
    host.pass_time(20)
    waited = waited + 20
  end
end

local READ = {
  hash = function(key) return fields(redis('HGETALL', key)) end,
  zset = function(key) return fields(redis('ZRANGE', key, 0, -1, 'WITHSCORES')) end,
  set = function(key)
    local members = redis('SMEMBERS', key)
    table.sort(members)
    return members
  end,
  string = function(key) return redis('GET', key) end,
  stream = function(key) return redis('XRANGE', key, '-', '+') end,
}

function keyspace()
  local out = {}
  for _, key in ipairs(redis('KEYS', R .. '*')) do
    local kind = redis('TYPE', key)
    local value = READ[kind](key)
    if key == R and value[STATE] then
      local words = state_of(value[STATE])
      words.clock, words.wake = '-', '-'
      value[STATE] = state_text(words)
    end
    local expires = redis('PTTL', key) >= 0 and ', expires' or ''
    -- One that has gone meanwhile is not there.
    if redis('EXISTS', key) == 1 then out[key:sub(#R + 1)] = kind .. ' ' .. shown(value) .. expires end
  end
  return out
end

-- Whether the words name the key of this suffix: by a part of it, and the record R as R.
local function is_named(suffix, words)
  for word in words:gmatch('%S+') do
    if word == 'R' and suffix == '' or word ~= 'R' and suffix:find(word, 1, true) then return true end
  end
  return false
end

-- The keys that differ, unless they are named.
local function differing(before, after, words)
  local out = {}
  for _, side in ipairs({ before, after }) do
    for suffix in pairs(side) do
      if before[suffix] ~= after[suffix] and not is_named(suffix, words) then
        out[suffix == '' and 'R' or suffix] = 'before ' .. (before[suffix] or 'none') .. '\n  after ' .. (after[suffix] or 'none')
      end
    end
  end
  return out
end

-- What a function that takes a cursor says over all pages.
local function over_pages(name)
  local cursor, all = '0', {}
  repeat
    local page = fcall(name, 'CURSOR', cursor, 'COUNT', 2)
    expect(page):succeeds()
    for _, sentence in ipairs(page[2]) do all[#all + 1] = sentence end
    cursor = page[1]
  until cursor == '0'
  return all
end

-- More calls than any damage takes.
local REPAIRS = 6

-- Calls repair until it mends nothing; what it mended, call by call.
local function mend(repair)
  local said = {}
  for _ = 1, REPAIRS do
    local one = repair()
    expect(one):succeeds()
    if #one == 0 then return said end
    said[#said + 1] = one
  end
  error('it mends again and again:\n' .. shown(said), 2)
end

-- The sentences without those about counters, unless there are no others: what is out of balance may be what else is wrong.
local function without_counters(sentences)
  local out = {}
  for _, sentence in ipairs(sentences) do
    if not sentence:find('^counters: %d+ [gst]') then out[#out + 1] = sentence end
  end
  return #out > 0 and out or sentences
end

local function expect_whole_again(before, damage)
  expect(fcall('lockless_check')):equals({})
  expect(differing(before, keyspace(), damage.changed or '')):equals({})
end

function finds_and_mends(damage)
  it('finds and mends ' .. damage.name, function()
    local before = keyspace()
    damage.hurt()
    local named = fcall('lockless_check')
    expect(named):succeeds()
    expect(table.concat(named, '\n')):contains(damage.words)
    if not damage.whole then expect(table.concat(over_pages('lockless_check'), '\n')):contains(damage.words) end
    expect(mend(function() return fcall('lockless_repair') end)[1]):equals(without_counters(named))
    expect_whole_again(before, damage)
  end)
  if damage.whole then return end
  it('mends ' .. damage.name .. ' in pages', { hosts = 'in_process' }, function()
    local before = keyspace()
    damage.hurt()
    expect(#mend(function() return over_pages('lockless_repair') end)):is_at_least(1)
    -- What is counted over all of it is only known when the whole cell is looked at.
    for _, sentences in ipairs(mend(function() return fcall('lockless_repair') end)) do
      for _, sentence in ipairs(sentences) do expect(sentence:gsub('pool %S+: it lists', 'counters:')):matches('^counters: ') end
    end
    expect_whole_again(before, damage)
  end)
end

call_count, call_trace, fail_at, dump = host.call_count, host.call_trace, host.fail_at, host.dump

-- What went wrong and the lines of the spec that led there, the innermost first.
local function report(problem)
  local lines = { type(problem) == 'table' and shown(problem) or tostring(problem) }
  for level = 2, 30 do
    local info = host.getinfo(level)
    if not info then break end
    if info.source == '@' .. file then lines[#lines + 1] = '  at ' .. file .. ':' .. info.currentline end
  end
  return table.concat(lines, '\n')
end

local runner = { tests = tests }

-- Runs test n in the cell `root`; returns nil or the report of its failure.
function runner.run(n, root)
  R, host_name, on_model = root, host.name, host.is_model
  local test = tests[n]
  local ok, failure = xpcall(function()
    for _, scope in ipairs(test.chain) do
      for _, before in ipairs(scope.before) do before() end
    end
    test.run()
  end, report)
  if not ok then return failure end
  return nil
end

return runner
