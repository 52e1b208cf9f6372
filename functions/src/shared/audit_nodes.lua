-- Audits the nodes: their records, place in the ready index, pools, presence, holds and the jobs behind them.

local audit_nodes = {}

local DESCRIPTION = { 'region', 'pools', 'pairs', 'labels' }

local function description(c, node, rt, say)
  local call = redis.call
  local info = call('HMGET', keys.info(c.root, node), 'region', 'pools', 'pairs', 'labels', 'max_jobs', 'indexing')
  local function wrong(sentence) say('node ' .. node .. ': ' .. sentence, mend_nodes.describe, node) end
  if not info[1] then return wrong('its info is missing') end
  if info[6] ~= '0' then wrong('a change of its indexes was interrupted') end
  local desc = classes.read(c, rt.class)
  if not desc then return wrong('its class ' .. rt.class .. ' is missing') end
  for i, name in ipairs(DESCRIPTION) do
    if info[i] ~= desc[name] then wrong('its ' .. name .. ' differ from those of its class') end
  end
  if tonumber(info[5] or nil) ~= desc.max_jobs then wrong('its max_jobs differ from those of its class') end
  for _, pool in ipairs(classes.list(desc.pools)) do
    if call('SISMEMBER', keys.members(c.root, pool), node) == 0 then
      wrong('it is missing in the members of pool ' .. pool)
    end
  end
end

local function place(c, node, rt, held, say)
  local call = redis.call
  local score = call('ZSCORE', keys.ready(c.root, rt.class), node)
  local want = ready.band(rt.flags) * ready.BAND + (held + rt.foreign) * ready.UNIT
  if not score then
    say('node ' .. node .. ': it is missing in the ready index of its class', mend_nodes.place, node)
  elseif tonumber(score) - tonumber(score) % ready.UNIT ~= want then
    say('node ' .. node .. ': its ready score does not say its state and load', mend_nodes.place, node)
  end
  local presence = call('ZSCORE', keys.due(c.root), 'n' .. node)
  if not presence or tonumber(presence) > rt.until_ms then
    say('node ' .. node .. ': its presence is not in the due list', mend_nodes.presence, node)
  end
  local slots = keys.slots(c.root, node)
  if nodes.is_lost(rt) then
    if call('EXISTS', slots) == 1 then say('node ' .. node .. ': its slots are there though it is lost', mend_nodes.abandon, node) end
  elseif call('ZSCORE', slots, holds.SENTINEL) ~= 'inf' then
    say('node ' .. node .. ': its slots are missing', mend_nodes.slots, node)
  end
end

-- What a node's runtime says can be read. Its incarnation was drawn from the cell's.
local function is_readable(c, node, rt, say)
  local drawn = tonumber(redis.call('HGET', c.root, 'incarnation') or nil)
  local incarnation = tonumber(rt.incarnation or nil)
  local has_times = cell.is_time(rt.until_ms) and cell.is_time(rt.scan_ms)
  if not (incarnation and nodes.is_known(rt) and has_times) then
    say('node ' .. node .. ': its runtime can not be read', mend_nodes.runtime, node)
    return false
  end
  if drawn and incarnation > drawn then
    say('node ' .. node .. ': its incarnation was never drawn', mend_nodes.runtime, node)
  end
  return true
end

-- By its deadline a lease is found when it is over.
local function deadline_of(c, session, name, say)
  if not redis.call('ZSCORE', keys.due(c.root), 's' .. session) then
    say(name .. ': its lease is not in the due list', mend_leases.lease, session)
  end
end

-- A seat that nobody sits in is that of the session's lease.
local function seat(c, node, member, score, name, say)
  local session, id = member:match('^s(%S+) (%S+)$')
  local rec = session and sessions.read_sticky(c, session)
  local lease = rec and rec.lease
  local function wrong(sentence) say(name .. ': ' .. sentence, mend_leases.seat, node, member) end
  if not lease or lease.id ~= id then return wrong('its lease is missing') end
  if lease.node ~= node then wrong('its lease is on ' .. lease.node) end
  if lease.rider ~= leases.EMPTY then wrong('its lease has a job in it') end
  deadline_of(c, session, name, say)
  if score ~= tonumber(holds.SEAT_TEXT) then wrong('its score is not that of a seat') end
