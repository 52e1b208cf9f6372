// What the page itself asks: which calls there were, and what the schedulers believe of a node. Nothing here is part of a history.

import { described } from "./cell.js";

const JOBS = /_(dispatch|ack|complete)/;
const READS = /^FCALL_RO$/;
/** Each frame asks after so many nodes in turn, and after so many of those that something happened to. */
const IN_TURN = 6;

/** A test for log entries from what was chosen: `kind`, and words that must all be in the line or the reply. */
export function wanted({ kind = "all", text = "" }) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (entry) => {
    if (!ofKind(entry, kind)) return false;
    if (words.length === 0) return true;
    const { line, reply } = described(entry);
    const all = `${line} ${reply}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
}

function ofKind(entry, kind) {
  const [command, name] = entry.args;
  switch (kind) {
    case "jobs":
      return JOBS.test(name);
    case "nodes":
      return !JOBS.test(name) && !READS.test(command) && name !== "lockless_sweep";
    case "refused":
      return entry.reply instanceof Error;
    case "reads":
      return READS.test(command);
    default:
      return true;
  }
}

/** The calls that match, newest first: at most `limit` of those that are kept. */
export function calls(simulation, filter, limit) {
  const sides = simulation.sides.filter((_, index) => filter.side === undefined || filter.side === "all" || Number(filter.side) === index);
  const matches = wanted(filter);
  const found = sides.flatMap((side) => {
    const index = simulation.sides.indexOf(side);
    return side.words.cell.newest(matches, limit).map((entry) => ({ side: index, ...described(entry) }));
  });
  found.sort((one, other) => other.atMs - one.atMs || other.number - one.number);
  return found.slice(0, limit);
}

/** Keeps what is known of the schedulers' books fresh, a few nodes at a time. */
export class Auditor {
  #place = 0;

  refresh(simulation) {
    const nodes = [...simulation.nodes.values()];
    if (nodes.length === 0) return;
    const asked = nodes.filter((node) => node.state !== "up").slice(0, IN_TURN);
    for (let i = 0; i < Math.min(IN_TURN, nodes.length); i += 1) {
      this.#place = (this.#place + 1) % nodes.length;
      asked.push(nodes[this.#place]);
    }
    for (const side of simulation.sides) {
      for (const node of asked) {
        const machine = side.machines.get(node.id);
        machine.noteBooks(side.words.books(machine));
      }
    }
  }
}

/** Everything about one node, as both schedulers have it and as it is. */
export function nodeDetails(simulation, id) {
  const node = simulation.nodes.get(id);
  if (!node) return null;
  const sides = simulation.sides.map((side) => {
    const machine = side.machines.get(id);
    machine.noteBooks(side.words.books(machine));
    return { running: machine.running, sent: machine.seated - machine.running, oversold: machine.oversold, ...machine.books };
  });
  const { group, slots, pool, pairs, labels, state, draining } = node;
  return { id, group, slots, pool, pairs, labels, state, draining, sides };
}
