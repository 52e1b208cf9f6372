-- Writes JSON. Values are given as JSON already: json.string and json.number make those that are not.

local json = {}

local ESCAPES = { ['"'] = '\\"', ['\\'] = '\\\\', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t' }

-- The forms a character of more than one byte has in UTF-8.
local CHARACTERS = {
  '^[\194-\223][\128-\191]', '^\224[\160-\191][\128-\191]', '^[\225-\236\238\239][\128-\191][\128-\191]',
  '^\237[\128-\159][\128-\191]', '^\240[\144-\191][\128-\191][\128-\191]',
  '^[\241-\243][\128-\191][\128-\191][\128-\191]', '^\244[\128-\143][\128-\191][\128-\191]',
}

local function character_at(text, at)
  for _, form in ipairs(CHARACTERS) do
    local from, to = text:sub(at, at + 3):find(form)
    if from then return text:sub(at, at + to - 1) end
  end
end

-- Ids may be any bytes: those that are no character become one that says so.
function json.string(text)
  local plain = text:gsub('[%c"\\]', function(byte) return ESCAPES[byte] or string.format('\\u%04x', byte:byte()) end)
  if not plain:find('[\128-\255]') then return '"' .. plain .. '"' end
  local out, at = {}, 1
  while at <= #plain do
    local piece = plain:match('^[%z\1-\127]+', at) or character_at(plain, at)
    out[#out + 1] = piece or '\\ufffd'
    at = at + (piece and #piece or 1)
  end
  return '"' .. table.concat(out) .. '"'
end

function json.number(value)
  return value % 1 == 0 and string.format('%d', value) or string.format('%.3f', value)
end

-- An object of names and values that follow each other.
function json.object(fields)
  local out = {}
  for i = 1, #fields, 2 do out[#out + 1] = '"' .. fields[i] .. '":' .. fields[i + 1] end
  return '{' .. table.concat(out, ',') .. '}'
end

function json.array(values)
  return '[' .. table.concat(values, ',') .. ']'
end

return json
