-- lockless_take node [COUNT n] [REQUEST id]
--
-- Hands the node its dispatched jobs and acknowledges them, and names the jobs it must stop. The REQUEST that was handed
-- jobs last gives what it gave then and changes nothing; one that was handed none may be used again, as a caller who
-- waits for jobs does.
--
-- Reply:  [[job item, ...], [stop ids]]
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  7 with nothing to hand over, 2 more per job, with REQUEST 1 more, and 1 more when there are jobs

local DEFAULT_COUNT = 16
-- Holds looked at for them: jobs whose records are damaged wait for repair, or for their deadline, and keep no other waiting.
local LOOKED_AT = 1000

-- Dispatched becomes running.
local function start(c, node, job, deadline)
  if deadline < c.now + cell.HORIZON_MS then cell.due(c, 'h' .. node, deadline) end
  redis.call('ZADD', keys.slots(c.root, node), 'XX', holds.text(holds.RUNNING, deadline), 'j' .. job)
end

-- The same again. Should the call that handed it over have been interrupted, it is acknowledged now.
local function again(c, node, given)
  local items = {}
  for i = 1, #given, 2 do
    local job, deadline = given[i], tonumber(given[i + 1])
    local rec = jobs.look_with_payload(c, job)
    local score = holds.score(c, node, job)
    -- One that has ended since has no slot, or only until it is stopped.
    if rec and not rec.is_damaged and rec.node == node and not rec.status and score then items[#items + 1] = jobs.item(job, rec, deadline) end
    if score and score < holds.RUNNING then start(c, node, job, deadline) end
  end
  return items
end

local function take(root, arg)
  local call = redis.call
  local c = cell.open(root)
  settle.first(c)
  local node = arg.node
  local rt = nodes.own_word(c, node, arg.incarnation)
  local before, stopped = handed.before(c, arg, rt, 'take')
  if before then return { again(c, node, before), stopped } end

  local slots, count = keys.slots(root, node), arg.count or DEFAULT_COUNT
  local items, given, offset = {}, {}, 0
  repeat
    local left = count - #items
    local page = call('ZRANGEBYSCORE', slots, '-inf', '(20000000000000', 'WITHSCORES', 'LIMIT', offset, left)
    for i = 1, #page, 2 do
      local job = page[i]:sub(2)
      local rec = jobs.look_with_payload(c, job)
      if rec and not rec.is_damaged then
        local state, deadline = holds.state(tonumber(page[i + 1]))
        -- As for ack.
        if state == 'reserved' then deadline = c.now + rec.ttl_ms end
        items[#items + 1] = jobs.item(job, rec, deadline)
        given[#given + 1] = job
        given[#given + 1] = string.format('%d', deadline)
      end
    end
    offset = offset + left
  until #items == count or #page < 2 * left or offset >= LOOKED_AT
  local stop = holds.to_stop(c, node)

  -- first write
  handed.note(c, arg, rt, 'take', given, stop)
  for i = 1, #given, 2 do start(c, node, given[i], tonumber(given[i + 1])) end
  cell.listen(c)
  return { items, stop }
end

return take
