// Scenarios from outside: whatever a link says, what runs is within bounds.

import assert from "node:assert/strict";
import { test } from "node:test";

import { LIMITS, readScenario } from "../../pages/playground/engine/scenario.js";
import { PRESETS } from "../../pages/playground/engine/presets.js";
import { fromHash, toHash } from "../../pages/playground/engine/share.js";
import { generator } from "../../pages/playground/engine/random.js";
import { after } from "./world.js";

test("a preset is its name, with another seed its name and that, and anything else the whole", () => {
  for (const preset of PRESETS) {
    const plain = readScenario(preset.scenario);
    assert.equal(toHash(plain, preset.id), `#${preset.id}`);
    assert.deepEqual(fromHash(`#${preset.id}`), { presetId: preset.id, scenario: plain });
    const other = { ...plain, seed: 4321 };
    assert.equal(toHash(other, preset.id), `#${preset.id}.4321`);
    assert.deepEqual(fromHash(toHash(other, preset.id)).scenario, other);
    const changed = { ...plain, script: [[1500.25, "kill", "general-02"], [2000, "load", { ...plain.load, rate: 3 }]] };
    assert.deepEqual(fromHash(toHash(changed, preset.id)).scenario, changed);
  }
});

test("what can not be read is no scenario", () => {
  for (const hash of ["", "#", "#nothing", "#s=", "#s=%%%", "#s=bm8", "#__proto__", "#constructor", `#s=${"A".repeat(70000)}`]) {
    assert.equal(fromHash(hash), null, hash);
  }
});

test("anything at all becomes a scenario that runs", async () => {
  const hostile = {
    seed: "1e99", rule: "__proto__", fleet: Array(50).fill({ name: "<b>'\"", count: 1e9, slots: -3, pool: {}, pairs: "no pair", labels: [null, "a b"] }),
    load: { rate: Infinity, seconds: -1, pairs: [">", "a>b>c"], sessions: NaN, spread: [], deliveryMs: "x", lostPct: 1000 },
    chaos: { kills: 1e9, outageS: 0 }, cell: { ttlMs: 1, heartbeatMs: 0 }, script: [[NaN, "kill", {}], "x", [5, "toString", 1], [1, "fleet", "no"], null],
  };
  const scenario = readScenario(hostile);
  assert.ok(scenario.fleet.length <= LIMITS.groups);
  assert.ok(scenario.fleet.reduce((sum, group) => sum + group.count, 0) <= LIMITS.nodes);
  assert.deepEqual(readScenario(JSON.parse(JSON.stringify(scenario))), scenario);
  const { ours } = await after(1, { ...scenario, load: { ...scenario.load, rate: 5 } });
  assert.ok(ours.wished > 0);
  for (const given of [null, 7, "x", [], { fleet: {} }, { load: [] }]) assert.ok(readScenario(given).fleet.length > 0);
});

test("random scenarios keep the promise", async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1000000);
  const next = generator(seed, "scenarios");
  const pick = (list) => list[Math.floor(next() * list.length)];
  for (let round = 0; round < 8; round += 1) {
    const scenario = {
      seed: Math.floor(next() * 1000), rule: pick(["capacity", "counter"]),
      fleet: ["a", "b", "c"].map((name) => ({ name, count: 1 + Math.floor(next() * 6), slots: pick([1, 2, 4, 9]), pool: pick(["x", "y"]), pairs: pick(["en>zh", "en>zh zh>en"]), labels: pick(["", "gpu"]) })),
      load: { rate: 5 + next() * 30, seconds: 0.5 + next() * 4, arrivals: pick(["bursts", "random"]), spread: pick(["long", "exponential"]), pairs: "en>zh zh>en", label: "gpu", labelPct: next() * 50, lostPct: next() * 50, mixed: next() < 0.5, deliveryMs: next() * 900 },
      chaos: { kills: next() * 30, stalls: next() * 30, restarts: next() * 60, outageS: 2 + next() * 20 },
      cell: { ackMs: 2000, ttlMs: 4000, heartbeatMs: 1000 },
    };
    const { simulation, ours } = await after(40, scenario);
    const told = `SEED=${seed}, round ${round}: ${JSON.stringify(scenario)}`;
    assert.equal(ours.oversold + ours.twice + ours.misplaced + ours.toDraining, 0, told);
    assert.deepEqual(simulation.audit(), [], told);
  }
});
