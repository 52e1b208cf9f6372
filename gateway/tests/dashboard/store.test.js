import assert from "node:assert/strict";
import { test } from "node:test";
import { Store } from "../../pages/dashboard/store.js";

// The times of the first readings of a fleet of so many nodes, while someone asks for one every few milliseconds.
async function readings(nodes, count) {
  const times = [];
  let done;
  const enough = new Promise((resolve) => { done = resolve; });
  const store = new Store({
    get: async (path) => {
      if (path !== "v1/fleet") return { events: [], snapshot: null };
      times.push(performance.now());
      if (times.length === count) done();
      return { nodes: Array.from({ length: nodes }, () => ({})), cursor: "0" };
    },
    open: () => new Promise(() => {}),
  });
  store.start();
  const asking = setInterval(() => store.refresh(), 5);
  await enough;
  clearInterval(asking);
  store.stop();
  return times.slice(1).map((time, i) => time - times[i]);
}

test("a fleet is read at most a thousand nodes a second, however often a reading is asked for", async () => {
  for (const gap of await readings(300, 4)) assert.ok(gap >= 295, `${gap} ms`);
});

test("a small fleet is read when a reading is asked for", async () => {
  const gaps = await readings(1, 10);
  assert.ok(Math.min(...gaps) < 1000, `${gaps} ms`);
});
