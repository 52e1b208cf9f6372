-- Audits the classes and their attributes: descriptions, ready indexes, class sets, pool members, language index.

local audit_classes = {}

local LAST = classes.LAST_TEXT

-- The next entry of R:classes after a class number: canonical description and number, as text.
local function next_class(c, after)
  local entry = redis.call('ZRANGEBYSCORE', keys.classes(c.root), '(' .. after, LAST, 'WITHSCORES', 'LIMIT', '0', '1')
  return entry[1], entry[2]
end

local function one_class(c, class, text, say)
  local call = redis.call
  local desc = classes.read(c, class)
  if not desc then return say('class ' .. class .. ': its description is missing', mend_classes.describe, class) end
  if classes.canonical(desc) ~= text then
    say('class ' .. class .. ': its description differs from its entry', mend_classes.describe, class)
  end
  if call('ZSCORE', keys.ready(c.root, class), cell.SENTINEL) ~= 'inf' then
    say('class ' .. class .. ': the sentinel of its ready index is missing', mend_classes.sentinel, class)
  end
  if call('ZCARD', keys.ready(c.root, class)) <= 1 then say('class ' .. class .. ': it has no node', mend_classes.drop, class) end
  for _, attr in ipairs(classes.attributes(desc)) do
    if call('SISMEMBER', keys.attr(c.root, attr), class) == 0 then
      say('class ' .. class .. ': it is missing in the set of ' .. attr, mend_classes.add, class, attr)
    end
    if not call('ZSCORE', keys.attrs(c.root), attr) then
      say('attribute ' .. attr .. ': it is not listed', mend_classes.list_attribute, attr)
    end
  end
end

-- Of the classes that lost their number so many are found at once.
local UNNUMBERED_LOOKED_AT = 100

-- Items are classes and the members of their ready indexes. A position is the number before the class, and an offset.
function audit_classes.all(c, position, budget, say)
  local before, offset, used = '0', 0, 0
  for _, range in ipairs(position and {} or { { '-inf', '0' }, { '(' .. LAST, '+inf' } }) do
    for _, text in ipairs(redis.call('ZRANGEBYSCORE', keys.classes(c.root), range[1], range[2], 'LIMIT', '0', UNNUMBERED_LOOKED_AT)) do
      say('class without a number: its entry can not be read', mend_classes.relist, text)
    end
  end
  if position then
    local number, count = position:match('^(%S+) (%d+)$')
    before, offset = number, tonumber(count)
  end
  while used < budget do
    local text, number = next_class(c, before)
    if not text then return nil, used end
    local desc = classes.is_number(number) and classes.parse(text)
    if not desc then say('class ' .. number .. ': its entry can not be read', mend_classes.relist, text) end
    local class = classes.code(desc and number or 0, desc and desc.max_jobs or 0)
    if offset == 0 then
      if desc then one_class(c, class, text, say) end
      used = used + 1
    end
    local page = redis.call('ZRANGE', keys.ready(c.root, class), offset, offset + budget - used)
    for _, node in ipairs(page) do
      if node ~= cell.SENTINEL then
        local rt = nodes.read(c, node)
        if not rt or rt.class ~= class then
          say('class ' .. class .. ': ' .. node .. ' is not one of its nodes', mend_classes.remove_stranger, class, node)
        elseif not redis.call('ZSCORE', keys.nodes(c.root), node) then
          say('node ' .. node .. ': it is not listed', mend_nodes.list, node)
        end
      end
    end
    used, offset = used + #page, offset + #page
    if #page == 0 or page[#page] == cell.SENTINEL then before, offset = number, 0 end
  end
  return before .. ' ' .. string.format('%d', offset), used
end

-- The part of a class's description that says whether it has an attribute, by the kind of that. Every class has 'all'.
local PARTS = { all = 'pools', region = 'region', pool = 'pools', pair = 'pairs', label = 'labels' }
local IS_COUNTED = { all = true, pool = true, pair = true }

-- What a page looks at of an attribute that very many classes have.
local BOTH, WHO_HAS_IT, HOW_MANY = 0, 1, 2

