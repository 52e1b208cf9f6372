// The machines of the fleet: what they are, and what has happened to them. Both schedulers have the same ones.

/** Every node that a fleet should have, in order. */
export function nodesOf(fleet) {
  const nodes = [];
  for (const group of fleet) {
    const digits = Math.max(2, String(group.count).length);
    for (let i = 1; i <= group.count; i += 1) {
      const id = `${group.name}-${String(i).padStart(digits, "0")}`;
      const { slots, pool, pairs, labels } = group;
      nodes.push({ id, group: group.name, slots, pool, pairs, labels });
    }
  }
  return nodes;
}

/** Whether a node is what a wish asks for. */
export function canRun(node, wish) {
  return node.pairs.includes(`${wish.src}>${wish.tgt}`) && (wish.label === "" || node.labels.includes(wish.label));
}

export class Fleet {
  /** Those that are there, by id, in the order in which they are drawn. */
  nodes = new Map();

  /** Makes the fleet what it should be. Returns the nodes that came, changed and went. */
  become(fleet) {
    const wanted = new Map(nodesOf(fleet).map((node) => [node.id, node]));
    const came = [];
    const changed = [];
    const went = [...this.nodes.values()].filter((node) => !wanted.has(node.id));
    const after = new Map();
    for (const [id, node] of wanted) {
      const before = this.nodes.get(id);
      if (!before) {
        came.push(Object.assign(node, { state: "up", draining: false }));
        after.set(id, node);
        continue;
      }
      if (!alike(before, node)) changed.push(before);
      after.set(id, Object.assign(before, node));
    }
    for (const node of went) node.state = "gone";
    this.nodes = after;
    return { came, changed, went };
  }

  /** The nodes that run and can be reached. */
  up() {
    return [...this.nodes.values()].filter((node) => node.state === "up");
  }
}

function alike(one, other) {
  return one.slots === other.slots && one.pool === other.pool &&
    String(one.pairs) === String(other.pairs) && String(one.labels) === String(other.labels);
}
