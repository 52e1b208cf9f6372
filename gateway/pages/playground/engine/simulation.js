// The whole: a clock, a fleet, wishes and faults, given to every scheduler alike.

import { Agenda } from "./agenda.js";
import { Chaos } from "./chaos.js";
import { Fleet } from "./fleet.js";
import { hash } from "./random.js";
import { LIMITS, readScenario, readScript } from "./scenario.js";
import { Side } from "./side.js";
import { Story } from "./story.js";
import { Workload } from "./workload.js";

const AUDIT_MS = 10000;
/** The chart has a point for each of these. */
const SAMPLE_MS = 250;
/** More points than a chart can show are not kept, should nobody fetch them. */
const SAMPLES_MAX = 600;
/** A step that makes no call is no step; but a scenario in which nothing is ever called must end. */
const STEP_EVENTS_MAX = 10000;

export class Simulation {
  nowMs = 0;
  /** What the chart shows: `{ atMs, oversold: [..], running: [..] }`, taken out by whoever draws it. */
  samples = [];
  /** Grows when the fleet changes. */
  fleetVersion = 0;
  #workload;
  #chaos;
  #agenda = new Agenda();
  #fleet = new Fleet();
  #turn = 0;

  /** `words` is a list of what schedulers are spoken to with: ours first, then theirs if it is wanted. */
  constructor(scenario, words) {
    /** What the history began with, and what was done by hand: enough to tell it again. */
    this.scenario = readScenario(scenario);
    /** What of it is so now. */
    this.current = { fleet: this.scenario.fleet, load: this.scenario.load, chaos: this.scenario.chaos };
    this.story = new Story();
    this.sides = words.map((own) => new Side(own, this));
    this.audits = { count: 0, atMs: 0, violations: [], tookMs: 0 };
    this.#workload = new Workload(this.scenario.seed);
    this.#chaos = new Chaos(this.scenario.seed, this);
    for (const [atMs, action, value] of this.scenario.script) this.#agenda.add(atMs, () => this.#apply(action, value));
    this.#become(this.scenario.fleet);
    this.#chaos.become(this.scenario.chaos);
    this.#expect();
    this.#everySecond();
    this.#sampling();
    this.after(AUDIT_MS, () => this.#auditing());
  }

  get nodes() {
    return this.#fleet.nodes;
  }

  get up() {
    return this.#fleet.up();
  }

  get calls() {
    return this.sides.reduce((sum, side) => sum + side.words.cell.count, 0);
  }

  after(waitMs, run) {
    this.#agenda.add(this.nowMs + waitMs, run);
  }

  /** Something happened on a side; sides call this. */
  tell(side, kind, text) {
    const ours = side === this.sides[0];
    this.story.tellOnce(this.nowMs, ours ? "ours" : "theirs", kind, `${side.words.name} ${text}`);
  }

  /** Goes on to a time, but not longer than `goOn` says. Returns whether it got there. */
  advance(untilMs, goOn = () => true) {
    while (this.#agenda.nextMs <= untilMs) {
      if (!goOn()) return false;
      this.#next();
    }
    this.#clock(untilMs);
    return true;
  }

  /** Goes on to the next call that anyone makes. */
  step() {
    const before = this.calls;
    for (let i = 0; i < STEP_EVENTS_MAX && this.calls === before; i += 1) this.#next();
  }

  #next() {
    const entry = this.#agenda.take();
    this.#clock(entry.at);
    entry.run();
  }

