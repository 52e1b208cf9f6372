-- lockless_nodes cursor count
--
-- A page of node ids, in order.
--
-- Reply:  [next cursor, [node, ...]]; the cursor is 0 after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  4

local function validate(arg)
  if arg.cursor ~= '0' and arg.cursor:sub(1, 1) ~= ':' then pages.bad_cursor(arg.cursor) end
end

local function list(root, arg)
  cell.open(root)
  local names, next_cursor = pages.names(keys.nodes(root), arg.cursor, arg.count)
  return { next_cursor, names }
end

return list, validate
