-- Shapes: what a request or a queued job asks for, as one text. A letter and a value for each constraint: P pool, L language
-- pair, R region, Q label. Values have no spaces, so a space ends each, and no two requests share a shape.

local shapes = {}

-- The shape of a request; labels stand in the order given.
function shapes.text(req, pool)
  local pair, region, require = req.pair, req.region, req.require
  local text
  if pool and pair then
    text = 'P' .. pool .. ' L' .. pair .. ' '
  else
    text = pool and 'P' .. pool .. ' ' or pair and 'L' .. pair .. ' ' or ''
  end
  if region then text = text .. 'R' .. region .. ' ' end
  if require and require[1] then text = text .. 'Q' .. table.concat(require, ' Q') .. ' ' end
  return text
end

-- The request of a shape, or nil when it is none.
function shapes.parse(text)
  local req, length = { require = {} }, 0
  for letter, value in text:gmatch('(%u)(%S+) ') do
    length = length + #value + 2
    if letter == 'P' then req.pool = value end
    if letter == 'L' then req.pair = value end
    if letter == 'R' then req.region = value end
    if letter == 'Q' then req.require[#req.require + 1] = value end
  end
  if length == #text then return req end
end

return shapes
