-- lockless_model_unavailable node model [WINDOW ms] [REQUEST id]
--
-- A node was asked for a model that it does not have. It is not matched for the label model:<model> from now on, until it
-- registers, or heartbeats with LABELs, that it has it again. Of all who report a model in a window one is told to act (to
-- reload, reroute, tell someone), the others are counted; a node that reports too often is not even counted.
--
-- Reply:  ACT, COUNTED or LIMITED
-- Errors: BAD_ARGUMENT, BAD_CELL, SCHEMA_MISMATCH, CELL_MOVING, UNKNOWN_NODE, STALE_NODE
-- Calls:  11 (2 more for the one who is told to act, 5 when the node is taken out of the model's nodes, and those of a new
--         class)

-- So many reports of a node, of whatever models, are taken in a window.
local REPORTS_OF_A_NODE = 10

local NO_REQUEST = '-'

-- What a guard says: until when, how many came, and a request: a node's last one, the model it named and what it was
-- answered; or the one that was told to act on a model, and the node it came from. A new guard when the old one's time has
-- passed.
local function read(c, key, window_ms)
  local text = redis.call('GET', key) or ''
  local until_text, count, request, of, answer = text:match('^(%d+) (%d+) (%S+) (%S+) (%S+)$')
  local until_ms = tonumber(until_text)
  if until_ms and until_ms > c.now then
    return { until_ms = until_ms, count = tonumber(count), request = request, of = of, answer = answer }
  end
  return { until_ms = c.now + window_ms, count = 0, request = NO_REQUEST }
end

local function write(key, guard)
  redis.call('SET', key, table.concat({ string.format('%d', guard.until_ms), string.format('%d', guard.count),
    guard.request, guard.of, guard.answer }, ' '), 'PXAT', string.format('%d', guard.until_ms))
end

-- The description of the node without the label; nil when it has it not. A node without a class was on its way to
-- another one when a call was interrupted.
local function without(c, node, rt, label)
  local desc = classes.read(c, rt.class)
  if desc and not classes.fits(desc, { require = { label } }) then return nil end
  desc = desc or nodes.description(c, node, rt)
  local kept = {}
  for _, has in ipairs(classes.list(desc.labels)) do
    if has ~= label then kept[#kept + 1] = has end
  end
  desc.labels = classes.joined(kept)
  return desc
end

local function report(root, arg)
  local c = cell.open(root)
  settle.first(c)
  local node, model = arg.node, arg.model
  local rt = nodes.own_word(c, node, arg.incarnation)
  local window_ms = arg.window or config.value(c, 'model_window_ms')
  local request = arg.request and 'r' .. arg.request or NO_REQUEST
  local node_key, model_key = keys.node_guard(root, node), keys.model_guard(root, model)
  local of_node, of_model = read(c, node_key, window_ms), read(c, model_key, window_ms)
  -- The same again, which may come after the node has said that it has the model by now.
  if arg.request and of_node.request == request and of_node.of == model then return of_node.answer end
  local desc = without(c, node, rt, 'model:' .. model)
  local plan = desc and classes.plan(c, desc)
  local effective = nodes.held(c, node) + rt.foreign

  -- first write
  if plan then
    nodes.change_labels(c, node, rt, plan, effective)
    redis.call('HSET', keys.runtime(root, node), 'class', plan.class)
  end
  -- Also of a node without the label: the call that took it may have been interrupted before the node arrived in its class.
  ready.place(c, plan and plan.class or rt.class, node, rt.flags, effective)
  if of_node.count >= REPORTS_OF_A_NODE then return 'LIMITED' end
  -- Who was told to act is told again: that call was interrupted.
  local acts = of_model.count == 0 or arg.request and of_model.request == request and of_model.of == node
  if acts then
    events.write(c, 'model_unavailable', 'node', node, 'detail', model)
    of_model.count, of_model.request, of_model.of, of_model.answer = math.max(1, of_model.count), request, node, 'ACT'
  else
    of_model.count = of_model.count + 1
  end
  write(model_key, of_model)
  of_node.count, of_node.request, of_node.of = of_node.count + 1, request, model
  of_node.answer = acts and 'ACT' or 'COUNTED'
  write(node_key, of_node)
  cell.touch(c)
  return of_node.answer
end

return report
