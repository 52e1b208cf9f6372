-- lockless_session session
--
-- What a session remembers, and the lease that binds it to a node. Fields that do not apply are empty.
--
-- Reply:  fields session_id, preferred_pool, last_lang_pair, updated_ts, node_id, lease_id, lease_expire_ts, job_id (the one
--         that sits in its seat), request_id
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, NO_SUCH_SESSION
-- Calls:  4 (5 when it is bound)

local NONE = '-'

local function session(root, arg)
  local c = cell.open(root)
  local rec = sessions.read(c, arg.session)
  if not rec then errors.fail('NO_SUCH_SESSION', 'session ' .. errors.shown(arg.session) .. ' is not known here') end
  local lease = rec.lease
  -- Nothing is settled by a reader: a lease that is over, by its time or with its node, is shown as the next write call will
  -- find it.
  if lease and (lease.expire_ms <= c.now or not leases.has_seat(c, arg.session, lease)) then lease = nil end
  local function if_any(text) return text and text ~= NONE and text or '' end
  local rider = lease and lease.rider ~= leases.EMPTY and lease.rider:sub(2)
  return {
    'session_id', arg.session, 'preferred_pool', if_any(rec.pool), 'last_lang_pair', if_any(rec.pair),
    'updated_ts', tonumber(rec.when), 'node_id', lease and lease.node or '', 'lease_id', lease and lease.id or '',
    'lease_expire_ts', lease and lease.expire_ms or '', 'job_id', rider or '',
    'request_id', lease and rec.requests[1] or '',
  }
end

return session
