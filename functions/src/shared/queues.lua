-- Queues of jobs that wait for a node. There is one for each shape of wishes (pool, pair, region, labels), so that jobs
-- which a node can't run are not in the way of those it can.
--
-- R:queues maps a shape to the queue's number, which is never drawn again; R:queue:<number> has its jobs, the next one
-- first; R:heads has the score of each queue's first job. A queue goes with its last job. R:fits:<class> is a cache: the
-- queues whose jobs the class may run, and '#', up to which number queues were looked at. R:delayed has the jobs whose time
-- has not come, by when it will, and stands in the due list as q.

local queues = {}

-- A score is priority * 2^42 + the number of the submission: urgent ones first, then the oldest.
local PRIORITY = 4398046511104

-- So many queues may have jobs when a further one is asked for.
queues.MAX = 1000
-- Numbers of queues that went are left in the cache until there are so many more than queues.
local FITS_SPARE = 64
local PAGE = 256
local LOOKED_AT = '#'

-- The shape of no wishes: a member that is empty would be hard to see.
local ANYWHERE = '-'

function queues.shape(wishes)
  local sorted = { pair = wishes.pair, region = wishes.region, require = classes.list(classes.joined(wishes.require)) }
  local text = shapes.text(sorted, wishes.pool)
  return text ~= '' and text or ANYWHERE
end

-- What the jobs of a queue ask for.
function queues.wishes(shape)
  return shape == ANYWHERE and {} or shapes.parse(shape)
end

function queues.score(q)
  return string.format('%d', q.priority * PRIORITY + q.seq)
end

-- The number of a job's queue as text, or nil when there is none.
function queues.number_of(c, shape)
  local number = redis.call('ZSCORE', keys.queues(c.root), shape)
  return cell.is_whole(number) and number or nil
end

-- Whether a job of these wishes would need a queue that there is no room for.
function queues.is_full(c, shape)
  return not queues.number_of(c, shape) and redis.call('ZCARD', keys.queues(c.root)) >= queues.MAX
end

-- Puts a job into its queue, at the place its priority and its age give it. That comes last: a job that is in its queue is
-- found by the head.
function queues.put(c, job, q)
  local call = redis.call
  local number = queues.number_of(c, q.shape)
  if not number then
    number = string.format('%d', (call('HGET', c.root, 'queues') or 0) + 1)
    call('HSET', c.root, 'queues', number)
    call('ZADD', keys.queues(c.root), number, q.shape)
  end
  local score = queues.score(q)
  call('ZADD', keys.heads(c.root), 'LT', score, number)
  call('ZADD', keys.queue(c.root, number), score, job)
end

-- Keeps a job back until its time comes.
function queues.delay(c, job, at)
  cell.due(c, 'q', at)
  redis.call('ZADD', keys.delayed(c.root), string.format('%d', at), job)
end

-- Takes a job out of a queue (none: it is just put right), sets the head to what is first then, and ends the queue with its last entry. The head
-- is last: by it an interrupted call is found, by queues.each and by queues.remove.
local function take_out(c, number, shape, job)
  local call = redis.call
  local key = keys.queue(c.root, number)
  local page = call('ZRANGE', key, '0', '1', 'WITHSCORES')
  local at = page[1] == job and 3 or 1
  if not page[at] and shape then call('ZREM', keys.queues(c.root), shape) end
  if job then call('ZREM', key, job) end
  if page[at] then
    call('ZADD', keys.heads(c.root), page[at + 1], number)
  else
    call('ZREM', keys.heads(c.root), number)
  end
end

-- Whether a job waits in its queue.
function queues.has(c, job, q)
  local number = queues.number_of(c, q.shape)
  return number ~= nil and redis.call('ZSCORE', keys.queue(c.root, number), job) ~= false
end

-- Whether a job waits in its queue, or for its time.
function queues.knows(c, job, q)
  return redis.call('ZSCORE', keys.delayed(c.root), job) ~= false or queues.has(c, job, q)
