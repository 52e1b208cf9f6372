// One scheduler with the fleet's machines: how a wish becomes a job, reaches its node, runs and ends. The way is the same for
// every scheduler; what is said on it is the scheduler's own (ours.js, theirs.js).

import { canRun } from "./fleet.js";
import { Machine } from "./machine.js";

/** Who hears nothing says it again after this. */
const RESEND_MS = 400;
/** Who misses a job asks for it after this, again and again. */
const LOOK_MS = 2000;
/** The record of a job that ended is of no use any more after this. */
const TIDY_MS = 30000;
/** Why nobody is there who could take work. */
const STATES = { cut: "cut off", dead: "dead", gone: "gone" };

export class Side {
  machines = new Map();
  counts = {
    wished: 0, placed: 0, refused: 0, finished: 0, lost: 0, told: 0, twice: 0, misplaced: 0,
    toDead: 0, toDraining: 0, oversold: 0, worst: 0,
  };

  /** Jobs that ended, in that order: `{ id, atMs }`. */
  #ended = [];

  /** `world` has the agenda, the time, and `tell` for what is worth a sentence. */
  constructor(words, world) {
    this.words = words;
    this.world = world;
    words.prepare();
  }

  join(node) {
    const machine = new Machine(node);
    this.machines.set(node.id, machine);
    this.words.register(machine);
  }

  /** A caller asks for a place; `sent` times it asked before and heard nothing. */
  place(wish, sent = 0, made = new Set()) {
    if (sent === 0) this.counts.wished += 1;
    const placed = this.words.dispatch(wish);
    if (!(placed instanceof Error)) made.add(placed.job);
    if (sent < wish.lostPlacements) {
      this.world.after(RESEND_MS, () => this.place(wish, sent + 1, made));
      return;
    }
    // What was made for a reply that got lost, and is not the job that was heard of, nobody will ever run.
    this.counts.twice += Math.max(0, made.size - 1);
    if (placed instanceof Error) {
      this.counts.refused += 1;
      return;
    }
    this.#send(wish, placed);
  }

  #send(wish, placed) {
    const { counts } = this;
    const machine = this.machines.get(placed.node);
    const { node } = machine;
    counts.placed += 1;
    if (node.state !== "up") {
      counts.toDead += 1;
      this.world.tell(this, "dead", `sends work to ${node.id}, which is ${STATES[node.state]}.`);
    } else if (node.draining) {
      counts.toDraining += 1;
      this.world.tell(this, "draining", `sends work to ${node.id}, which is draining.`);
    }
    if (!canRun(node, wish)) {
      counts.misplaced += 1;
      this.world.tell(this, "misplaced", `sends work to ${node.id}, which can not run it.`);
    }
    const job = { id: placed.job, wish, machine, state: "sent", slots: node.slots, oversold: false, place: -1, startMs: 0 };
    machine.seat(job);
    this.world.after(wish.deliveryMs, () => this.#deliver(job));
  }

  #deliver(job) {
    if (job.state !== "sent") return;
    const { machine } = job;
    if (machine.node.state !== "up" || !this.words.ack(job)) {
      this.#lose(job);
      return;
    }
    job.state = "running";
    job.startMs = this.world.nowMs;
    machine.start(job);
    const room = Math.max(machine.node.slots, job.slots);
    if (machine.running > room) {
      job.oversold = true;
      this.counts.oversold += 1;
      this.world.tell(this, "oversold", `gives ${machine.node.id} a ${ordinal(machine.running)} job; it has ${slots(machine.node.slots)}.`);
    }
    this.world.after(job.wish.runMs, () => this.#end(job));
  }

