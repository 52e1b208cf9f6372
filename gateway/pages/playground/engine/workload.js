// The jobs that callers want placed: when each comes, for whom, how long it will run, and what goes wrong on its way.
//
// Everything about a wish is drawn when it comes, whatever becomes of it: so two schedulers can be given the very same ones.

import { duration, exponential, generator, repeats } from "./random.js";

/** Bursts come every so often, and bring this many times the usual rate for a part of the time. */
const BURST = { everyMs: 5000, forMs: 1500, times: 2.5 };
/** A message is sent again at most so often. */
const RESENDS_MAX = 4;

export class Workload {
  #next;
  #count = 0;

  constructor(seed) {
    this.#next = generator(seed, "load");
  }

  /** How long after `nowMs` the next wish comes; infinite when nobody wants anything. */
  gapMs(load, nowMs) {
    const rate = load.rate * shape(load.arrivals, nowMs);
    // The number is drawn in any case, so that the shape of the arrivals does not change what else is drawn.
    const drawn = exponential(this.#next, 1);
    if (rate <= 0) return load.rate > 0 ? 50 : Infinity;
    return load.arrivals === "steady" ? 1000 / rate : (drawn * 1000) / rate;
  }

  /** The next wish. */
  wish(load) {
    const next = this.#next;
    const number = (this.#count += 1);
    const session = 1 + Math.floor(next() * load.sessions);
    const drawn = next();
    // A session is a talk in one pair of languages, unless it is said to change.
    const pair = load.mixed ? Math.floor(drawn * load.pairs.length) : session % load.pairs.length;
    const [src, tgt] = load.pairs[pair].split(">");
    const labelled = next() * 100 < load.labelPct;
    const runMs = Math.max(20, Math.round(duration(next, load.seconds * 1000, load.spread)));
    const lost = load.lostPct / 100;
    return {
      number,
      job: `job-${number}`,
      session: `session-${session}`,
      src,
      tgt,
      label: labelled ? load.label : "",
      runMs,
      // The way to the node takes longer for some than for others.
      deliveryMs: Math.round(load.deliveryMs * (0.5 + next())),
      // How many replies to the caller, and how many to the node that says it is done, get lost.
      lostPlacements: repeats(next, lost, RESENDS_MAX),
      lostEndings: repeats(next, lost, RESENDS_MAX),
    };
  }
}

/** The rate at a time, as a multiple of the mean. */
function shape(arrivals, nowMs) {
  if (arrivals !== "bursts") return 1;
  const within = nowMs % BURST.everyMs < BURST.forMs;
  const rest = (BURST.everyMs - BURST.forMs * BURST.times) / (BURST.everyMs - BURST.forMs);
  return within ? BURST.times : rest;
}

/** The share of all slots that a load keeps busy, on average. */
export function offered(load, fleet) {
  const slots = fleet.reduce((sum, group) => sum + group.count * group.slots, 0);
  return slots > 0 ? (load.rate * load.seconds) / slots : Infinity;
}
