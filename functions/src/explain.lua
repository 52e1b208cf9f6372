-- lockless_explain session src tgt [JOB id] [POOL p] [REGION r] [REQUIRE label]* [ACK ms] [TTL ms]
--
-- Why: the node that a dispatch with these arguments would choose now, and how many nodes are out for which reason.
-- A node counts once, under the first reason that applies: pair, region, label, offline, draining, resource, capacity.
-- Slots whose time has passed count as taken until a write call settles them. A session that is bound has one node to go
-- to, `bound`, or none.
--
-- Reply:  fields node_id (empty: none), pool, effective, max_jobs, considered, available, the reasons, partial
--         (1 when more than 512 classes match: then not all were counted), and bound (empty: it is not)
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  13 with one matching class (2 more when nodes of it are out); grows with the matching classes, at most 512

local COUNTED = 512

local function explain(root, arg)
  local c = cell.open(root)
  c.readonly = true
  choose.note_overdue(c)
  local found = choose.node(c, arg)
  local out = choose.excluded(c, arg)
  local counts = choose.count(c, arg, COUNTED)
  local pool = found and (found.pool or redis.call('HGET', keys.class(root, found.class), 'pools'):match('^%S+'))
  return {
    'node_id', found and found.node or '', 'pool', pool or '',
    'effective', found and ready.effective(found.score) or '', 'max_jobs', found and classes.max_jobs(found.class) or '',
    'considered', out.considered, 'available', counts.available, 'pair', out.pair, 'region', out.region,
    'label', out.label, 'offline', counts.offline, 'draining', counts.draining, 'resource', counts.resource,
    'capacity', counts.capacity, 'partial', (counts.partial or out.partial) and 1 or 0,
    'bound', arg.binding and arg.binding.node or '',
  }
end

return explain, args.language_pair
