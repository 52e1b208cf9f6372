// The old rule: that it has the defects it is said to have, each by itself, and no other.

import assert from "node:assert/strict";
import { test } from "node:test";

import { after, simulate } from "./world.js";

const QUIET = { rate: 0 };
const ONE = [{ name: "n", count: 1, slots: 4, pool: "p", pairs: ["en>zh"] }];
const WISH = { session: "s", src: "en", tgt: "zh", label: "", runMs: 60000, deliveryMs: 100, lostPlacements: 0, lostEndings: 0 };

async function world(rule, fleet = ONE) {
  const simulation = await simulate({ rule, fleet, load: QUIET });
  let number = 0;
  const wish = (more = {}) => {
    number += 1;
    for (const side of simulation.sides) side.place({ ...WISH, number, job: `job-${number}`, ...more });
  };
  const runFor = (ms) => simulation.advance(simulation.nowMs + ms);
  const running = () => simulation.sides.map((side) => side.running());
  return { simulation, wish, runFor, running, counts: simulation.sides.map((side) => side.counts) };
}

test("capacity: reserved and running jobs overlap, and a node of 4 ends with 7", async () => {
  const { wish, runFor, running } = await world("capacity");
  for (let i = 0; i < 3; i += 1) wish();
  runFor(500);
  assert.deepEqual(running(), [3, 3]);
  for (let i = 0; i < 6; i += 1) wish();
  runFor(500);
  assert.deepEqual(running(), [4, 7]);
});

test("capacity: reservations that nobody acknowledged end by themselves", async () => {
  const { simulation, wish, runFor, counts } = await world("capacity");
  simulation.act("stall", "n-01");
  for (let i = 0; i < 4; i += 1) wish();
  runFor(simulation.scenario.cell.ackMs + 100);
  wish();
  assert.equal(counts[1].refused, 0);
});

test("counter: it counts right as long as nothing goes wrong", async () => {
  const { ours, theirs } = await after(40, { rule: "counter", fleet: [{ ...ONE[0], count: 6 }], load: { rate: 9, seconds: 3 } });
  assert.equal(ours.oversold + theirs.oversold, 0);
  assert.ok(theirs.refused > 0, "they were full at times");
});

test("counter: completing twice frees two slots", async () => {
  const { wish, runFor, running } = await world("counter");
  wish({ runMs: 200, lostEndings: 1 });
  for (let i = 0; i < 3; i += 1) wish();
  runFor(2000);
  for (let i = 0; i < 3; i += 1) wish();
  runFor(1000);
  assert.deepEqual(running(), [4, 5]);
});

test("counter: asking twice takes two slots, and one of them for ever", async () => {
  const { simulation, wish, runFor, running, counts } = await world("counter");
  wish({ lostPlacements: 2, runMs: 500 });
  runFor(10000);
  assert.deepEqual(running(), [0, 0]);
  assert.equal(counts[1].twice, 2);
  assert.equal(counts[0].twice, 0);
  const books = simulation.sides.map((side) => side.words.books(side.machines.get("n-01")).taken);
  assert.deepEqual(books, [0, 2]);
});

for (const rule of ["counter", "capacity"]) {
  test(`${rule}: registering again forgets what runs`, async () => {
    const { simulation, wish, runFor, running } = await world(rule);
    for (let i = 0; i < 4; i += 1) wish();
    runFor(300);
    simulation.act("restart", "n-01");
    for (let i = 0; i < 4; i += 1) wish();
    runFor(300);
    assert.deepEqual(running(), [4, 8]);
  });

  test(`${rule}: the dead and the draining get work`, async () => {
    const { simulation, wish, runFor, counts } = await world(rule);
    simulation.act("drain", "n-01");
    wish();
    assert.deepEqual(counts.map((count) => count.toDraining), [0, 1]);
    simulation.act("kill", "n-01");
    runFor(60000);
    wish();
    assert.deepEqual(counts.map((count) => count.toDead), [0, 1]);
    assert.equal(counts[1].told, 0);
  });

  test(`${rule}: a session's pool is used for a pair it does not serve, and labels are unknown`, async () => {
    const fleet = [
      { name: "a", count: 1, slots: 4, pool: "a", pairs: ["en>zh"] },
      { name: "b", count: 1, slots: 4, pool: "b", pairs: ["en>fr"], labels: ["gpu"] },
    ];
    const { wish, counts } = await world(rule, fleet);
    wish();
    wish({ tgt: "fr" });
    wish({ session: "other", label: "gpu", tgt: "fr" });
    wish({ session: "third", label: "gpu" });
    assert.deepEqual(counts.map((count) => count.misplaced), [0, 2]);
    assert.deepEqual(counts.map((count) => count.refused), [1, 0]);
  });
}
