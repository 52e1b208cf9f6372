// What is drawn of a moment, packed into bytes, because it is sent to the page sixty times a second.

/** So many jobs beyond a node's slots are drawn; the rest is a number. */
export const BEYOND = 8;
export const CELL = { free: 0, sent: 1, running: 2, ghost: 3, oversold: 4 };
export const NODE = { up: 0, cut: 1, dead: 2, draining: 4, out: 8 };

/** The nodes in the order of the bytes: what of them changes only when the fleet does. */
export function roster(simulation) {
  return [...simulation.nodes.values()].map(({ id, group, slots, pool, pairs, labels }) => ({ id, group, slots, pool, pairs, labels }));
}

/** One scheduler's machines: for each node a byte of state and the number of jobs it has beyond what is drawn, and for each of its cells
 *  what is in it and how far it has come. */
export function pack(simulation, side) {
  const { nodes, nowMs } = simulation;
  let size = 0;
  for (const node of nodes.values()) size += node.slots + BEYOND;
  const states = new Uint8Array(nodes.size);
  const more = new Uint16Array(nodes.size);
  const cells = new Uint8Array(size);
  const progress = new Uint8Array(size);
  const sums = { running: 0, sent: 0, ghosts: 0 };
  let index = 0;
  let offset = 0;
  for (const node of nodes.values()) {
    const machine = side.machines.get(node.id);
    const room = node.slots + BEYOND;
    states[index] = stateOf(node, machine);
    more[index] = Math.max(0, machine.seats.length - room);
    fill(machine, nowMs, cells.subarray(offset, offset + room), progress.subarray(offset, offset + room));
    sums.running += machine.running;
    sums.sent += machine.seated - machine.running;
    sums.ghosts += machine.ghosts;
    index += 1;
    offset += room;
  }
  return { states, more, cells, progress, sums };
}

function stateOf(node, machine) {
  const state = NODE[node.state] ?? NODE.dead;
  return state | (node.draining ? NODE.draining : 0) | (machine.givenUp ? NODE.out : 0);
}

function fill(machine, nowMs, cells, progress) {
  const { slots } = machine.node;
  let ghosts = machine.ghosts;
  let oversold = machine.oversold;
  for (let place = Math.min(machine.seats.length, cells.length) - 1; place >= 0; place -= 1) {
    const job = machine.seats[place];
    if (!job) continue;
    const running = job.state === "running";
    const beyond = running && oversold > 0 && place >= slots;
    if (beyond) oversold -= 1;
    cells[place] = beyond ? CELL.oversold : running ? CELL.running : CELL.sent;
    progress[place] = running ? Math.min(255, ((nowMs - job.startMs) / job.wish.runMs) * 255) : 0;
  }
  for (let place = 0; place < slots && ghosts > 0; place += 1) {
    if (cells[place] !== CELL.free) continue;
    cells[place] = CELL.ghost;
    ghosts -= 1;
  }
}
