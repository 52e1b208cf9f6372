-- The ready index: for each class a sorted set of all its nodes, the next one to take work first.
--
-- A score is one whole number below 2^53: band * 2^50 + effective * 2^32 + the grant that used the node last.
-- Band 0 may take work; the others never come first, and tell explain why. So the head of the set is the least loaded
-- node, among equals the least recently used one; a full node is one whose effective load reached max_jobs.

local ready = {}

ready.UNIT = 4294967296
ready.BAND = 1125899906842624
ready.BUSY, ready.DRAINING, ready.OFFLINE = 1, 2, 3

-- The flags of a node: l lost, o said to be offline, d draining, b over a resource threshold.
function ready.band(flags)
  if flags:find('[lo]') then return ready.OFFLINE end
  if flags:find('d', 1, true) then return ready.DRAINING end
  if flags:find('b', 1, true) then return ready.BUSY end
  return 0
end

function ready.text(score)
  return string.format('%d', score)
end

function ready.effective(score)
  local load = score % ready.BAND
  return (load - load % ready.UNIT) / ready.UNIT
end

-- Whether a score says that a slot is taken.
function ready.is_taken(score)
  return cell.is_whole(score) and score + 0 >= ready.UNIT
end

-- When a node was used last, by its score in the index; of a score that says nothing of the kind: never.
function ready.used(score)
  return cell.is_whole(score) and score % ready.UNIT or 0
end

-- Sets a node's place from what is known of it, keeping when it was used last; returns whether it was another. A node that is not
-- there is on its way to another class, and has its place set when it arrives. `undone` is the number of a grant that was interrupted: if that used the
-- node last, it is its turn again.
function ready.place(c, class, node, flags, effective, undone)
  local key = keys.ready(c.root, class)
  local before = redis.call('ZSCORE', key, node)
  if not before then return false end
  local used = ready.used(before)
  if undone and used == undone % ready.UNIT then used = 0 end
  local score = ready.band(flags) * ready.BAND + effective * ready.UNIT + used
  if score == tonumber(before) then return false end
  redis.call('ZADD', key, ready.text(score), node)
  return true
end

return ready
