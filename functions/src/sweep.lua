-- lockless_sweep [LIMIT n]
--
-- Settles what is due: lost nodes, reservations nobody acknowledged, run limits, leases, boxes. A busy cell does it by
-- itself; an idle one needs someone to call this.
--
-- Reply:  how many nodes, jobs and leases it settled
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  4 with nothing due, about 12 per item (1 more per job while someone listens, 2 for one to stop)

local DEFAULT_LIMIT = 1000

return function(root, arg)
  local c = cell.open(root)
  if not c.exists then return 0 end
  local settled = settle.up_to(c, arg.limit or DEFAULT_LIMIT)
  cell.touch(c)
  return settled
end
