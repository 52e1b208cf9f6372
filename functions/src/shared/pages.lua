-- Pages over sorted sets. The cursor is '0' at both ends; of names it is else ':' and the last name given.

local pages = {}

function pages.bad_cursor(cursor)
  errors.bad_argument('cursor', '0, or what the page before returned', cursor)
end

-- The names after the cursor, in order, and the next cursor.
function pages.names(key, cursor, count)
  local from = cursor == '0' and '-' or '(' .. cursor:sub(2)
  local names = redis.call('ZRANGEBYLEX', key, from, '+', 'LIMIT', '0', count)
  return names, #names < count and '0' or ':' .. names[#names]
end

-- Where to go on in a sorted set after an entry. One that has gone or moved since: on from where it was.
function pages.rank_after(key, given, entry)
  if not entry then return 0 end
  local score = redis.call('ZSCORE', key, entry)
  if score and tonumber(score) == tonumber(given) then return redis.call('ZRANK', key, entry) + 1 end
  return redis.call('ZCOUNT', key, '-inf', '(' .. given)
end

-- The greatest score of a sorted set that is not above a bound, as text; nil when there is none.
function pages.greatest(key, bound)
  local rank = redis.call('ZCOUNT', key, '-inf', string.format('%d', bound)) - 1
  return rank >= 0 and redis.call('ZRANGE', key, rank, rank, 'WITHSCORES')[2] or nil
end

return pages
