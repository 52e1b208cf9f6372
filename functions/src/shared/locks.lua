-- Locks. R:lock:<name> is "owner until token"; it expires with the lock. The time in it decides, because it is the cell's.

local locks = {}

-- Who has the lock, or had it last, while that is known; else nil.
function locks.read(c, name)
  local owner, until_text, token = (redis.call('GET', keys.lock(c.root, name)) or ''):match('^(%S+) (%d+) (%d+)$')
  if owner then return { owner = owner, until_ms = tonumber(until_text), token = tonumber(token) } end
end

function locks.write(c, name, owner, until_ms, token)
  redis.call('SET', keys.lock(c.root, name), owner .. ' ' .. string.format('%d %d', until_ms, token), 'PXAT',
    string.format('%d', until_ms))
end

return locks
