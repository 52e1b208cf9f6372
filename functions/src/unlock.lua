-- lockless_unlock name owner
--
-- Gives a lock up. Of one that another has, or nobody, nothing changes.
--
-- Reply:  1, or 0 when it was not the owner's
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  5 (1 more when nothing else was heard since)

local function unlock(root, arg)
  local c = cell.open(root)
  settle.first(c)
  local held = locks.read(c, arg.name)
  if not held or held.until_ms <= c.now or held.owner ~= arg.owner then return 0 end

  -- first write
  redis.call('DEL', keys.lock(root, arg.name))
  cell.touch(c)
  return 1
end

return unlock