end

-- Whether the hold is a live job's.
local function hold(c, node, rt, member, score, due_ms, say)
  local job = member:sub(2)
  local name = 'hold ' .. member .. ' on ' .. node
  if member:sub(1, 1) == 's' then return seat(c, node, member, score, name, say) end
  local function wrong(sentence) say(name .. ': ' .. sentence, mend_holds.hold, node, member) end
  if member:sub(1, 1) ~= 'j' then return wrong('its type is not known') end
  local state, deadline = holds.state(score)
  local rec = tries.look(c, job)
  if not rec then return wrong('its job record is missing') end
  if rec.is_damaged then return wrong('its record can not be read') end
  local is_sound = holds.may_be(rec, score)
  if not is_sound then wrong('its score does not say until when') end
  c.last_grant = math.max(c.last_grant, tonumber(rec.grant) or 0)
  if rec.node ~= node then wrong('its job is ' .. (jobs.place(rec) == '' and 'nowhere' or 'on ' .. rec.node)) end
  if redis.call('PTTL', keys.job(c.root, job)) >= 0 then wrong('its job record is about to go') end
  if state == 'stopping' then
    if rec.status ~= 'cancelled' and rec.status ~= 'expired' then wrong('it is stopping, but its job has not ended') end
  elseif rec.status then
    wrong('its job is ' .. rec.status)
  end
  if rec.kind == 'q' and not rec.status then
    c.tries = c.tries + 1
    local started = jobs.started(rec, score)
    if not started or not work.has(c, node, job, rec.q, started, holds.is_asked(score)) then
      wrong('it is missing in the work of its node')
    end
  end
  local session = rec.kind == 'b' and sessions.read_sticky(c, rec.session)
  if session and session.lease and session.lease.rider == member then deadline_of(c, rec.session, name, say) end
  -- Far deadlines come in by the node's next word; of a node that is overdue there is none.
  local covered_ms = rt.until_ms > c.now and math.max(rt.scan_ms, c.now) or rt.scan_ms
  if deadline and deadline < covered_ms and deadline < due_ms then wrong('its deadline is not in the due list') end
  return state ~= 'stopping' or not (is_sound or rec.status)
end

-- Items are nodes, their deployments and holds. A position is a node and how many of its holds were looked at.
function audit_nodes.all(c, position, budget, say)
  local call = redis.call
  local node, offset, used = nil, 0, 0
  local after = '0'
  if position then
    local name, count = position:match('^(%S+) (%d+)$')
    node, offset, after = name, tonumber(count), ':' .. name
  end
  while used < budget do
    if not node then
      local names = pages.names(keys.nodes(c.root), after, 1)
      node = names[1]
      if not node then return nil, used end
      after, offset, used = ':' .. node, 0, used + 1
    end
    local rt = nodes.read(c, node)
    if not rt then
      -- One that left since the page before is listed no more.
      if call('ZSCORE', keys.nodes(c.root), node) then say('node ' .. node .. ': its runtime is missing', mend_nodes.forget, node) end
      node = nil
    elseif not is_readable(c, node, rt, say) then
      node = nil
    else
      if offset == 0 then
        description(c, node, rt, say)
        place(c, node, rt, nodes.held(c, node), say)
        used = used + audit_deployments.of_node(c, node, rt, say)
        c.worked = c.worked + call('ZCARD', keys.work(c.root, node))
      end
      local page = call('ZRANGE', keys.slots(c.root, node), offset, offset + math.max(1, budget - used) - 1, 'WITHSCORES')
      local due_ms = tonumber(call('ZSCORE', keys.due(c.root), 'h' .. node) or nil) or cell.NEVER
      for i = 1, #page, 2 do
        if page[i] ~= holds.SENTINEL and hold(c, node, rt, page[i], tonumber(page[i + 1]), due_ms, say) then
          c.live = c.live + 1
        end
      end
      used, offset = used + #page / 2, offset + #page / 2
      if #page / 2 < 1 or page[#page - 1] == holds.SENTINEL then node = nil end
    end
  end
  if node then return node .. ' ' .. string.format('%d', offset), used end
  return after:sub(2) .. ' 1000000', used
end

return audit_nodes