  #end(job) {
    if (job.state !== "running") return;
    job.machine.running -= 1;
    job.machine.unseat(job);
    job.state = "ended";
    this.#complete(job, 0);
  }

  #complete(job, sent) {
    const { machine } = job;
    if (machine.node.state !== "up") {
      if (sent > 0) return;
      machine.unsent.add(job);
      this.world.after(LOOK_MS, () => this.#look(job));
      return;
    }
    const done = this.words.complete(job);
    if (sent === 0) {
      job.state = done ? "finished" : "lost";
      this.counts[done ? "finished" : "lost"] += 1;
      if (!done) this.#look(job);
    }
    if (sent === job.wish.lostEndings) this.#ended.push({ id: job.id, atMs: this.world.nowMs });
    if (sent < job.wish.lostEndings) this.world.after(RESEND_MS, () => this.#complete(job, sent + 1));
  }

  #lose(job) {
    if (job.state === "running") job.machine.running -= 1;
    job.machine.unseat(job);
    job.machine.unsent.delete(job);
    job.state = "lost";
    this.counts.lost += 1;
    this.world.after(LOOK_MS, () => this.#look(job));
  }

  /** The caller of a job it hears nothing of asks what became of it. */
  #look(job) {
    if (job.state !== "lost" && !job.machine.unsent.has(job)) return;
    const status = this.words.look(job);
    if (status === undefined) return;
    if (status === null) {
      this.world.after(LOOK_MS, () => this.#look(job));
      return;
    }
    if (job.machine.unsent.delete(job)) {
      job.state = "lost";
      this.counts.lost += 1;
    }
    this.counts.told += 1;
    this.#ended.push({ id: job.id, atMs: this.world.nowMs });
    this.world.tell(this, "told", `tells the callers of jobs on ${job.machine.node.id} that they expired.`);
  }

  beat(node) {
    const machine = this.machines.get(node.id);
    if (this.words.heartbeat(machine)) return true;
    // It was given up: another may have its work. It stops what it runs before it says that it is there again.
    this.#stop(machine);
    this.words.register(machine);
    return false;
  }

  /** Everything on a machine is gone. */
  #stop(machine) {
    for (const job of [...machine.jobs(), ...machine.unsent]) {
      if (job.state !== "sent") this.#lose(job);
    }
  }

  die(node) {
    const machine = this.machines.get(node.id);
    this.#stop(machine);
    machine.epoch += 1;
  }

  register(node) {
    this.words.register(this.machines.get(node.id));
  }

  resume(node) {
    const machine = this.machines.get(node.id);
    if (!this.beat(node)) return;
    for (const job of machine.unsent) {
      machine.unsent.delete(job);
      this.#complete(job, 0);
    }
  }

  drain(node, on) {
    this.words.drain(this.machines.get(node.id), on);
  }

  leave(node) {
    const machine = this.machines.get(node.id);
    this.words.leave(machine);
    this.#stop(machine);
  }

  everySecond() {
    this.words.everySecond();
    const old = this.#ended.findIndex(({ atMs }) => atMs > this.world.nowMs - TIDY_MS);
    const forgotten = this.#ended.splice(0, old < 0 ? this.#ended.length : old);
    if (forgotten.length > 0) this.words.tidy(forgotten.map(({ id }) => id));
    for (const machine of this.machines.values()) {
      const { state, id } = machine.node;
      if (state === "up" || state === "gone") machine.givenUp = false;
      else if (!machine.givenUp && this.words.books(machine).state === "offline") {
        machine.givenUp = true;
        this.world.tell(this, `given up ${id}`, `notices that ${id} is silent: it gets nothing more until it registers again.`);
      }
    }
  }

  /** The jobs that run, now. */
  running() {
    let sum = 0;
    for (const machine of this.machines.values()) sum += machine.running;
    return sum;
  }

  /** The oversold slots of the whole fleet, now. */
  oversold() {
    let sum = 0;
    for (const machine of this.machines.values()) sum += machine.oversold;
    this.counts.worst = Math.max(this.counts.worst, sum);
    return sum;
  }
}

function slots(count) {
  return count === 1 ? "one slot" : `${count} slots`;
}

function ordinal(number) {
  const tens = number % 100;
  const ending = tens > 10 && tens < 14 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${ending}`;
}
