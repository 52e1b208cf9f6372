// Scenarios to start from. Each shows one thing, and says which.

const PAIRS = ["en>zh", "zh>en"];
const FLEET = [
  { name: "general", count: 16, slots: 4, pool: "general", pairs: PAIRS, labels: [] },
  { name: "gpu", count: 8, slots: 4, pool: "gpu", pairs: ["en>fr"], labels: ["gpu"] },
];
const LOAD = { arrivals: "random", seconds: 3, spread: "exponential", pairs: [...PAIRS, "en>fr"], sessions: 200, deliveryMs: 150, lostPct: 0 };

/** In the order in which they are offered. `oversells` and `loses` say whether the old rule gives out slots that are not there, and
 *  loses jobs without anybody knowing; the tests hold it to that. */
export const PRESETS = [
  {
    id: "rush-hour",
    title: "Rush hour",
    says: "More work than slots. The old capacity rule takes the larger of what runs and what is on its way, where it should take the sum.",
    oversells: true,
    scenario: { seed: 7, rule: "capacity", fleet: FLEET, load: { ...LOAD, rate: 34, arrivals: "bursts" } },
  },
  {
    id: "calm-day",
    title: "A calm day",
    says: "Little work, no faults. Both rules are fine: turn something up.",
    oversells: false,
    scenario: { seed: 11, rule: "counter", fleet: FLEET, load: { ...LOAD, rate: 10 } },
  },
  {
    id: "node-dies",
    title: "A node dies",
    says: "Nodes die with what they run. Lockless notices the silence and tells the callers; the old rule goes on sending work there.",
    loses: true,
    scenario: {
      seed: 3,
      rule: "capacity",
      fleet: FLEET,
      load: { ...LOAD, rate: 14 },
      script: [[4000, "kill", "general-02"], [7000, "kill", "gpu-03"], [9000, "kill", "general-09"]],
    },
  },
  {
    id: "retries",
    title: "Retries storm",
    says: "Every fourth reply gets lost, so everybody says things twice. The old rule frees a slot each time it hears that a job is done.",
    oversells: true,
    scenario: { seed: 5, rule: "counter", fleet: FLEET, load: { ...LOAD, rate: 30, lostPct: 25 } },
  },
  {
    id: "rolling-restart",
    title: "Rolling restart",
    says: "Agents restart one after another while their jobs run on. Registering again sets the old count to zero.",
    oversells: true,
    scenario: { seed: 9, rule: "counter", fleet: FLEET, load: { ...LOAD, rate: 26, seconds: 4 }, chaos: { restarts: 40 } },
  },
  {
    id: "stalled-nodes",
    title: "Stalled nodes",
    says: "Nodes fall silent for a while; their jobs run on. Lockless waits, then fences them: who comes back stops its jobs and registers.",
    loses: true,
    scenario: { seed: 13, rule: "capacity", fleet: FLEET, load: { ...LOAD, rate: 18 }, chaos: { stalls: 14, outageS: 14 } },
  },
];

/** Kinds of nodes to add to a fleet. */
export const KINDS = [
  { title: "4 slots", group: { name: "small", count: 4, slots: 4, pool: "general", pairs: PAIRS, labels: [] } },
  { title: "One slot each", group: { name: "single", count: 8, slots: 1, pool: "general", pairs: PAIRS, labels: [] } },
  { title: "16 slots", group: { name: "large", count: 2, slots: 16, pool: "general", pairs: PAIRS, labels: [] } },
  { title: "With a GPU", group: { name: "gpu-box", count: 4, slots: 4, pool: "gpu", pairs: ["en>fr", ...PAIRS], labels: ["gpu"] } },
  { title: "A hundred nodes", group: { name: "fleet", count: 100, slots: 8, pool: "fleet", pairs: PAIRS, labels: [] } },
];

export function findPreset(id) {
  return PRESETS.find((preset) => preset.id === id);
}
