-- Every key of a cell. R is the root key; all others are R, ':' and a suffix, so that they share its slot.

local keys = {}

-- What stands between R and the rest of the keys that every job needs: their callers put them together themselves.
keys.SLOTS, keys.RUNTIME = ':node:slots:', ':node:runtime:'
keys.READY, keys.JOB, keys.SESSION = ':ready:', ':job:', ':session:'
-- No key of this name is ever written: see cell.guard.
keys.NONE = ':none'

function keys.config(root) return root .. ':config' end
function keys.nodes(root) return root .. ':nodes' end
function keys.info(root, node) return root .. ':node:info:' .. node end
function keys.runtime(root, node) return root .. keys.RUNTIME .. node end
function keys.slots(root, node) return root .. keys.SLOTS .. node end
function keys.request(root, node) return root .. ':node:request:' .. node end
function keys.members(root, pool) return root .. ':pool:' .. pool .. ':members' end
function keys.lang(root, pair) return root .. ':lang:' .. pair end
function keys.classes(root) return root .. ':classes' end
function keys.class(root, class) return root .. ':class:' .. class end
function keys.ready(root, class) return root .. keys.READY .. class end
function keys.attrs(root) return root .. ':attrs' end
function keys.attr(root, attr) return root .. ':attr:' .. attr end
function keys.match(root, generation) return root .. ':match:' .. generation end
function keys.job(root, job) return root .. keys.JOB .. job end
function keys.session(root, session) return root .. keys.SESSION .. session end
function keys.due(root) return root .. ':due' end
function keys.lost(root, incarnation) return root .. ':lost:' .. incarnation end
function keys.failed(root) return root .. ':failed' end
function keys.queues(root) return root .. ':queues' end
function keys.queue(root, number) return root .. ':queue:' .. number end
function keys.heads(root) return root .. ':heads' end
function keys.delayed(root) return root .. ':delayed' end
function keys.fits(root, class) return root .. ':fits:' .. class end
function keys.work(root, node) return root .. ':node:work:' .. node end
function keys.admission(root, node) return root .. ':node:admission:' .. node end
function keys.deployments(root) return root .. ':deployments' end
function keys.deployment(root, id) return root .. ':deployment:' .. id end
function keys.free(root, pool) return root .. ':deployments:free:' .. pool end
function keys.assigned(root, node) return root .. ':node:deployments:' .. node end
function keys.revoked(root, node) return root .. ':node:revoked:' .. node end
function keys.unclaimed(root, incarnation) return root .. ':unclaimed:' .. incarnation end
function keys.claim(root, policy, pool) return root .. ':claim:' .. policy .. ':' .. pool end
function keys.cancelled(root) return root .. ':cancelled' end
function keys.none(root) return root .. keys.NONE end
function keys.node_guard(root, node) return root .. ':guard:node:' .. node end
function keys.model_guard(root, model) return root .. ':guard:model:' .. model end
function keys.limit_log(root, name, window) return root .. ':limit:log:' .. window .. ':' .. name end
function keys.limit_last(root, name, window) return root .. ':limit:last:' .. window .. ':' .. name end
function keys.lock(root, name) return root .. ':lock:' .. name end
function keys.snapshot(root) return root .. ':snapshot' end
function keys.snapshot_before(root) return root .. ':snapshot:before' end
function keys.events(root) return root .. ':events' end
function keys.wake(root) return root .. ':wake' end

return keys
