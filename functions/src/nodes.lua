-- lockless_nodes cursor count
--
-- A page of node ids, in order.
--
-- Reply:  [next cursor, [node, ...]]; the cursor is 0 after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  4

return function(root, arg)
  cell.open(root)
  local names, next_cursor = pages.names(keys.nodes(root), arg.cursor, arg.count)
  return { next_cursor, names }
end