-- Says which classes do not have an attribute, and adds up the nodes of its classes, in all and by pool. An attribute may be one of every class
-- there is, and is looked at in one call, so no more is read of a class than is needed.
local function tally(c, attr, what, say)
  local call = redis.call
  local total, by_pool = 0, {}
  local kind, value = attr:match('^(%a+):?(.*)$')
  local part, is_counted = PARTS[kind], IS_COUNTED[kind] and what ~= WHO_HAS_IT
  local class_key, ready_key = keys.class(c.root, ''), keys.ready(c.root, '')
  local wanted = kind ~= 'all' and ' ' .. (value or '') .. ' '
  local found = call('SINTER', keys.attr(c.root, attr))
  for i = 1, #found do
    local class, has_it = found[i], true
    if what ~= HOW_MANY then
      local text = part and call('HGET', class_key .. class, part)
      has_it = text and (not wanted or text == value or (' ' .. text .. ' '):find(wanted, 1, true))
      if not has_it then
        say('attribute ' .. attr .. ': class ' .. class .. ' does not have it', mend_classes.remove, class, attr)
      end
    end
    if has_it and is_counted then
      local nodes_here = call('ZCARD', ready_key .. class) - 1
      if nodes_here > 0 then total = total + nodes_here end
      if kind == 'pair' then
        for _, pool in ipairs(classes.list(call('HGET', class_key .. class, 'pools') or '')) do
          by_pool[pool] = (by_pool[pool] or 0) + math.max(0, nodes_here)
        end
      end
    end
  end
  return total, by_pool, #found
end

local function one_attribute(c, attr, what, say)
  local call = redis.call
  local total, by_pool, looked_at = tally(c, attr, what, say)
  if what == WHO_HAS_IT then return looked_at end
  if looked_at == 0 then say('attribute ' .. attr .. ': no class has it', mend_classes.unlist_attribute, attr) end
  local pool, pair = attr:match('^pool:(.*)$'), attr:match('^pair:(.*)$')
  if attr == 'all' and total ~= call('ZCARD', keys.nodes(c.root)) then
    say('nodes: their number is not that of the classes', mend_classes.by_its_causes)
  end
  if pool and call('SCARD', keys.members(c.root, pool)) ~= total then
    say('pool ' .. pool .. ': its members are not as many as the nodes of its classes', mend_classes.members, pool)
  end
  if pair then
    local counts = call('HGETALL', keys.lang(c.root, pair))
    for i = 1, #counts, 2 do
      if by_pool[counts[i]] ~= tonumber(counts[i + 1]) then
        say('language index ' .. pair .. ': the count of pool ' .. counts[i] .. ' is wrong', mend_classes.count_pair, pair, counts[i])
      end
      by_pool[counts[i]] = nil
    end
    for missing in pairs(by_pool) do
      say('language index ' .. pair .. ': pool ' .. missing .. ' is missing', mend_classes.count_pair, pair, missing)
    end
  end
  return looked_at
end

-- An attribute of more classes has two pages to itself, whatever their budget.
local PAGED = 1000

-- Items are attributes and the classes that have them. A position is the attribute before, or one of which it is known who has it, after a '2'.
function audit_classes.attributes(c, position, budget, say)
  local after, used = position or '0', 0
  local half_done = after:match('^2:(.*)$')
  if half_done then
    -- One that went since the page before is listed no more.
    if redis.call('ZSCORE', keys.attrs(c.root), half_done) then one_attribute(c, half_done, HOW_MANY, say) end
    return ':' .. half_done, budget
  end
  while used < budget do
    local attr = pages.names(keys.attrs(c.root), after, 1)[1]
    if not attr then return nil, used end
    if c.page and redis.call('SCARD', keys.attr(c.root, attr)) > PAGED then
      -- What is left of a page that was begun stays empty.
      if budget - used < c.page then return after ~= '0' and after or '', budget end
      one_attribute(c, attr, WHO_HAS_IT, say)
      return '2:' .. attr, budget
    end
    used = used + 1 + one_attribute(c, attr, BOTH, say)
    after = ':' .. attr
  end
  return after, used
end

return audit_classes
