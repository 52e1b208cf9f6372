-- lockless_claim node [POLICY deployment_count|resource_usage] [RUNNING id]* [REQUEST id]
--
-- One turn of a node that runs deployments: what lost nodes had is released, and if no other node of a pool is less loaded,
-- the node claims the first that is free there, at most one. `assigned` is all that it should run, `stop` what it says it
-- runs, or was given before, and should not. The last REQUEST gives what it gave then and changes nothing.
--
-- Reply:  fields claimed, spec, released, eligible, value, assigned, stop
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  13 for a node of one pool, 10 more when it claims one

local SETTLE_FIRST = 128
-- Entries that an interrupted call left among the free ones are passed over, so many.
local TRIES = 16

-- The first of a pool that is really free: { id, rec, updated, member }, or nil.
local function first_free(c, pool)
  local page = redis.call('ZRANGE', keys.free(c.root, pool), '0', TRIES - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    local id = page[i]:match('^%d+ (%S+)$')
    local rec = deployments.read(c, id)
    if rec and rec.enabled and rec.pool == pool and not deployments.is_owned(c, id, rec) then
      return { id = id, rec = rec, updated = tonumber(page[i + 1]), member = page[i] }
    end
  end
end

-- The first over all pools in which nobody is less loaded, and whether there is such a pool.
local function choose(c, policy, value, pools)
  local best, is_eligible = nil, false
  for _, pool in ipairs(pools) do
    local least = claims.least(c, policy, pool)
    if least and value <= least then
      is_eligible = true
      local found = first_free(c, pool)
      if found and (not best or found.updated < best.updated or
        (found.updated == best.updated and found.member < best.member)) then
        best = found
      end
    end
  end
  return best, is_eligible
end

-- What is to be stopped: what runs and is not the node's, and what was taken from it and may still run.
local function stops(c, node, running, assigned)
  local mine, out, seen = {}, {}, {}
  for _, entry in ipairs(assigned) do mine[entry[1]] = true end
  local function add(id)
    if not mine[id] and not seen[id] then out[#out + 1] = id end
    seen[id] = true
  end
  for _, id in ipairs(running or {}) do add(id) end
  local runs = {}
  for id in pairs(seen) do runs[id] = true end
  local told = {}
  local page = redis.call('ZRANGE', keys.revoked(c.root, node), '0', '-1', 'WITHSCORES')
  for i = 1, #page, 2 do
    -- One that was named in a turn before, and that the node does not say it runs, is over.
    told[#told + 1] = { page[i], page[i + 1] == '1' and not runs[page[i]] }
    if not told[#told][2] then add(page[i]) end
  end
  return out, told
end

-- Notes what the node was told, and forgets what is over.
local function note_told(c, node, told)
  for _, entry in ipairs(told) do
    if entry[2] then
      redis.call('ZREM', keys.revoked(c.root, node), entry[1])
    else
      redis.call('ZADD', keys.revoked(c.root, node), '1', entry[1])
    end
  end
end

local function reply(claimed, spec, released, eligible, value, assigned, stop)
  return { 'claimed', claimed, 'spec', spec, 'released', released, 'eligible', eligible, 'value', value, 'assigned', assigned,
    'stop', stop }
end

-- A turn as it is kept: "id incarnation released eligible value", the deployment that was claimed, all that the node had then
-- with revisions, what it had to stop, a line each.
local function line(arg, rt, released, eligible, value, claimed, assigned, stop)
  local had = {}
  for _, entry in ipairs(assigned) do had[#had + 1] = entry[1] .. ' ' .. string.format('%d', entry[2]) end
  return table.concat({ arg.request .. ' ' .. rt.incarnation .. string.format(' %d %d ', released, eligible) .. value, claimed,
    table.concat(had, ' '), table.concat(stop, ' ') }, '\n')
end

-- The reply to the request that was answered last. What it claimed and an interrupted call left is claimed now.
local function again(c, arg, rt)
  local kept = arg.request and redis.call('HGET', keys.request(c.root, arg.node), 'claim')
  if not kept then return nil end
  local first, claimed, had, stop = kept:match('^([^\n]*)\n([^\n]*)\n([^\n]*)\n([^\n]*)$')
  local id, incarnation, released, eligible, value = first:match('^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  if id ~= arg.request or incarnation ~= rt.incarnation then return nil end
  local spec = ''
  local rec = claimed ~= '' and deployments.read(c, claimed)
  if rec then
    spec = rec.spec
    if redis.call('ZSCORE', keys.free(c.root, rec.pool), deployments.member(rec, claimed)) and
      (rec.node == '' or rec.node == arg.node) then
      deployments.assign(c, claimed, rec, arg.node, rt.flags)
    end
  end
  local assigned, words = {}, classes.list(had)
  for i = 1, #words, 2 do assigned[#assigned + 1] = { words[i], tonumber(words[i + 1]) } end
  return reply(claimed, spec, tonumber(released), tonumber(eligible), value, assigned, classes.list(stop))
end

local function claim(root, arg)
  local c = cell.open(root, 'deployments')
  settle.up_to(c, SETTLE_FIRST)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local before = again(c, arg, rt)
  if before then return before end

  local policy = claims.policy(arg.policy or config.value(c, 'claim_policy'))
  local value = policy.value(c, claims.measured(c, node))
  local found, is_eligible
  if claims.takes_part(rt.flags) and claims.is_used(c) and not claims.is_reindexing(c) then
    local pools = classes.list(redis.call('HGET', keys.info(root, node), 'pools'))
    found, is_eligible = choose(c, policy, value, pools)
  end
  local assigned = deployments.assigned(c, node)
  if found then
    assigned[#assigned + 1] = { found.id, tonumber(found.rec.revision) }
    table.sort(assigned, function(a, b) return a[1] < b[1] end)
  end
  local stop, told = stops(c, node, arg.running, assigned)
  local released, eligible = c.released or 0, is_eligible and 1 or 0
  local shown, claimed = string.format('%.14g', value), found and found.id or ''

  -- first write
  if arg.request then
    redis.call('HSET', keys.request(root, node), 'claim', line(arg, rt, released, eligible, shown, claimed, assigned, stop))
  end
  note_told(c, node, told)
  if found then deployments.assign(c, found.id, found.rec, node, rt.flags) end
  cell.touch(c)
  return reply(claimed, found and found.rec.spec or '', released, eligible, shown, assigned, stop)
end

return claim
