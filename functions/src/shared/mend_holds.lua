-- Mends the holds of jobs and the work of nodes: what audit_nodes names of them.
--
-- A slot that a node may be using is never given back here: what is lost of its job becomes a job that has expired, and that
-- the node is told to stop. The node's word, or its end, frees the slot, as always.

local mend_holds = {}

local WALKED = 10000

-- A job that has ended: what its end left undone is done. One that may be running stops, also when its score does not say any more
-- that it may.
local function end_of(c, node, rt, job, rec, score)
  local state = holds.may_be(rec, score) and holds.state(score)
  tries.finish_any(c, node, job, rec, score, rec.status)
  local is_over = rec.status ~= 'cancelled' and rec.status ~= 'expired'
  if is_over or state == 'reserved' then
    jobs.let_go(c, job)
    leases.free(c, node, rt, job, rec)
    if rec.status == 'released' then redis.call('DEL', keys.job(c.root, job)) end
  elseif state ~= 'stopping' then
    redis.call('ZADD', keys.slots(c.root, node), 'XX', holds.STOPPING_TEXT, 'j' .. job)
    cell.announce(c, node)
  end
end

-- A hold of a job that is on another node. The job gets it there, if it has none and the node is there; else it has expired.
local function bring_home(c, node, rt, job, rec, score)
  local home = not rec.status and rec.node ~= jobs.NOWHERE and nodes.read(c, rec.node)
  if home and not nodes.is_lost(home) then
    if not holds.score(c, rec.node, job) then
      -- A slot that is taken is never offered.
      ready.place(c, home.class, rec.node, home.flags, nodes.held(c, rec.node) + 1 + home.foreign)
      redis.call('ZADD', keys.slots(c.root, rec.node), string.format('%d', score), 'j' .. job)
    end
  elseif not rec.status and rec.node ~= jobs.NOWHERE and rec.kind ~= 'q' and not holds.is_being_lost(c, rec.node) then
    jobs.finish(c, job, rec, score, 'expired', 'node lost')
    jobs.let_go(c, job)
  end
  holds.free(c, node, rt, 'j' .. job)
end

-- A job from the queue is listed in the work of its node as it runs there.
local function list_work(c, node, job, rec, score)
  local started = jobs.started(rec, score)
  work.remove(c, node, job, rec.q, started)
  if holds.is_asked(score) then
    work.ask(c, node, job, rec.q, started)
  else
    work.add(c, node, job, rec.q, started)
  end
end

-- A live job's hold says until when it may run. One that is said to be stopping, or does not say until when, has its time again, as
-- one that runs: nobody knows that it does not.
local function run_on(c, node, rt, job, rec, score)
  local state, deadline = holds.state(score)
  local near_ms = math.max(rt.scan_ms, c.now)
  if state == 'stopping' or not holds.may_be(rec, score) or (rec.kind == 'q' and state ~= 'running') then
    deadline = c.now + rec.ttl_ms
    score, near_ms = holds.RUNNING + deadline, c.now + cell.HORIZON_MS
    redis.call('ZADD', keys.slots(c.root, node), 'XX', string.format('%d', score), 'j' .. job)
  end
  if deadline < near_ms then cell.due(c, 'h' .. node, deadline) end
  return score
end

-- Sets right what a node's hold says.
function mend_holds.hold(c, node, member)
  local rt = nodes.read(c, node)
  local score = rt and tonumber(redis.call('ZSCORE', keys.slots(c.root, node), member) or nil)
  if not score then return end
  if member:sub(1, 1) ~= 'j' then return holds.free(c, node, rt, member) end
  local job = member:sub(2)
  local rec = tries.look(c, job)
  if not rec or rec.is_damaged then rec = jobs.write_off(c, job, node, rt.class) end
  if rec.node ~= node then return bring_home(c, node, rt, job, rec, score) end
  redis.call('PERSIST', keys.job(c.root, job))
  if rec.status then return end_of(c, node, rt, job, rec, score) end
  score = run_on(c, node, rt, job, rec, score)
  if rec.kind == 'q' then list_work(c, node, job, rec, score) end
end

-- Takes out of the work of every node what does not run there so.
function mend_holds.works(c)
  local call = redis.call
  for _, node in ipairs(pages.names(keys.nodes(c.root), '0', WALKED)) do
    for _, text in ipairs(call('ZRANGE', keys.work(c.root, node), '0', WALKED - 1)) do
      local job = work.job_of(text)
      local score = job and holds.score(c, node, job)
      local rec = score and tries.look(c, job)
      local started = rec and not rec.is_damaged and rec.q and not rec.status and jobs.started(rec, score)
      if not started or not work.is_entry(text, job, rec.q, started, holds.is_asked(score)) then
        call('ZREM', keys.work(c.root, node), text)
      end
    end
  end
end

return mend_holds