end

-- The shape of a queue, or nil.
function queues.shape_of(c, number)
  return redis.call('ZRANGEBYSCORE', keys.queues(c.root), number, number)[1]
end

-- Takes an entry that is no waiting job out of a queue; without one, makes its head what it is.
function queues.drop(c, number, job)
  take_out(c, number, queues.shape_of(c, number), job)
end

-- Takes a job out, wherever it waits, or finishes a call that did so: then its queue may only be known by its head, which
-- has the score of this job alone.
function queues.remove(c, job, q)
  local score = queues.score(q)
  local number = queues.number_of(c, q.shape) or redis.call('ZRANGEBYSCORE', keys.heads(c.root), score, score)[1]
  if number then take_out(c, number, q.shape, job) end
  redis.call('ZREM', keys.delayed(c.root), job)
end

-- Brings the cache of a class up to date: every queue is held against it once.
local function update_fits(c, class, desc)
  local call = redis.call
  local key = keys.fits(c.root, class)
  local last = tonumber(call('HGET', c.root, 'queues') or '0')
  local seen = tonumber(call('ZSCORE', key, LOOKED_AT) or '0')
  if seen == last then return key end
  if call('ZCARD', key) > 2 * call('ZCARD', keys.queues(c.root)) + FITS_SPARE then
    call('DEL', key)
    seen = 0
  end
  for _ = 1, queues.MAX do
    local page = call('ZRANGEBYSCORE', keys.queues(c.root), '(' .. string.format('%d', seen), '+inf', 'WITHSCORES', 'LIMIT',
      '0', PAGE)
    for i = 1, #page, 2 do
      local wishes = queues.wishes(page[i])
      if wishes and classes.fits(desc, wishes) then call('ZADD', key, page[i + 1], page[i + 1]) end
    end
    seen = #page < 2 * PAGE and last or tonumber(page[#page])
    if seen == last then break end
  end
  call('ZADD', key, string.format('%d', last), LOOKED_AT)
  return key
end

-- Moves to the next job of one of the queues that are merged; whether there is one.
local function advance(queue)
  queue.at = queue.at + 2
  if queue.at > #queue.page and not queue.is_over then
    queue.page = redis.call('ZRANGE', queue.key, queue.offset, queue.offset + 15, 'WITHSCORES')
    queue.offset, queue.at, queue.is_over = queue.offset + 16, 1, #queue.page < 32
  end
  queue.job, queue.score = queue.page[queue.at], tonumber(queue.page[queue.at + 1] or nil)
  return queue.job ~= nil
end

-- Puts a queue among the open ones, which stand in the order of their next jobs.
local function insert(open, queue)
  local low, high = 1, #open + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if open[middle].score < queue.score then low = middle + 1 else high = middle end
  end
  table.insert(open, low, queue)
end

-- Calls visit(job, number of its queue) for the jobs that a class may run, the most urgent and oldest first over all its
-- queues, until it returns true or `limit` jobs were visited. Heads that are not what they should be are mended on the way.
function queues.each(c, class, desc, limit, visit)
  if not c.exists then return end
  local heads = redis.call('ZINTER', '2', keys.heads(c.root), update_fits(c, class, desc), 'WEIGHTS', '1', '0', 'WITHSCORES')
  local open, next_head = {}, 1
  for _ = 1, limit do
    while heads[next_head] and (not open[1] or tonumber(heads[next_head + 1]) < open[1].score) do
      local number = heads[next_head]
      local queue = { key = keys.queue(c.root, number), number = number, offset = 0, at = 1, page = {} }
      if advance(queue) then insert(open, queue) end
      if queue.score ~= tonumber(heads[next_head + 1]) then queues.drop(c, number) end
      next_head = next_head + 2
    end
    local best = table.remove(open, 1)
    if not best then return end
    local job = best.job
    if advance(best) then insert(open, best) end
    if visit(job, best.number) then return end
  end
end

return queues
