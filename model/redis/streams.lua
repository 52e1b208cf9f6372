-- Streams, as far as an event log needs them: XADD with MAXLEN, XLEN, XRANGE, XREVRANGE.
--
-- Redis keeps entries in nodes of up to 100 and, for `MAXLEN ~`, drops whole nodes only; the model does the same. (Redis also closes a
-- node at 4096 bytes, which the model does not: with large entries it may keep more than Redis, never less than asked.)
--
-- Layout: nodes = list of { entries }, each entry { ms, seq, fields }; head = index of the first node still used.

local M = ...

local command, numbers, err = M.command, M.numbers, M.err
local lower = string.lower

local NODE_ENTRIES = 100
local APPROXIMATE_LIMIT = 100 * NODE_ENTRIES
local HUGE = math.huge

local function id_text(ms, seq)
  return ('%.0f-%.0f'):format(ms, seq)
end

function M.describe.stream(stream, quoted)
  local pieces = { 'last=' .. id_text(stream.last_ms, stream.last_seq) }
  for i = stream.head, #stream.nodes do
    for _, entry in ipairs(stream.nodes[i]) do
      local fields = {}
      for j = 1, #entry.fields do fields[j] = quoted(entry.fields[j]) end
      pieces[#pieces + 1] = id_text(entry.ms, entry.seq) .. '(' .. table.concat(fields, ' ') .. ')'
    end
  end
  return pieces
end

local function invalid_id()
  return err('Invalid stream ID specified as stream command argument')
end

-- One half of an ID: digits only. Beyond 2^53 a double would not be exact, so those are refused.
local function id_number(text)
  if not text:find('^%d+$') or #text > 16 then return nil end
  local value = tonumber(text)
  return value <= 9007199254740992 and value or nil
end

-- `ms`, `ms-seq` or (for XADD) `ms-*`; the missing part is given.
local function parse_id(text, missing_seq)
  local ms, seq = text:match('^([^-]*)%-(.*)$')
  if not ms then ms, seq = text, nil end
  ms = id_number(ms)
  if not ms then return nil end
  if not seq then return ms, missing_seq end
  if seq == '*' then return ms, '*' end
  seq = id_number(seq)
  if not seq then return nil end
  return ms, seq
end

local function after(ms, seq, other_ms, other_seq)
  return ms > other_ms or (ms == other_ms and seq > other_seq)
end

-- Reads the options before the ID. Returns them with `at`, the place of the ID, or an error.
local function add_options(args, n)
  local options = { at = 3 }
  while true do
    local i = options.at
    local option = args[i] and lower(args[i])
    local more = n - i
    if not option then return nil, M.syntax_error() end
    if option == 'maxlen' and more >= 1 then
      local sign = args[i + 1]
      options.approximate = false
      if more >= 2 and (sign == '~' or sign == '=') then
        options.approximate = sign == '~'
        i = i + 1
      end
      options.maxlen = numbers.integer(args[i + 1])
      if not options.maxlen then return nil, M.not_an_integer() end
      if options.maxlen < 0 then return nil, err('The MAXLEN argument must be >= 0.') end
      options.at = i + 2
    elseif option == 'nomkstream' then
      options.nomkstream = true
      options.at = i + 1
    elseif option == 'minid' or option == 'limit' then
      return nil, M.syntax_error()
    else
      return options
    end
  end
end

local function trim(stream, maxlen, approximate)
  local removed = 0
  while stream.length > maxlen do
    local node = stream.nodes[stream.head]
    local size = #node
    if stream.length - size >= maxlen then
      if approximate and removed + size > APPROXIMATE_LIMIT then return end
      stream.nodes[stream.head] = false
      stream.head = stream.head + 1
      stream.length = stream.length - size
      removed = removed + size
    elseif approximate then
      return
    else
      local kept = {}
      for i = stream.length - maxlen + 1, #node do kept[#kept + 1] = node[i] end
      -- A node that was cut still counts as full when it was: Redis marks entries deleted and never refills them.
      kept.used = node.used
      stream.nodes[stream.head] = kept
      stream.length = maxlen
    end
  end
end

local function append(stream, ms, seq, fields)
  local node = stream.nodes[#stream.nodes]
  if not node or node.used >= NODE_ENTRIES then
    node = { used = 0 }
    stream.nodes[#stream.nodes + 1] = node
  end
  node[#node + 1] = { ms = ms, seq = seq, fields = fields }
  node.used = node.used + 1
  stream.length = stream.length + 1
  stream.last_ms, stream.last_seq = ms, seq
end

-- The ID of a new entry, or nil when it would not come after the last one.
local function next_id(db, stream, ms, seq)
  local last_ms, last_seq = stream.last_ms, stream.last_seq
  if ms == '*' then
    ms, seq = db:now_ms(), 0
    if ms <= last_ms then ms, seq = last_ms, last_seq + 1 end
  elseif seq == '*' then
    seq = ms == last_ms and last_seq + 1 or 0
  end
  if not after(ms, seq, last_ms, last_seq) then return nil end
  return ms, seq
end

command('xadd', -5, 'write', function(db, args, n)
  local options, wrong_options = add_options(args, n)
  if wrong_options then return wrong_options end
  local ms, seq = '*', 0
  if args[options.at] ~= '*' then
    ms, seq = parse_id(args[options.at], 0)
    if not ms then return invalid_id() end
  end
  local values = n - options.at
  if values < 2 or values % 2 == 1 then return M.wrong_arity('xadd') end
  if ms == 0 and seq == 0 then return err('The ID specified in XADD must be greater than 0-0') end
  local stream, wrong = db:lookup(args[2], 'stream')
  if wrong then return wrong end
  if not stream then
    if options.nomkstream then return false end
    stream = { type = 'stream', nodes = {}, head = 1, length = 0, last_ms = 0, last_seq = 0 }
  end
  ms, seq = next_id(db, stream, ms, seq)
  if not ms then return err('The ID specified in XADD is equal or smaller than the target stream top item') end
  local fields = {}
  for i = options.at + 1, n do fields[#fields + 1] = args[i] end
  db.keys[args[2]] = stream
  append(stream, ms, seq, fields)
  if options.maxlen then trim(stream, options.maxlen, options.approximate) end
  return id_text(ms, seq)
end)

command('xlen', 2, 'read', function(db, args)
  local stream, wrong = db:lookup(args[2], 'stream')
  if wrong then return wrong end
  return stream and stream.length or 0
end)

-- One end of a range: ms, seq and whether it is exclusive.
local function range_end(text, missing_seq)
  if text == '-' then return 0, 0, false end
  if text == '+' then return HUGE, HUGE, false end
  local exclusive = text:sub(1, 1) == '('
  local ms, seq = parse_id(exclusive and text:sub(2) or text, missing_seq)
  if not ms or seq == '*' then return nil end
  return ms, seq, exclusive
end

local function collect(stream, from, to, count)
  local found = {}
  for i = stream.head, #stream.nodes do
    for _, entry in ipairs(stream.nodes[i]) do
      local above = after(entry.ms, entry.seq, from.ms, from.seq) or (not from.exclusive and entry.ms == from.ms and entry.seq == from.seq)
      local below = after(to.ms, to.seq, entry.ms, entry.seq) or (not to.exclusive and entry.ms == to.ms and entry.seq == to.seq)
      if above and below then
        found[#found + 1] = entry
        if #found == count then return found end
      end
    end
  end
  return found
end

local function reply_of(entry)
  local fields = {}
  for i = 1, #entry.fields do fields[i] = entry.fields[i] end
  return { id_text(entry.ms, entry.seq), fields }
end

local function range_command(name, reverse)
  command(name, -4, 'read', function(db, args, n)
    local from, to = {}, {}
    from.ms, from.seq, from.exclusive = range_end(args[reverse and 4 or 3], 0)
    to.ms, to.seq, to.exclusive = range_end(args[reverse and 3 or 4], HUGE)
    if not from.ms or not to.ms then return invalid_id() end
    local count
    local i = 5
    while i <= n do
      if lower(args[i]) ~= 'count' or i == n then return M.syntax_error() end
      count = numbers.integer(args[i + 1])
      if not count then return M.not_an_integer() end
      count = math.max(count, 0)
      i = i + 2
    end
    local stream, wrong = db:lookup(args[2], 'stream')
    if wrong then return wrong end
    if not stream then return {} end
    if count == 0 then return false end
    local found = collect(stream, from, to, not reverse and count)
    local out, size = {}, #found
    for place = 1, math.min(size, count or size) do
      out[place] = reply_of(found[reverse and size - place + 1 or place])
    end
    return out
  end)
end
range_command('xrange', false)
range_command('xrevrange', true)
