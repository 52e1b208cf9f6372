-- lockless_limit name limit window_ms [REQUEST id]
--
-- A rate limit: in no span of window_ms, wherever it begins, more than `limit` calls are allowed. Each window of a
-- name is counted by itself. The same REQUEST is answered the same and counts once.
--
-- Reply:  [1 allowed or 0, how many are left now, in how many ms the next one is]
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  8 (3 more with REQUEST)

-- So many calls that have left the window are forgotten by each that comes.
local FORGOTTEN = 8

-- What this request was answered last within the window, or nil.
local function given_before(c, key, request)
  local last = request and redis.call('GET', key)
  local id, until_ms, allowed, left, retry_ms = (last or ''):match('^(%S+) (%d+) (%d+) (%d+) (%d+)$')
  if id and id == request and tonumber(until_ms) > c.now then
    return { tonumber(allowed), tonumber(left), tonumber(retry_ms) }
  end
end

local function limit(root, arg)
  local call = redis.call
  local c = cell.open(root)
  settle.first(c)
  local window = string.format('%d', arg.window_ms)
  local log, last_key = keys.limit_log(root, arg.name, window), keys.limit_last(root, arg.name, window)
  local before = given_before(c, last_key, arg.request)
  if before then return before end
  -- A call leaves the window exactly window_ms after it was allowed.
  local left_at = string.format('%d', c.now - arg.window_ms)
  local used = call('ZCOUNT', log, '(' .. left_at, '+inf')
  -- Within one ms `used` only grows, so no two calls have the same name.
  local member = arg.request and 'r' .. arg.request or c.now_text .. ' ' .. used
  local at = arg.request and tonumber(call('ZSCORE', log, member) or nil)
  local is_counted = at and at > c.now - arg.window_ms
  local reply
  if is_counted then
    reply = { 1, math.max(0, arg.limit - used), 0 }
  elseif used < arg.limit then
    reply = { 1, arg.limit - used - 1, 0 }
  else
    local oldest = call('ZRANGEBYSCORE', log, '(' .. left_at, '+inf', 'WITHSCORES', 'LIMIT', used - arg.limit, '1')
    reply = { 0, 0, tonumber(oldest[2]) + arg.window_ms - c.now }
  end

  -- first write
  cell.create(c)
  local until_text = string.format('%d', c.now + arg.window_ms)
  if reply[1] == 1 then
    if not is_counted then call('ZADD', log, c.now_text, member) end
    call('PEXPIREAT', log, until_text)
  end
  local gone = call('ZRANGEBYSCORE', log, '-inf', left_at, 'LIMIT', '0', FORGOTTEN)
  if #gone > 0 then call('ZREM', log, unpack(gone)) end
  if arg.request then
    call('SET', last_key, arg.request .. ' ' .. until_text .. ' ' .. table.concat(reply, ' '), 'PXAT', until_text)
  end
  cell.touch(c)
  return reply
end

return limit
