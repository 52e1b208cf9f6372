-- lockless_unbind session lease_id
--
-- Ends a lease and gives its seat back. A job that sits there goes on, and the slot is its own.
--
-- Reply:  1, or 0 when that lease has ended, or never was the session's
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  14 (4 when there is nothing to end)

local function unbind(root, arg)
  local c = cell.open(root)
  settle.first(c)
  local session = arg.session
  local rec = sessions.read(c, session)
  local lease = rec and rec.lease
  if not lease or lease.id ~= arg.lease_id then return 0 end

  -- first write
  leases.finish(c, session, rec)
  cell.touch(c)
  return 1
end

return unbind
