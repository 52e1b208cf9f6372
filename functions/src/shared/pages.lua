-- Pages over sorted sets of names: the cursor is '0' at both ends, else ':' and the last name given.

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

return pages
