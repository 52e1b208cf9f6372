// Faults that come by themselves: so many a minute, drawn by the scenario's seed.

import { exponential, generator } from "./random.js";

/** What happens, by the setting that says how often; what ends it again after the outage; whether it goes through the nodes in turn. */
const KINDS = [
  { setting: "kills", action: "kill", end: "revive" },
  { setting: "stalls", action: "stall", end: "resume" },
  { setting: "restarts", action: "restart", inTurn: true },
];

export class Chaos {
  #settings;
  #turn = 0;
  #last = 0;

  /** `world` has `after`, `up`, `nodes` and `fault`. */
  constructor(seed, world) {
    this.world = world;
    this.next = new Map(KINDS.map((kind) => [kind, generator(seed, kind.setting)]));
  }

  become(settings) {
    this.#settings = settings;
    this.#turn += 1;
    for (const kind of KINDS) this.#expect(kind, this.#turn);
  }

  #expect(kind, turn) {
    const perMinute = this.#settings[kind.setting];
    if (perMinute <= 0) return;
    const mean = 60000 / perMinute;
    // One after the other, as a script would do it; or whenever it pleases.
    const gapMs = kind.inTurn ? mean : exponential(this.next.get(kind), mean);
    this.world.after(gapMs, () => {
      if (turn !== this.#turn) return;
      this.#strike(kind);
      this.#expect(kind, turn);
    });
  }

  #strike(kind) {
    const { up } = this.world;
    if (up.length === 0) return;
    const drawn = this.next.get(kind)();
    const place = kind.inTurn ? this.#last++ % up.length : Math.floor(drawn * up.length);
    const node = up[place];
    this.world.fault(kind.action, node);
    if (!kind.end) return;
    this.world.after(this.#settings.outageS * 1000, () => {
      if (this.world.nodes.get(node.id) === node) this.world.fault(kind.end, node);
    });
  }
}
