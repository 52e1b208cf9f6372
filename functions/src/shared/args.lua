-- Checks a call's arguments against its entry in the contract.

local args = {}

-- Each returns the checked value, or nil.
local kinds = {}

function kinds.id(value, rule)
  if #value >= rule.min and #value <= rule.max and value:find(PRINTABLE) then return value end
end

function kinds.cursor(value, rule)
  if #value >= rule.min and #value <= rule.max and not value:find('[%c]') then return value end
end

function kinds.lang(value, rule)
  if #value >= rule.min and #value <= rule.max and value:find(PRINTABLE_LANG) then return value end
end

function kinds.bytes(value, rule)
  if #value >= rule.min and #value <= rule.max then return value end
end

function kinds.integer(value, rule)
  if not value:find('^%d+$') or #value > 16 then return nil end
  local number = value + 0
  if number >= rule.min and number <= rule.max then return number end
end

function kinds.percent(value, rule)
  if rule.minus_one and value == '-1' then return -1 end
  if not value:find('^%d+%.?%d*$') or #value > 32 then return nil end
  local number = tonumber(value)
  if number >= rule.min and number <= rule.max then return number end
end

function kinds.choice(value, rule)
  if rule.values[value] then return value end
end

local function checked(rule, label, value)
  if rule.dash and value == '-' then return '-' end
  local good = kinds[rule.kind](value, rule)
  if good == nil then
    if rule.kind == 'bytes' then
      errors.fail('BAD_ARGUMENT', label .. ' takes ' .. rule.takes .. ', given ' .. #value .. ' bytes')
    end
    errors.bad_argument(label, rule.takes, value)
  end
  return good
end

-- How many values follow an option's keyword, unless it is one.
local WIDTHS = { pair = 2, flag = 0 }

-- The languages of a PAIR option, as one 'src:tgt'.
local function pair(rule, label, source, target)
  if not (kinds.lang(source, rule) and kinds.lang(target, rule)) then
    errors.bad_argument(label, rule.takes, source .. ' ' .. target)
  end
  return source .. ':' .. target
end

-- The required arguments by name, one after the other, so that the first one that is wrong is named.
local function positional(spec, argv)
  local out = {}
  local rules = spec.args
  for i = 1, #rules do
    local rule, value = rules[i], argv[i]
    local name = rule.name
    if not value then errors.fail('BAD_ARGUMENT', name .. ' is missing: it takes ' .. rule.takes) end
    out[name] = checked(rule, name, value)
  end
  return out
end

-- The required arguments by name. What the contract's one expression for all of them refuses takes the long way.
function args.required(spec, argv)
  return spec.quick and spec.quick(argv) or positional(spec, argv)
end

-- Adds the options by name. Those that may be given several times are lists; absent ones are nil.
function args.options(spec, argv, out)
  local count, at = #argv, spec.positional + 1
  if at > count and spec.may_end then return out end
  if spec.rest then
    out.rest = {}
    for i = at, count do out.rest[#out.rest + 1] = argv[i] end
    return out
  end
  while at <= count do
    local keyword = argv[at]
    local rule = spec.options[keyword]
    if not rule then
      errors.bad_argument('an option', spec.keywords == '' and 'nothing here' or 'one of ' .. spec.keywords, keyword)
    end
    local kind, value, width = rule.kind, argv[at + 1], 1
    -- Most options are ids: one that is as it should be needs no more than this.
    if not (kind == 'id' and value and #value <= rule.max and value:find(PRINTABLE)) then
      width = WIDTHS[kind] or 1
      if at + width > count then errors.fail('BAD_ARGUMENT', keyword .. ' needs a value: it takes ' .. rule.takes) end
      if width == 2 then
        value = pair(rule, keyword, value, argv[at + 2])
      elseif width == 0 then
        value = true
      else
        value = checked(rule, keyword, value)
      end
    end
    at = at + 1 + width
    local name, many = rule.name, rule.many
    local before = out[name]
    if before == nil then
      out[name] = many and { value } or value
    elseif not many then
      errors.fail('BAD_ARGUMENT', keyword .. ' may be given once, given twice')
    elseif #before < many then
      before[#before + 1] = value
    else
      errors.fail('BAD_ARGUMENT', keyword .. ' may be given at most ' .. many .. ' times, given more')
    end
  end
  for i = 1, #spec.required do
    local rule = spec.options[spec.required[i]]
    if out[rule.name] == nil then
      errors.fail('BAD_ARGUMENT', spec.required[i] .. ' is missing: it takes ' .. rule.takes)
    end
  end
  return out
end

-- All arguments by name.
function args.parse(spec, argv)
  return args.options(spec, argv, args.required(spec, argv))
end

-- '-' in both src and tgt says "no language pair"; in one alone it is refused. The pair is arg.pair.
function args.language_pair(arg)
  if (arg.src == '-') ~= (arg.tgt == '-') then
    errors.bad_argument(arg.src == '-' and 'tgt' or 'src', "'-' exactly when the other language is '-'",
      arg.src == '-' and arg.tgt or arg.src)
  end
  if arg.src ~= '-' then arg.pair = arg.src .. ':' .. arg.tgt end
end

return args
