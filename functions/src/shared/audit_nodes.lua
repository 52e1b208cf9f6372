-- Audits the nodes: their records, place in the ready index, pools, presence, holds and the jobs behind them.

local audit_nodes = {}

local DESCRIPTION = { 'region', 'pools', 'pairs', 'labels' }

local function description(c, node, rt, say)
  local call = redis.call
  local info = call('HMGET', keys.info(c.root, node), 'region', 'pools', 'pairs', 'labels', 'max_jobs', 'indexing')
  if not info[1] then return say('node ' .. node .. ': its info is missing') end
  if info[6] ~= '0' then say('node ' .. node .. ': a change of its indexes was interrupted') end
  local desc = classes.read(c, rt.class)
  if not desc then return say('node ' .. node .. ': its class ' .. rt.class .. ' is missing') end
  for i, name in ipairs(DESCRIPTION) do
    if info[i] ~= desc[name] then say('node ' .. node .. ': its ' .. name .. ' differ from those of its class') end
  end
  if tonumber(info[5]) ~= desc.max_jobs then say('node ' .. node .. ': its max_jobs differ from those of its class') end
  for _, pool in ipairs(classes.list(desc.pools)) do
    if call('SISMEMBER', keys.members(c.root, pool), node) == 0 then
      say('node ' .. node .. ': it is missing in the members of pool ' .. pool)
    end
  end
end

local function place(c, node, rt, held, say)
  local call = redis.call
  local score = call('ZSCORE', keys.ready(c.root, rt.class), node)
  local want = ready.band(rt.flags) * ready.BAND + (held + rt.foreign) * ready.UNIT
  if not score then
    say('node ' .. node .. ': it is missing in the ready index of its class')
  elseif tonumber(score) - tonumber(score) % ready.UNIT ~= want then
    say('node ' .. node .. ': its ready score does not say its state and load')
  end
  local presence = call('ZSCORE', keys.due(c.root), 'n' .. node)
  if not presence or tonumber(presence) > rt.until_ms then
    say('node ' .. node .. ': its presence is not in the due list')
  end
  local slots = keys.slots(c.root, node)
  if nodes.is_lost(rt) then
    if call('EXISTS', slots) == 1 then say('node ' .. node .. ': its slots are there though it is lost') end
  elseif not call('ZSCORE', slots, holds.SENTINEL) then
    say('node ' .. node .. ': its slots are missing')
  end
end

-- By its deadline a lease is found when it is over.
local function deadline_of(c, session, name, say)
  if not redis.call('ZSCORE', keys.due(c.root), 's' .. session) then say(name .. ': its lease is not in the due list') end
end

-- A seat that nobody sits in is that of the session's lease.
local function seat(c, node, member, score, name, say)
  local session, id = member:match('^s(%S+) (%S+)$')
  local rec = session and sessions.read_sticky(c, session)
  local lease = rec and rec.lease
  if not lease or lease.id ~= id then return say(name .. ': its lease is missing') end
  if lease.node ~= node then say(name .. ': its lease is on ' .. lease.node) end
  if lease.rider ~= leases.EMPTY then say(name .. ': its lease has a job in it') end
  deadline_of(c, session, name, say)
  if score ~= tonumber(holds.SEAT_TEXT) then say(name .. ': its score is not that of a seat') end
end

-- Whether the hold is a live job's.
local function hold(c, node, rt, member, score, due_ms, say)
  local job = member:sub(2)
  local name = 'hold ' .. member .. ' on ' .. node
  if member:sub(1, 1) == 's' then return seat(c, node, member, score, name, say) end
  if member:sub(1, 1) ~= 'j' then return say(name .. ': its type is not known') end
  local state, deadline = holds.state(score)
  local rec = jobs.read(c, job)
  if not rec then return say(name .. ': its job record is missing') end
  if rec.node ~= node then say(name .. ': its job is ' .. (jobs.place(rec) == '' and 'nowhere' or 'on ' .. rec.node)) end
  if redis.call('PTTL', keys.job(c.root, job)) >= 0 then say(name .. ': its job record is about to go') end
  if state == 'stopping' then
    if rec.status ~= 'cancelled' and rec.status ~= 'expired' then say(name .. ': it is stopping, but its job has not ended') end
  elseif rec.status then
    say(name .. ': its job is ' .. rec.status)
  end
  if rec.kind == 'q' and not rec.status then
    tries.read(c, job, rec)
    c.tries = c.tries + 1
    if not rec.q then return say(name .. ': its record can not be read') end
    local started = jobs.started(rec, score)
    if not started or not work.has(c, node, job, rec.q, started, holds.is_asked(score)) then
      say(name .. ': it is missing in the work of its node')
    end
  end
  local session = rec.kind == 'b' and sessions.read_sticky(c, rec.session)
  if session and session.lease and session.lease.rider == member then deadline_of(c, rec.session, name, say) end
  -- Far deadlines come in by the node's next word; of a node that is overdue there is none.
  local covered_ms = rt.until_ms > c.now and math.max(rt.scan_ms, c.now) or rt.scan_ms
  if deadline and deadline < covered_ms and deadline < due_ms then say(name .. ': its deadline is not in the due list') end
  return state ~= 'stopping'
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
      if call('ZSCORE', keys.nodes(c.root), node) then say('node ' .. node .. ': its runtime is missing') end
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
