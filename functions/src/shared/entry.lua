-- Registers a function: its arguments are checked against the contract, and whatever is raised becomes an error reply.

local function run(spec, handler, validate, given_keys, argv)
  local arg = args.parse(spec, argv)
  if validate then validate(arg) end
  if #given_keys > 1 then errors.fail('BAD_CELL', 'one key is taken, the cell, given ' .. #given_keys) end
  cell.check_root(given_keys[1])
  return handler(given_keys[1], arg)
end

-- `validate`, where a function has one, checks what the contract's types can't say.
return function(name, handler, validate)
  local spec = contract[name]
  redis.register_function({
    function_name = name,
    flags = spec.flags,
    callback = function(given_keys, argv)
      local ok, reply = pcall(run, spec, handler, validate, given_keys, argv)
      if ok then return reply end
      return errors.caught(reply)
    end,
  })
end
