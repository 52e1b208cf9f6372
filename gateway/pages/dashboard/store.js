// What is known of a cell, kept up to date: the snapshot, the nodes, the events, and whether all this is so now.

import { follow, recent } from "./stream.js";

const STATS_MS = 2000;
const FLEET_MS = 2000;
// A large fleet is read less often, whatever happens in it: at most so many nodes a second.
const NODES_PER_S = 1000;
const PAGE = 500;
const EVENTS_KEPT = 500;

export class Store extends EventTarget {
  stats = null;
  statsAsked = false;
  fleet = null;
  events = [];
  // "connecting", "live" or "away"; why is a sentence.
  connection = { state: "connecting", why: "" };
  updated = 0;
  #api;
  #stop = null;
  #failed = new Map();
  #hasStream = false;
  #soon = null;
  // What ends the pauses of the loops.
  #wakes = new Map();

  constructor(api) {
    super();
    this.#api = api;
  }

  // Forgets what was known, and follows the cell that the api now names.
  start() {
    Object.assign(this, { stats: null, statsAsked: false, fleet: null, events: [], updated: 0 });
    this.follow();
  }

  get isFollowing() {
    return this.#stop !== null && !this.#stop.signal.aborted;
  }

  // Goes on with what is known.
  follow() {
    this.stop();
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#failed.clear();
    this.#hasStream = false;
    this.connection = { state: "connecting", why: "" };
    const fleetRestMs = () => (1000 * (this.fleet?.length ?? 0)) / NODES_PER_S;
    this.#repeat("stats", { pauseMs: STATS_MS, restMs: () => 0 }, () => this.#readStats(signal), signal);
    this.#repeat("fleet", { pauseMs: FLEET_MS, restMs: fleetRestMs }, () => this.#readFleet(signal), signal);
    this.#followEvents(signal);
  }

  stop() {
    this.#stop?.abort();
    this.refresh();
  }

  // Reads, and again after a pause, which a wake ends; but never before the rest after the last reading is over.
  async #repeat(name, { pauseMs, restMs }, read, signal) {
    while (!signal.aborted) {
      try {
        await read();
        this.#note(name, null);
      } catch (problem) {
        if (signal.aborted) return;
        this.#note(name, problem);
      }
      if (signal.aborted) return;
      const rested = performance.now() + restMs();
      await new Promise((resolve) => {
        let timer = setTimeout(resolve, Math.max(pauseMs, restMs()));
        this.#wakes.set(name, () => {
          clearTimeout(timer);
          timer = setTimeout(resolve, signal.aborted ? 0 : Math.max(0, rested - performance.now()));
        });
      });
    }
  }

  async #readStats(signal) {
    const { snapshot } = await this.#api.get("v1/stats", {}, signal);
    this.statsAsked = true;
    this.stats = snapshot || null;
    this.updated = Date.now();
  }

  async #readFleet(signal) {
    const nodes = [];
    let cursor = "0";
    do {
      const page = await this.#api.get("v1/fleet", { cursor, count: PAGE }, signal);
      nodes.push(...page.nodes);
      cursor = page.cursor;
    } while (cursor !== "0");
    this.fleet = nodes;
    this.updated = Date.now();
  }

  async #followEvents(signal) {
    let after;
    while (after === undefined && !signal.aborted) {
      try {
        const page = await recent(this.#api, Date.now(), signal);
        this.events = page.events.slice(-EVENTS_KEPT).reverse();
        after = page.last_id ?? "$";
      } catch (problem) {
        if (signal.aborted) return;
        this.#note("events", problem);
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
    await follow(this.#api, {
      after,
      signal,
      onEvent: (event) => this.#heard(event),
      tell: (isOpen, problem) => {
        this.#hasStream = isOpen;
        this.#note("events", problem ?? null);
      },
    });
  }

  #heard(event) {
    this.events.unshift(event);
    this.events.length = Math.min(this.events.length, EVENTS_KEPT);
    this.dispatchEvent(new CustomEvent("event", { detail: event }));
    this.#changed();
    // What changed a node is worth a look before the next turn, but many at once are worth one.
    if (!event.type.startsWith("job_")) this.#soon ??= setTimeout(() => { this.#soon = null; this.refresh(); }, 250);
  }

  // Reads nodes and numbers now, or as soon as may be.
  refresh() {
    for (const wake of this.#wakes.values()) wake();
  }

  #note(name, problem) {
    if (problem) this.#failed.set(name, problem);
    else this.#failed.delete(name);
    const first = [...this.#failed.values()][0];
    if (first?.status === 401) this.dispatchEvent(new Event("token-wanted"));
    if (first) this.connection = { state: "away", why: first.message, code: first.code };
    else if (this.#hasStream && this.statsAsked) this.connection = { state: "live", why: "" };
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}
