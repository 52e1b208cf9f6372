-- lockless_renew session lease_id [LEASE ms]
--
-- Extends a lease to so many ms from now, by default as many as it was given for last. It is never shortened.
--
-- Reply:  when it ends, in ms
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_SUCH_SESSION, LEASE_MISMATCH
-- Calls:  7 (1 more when nothing else was heard since)

local function renew(root, arg)
  local c = cell.open(root)
  settle.first(c)
  local session = arg.session
  local rec = sessions.read(c, session)
  if not rec or #rec.requests == 0 then
    errors.fail('NO_SUCH_SESSION', 'session ' .. errors.shown(session) .. ' is not bound: call lockless_bind')
  end
  local lease = rec.lease and settle.lease(c, session, rec)
  if not lease or lease.id ~= arg.lease_id then
    errors.fail('LEASE_MISMATCH', 'lease ' .. errors.shown(arg.lease_id) .. ' of session ' .. errors.shown(session) ..
      ' has ended' .. (lease and ', another one is there' or ': bind again'))
  end
  lease.length_ms = arg.lease or lease.length_ms
  lease.expire_ms = math.max(lease.expire_ms, c.now + lease.length_ms)
  lease.since = c.now_text

  -- first write; a deadline in the due list that is too early is put right when it comes
  sessions.write(c, session, rec)
  cell.due_at(c, 's' .. session, lease.expire_ms)
  cell.touch(c)
  return lease.expire_ms
end

return renew
