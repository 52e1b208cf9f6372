-- lockless_lock name owner ttl_ms
--
-- Takes a lock for ttl_ms, or extends it for the owner who has it; it is never shortened. The token is the cell's: each
-- time a lock changes hands it is greater than every one before, so that whoever sees tokens can tell a late holder. It
-- is never below the time in ms, so that none comes again after a failover that lost the last ones drawn.
--
-- Reply:  [1, token], or [0, who has it]
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  6 (5 when another has it)

local function lock(root, arg)
  local c = cell.open(root, 'tokens')
  settle.first(c)
  local drawn = cell.counter(c, 'tokens')
  local held = locks.read(c, arg.name)
  local until_ms, token = c.now + arg.ttl_ms, math.max(drawn + 1, c.now)
  if held and held.until_ms > c.now then
    if held.owner ~= arg.owner then return { 0, held.owner } end
    until_ms, token = math.max(held.until_ms, until_ms), held.token
  end

  -- first write
  cell.create(c)
  locks.write(c, arg.name, arg.owner, until_ms, token)
  -- A token that the cell does not know yet is of a call that was interrupted.
  if token > drawn then cell.set_counter(c, 'tokens', token) end
  return { 1, token }
end

return lock
