// How callers and nodes speak with the rules that Lockless replaces (seed.lua). They have fewer words: no job id of the caller's
// choice, no incarnation, no word for leaving, nothing that asks how long a node has been silent.

export class Theirs {
  name = "The old rule";

  /** `rule` is `capacity` or `counter`: see seed.lua. */
  constructor(cell, settings, rule) {
    this.cell = cell;
    this.settings = settings;
    this.reserves = rule === "capacity";
  }

  prepare() {}

  register({ node }) {
    const pairs = node.pairs.flatMap((pair) => pair.split(">"));
    this.cell.call("seed_register_node", node.id, "{}", String(node.slots), node.pool, ...pairs);
  }

  heartbeat({ node, running }) {
    const online = node.draining ? "false" : "true";
    const reported = this.reserves ? [String(running)] : [];
    this.cell.call("seed_heartbeat", node.id, online, "{}", ...reported);
    return true;
  }

  dispatch(wish) {
    const name = this.reserves ? "seed_dispatch_reserved" : "seed_dispatch_counted";
    const ttl = this.reserves ? [String(this.settings.ackMs)] : [];
    const reply = this.cell.dispatch(name, wish.session, wish.src, wish.tgt, `{"ms":${wish.runMs}}`, ...ttl);
    return reply instanceof Error ? reply : { node: reply[0], job: reply[1] };
  }

  ack(job) {
    if (this.reserves) this.cell.call("seed_ack", job.id, job.machine.node.id);
    return true;
  }

  complete(job) {
    this.cell.call("seed_complete_task", job.id, job.machine.node.id, "finished");
    return true;
  }

  /** The spec's only word for it is the heartbeat's `online`. */
  drain(machine) {
    if (machine.node.state === "up") this.heartbeat(machine);
  }

  leave({ node }) {
    this.cell.call("seed_heartbeat", node.id, "false", "{}");
  }

  /** Nothing ever changes a record but the node's own word: asking is of no use. */
  look() {
    return undefined;
  }

  everySecond() {}

  /** The spec keeps every record for ever, and never looks at it again: nothing is changed by its going. */
  tidy(jobs) {
    this.cell.ask("DEL", ...jobs.map((job) => `${this.cell.root}:job:${job}`));
  }

  audit() {
    return null;
  }

  books({ node }) {
    const { root } = this.cell;
    const current = Number(this.cell.ask("HGET", `${root}:node:runtime:${node.id}`, "current_jobs") ?? 0);
    const reserved = this.reserves ? Number(this.cell.ask("ZCOUNT", `${root}:node:reserved:${node.id}`, `(${this.cell.epochMs}`, "+inf")) : 0;
    return { taken: Math.max(current, reserved), state: "unknown" };
  }
}
