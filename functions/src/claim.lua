-- lockless_claim node [POLICY deployment_count|resource_usage] [RUNNING id]* [REQUEST id]
--
-- One turn of a node that runs deployments: what lost nodes had is released, and if no other node of a pool is less loaded,
-- the node claims the first that is free there, at most one. `assigned` is all that it should run, `stop` what it says it
-- runs, or was given before, and should not. The last REQUEST claims nothing more: it is told what it claimed, and what is so now.
--
-- Reply:  fields claimed, spec, released, eligible, value, assigned, stop
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  12 for a node of one pool, 11 more when it claims one, 3 with REQUEST then, 1 with something to stop; 9 for the same
--         REQUEST again

local SETTLE_FIRST = 128
-- Of the free ones of a pool, and of what was taken from a node, so many are looked at in a turn.
local FREE_LOOKED_AT, STOPS = 16, 2048

-- The first of a pool that is really free: { id, rec, updated, member }, or nil. What interrupted calls left before it goes
-- into `left`.
local function first_free(c, pool, left)
  local page = redis.call('ZRANGE', keys.free(c.root, pool), '0', FREE_LOOKED_AT - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    local id = page[i]:match('^%d+ (%S+)$')
    local rec = id and deployments.read(c, id)
    if rec and rec.enabled and rec.pool == pool and not deployments.is_owned(c, id, rec) then
      return { id = id, rec = rec, updated = tonumber(page[i + 1]), member = page[i] }
    end
    left[#left + 1] = { pool = pool, member = page[i], rec = rec }
  end
end

-- What the node may do: { found = the first over all pools in which nobody is less loaded, is_eligible = whether there is such a
-- pool, left = see above, is_misplaced = whether the place it has in a pool is not that of its value }.
local function choose(c, node, policy, value)
  local turn = { left = {} }
  for _, pool in ipairs(classes.list(redis.call('HGET', keys.info(c.root, node), 'pools'))) do
    local least, least_node = claims.least(c, policy, pool)
    if least_node == node and least ~= value then turn.is_misplaced = true end
    if least and value <= least then
      turn.is_eligible = true
      local found, best = first_free(c, pool, turn.left), turn.found
      if found and (not best or found.updated < best.updated or
        (found.updated == best.updated and found.member < best.member)) then
        turn.found = found
      end
    end
  end
  return turn
end

-- What is to be stopped: what runs and is not the node's, and what was taken from it and may still run. One that was named in a turn
-- before is over, unless it runs, and named only `again`. Also: those named for the first time, and those that are over.
local function stops(c, arg, assigned, again)
  local seen, out, named, over = {}, {}, {}, {}
  for _, entry in ipairs(assigned) do seen[entry[1]] = true end
  local function add(id)
    if not seen[id] then out[#out + 1] = id end
    seen[id] = true
  end
  for _, id in ipairs(arg.running or {}) do add(id) end
  local page = redis.call('ZRANGE', keys.revoked(c.root, arg.node), '0', STOPS - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    local id, was_named = page[i], page[i + 1] == '1'
    if was_named and not again then
      over[#over + 1] = id
    else
      add(id)
      if not was_named then
        named[#named + 1] = '1'
        named[#named + 1] = id
      end
    end
  end
  return out, named, over
end

local function reply(turn, claimed, spec, assigned, stop)
  return { 'claimed', claimed, 'spec', spec, 'released', turn.released, 'eligible', turn.eligible, 'value', turn.value, 'assigned',
    assigned, 'stop', stop }
end

-- Keeps a turn for its REQUEST: "! id incarnation released eligible value claimed", with '?' until what it claims is the node's.
local function keep(c, arg, rt, turn, mark, claimed)
  if not arg.request then return end
  redis.call('HSET', keys.request(c.root, arg.node), 'claim', mark .. ' ' .. arg.request .. ' ' .. rt.incarnation ..
    string.format(' %d %d ', turn.released, turn.eligible) .. turn.value .. ' ' .. claimed)
end

-- Whether an interrupted turn can still have what it claims.
local function may_finish(c, node, claimed, rec, is_own)
  if is_own then return true end
  return rec and deployments.is_in_pool(c, node, rec.pool) and not deployments.is_owned(c, claimed, rec) and
    redis.call('ZSCORE', keys.free(c.root, rec.pool), deployments.member(rec, claimed)) ~= false
end

-- The reply to the request that was answered last: what it claimed, if that is still the node's, and what is so now. An
-- interrupted turn is finished; nil when it can not be, and when this is another request.
local function again(c, arg, rt)
  local kept = arg.request and redis.call('HGET', keys.request(c.root, arg.node), 'claim')
  if not kept then return nil end
  local mark, id, incarnation, released, eligible, value, claimed = kept:match(
    '^([!?]) (%S+) (%S+) (%S+) (%S+) (%S+) (%S*)$')
  if id ~= arg.request or incarnation ~= rt.incarnation then return nil end
  local turn = { released = tonumber(released), eligible = tonumber(eligible), value = value }
  local rec = claimed ~= '' and deployments.read(c, claimed)
  local is_own = rec and rec.node == arg.node and deployments.is_owned(c, claimed, rec)
  if mark == '?' then
    if not may_finish(c, arg.node, claimed, rec, is_own) then return nil end
    deployments.assign(c, claimed, rec, arg.node, rt.flags)
    keep(c, arg, rt, turn, '!', claimed)
    is_own = true
  end
  local assigned = deployments.assigned(c, arg.node)
  local stop = stops(c, arg, assigned, true)
  return reply(turn, is_own and claimed or '', is_own and rec.spec or '', assigned, stop)
end

local function claim(root, arg)
  local call = redis.call
  local c = cell.open(root, 'deployments')
  settle.up_to(c, SETTLE_FIRST)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local before = again(c, arg, rt)
  if before then return before end

  local policy = claims.policy(arg.policy or config.value(c, 'claim_policy'))
  local measured = claims.measured(c, node)
  local value = policy.value(c, measured)
  local turn = { left = {} }
  if claims.takes_part(rt.flags, measured) and claims.is_used(c) and not claims.is_reindexing(c) then
    turn = choose(c, node, policy, value)
  end
  local found = turn.found
  turn.released, turn.eligible, turn.value = c.released or 0, turn.is_eligible and 1 or 0, string.format('%.14g', value)
  local assigned = deployments.assigned(c, node)
  if found then
    assigned[#assigned + 1] = { found.id, tonumber(found.rec.revision) }
    table.sort(assigned, function(a, b) return a[1] < b[1] end)
  end
  local stop, named, over = stops(c, arg, assigned, false)
  local claimed = found and found.id or ''

  -- first write. What is over is forgotten before the turn is kept, and what is named noted after it, so that the same REQUEST
  -- names the same wherever this is interrupted.
  if #over > 0 then call('ZREM', keys.revoked(root, node), unpack(over)) end
  keep(c, arg, rt, turn, found and '?' or '!', claimed)
  if #named > 0 then call('ZADD', keys.revoked(root, node), unpack(named)) end
  for _, entry in ipairs(turn.left) do deployments.clear_free(c, entry.pool, entry.member, entry.rec) end
  if found then
    deployments.assign(c, found.id, found.rec, node, rt.flags)
    keep(c, arg, rt, turn, '!', claimed)
  elseif turn.is_misplaced then
    claims.place(c, node, rt.flags)
  end
  cell.touch(c)
  return reply(turn, claimed, found and found.rec.spec or '', assigned, stop)
end

return claim
