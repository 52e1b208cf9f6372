-- Audits the due list, the leases it names, the holds of incarnations that ended, and the boxes of ended jobs.

local audit_due = {}

-- Of the holds of an incarnation that ended so many are looked at: they are being settled.
local LOST_LOOKED_AT = 1000

local kinds = {}

function kinds.n(c, node, _, say)
  local rt = nodes.read(c, node)
  if not rt then say('due list: n' .. node .. ' is of no node', mend_due.remove, 'n' .. node) end
end

function kinds.h(c, node, _, say)
  local rt = nodes.read(c, node)
  if not rt or (rt.flags and nodes.is_lost(rt)) then
    say('due list: h' .. node .. ' is of no node that is there', mend_due.remove, 'h' .. node)
  end
end

function kinds.d(c, rest, _, say)
  local incarnation = rest:match('^(%S+) %S+$')
  if redis.call('EXISTS', keys.unclaimed(c.root, incarnation or '')) == 0 then
    say('due list: d' .. rest .. ' has no deployments', mend_due.remove, 'd' .. rest)
  end
end

function kinds.w(c, _, _, say)
  if not claims.is_reindexing(c) then say('due list: w, but nothing is being found out anew', mend_due.remove, 'w') end
end

function kinds.l(c, rest, _, say)
  local call = redis.call
  local incarnation, node = rest:match('^(%S+) (%S+)$')
  local lost = keys.lost(c.root, incarnation or '')
  if call('ZSCORE', lost, holds.SENTINEL) ~= 'inf' then return say('due list: l' .. rest .. ' has no holds', mend_due.lost, rest) end
  local page = call('ZRANGE', lost, '0', LOST_LOOKED_AT - 1, 'WITHSCORES')
  c.skipped = c.skipped or #page / 2 == LOST_LOOKED_AT
  for i = 1, #page, 2 do
    if page[i] ~= holds.SENTINEL and page[i]:sub(1, 1) == 'j' then
      local rec = jobs.look(c, page[i]:sub(2))
      if not rec then
        say('lost hold ' .. page[i] .. ': its job record is missing', mend_due.lost_hold, incarnation, page[i])
      elseif not rec.status and rec.node == node then
        c.live = c.live + 1
        if rec.kind == 'q' then c.tries, c.tries_lost = c.tries + 1, c.tries_lost + 1 end
      end
    end
  end
  return #page / 2
end

function kinds.s(c, session, at, say)
  local name = 'lease of ' .. session
  local rec = sessions.read_sticky(c, session)
  local lease = rec and rec.lease
  if not rec and redis.call('EXISTS', keys.session(c.root, session)) == 1 then
    return say('session ' .. session .. ': its record can not be read', mend_leases.lease, session)
  end
  local function wrong(sentence) say(name .. ': ' .. sentence, mend_leases.lease, session) end
  if not lease then return say('due list: s' .. session .. ' has no lease', mend_leases.lease, session) end
  if at > lease.expire_ms then wrong('it ends earlier than the due list says') end
  if redis.call('PTTL', keys.session(c.root, session)) >= 0 then wrong('its session is about to go') end
  if not leases.has_seat(c, session, lease) and not holds.is_being_lost(c, lease.node) then
    wrong('its seat is missing')
  end
  local rider = lease.rider ~= leases.EMPTY and jobs.look(c, lease.rider:sub(2))
  if rider and (rider.session ~= session or rider.kind ~= 'b') then wrong('another job sits in its seat') end
end

local function box(key, member)
  return function(c, _, at, say)
    local first = redis.call('ZRANGE', key(c.root), '0', '0', 'WITHSCORES')
    -- One that was emptied before its time is found so when that comes.
    if first[1] and tonumber(first[2]) < at then
      say('due list: the oldest entry of a box goes earlier than it says', mend_queues.first, member)
    end
  end
end

kinds.f, kinds.c, kinds.q = box(keys.failed, 'f'), box(keys.cancelled, 'c'), box(keys.delayed, 'q')

function audit_due.list(c, position, budget, say)
  local offset = tonumber(position or '0')
  local page = redis.call('ZRANGE', keys.due(c.root), offset, offset + budget - 1, 'WITHSCORES')
  local used = 0
  for i = 1, #page, 2 do
    used = used + 1
    if page[i] ~= cell.SENTINEL then
      local kind = kinds[page[i]:sub(1, 1)]
      if not kind then
        say('due list: ' .. page[i] .. ' is of no known kind', mend_due.remove, page[i])
      else
        local at = tonumber(page[i + 1])
        if not cell.is_time(at) then say('due list: ' .. page[i] .. ' has no time', mend_due.at_once, page[i]) end
        used = used + (kind(c, page[i]:sub(2), at, say) or 0)
      end
    end
  end
  if #page / 2 < budget then return nil, used end
  return string.format('%d', offset + #page / 2), used
end

local LETTERS = { f = 'failed', e = 'expired' }

local function entries(key_of, status_of, due)
  return function(c, position, budget, say)
    local offset = tonumber(position or '0')
    local page = redis.call('ZRANGE', key_of(c.root), offset, offset + budget - 1, 'WITHSCORES')
    if page[1] and not redis.call('ZSCORE', keys.due(c.root), due) then
      say('due list: ' .. due .. ' is missing, though its box has entries', mend_queues.first, due)
    end
    for i = 1, #page, 2 do
      local job, status = status_of(page[i])
      local rec, at = jobs.look(c, job), tonumber(page[i + 1])
      if not cell.is_time(at) then say('box: job ' .. job .. ' has no time', mend_due.box_time, due, page[i]) end
      -- The record of an overdue entry has gone, and its id may be another job's.
      if at >= c.now then
        if not rec then
          say('box: the record of job ' .. job .. ' is missing', mend_due.box_entry, due, page[i])
        elseif rec.status ~= status then
          say('box: job ' .. job .. ' is not ' .. tostring(status), mend_due.box_entry, due, page[i])
        end
      end
    end
    if #page / 2 < budget then return nil, #page / 2 end
    return string.format('%d', offset + #page / 2), #page / 2
  end
end

audit_due.failed = entries(keys.failed, function(member) return member:sub(2), LETTERS[member:sub(1, 1)] end, 'f')
audit_due.cancelled = entries(keys.cancelled, function(member) return member, 'cancelled' end, 'c')

return audit_due
