-- lockless_version
--
-- Reply:  fields version, schema, digest
-- Errors: BAD_ARGUMENT, BAD_CELL
-- Calls:  0

return function(root)
  cell.check_root(root)
  return { 'version', about.version, 'schema', about.schema, 'digest', about.digest }
end
