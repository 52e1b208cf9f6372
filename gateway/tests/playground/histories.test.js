// Histories: that they are what they say, on both sides.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PRESETS, findPreset } from "../../pages/playground/engine/presets.js";
import { commandLine } from "../../pages/playground/engine/line.js";
import { after, history, simulate } from "./world.js";

const FULL = { rate: 40, arrivals: "steady", seconds: 2, spread: "fixed", pairs: ["en>zh"] };
const NODES = [{ name: "general", count: 10, slots: 4, pool: "general", pairs: ["en>zh"] }];

for (const preset of PRESETS) {
  test(`${preset.id}: Lockless never oversells, its audit is clean, and its books are the truth`, async () => {
    const { simulation, ours, theirs } = await after(45, preset.scenario);
    assert.equal(ours.oversold, 0);
    assert.equal(ours.twice + ours.misplaced + ours.toDraining, 0);
    assert.ok(ours.finished > 100, `${ours.finished} finished`);
    assert.deepEqual(simulation.audit(), []);
    if (preset.oversells !== undefined) assert.equal(theirs.oversold > 0, preset.oversells, `the old rule oversold ${theirs.oversold}`);
    if (preset.loses) assert.ok(theirs.lost - theirs.told > 0, "the old rule told everybody");
    for (const machine of simulation.sides[0].machines.values()) {
      const { taken, state } = simulation.sides[0].words.books(machine);
      // A reply that got lost leaves a hold that its caller does not know of yet.
      if (machine.node.state !== "up" || simulation.scenario.load.lostPct > 0) continue;
      assert.equal(taken, machine.seated, `${machine.node.id} is ${state}`);
    }
  });
}

test("the same scenario is the same history, call by call", async () => {
  const { scenario } = findPreset("retries");
  const [one, other] = await Promise.all([after(8, scenario), after(8, scenario)]);
  assert.deepEqual(history(one.simulation), history(other.simulation));
  const { simulation: third } = await after(8, { ...scenario, seed: 6 });
  assert.notDeepEqual(history(one.simulation), history(third));
});

test("what was done by hand is done again at the same time", async () => {
  const { scenario } = findPreset("calm-day");
  const first = await simulate(scenario);
  first.advance(3000);
  first.act("kill", "general-03");
  first.step();
  first.act("load", { ...first.current.load, rate: 30 });
  first.advance(6000);
  first.act("fleet", [...first.current.fleet, { name: "more", count: 3, slots: 2, pool: "general", pairs: ["en>zh"] }]);
  first.act("drain", "more-02");
  first.advance(12000);
  assert.equal(first.nodes.get("general-03").state, "dead");
  assert.equal(first.nodes.get("more-02").draining, true);
  const again = await simulate(JSON.parse(JSON.stringify(first.scenario)));
  again.advance(12000);
  assert.deepEqual(history(again), history(first));
});

test("both schedulers get the same wishes", async () => {
  const { simulation, ours, theirs } = await after(20, findPreset("rush-hour").scenario);
  assert.equal(ours.wished, theirs.wished);
  const wishes = (side, name) => side.words.cell.newest((entry) => entry.args[1].startsWith(name), Infinity).map((entry) => entry.args.slice(4, 8).join(" "));
  assert.deepEqual(wishes(simulation.sides[0], "lockless_dispatch"), wishes(simulation.sides[1], "seed_dispatch"));
});

test("a dead node's jobs expire, their callers learn it, and it gets no more work", async () => {
  const simulation = await simulate({ fleet: NODES, load: { ...FULL, rate: 12 } });
  simulation.advance(4000);
  simulation.act("kill", "general-04");
  simulation.advance(simulation.nowMs + simulation.scenario.cell.ttlMs + 8000);
  const [ours] = simulation.sides;
  assert.ok(ours.counts.lost > 0);
  assert.equal(ours.counts.told, ours.counts.lost);
  assert.equal(ours.machines.get("general-04").givenUp, true);
  assert.equal(ours.words.books(ours.machines.get("general-04")).taken, 0);
  const before = ours.counts.toDead;
  simulation.advance(simulation.nowMs + 20000);
  assert.equal(ours.counts.toDead, before);
  simulation.act("revive", "general-04");
  simulation.advance(simulation.nowMs + 5000);
  assert.ok(ours.machines.get("general-04").running > 0, "it takes work again");
});

test("a node that is cut off for long is fenced, and stops its jobs before it takes new ones", async () => {
  const simulation = await simulate({ fleet: NODES, load: { ...FULL, seconds: 60, rate: 0.5 } });
  simulation.advance(30000);
  const [ours] = simulation.sides;
  const { id } = [...ours.machines.values()].find((machine) => machine.running > 0).node;
  const { incarnation } = ours.machines.get(id);
  simulation.act("stall", id);
  simulation.advance(simulation.nowMs + 20000);
  assert.ok(ours.machines.get(id).running > 0, "its jobs run on");
  simulation.act("resume", id);
  assert.equal(ours.machines.get(id).running, 0);
  assert.notEqual(ours.machines.get(id).incarnation, incarnation);
  simulation.advance(simulation.nowMs + 10000);
  assert.equal(ours.counts.oversold, 0);
  assert.equal(ours.counts.told, ours.counts.lost);
});

test("fewer slots are no overselling", async () => {
  const simulation = await simulate({ fleet: NODES, load: { ...FULL, seconds: 8 }, rule: "counter" });
  simulation.advance(6000);
  simulation.act("fleet", [{ ...NODES[0], slots: 2 }]);
  simulation.advance(simulation.nowMs + 1000);
  const [ours] = simulation.sides;
  assert.ok([...ours.machines.values()].some((machine) => machine.running > 2), "what ran runs on");
  assert.equal(ours.counts.oversold, 0);
  assert.deepEqual(simulation.audit(), []);
});

test("a step is one call", async () => {
  const simulation = await simulate(findPreset("calm-day").scenario);
  const before = simulation.calls;
  simulation.step();
  assert.ok(simulation.calls > before && simulation.calls <= before + 2, "one moment, for each scheduler");
});

test("a line for redis-cli says what the call said", () => {
  const line = commandLine(["FCALL", "lockless_dispatch", "1", "scheduler:{playground}", "s", "en", "zh", '{"ms":20}', "JOB", "it's"]);
  assert.equal(line, `FCALL lockless_dispatch 1 'scheduler:{playground}' s en zh '{"ms":20}' JOB 'it\\'s'`);
});
