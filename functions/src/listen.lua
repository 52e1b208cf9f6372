-- lockless_listen
--
-- Has dispatches, stops, ends and events announced on R:wake for two minutes: the id of a node that has something to
-- take, 'ended <job>', or 'event'. Whoever waits subscribes, calls this, looks, and calls it again within a minute.
-- lockless_take does the same. In a cell where nobody listens nothing is announced.
--
-- Reply:  until when, in ms; 0 in a cell that does not exist
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  3 (4 once a minute)

return function(root)
  local c = cell.open(root)
  if not c.exists then return 0 end
  settle.first(c)
  -- first write
  cell.listen(c)
  return c.listen
end
