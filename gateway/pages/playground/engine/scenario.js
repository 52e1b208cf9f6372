// What a scenario is, and how one that came from outside (a link, a form) is made safe to run.
//
// A scenario is everything that decides a history: the fleet, the load, the faults, the seed of its random numbers, and the
// script: what was done by hand, and when. The same scenario gives the same calls and the same replies.

export const LIMITS = { groups: 12, nodes: 400, slots: 64, rate: 500, script: 400, sessions: 10000 };
export const SPREADS = ["fixed", "uniform", "exponential", "long"];
export const ARRIVALS = ["steady", "random", "bursts"];
export const RULES = ["capacity", "counter"];
export const FAULTS = ["kill", "revive", "stall", "resume", "drain", "undrain", "restart"];
/** Actions that replace a part of the scenario while it runs. */
const PARTS = { fleet: readFleet, load: readLoad, chaos: readChaos };

export const PLAIN = {
  seed: 1,
  rule: "capacity",
  fleet: [{ name: "general", count: 12, slots: 4, pool: "general", pairs: ["en>zh"], labels: [] }],
  load: {
    rate: 8, arrivals: "random", seconds: 4, spread: "exponential", pairs: ["en>zh"],
    label: "", labelPct: 0, sessions: 40, mixed: false, deliveryMs: 150, lostPct: 0,
  },
  chaos: { kills: 0, stalls: 0, restarts: 0, outageS: 20 },
  cell: { heartbeatMs: 2000, ttlMs: 8000, ackMs: 5000 },
  script: [],
};

/** A complete scenario from anything at all: what is missing or wrong becomes what it is in `PLAIN`, what is too large is cut. */
export function readScenario(given) {
  const from = isObject(given) ? given : {};
  return {
    seed: whole(from.seed, PLAIN.seed, 0, 999999),
    rule: oneOf(from.rule, RULES, PLAIN.rule),
    fleet: readFleet(from.fleet),
    load: readLoad(from.load),
    chaos: readChaos(from.chaos),
    cell: readCell(from.cell),
    script: readScript(from.script),
  };
}

export function readFleet(given) {
  const list = Array.isArray(given) ? given : PLAIN.fleet;
  const names = new Set();
  let left = LIMITS.nodes;
  const fleet = [];
  for (const one of list.slice(0, LIMITS.groups)) {
    const from = isObject(one) ? one : {};
    let name = word(from.name, "nodes");
    while (names.has(name)) name = `${name.slice(0, 16)}-${names.size}`;
    names.add(name);
    const count = whole(from.count, 1, 0, left);
    left -= count;
    fleet.push({
      name,
      count,
      slots: whole(from.slots, 4, 1, LIMITS.slots),
      pool: word(from.pool, "general"),
      pairs: readPairs(from.pairs),
      labels: readLabels(from.labels),
    });
  }
  return fleet;
}

export function readLoad(given) {
  const from = isObject(given) ? given : {};
  const plain = PLAIN.load;
  return {
    rate: number(from.rate, plain.rate, 0, LIMITS.rate),
    arrivals: oneOf(from.arrivals, ARRIVALS, plain.arrivals),
    seconds: number(from.seconds, plain.seconds, 0.05, 600),
    spread: oneOf(from.spread, SPREADS, plain.spread),
    pairs: readPairs(from.pairs ?? plain.pairs),
    label: from.label ? word(from.label, "") : "",
    labelPct: number(from.labelPct, plain.labelPct, 0, 100),
    sessions: whole(from.sessions, plain.sessions, 1, LIMITS.sessions),
    mixed: from.mixed === true,
    deliveryMs: number(from.deliveryMs, plain.deliveryMs, 0, 4000),
    lostPct: number(from.lostPct, plain.lostPct, 0, 60),
  };
}

export function readChaos(given) {
  const from = isObject(given) ? given : {};
  return {
    kills: number(from.kills, 0, 0, 120),
    stalls: number(from.stalls, 0, 0, 120),
    restarts: number(from.restarts, 0, 0, 120),
    outageS: number(from.outageS, PLAIN.chaos.outageS, 1, 600),
  };
}

function readCell(given) {
  const from = isObject(given) ? given : {};
  const plain = PLAIN.cell;
  return {
    heartbeatMs: whole(from.heartbeatMs, plain.heartbeatMs, 200, 60000),
    ttlMs: whole(from.ttlMs, plain.ttlMs, 500, 600000),
    ackMs: whole(from.ackMs, plain.ackMs, 100, 60000),
  };
}

/** Actions with their times, in order: those that can not be read are left out. */
export function readScript(given) {
  const script = [];
  for (const entry of Array.isArray(given) ? given.slice(0, LIMITS.script) : []) {
    if (!Array.isArray(entry)) continue;
    const [at, action, value] = entry;
    const atMs = number(at, 0, 0, 1e9);
    if (FAULTS.includes(action)) script.push([atMs, action, nodeId(value)]);
    else if (Object.hasOwn(PARTS, action)) script.push([atMs, action, PARTS[action](value)]);
  }
  return script.sort((one, other) => one[0] - other[0]);
}

/** Pairs such as `en>zh`, from a list or from a line of text. */
export function readPairs(given) {
  const found = words(given).map((text) => text.match(/^([a-z0-9_-]{1,12})>([a-z0-9_-]{1,12})$/i)).filter(Boolean);
  const pairs = [...new Set(found.map((match) => match[0]))].slice(0, 12);
  return pairs.length > 0 ? pairs : [...PLAIN.load.pairs];
}

export function readLabels(given) {
  const found = words(given).map((text) => word(text, "")).filter((text) => text !== "");
  return [...new Set(found)].slice(0, 8);
}

function words(given) {
  if (Array.isArray(given)) return given.map(String).slice(0, 64);
  return typeof given === "string" ? given.slice(0, 1000).split(/[\s,]+/).filter(Boolean) : [];
}

/** A name that is safe as a part of ids and keys. */
function word(given, otherwise) {
  const text = String(given ?? "").replace(/[^A-Za-z0-9_.:-]/g, "").slice(0, 24);
  return text === "" ? otherwise : text;
}

function nodeId(given) {
  return word(String(given).slice(0, 40), "nobody");
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function number(given, otherwise, least, most) {
  const value = typeof given === "string" && given.trim() === "" ? NaN : Number(given ?? NaN);
  return Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : Math.min(most, Math.max(least, otherwise));
}

function whole(given, otherwise, least, most) {
  return Math.round(number(given, otherwise, least, most));
}

function oneOf(given, values, otherwise) {
  return values.includes(given) ? given : otherwise;
}
