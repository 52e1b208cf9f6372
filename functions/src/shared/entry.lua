-- Registers a function: its arguments are checked against the contract, and whatever is raised becomes an error reply.
--
-- KEYS[1] is checked where the cell turns out not to exist (cell.lua), and here for what Redis refused: a cell that exists
-- has a sound root key, so the common way does not look at it again.

-- The reply for what was raised. Arguments that are wrong, and a root key that is no cell, come before anything that Redis says.
local function refused(raised, root, spec, argv)
  if not errors.is_ours(raised) then
    local sound, wrong = pcall(args.parse, spec, argv)
    if sound then sound, wrong = pcall(cell.check_root, root) end
    if not sound then raised = wrong end
  end
  return errors.caught(raised)
end

-- `validate`, where a function has one, checks what the contract's types can't say. One that `looks_later` is given its required
-- arguments, and looks at its options itself (args.options), before it writes.
return function(name, handler, validate, looks_later)
  local spec = contract[name]
  local quick, positional = spec.quick, spec.may_end and spec.positional

  local function run(given_keys, argv)
    -- Without options, and with arguments that have no more than a form, one expression of the contract checks them all.
    local arg = quick and (looks_later or #argv == positional) and quick(argv) or
      (looks_later and args.required or args.parse)(spec, argv)
    if validate then validate(arg) end
    if looks_later and #given_keys ~= 1 then args.options(spec, argv, arg) end
    if #given_keys > 1 then errors.fail('BAD_CELL', 'one key is taken, the cell, given ' .. #given_keys) end
    local root = given_keys[1]
    if not root then cell.check_root(root) end
    return handler(root, arg, argv)
  end

  redis.register_function({
    function_name = name,
    flags = spec.flags,
    callback = function(given_keys, argv)
      local ok, reply = pcall(run, given_keys, argv)
      if ok then return reply end
      return refused(reply, given_keys[1], spec, argv)
    end,
  })
end
