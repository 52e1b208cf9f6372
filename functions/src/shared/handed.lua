-- What a node was handed for its last REQUEST, so that the same request gets the same again: a field of
-- R:node:request:<node> for each function, "id incarnation\njob deadline job deadline\nstop stop".

local handed = {}

-- Notes it, unless there is nothing to note or nobody who would ask. `given` is { job, deadline, job, deadline, ... } as text.
function handed.note(c, arg, rt, name, given, stop)
  if not arg.request or #given == 0 then return end
  redis.call('HSET', keys.request(c.root, arg.node), name,
    arg.request .. ' ' .. rt.incarnation .. '\n' .. table.concat(given, ' ') .. '\n' .. table.concat(stop, ' '))
end

-- What this incarnation was given for this request, as { job, deadline, ... } and a list of stops; nil when it was not.
function handed.before(c, arg, rt, name)
  if not arg.request then return nil end
  local last = redis.call('HGET', keys.request(c.root, arg.node), name)
  if not last then return nil end
  local id, incarnation, given, stop = last:match('^(%S+) (%S+)\n([^\n]*)\n([^\n]*)$')
  if id ~= arg.request or incarnation ~= rt.incarnation then return nil end
  return classes.list(given), classes.list(stop)
end

return handed
