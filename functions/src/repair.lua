-- lockless_repair [CURSOR c] [COUNT n]
--
-- Mends exactly what check names: it looks at what check looks at, and sets right what check would say of it. Indexes, counts
-- and deadlines are made anew from what they stand for. What can't be, since it is lost, is given up so that no slot is free which
-- a node may be using: a hold without a job's record becomes one of an expired job that the node is told to stop. What mending
-- itself brings to light, such as counts, is mended by the next call: repeat it until it mends nothing.
--
-- Reply:  what was mended, as check says it; with CURSOR [next cursor, mended], the cursor being 0 after the last page
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING
-- Calls:  as check when there is nothing to mend, about 12 more for each violation

-- A call mends so much at most; what is left over is found by the next one.
local MOST = 1000

-- These take away what others may need to find out what is right.
local LAST = { [mend_nodes.abandon] = true, [mend_nodes.forget] = true }

-- Mends what was found; those of these sentences that it mended.
local function mend(c, found)
  local mended, is_balancing = {}, true
  for _, one in ipairs(found) do is_balancing = is_balancing and one.mend == mend_cell.counters end
  for _, is_last in ipairs({ false, true }) do
    for i = 1, math.min(#found, MOST) do
      local one = found[i]
      -- What is out of balance may only be what is mended here.
      local may = one.mend ~= mend_cell.counters or is_balancing
      if may and (LAST[one.mend] or false) == is_last then one.mend(c, unpack(one.arguments)) end
      if may and not is_last then mended[#mended + 1] = one.sentence end
    end
  end
  return mended
end

local function repair(root, arg)
  local c = audit.open(root)
  local found = {}
  local next_cursor = audit.run(c, arg, function(sentence, mend_it, ...)
    found[#found + 1] = { sentence = sentence, mend = mend_it, arguments = { ... } }
  end)

  -- first write
  if #found > 0 and not c.is_damaged then settle.see(c) end
  local mended = mend(c, found)
  if not next_cursor then return mended end
  return { next_cursor, mended }
end

return repair, audit.validate