  #clock(nowMs) {
    this.nowMs = nowMs;
    for (const side of this.sides) side.words.cell.nowMs = nowMs;
  }

  /** Does something by hand, now, and writes it into the script, so that the history can be told again. */
  act(action, given) {
    const [[, , value]] = readScript([[0, action, given]]);
    // A moment of its own, with nothing else in it: told again, it comes between the same two events.
    const atMs = Math.ceil((this.nowMs + 0.001) * 1000) / 1000;
    this.advance(atMs);
    if (this.scenario.script.length < LIMITS.script) this.scenario.script.push([atMs, action, value]);
    this.#apply(action, value);
  }

  #apply(action, value) {
    if (Object.hasOwn(this.current, action)) this.current[action] = value;
    if (action === "fleet") this.#become(value);
    else if (action === "chaos") this.#chaos.become(value);
    else if (action === "load") this.#expect();
    else if (this.nodes.has(value)) this.fault(action, this.nodes.get(value));
  }

  #become(fleet) {
    this.fleetVersion += 1;
    const { came, changed, went } = this.#fleet.become(fleet);
    for (const node of came) {
      for (const side of this.sides) side.join(node);
      const { heartbeatMs } = this.scenario.cell;
      this.after((hash(node.id) % 1000) / 1000 * heartbeatMs, () => this.#beating(node));
    }
    for (const node of changed) {
      if (node.state === "up") for (const side of this.sides) side.register(node);
    }
    for (const node of went) for (const side of this.sides) side.leave(node);
  }

  #beating(node) {
    if (this.nodes.get(node.id) !== node) return;
    if (node.state === "up") for (const side of this.sides) side.beat(node);
    this.after(this.scenario.cell.heartbeatMs, () => this.#beating(node));
  }

  /** What can happen to a node. What makes no sense for the state it is in does not happen. */
  fault(action, node) {
    const say = (text) => this.story.tell(this.nowMs, "world", action, `${node.id} ${text}`);
    const { state } = node;
    const each = (what) => this.sides.forEach(what);
    if (action === "kill" && state !== "dead") {
      node.state = "dead";
      each((side) => side.die(node));
      say("dies, and with it what it runs.");
    } else if (action === "revive" && state === "dead") {
      node.state = "up";
      each((side) => side.register(node));
      say("is back, empty, and registers.");
    } else if (action === "stall" && state === "up") {
      node.state = "cut";
      say("is cut off: its jobs run on, but nobody hears it.");
    } else if (action === "resume" && state === "cut") {
      node.state = "up";
      each((side) => side.resume(node));
      say("is heard again.");
    } else if (action === "restart" && state === "up") {
      each((side) => side.register(node));
      say("registers again while its jobs run on.");
    } else if ((action === "drain" || action === "undrain") && node.draining !== (action === "drain")) {
      node.draining = action === "drain";
      each((side) => side.drain(node, node.draining));
      say(node.draining ? "drains: no new work, what runs goes on." : "takes work again.");
    }
  }

  /** The next wish comes, unless the load changed meanwhile. */
  #expect() {
    this.#turn += 1;
    const turn = this.#turn;
    const gapMs = this.#workload.gapMs(this.current.load, this.nowMs);
    if (gapMs === Infinity) return;
    this.after(gapMs, () => {
      if (turn !== this.#turn) return;
      const wish = this.#workload.wish(this.current.load);
      for (const side of this.sides) side.place(wish);
      this.#expect();
    });
  }

  #everySecond() {
    for (const side of this.sides) side.everySecond();
    this.after(1000, () => this.#everySecond());
  }

  #sampling() {
    const oversold = this.sides.map((side) => side.oversold());
    const running = this.sides.map((side) => side.running());
    this.samples.push({ atMs: this.nowMs, oversold, running });
    if (this.samples.length > SAMPLES_MAX) this.samples.shift();
    this.after(SAMPLE_MS, () => this.#sampling());
  }

  #auditing() {
    this.audit();
    this.after(AUDIT_MS, () => this.#auditing());
  }

  /** Has the library look at everything it knows: no two of its records may disagree. */
  audit() {
    const begin = performance.now();
    const violations = this.sides[0].words.audit();
    this.audits = { count: this.audits.count + 1, atMs: this.nowMs, violations, tookMs: performance.now() - begin };
    return violations;
  }
}
