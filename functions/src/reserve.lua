-- lockless_reserve node job ttl_ms
--
-- Takes a slot on a chosen node until it is acknowledged, released, or ttl_ms have passed. Again for the same job and
-- node it is renewed.
--
-- Reply:  1, or 0 when the node can't take work now (no record is left)
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, NODE_MISMATCH, WRONG_STATE, JOB_EXISTS
-- Calls:  11 (9 when it is renewed, 6 when it is refused)

-- The same job again. Returns the reply, or nil when the slot has to be taken.
local function again(c, arg, rt, rec, until_ms)
  local call = redis.call
  local job, node = arg.job, arg.node
  if rec.status == 'released' then return nil end
  if rec.node ~= node and rec.node ~= jobs.NOWHERE then errors.node_mismatch(job, rec.node) end
  if rec.kind ~= 'r' then
    errors.fail('JOB_EXISTS', 'job ' .. errors.shown(job) .. ' exists and is no reservation')
  end
  if rec.status then errors.wrong_state(job, rec.status) end
  local score = holds.score(c, node, job)
  local interrupted = tonumber(rec.grant) > c.grants
  if not score then
    if not interrupted then errors.wrong_state(job, 'expired') end
    -- The node may have been made to look fuller by a hold that it never got.
    nodes.place(c, node, rt)
    return nil
  end
  local state = holds.state(score)
  if state ~= 'reserved' then return 1 end
  if until_ms < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. node, until_ms) end
  call('ZADD', keys.slots(c.root, node), 'XX', holds.text(0, until_ms), 'j' .. job)
  if interrupted then
    nodes.place(c, node, rt)
    c.grants = tonumber(rec.grant)
    cell.set_counter(c, 'reserved', cell.counter(c, 'reserved') + 1)
  end
  return 1
end

local function reserve(root, arg)
  local call = redis.call
  local job, node = arg.job, arg.node
  local c = cell.open(root, 'reserved')
  settle.first(c)
  local rt = nodes.read(c, node)
  if not rt then errors.unknown_node(node) end
  if settle.is_overdue_node(c, node) then rt = nodes.read(c, node) or errors.unknown_node(node) end
  local ttl_ms = arg.ttl_ms == '-' and config.value(c, 'reserve_ttl_ms') or arg.ttl_ms
  local until_ms = c.now + ttl_ms
  local rec = jobs.read(c, job)
  if rec then
    local reply = again(c, arg, rt, rec, until_ms)
    if reply then return reply end
  end
  local place = tonumber(call('ZSCORE', keys.ready(root, rt.class), node) or nil)
  if not place or place >= classes.max_jobs(rt.class) * ready.UNIT then return 0 end

  -- first write
  local grant = string.format('%d', c.grants + 1)
  local used = (c.grants + 1) % ready.UNIT
  call('HSET', keys.job(root, job), 'd', jobs.pack(node, rt.class, 'r', c.now_text, ttl_ms,
    config.value(c, 'job_ttl_ms'), grant, '-', '-', '-'), 'p', '')
  -- The node's place comes before the hold: a slot that is taken is never offered.
  call('ZADD', keys.ready(root, rt.class), ready.text(place - place % ready.UNIT + ready.UNIT + used), node)
  call('ZADD', keys.slots(root, node), holds.text(0, until_ms), 'j' .. job)
  if until_ms < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. node, until_ms) end
  c.grants = c.grants + 1
  cell.set_counter(c, 'reserved', cell.counter(c, 'reserved') + 1)
  return 1
end

return reserve
