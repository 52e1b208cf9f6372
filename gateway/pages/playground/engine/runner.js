// Runs a simulation at the pace of a clock that can be paused, stepped and sped up, and says what there is to draw.
//
// It is told what to do in messages and answers in messages, because in a page it lives in a worker of its own.

import { pack, roster } from "./frame.js";
import { Auditor, calls, nodeDetails } from "./questions.js";

/** A turn of the loop works for at most so long, so that it hears what it is told. */
const WORK_MS = 28;
/** What the schedulers believe is asked no more often than this. */
const ASK_MS = 60;
const PACE_WINDOW_MS = 1000;
const SHOWN = 120;
const COPIED = 5000;

export class Runner {
  #simulation = null;
  #auditor = new Auditor();
  #playing = false;
  #speed = 1;
  #lastMs = 0;
  #paces = [];
  #told = 0;
  #askedMs = 0;
  #rosterOf = 0;
  #filter = null;
  #node = null;
  #last = Promise.resolve();

  /** `make(scenario, compare)` gives a simulation; `say` sends a message to the page; `now` is the real time in ms. */
  constructor(make, say, now = () => performance.now()) {
    this.make = make;
    this.say = say;
    this.now = now;
  }

  /** Hears a message, after those before it. */
  hear(message) {
    const heard = this.#last.then(() => this.#hear(message));
    // One that failed says so to whoever sent it; the next is heard all the same.
    this.#last = heard.catch(() => {});
    return heard;
  }

  async #hear(message) {
    if (message.type === "open") {
      await this.#open(message);
      return;
    }
    const simulation = this.#simulation;
    if (!simulation) return;
    switch (message.type) {
      case "play":
        this.#playing = true;
        this.#speed = message.speed;
        this.#lastMs = this.now();
        this.#paces = [];
        break;
      case "pause":
        this.#playing = false;
        break;
      case "step":
        simulation.step();
        break;
      case "skip":
        simulation.advance(simulation.nowMs + message.ms);
        break;
      case "act":
        simulation.act(message.action, message.value);
        break;
      case "audit":
        simulation.audit();
        break;
      case "log":
        this.#filter = message.filter;
        break;
      case "node":
        this.#node = message.id;
        break;
      case "lines":
        this.say({ type: "lines", id: message.id, lines: calls(simulation, message.filter, COPIED).reverse().map((call) => call.line) });
        return;
      case "scenario":
        this.say({ type: "scenario", id: message.id, scenario: simulation.scenario, current: simulation.current });
        return;
      default:
        return;
    }
    this.#frame();
  }

  async #open({ scenario, compare }) {
    const simulation = await this.make(scenario, compare);
    this.#simulation = simulation;
    this.#told = 0;
    this.#rosterOf = 0;
    this.#lastMs = this.now();
    this.#paces = [];
    this.say({ type: "opened", scenario: simulation.scenario });
    this.#frame();
  }

  /** One turn. Returns whether there will be something to do soon. */
  turn() {
    if (!this.#simulation || !this.#playing) return false;
    const begin = this.now();
    const passedMs = Math.min(250, begin - this.#lastMs);
    this.#lastMs = begin;
    const before = this.#simulation.nowMs;
    // What can not be done in time is left out: the clock goes slower than asked, and says so.
    this.#simulation.advance(before + passedMs * this.#speed, () => this.now() - begin < WORK_MS);
    this.#pace(begin, passedMs, this.#simulation.nowMs - before);
    this.#frame();
    return true;
  }

  #pace(at, realMs, simulatedMs) {
    this.#paces.push({ at, realMs, simulatedMs });
    while (this.#paces.length > 1 && this.#paces[0].at < at - PACE_WINDOW_MS) this.#paces.shift();
  }

  /** How fast the clock really goes. */
  #speedNow() {
    const real = this.#paces.reduce((sum, pace) => sum + pace.realMs, 0);
    const simulated = this.#paces.reduce((sum, pace) => sum + pace.simulatedMs, 0);
    return real > 200 ? simulated / real : this.#speed;
  }

  #frame() {
    const simulation = this.#simulation;
    const now = this.now();
    if (now - this.#askedMs >= ASK_MS || !this.#playing) {
      this.#auditor.refresh(simulation);
      this.#askedMs = now;
    }
    const sides = simulation.sides.map((side) => {
      const oversold = side.oversold();
      const { cell, name } = side.words;
      return { name, counts: { ...side.counts }, oversold, calls: cell.count, dispatchUs: cell.dispatchMs * 1000, ...pack(simulation, side) };
    });
    const told = simulation.story.told.filter((one) => one.number > this.#told);
    if (told.length > 0) this.#told = told.at(-1).number;
    const frame = {
      type: "frame", nowMs: simulation.nowMs, playing: this.#playing, speed: this.#speed, speedNow: this.#speedNow(),
      sides, told, audits: simulation.audits, samples: simulation.samples.splice(0),
    };
    this.#addRoster(frame);
    if (this.#filter) frame.log = calls(simulation, this.#filter, SHOWN);
    if (this.#node) frame.node = nodeDetails(simulation, this.#node);
    this.say(frame, sides.flatMap((side) => [side.states.buffer, side.more.buffer, side.cells.buffer, side.progress.buffer]));
  }

  /** The nodes are sent when they changed. */
  #addRoster(frame) {
    const { fleetVersion } = this.#simulation;
    if (fleetVersion === this.#rosterOf) return;
    this.#rosterOf = fleetVersion;
    frame.roster = roster(this.#simulation);
  }
}
