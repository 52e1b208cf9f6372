-- lockless_overview
--
-- The snapshot that lockless_snapshot wrote last.
--
-- Reply:  JSON, empty when there was none within a minute
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  4

return function(root)
  cell.open(root)
  return redis.call('GET', keys.snapshot(root)) or ''
end
