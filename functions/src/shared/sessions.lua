-- Sessions. R:session:<session> is a hash: sticky, what a session remembers and, while it is bound, its lease, in one
-- field, so that a dispatch finds out by the one read it does anyway; and requests, the request that bound it last and
-- then up to four that it superseded.
--
-- sticky is "when pool pair generation wishes class" or "when pool pair id node expiry length since rider from_id from_node"
-- (leases.lua). Ids have no spaces. The class is the only one that serves the pair in the pool with these wishes (POOL, REGION
-- and REQUIRE of a request, '-' for none) in that generation of the class set, so that most dispatches need not look for it;
-- all three are '-' when there are several, or it is not known. The key expires when the session is idle; while it is bound it
-- does not.

local sessions = {}

local SUPERSEDED_KEPT = 4
-- Wishes of more bytes, or words, are looked up each time.
local WISHES_MAX, WORDS_MAX = 512, 128
-- How many words there are is one byte, which is neither a control character nor a space: they come in twos.
local WORDS_FROM = 64

local UNBOUND = '^(%d+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) [^ ]+$'
local BOUND = '^(%d+) ([^ ]+) ([^ ]+) (%d[^ ]*) ([^ ]+) (%d+) (%d+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+)$'

-- What sticky says; nil when it can not be read.
function sessions.unpack(sticky)
  local when, pool, pair, generation, wishes = sticky:match(UNBOUND)
  if when then return { when = when, pool = pool, pair = pair, generation = generation, wishes = wishes } end
  local id, node, expiry, length, since, rider, from_id, from_node
  when, pool, pair, id, node, expiry, length, since, rider, from_id, from_node = sticky:match(BOUND)
  if not when then return nil end
  return { when = when, pool = pool, pair = pair, lease = { id = id, node = node, expire_ms = tonumber(expiry),
    length_ms = tonumber(length), since = since, rider = rider, from_id = from_id, from_node = from_node } }
end

-- These words of a call as one; nil when they are too many to be remembered. No id has the byte between, and how many there are comes
-- first: so other words never give the same.
function sessions.as_one(words, first)
  local count = #words - first + 1
  if count < 1 then return '-' end
  return count <= WORDS_MAX and string.char(WORDS_FROM + count) .. '\1' .. table.concat(words, '\1', first) or nil
end

-- What a request wishes beyond its pair, as one word: as a call says it that gives POOL, REGION and REQUIRE in this order. Nil when it is
-- too long to be remembered.
function sessions.wishes(req)
  local words = {}
  if req.pool then words[1], words[2] = 'POOL', req.pool end
  if req.region then
    words[#words + 1] = 'REGION'
    words[#words + 1] = req.region
  end
  for _, label in ipairs(req.require or {}) do
    words[#words + 1] = 'REQUIRE'
    words[#words + 1] = label
  end
  local text = sessions.as_one(words, 1)
  return text and #text <= WISHES_MAX and text or nil
end

-- The record with its requests, or nil.
function sessions.read(c, session)
  local fields = redis.call('HMGET', keys.session(c.root, session), 'sticky', 'requests')
  if not fields[1] then return nil end
  local rec = sessions.unpack(fields[1])
  if not rec then return nil end
  rec.requests = classes.list(fields[2] or '')
  return rec
end

-- The record of a session as other keys name it, or nil.
function sessions.read_sticky(c, session)
  local sticky = redis.call('HGET', keys.session(c.root, session), 'sticky')
  return sticky and sessions.unpack(sticky) or nil
end

local function packed(rec)
  local text = rec.when .. ' ' .. rec.pool .. ' ' .. rec.pair
  local lease = rec.lease
  if not lease then
    if not rec.class then return text .. ' - - -' end
    return text .. ' ' .. rec.generation .. ' ' .. rec.wishes .. ' ' .. rec.class
  end
  return table.concat({ text, lease.id, lease.node, string.format('%d', lease.expire_ms),
    string.format('%d', lease.length_ms), lease.since, lease.rider, lease.from_id, lease.from_node }, ' ')
end

-- Writes what the session remembers and its lease.
function sessions.write(c, session, rec)
  redis.call('HSET', keys.session(c.root, session), 'sticky', packed(rec))
end

-- The same for a new lease, with the request it was made for. The key stays from now on.
function sessions.write_bound(c, session, rec)
  local key = keys.session(c.root, session)
  redis.call('HSET', key, 'sticky', packed(rec), 'requests', table.concat(rec.requests, ' '))
  redis.call('PERSIST', key)
end

-- Lets the key go when the session is idle for long enough.
function sessions.let_go(c, session)
  redis.call('PEXPIRE', keys.session(c.root, session), string.format('%d', config.value(c, 'session_ttl_ms')))
end

-- Whether a request that bound the session was superseded by a later one.
function sessions.is_superseded(rec, request)
  for i = 2, #rec.requests do
    if rec.requests[i] == request then return true end
  end
  return false
end

-- The requests once this one binds.
function sessions.requests_with(rec, request)
  local before = rec and rec.requests or {}
  if before[1] == request then return before end
  local out = { request }
  for i = 1, math.min(#before, SUPERSEDED_KEPT) do out[#out + 1] = before[i] end
  return out
end

return sessions
