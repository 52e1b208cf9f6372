// How callers and nodes speak with Lockless.

/** The caller's words on a job's end. */
const ENDED = new Set(["finished", "failed", "expired", "cancelled"]);
const PAGE = "1000";

export class Ours {
  name = "Lockless";

  constructor(cell, settings) {
    this.cell = cell;
    this.settings = settings;
  }

  prepare() {
    const { ttlMs } = this.settings;
    this.cell.call("lockless_config", "heartbeat_ttl_ms", String(ttlMs), "keep_finished_ms", "20000");
  }

  register(machine) {
    const { node } = machine;
    const pairs = node.pairs.flatMap((pair) => ["PAIR", ...pair.split(">")]);
    const labels = node.labels.flatMap((label) => ["LABEL", label]);
    const reply = this.cell.call(
      "lockless_register", node.id, String(node.slots), "INSTANCE", `${node.id}.${machine.epoch}`, "POOL", node.pool, ...pairs, ...labels,
    );
    machine.incarnation = String(fields(reply).incarnation);
  }

  /** Presence. Returns false when the node was given up meanwhile, and has to stop what it runs and register again. */
  heartbeat(machine) {
    const reply = this.cell.call("lockless_heartbeat", machine.node.id, ...as(machine));
    return !refused(reply, "STALE_NODE") && !refused(reply, "UNKNOWN_NODE");
  }

  /** A node's job, or the refusal. Said twice it is the same job. */
  dispatch(wish) {
    const wants = wish.label === "" ? [] : ["REQUIRE", wish.label];
    const reply = this.cell.dispatch(
      "lockless_dispatch", wish.session, wish.src, wish.tgt, `{"ms":${wish.runMs}}`, "JOB", wish.job,
      ...wants, "ACK", String(this.settings.ackMs),
    );
    return reply instanceof Error ? reply : { node: reply[0], job: reply[1] };
  }

  /** Whether the node may start the job it was handed. */
  ack(job) {
    return !(this.cell.call("lockless_ack", job.id, job.machine.node.id, ...as(job.machine)) instanceof Error);
  }

  /** Whether the node's word that a job is done was taken. */
  complete(job) {
    return !(this.cell.call("lockless_complete", job.id, job.machine.node.id, "finished", ...as(job.machine)) instanceof Error);
  }

  drain(machine, on) {
    this.cell.call("lockless_drain", machine.node.id, on ? "on" : "off");
  }

  leave(machine) {
    this.cell.call("lockless_deregister", machine.node.id, ...as(machine));
  }

  /** What a caller who hears nothing learns: how the job ended, or nothing yet. */
  look(job) {
    const reply = this.cell.read("lockless_job", job.id);
    // A record that is gone was kept for a while after the job's end.
    if (reply instanceof Error) return "expired";
    const { status } = fields(reply);
    return ENDED.has(status) ? status : null;
  }

  /** What a gateway does every second: settles what is due. */
  everySecond() {
    this.cell.call("lockless_sweep");
  }

  /** Records go by themselves when their time has passed. */
  tidy() {}

  /** The library's own audit, page by page: the violations. */
  audit() {
    const found = [];
    let cursor = "0";
    do {
      const reply = this.cell.read("lockless_check", "CURSOR", cursor, "COUNT", PAGE);
      if (reply instanceof Error) return [reply.message];
      found.push(...reply[1]);
      [cursor] = reply;
    } while (cursor !== "0");
    return found;
  }

  /** How many slots of a node are taken by the books, and what state it is in. */
  books(machine) {
    const reply = this.cell.ask("FCALL_RO", "lockless_node", "1", this.cell.root, machine.node.id);
    if (reply instanceof Error) return { taken: 0, state: "unknown" };
    const { current_jobs: taken, state } = fields(reply);
    return { taken: Number(taken), state };
  }
}

function as(machine) {
  return ["INCARNATION", machine.incarnation];
}

function refused(reply, code) {
  return reply instanceof Error && reply.message.startsWith(code);
}

/** A flat list of field and value as an object. */
export function fields(reply) {
  const out = {};
  if (reply instanceof Error) return out;
  for (let i = 0; i + 1 < reply.length; i += 2) out[reply[i]] = reply[i + 1];
  return out;
}
