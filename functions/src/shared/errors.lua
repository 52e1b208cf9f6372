-- How a call ends early, and what a caller sees of it.

local errors = {}

-- Ends the call with `CODE sentence`. Only before the call's first write.
function errors.fail(code, sentence)
  error({ reply = code .. ' ' .. sentence })
end

-- A caller's value, short and plain, for a sentence: clients read error lines as UTF-8, which bytes need not be.
function errors.shown(value)
  if #value > 64 then value = value:sub(1, 61) .. '...' end
  return "'" .. value:gsub('[^\32-\126]', '?') .. "'"
end

function errors.bad_argument(name, takes, given)
  errors.fail('BAD_ARGUMENT', name .. ' takes ' .. takes .. ', given ' .. errors.shown(given))
end

function errors.unknown_node(node)
  errors.fail('UNKNOWN_NODE', 'no node ' .. errors.shown(node) .. ' is registered: call lockless_register')
end

function errors.stale_node(node)
  errors.fail('STALE_NODE', 'node ' .. errors.shown(node) ..
    ' was lost or replaced by a newer incarnation: register it again')
end

function errors.no_such_job(job)
  errors.fail('NO_SUCH_JOB', 'there is no job ' .. errors.shown(job))
end

function errors.node_mismatch(job, node)
  errors.fail('NODE_MISMATCH', 'job ' .. errors.shown(job) .. ' is on node ' .. errors.shown(node))
end

function errors.wrong_state(job, state)
  errors.fail('WRONG_STATE', 'job ' .. errors.shown(job) .. ' is ' .. state)
end

function errors.unreadable_job(job)
  errors.fail('BAD_CELL', 'the record of job ' .. errors.shown(job) .. " can't be read: it is damaged, and lockless_repair mends that of a " ..
    'job that waits or has a slot')
end

function errors.unreadable(record)
  errors.fail('BAD_CELL', record .. " can't be read: lockless_check names what is damaged, lockless_repair mends it")
end

-- Words in Redis's own errors that say that part of the cell is on another Cluster node.
local MOVING = { 'non local key', 'TRYAGAIN', 'ASK ', 'MOVED ' }

-- The source's file and line of a Lua error, `user_function:123: text`; nil for any other text.
local function located(message)
  local line, text = message:match('^[%w_@]+:(%d+): (.*)$')
  line = tonumber(line)
  if not line then return nil end
  local file, first = 'lockless.lua', 1
  for _, source in ipairs(about.sources) do
    if source[2] <= line then file, first = source[1], source[2] end
  end
  return file .. ':' .. (line - first + 1) .. ': ' .. text
end

-- Whether what was raised is the end of a call by `errors.fail`.
function errors.is_ours(raised)
  return type(raised) == 'table' and raised.reply ~= nil
end

-- The error reply for anything that was raised: our own, Redis's (a table or, as pcall gives it on Redis 7.0, its
-- text), or a defect of the library.
function errors.caught(raised)
  if errors.is_ours(raised) then return redis.error_reply(raised.reply) end
  local text = type(raised) == 'table' and raised.err or tostring(raised)
  local defect = located(text)
  if defect then return redis.error_reply('ERR lockless defect at ' .. defect) end
  for _, word in ipairs(MOVING) do
    if text:find(word, 1, true) then
      return redis.error_reply('CELL_MOVING the cell is being moved between Cluster nodes: try again')
    end
  end
  if text:find('WRONGTYPE', 1, true) then
    return redis.error_reply('BAD_CELL a key of the cell holds what this library did not write: ' .. text)
  end
  return redis.error_reply(text)
end

return errors
