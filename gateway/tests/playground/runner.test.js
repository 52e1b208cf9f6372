// The runner: a clock that can be paused, stepped and sped up, and what it says to the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { BEYOND, CELL } from "../../pages/playground/engine/frame.js";
import { findPreset } from "../../pages/playground/engine/presets.js";
import { Runner } from "../../pages/playground/engine/runner.js";
import { simulate } from "./world.js";

async function started(preset = "rush-hour") {
  const said = [];
  let nowMs = 1000;
  const runner = new Runner(simulate, (message) => said.push(message), () => nowMs);
  await runner.hear({ type: "open", scenario: findPreset(preset).scenario, compare: true });
  return {
    said,
    hear: (message) => runner.hear(message),
    last: () => said.filter((message) => message.type === "frame").at(-1),
    /** Lets real time pass, a turn each 20 ms. */
    pass(ms) {
      for (const end = nowMs + ms; nowMs < end;) {
        nowMs += 20;
        runner.turn();
      }
    },
  };
}

test("it goes at the speed it is told, stands while paused, and steps", async () => {
  const { hear, last, pass } = await started();
  pass(1000);
  assert.equal(last().nowMs, 0, "nobody said play");
  await hear({ type: "play", speed: 1 });
  pass(2000);
  assert.equal(Math.round(last().nowMs), 2000);
  await hear({ type: "play", speed: 5 });
  pass(1000);
  assert.equal(Math.round(last().nowMs), 7000);
  assert.equal(last().speedNow.toFixed(1), "5.0");
  await hear({ type: "pause" });
  pass(1000);
  assert.equal(Math.round(last().nowMs), 7000);
  const { calls } = last().sides[0];
  await hear({ type: "step" });
  assert.ok(last().sides[0].calls + last().sides[1].calls > calls);
  await hear({ type: "skip", ms: 1000 });
  assert.ok(last().nowMs > 8000 && last().nowMs < 8500);
});

test("a message that comes before the simulation is there is not lost", async () => {
  const said = [];
  const runner = new Runner(simulate, (message) => said.push(message));
  const opened = runner.hear({ type: "open", scenario: {}, compare: true });
  await Promise.all([opened, runner.hear({ type: "skip", ms: 3000 })]);
  assert.equal(said.at(-1).nowMs, 3000);
});

test("the nodes are sent once, and again when they change", async () => {
  const { said, hear, last } = await started();
  assert.equal(last().roster.length, 24);
  await hear({ type: "skip", ms: 500 });
  assert.equal(last().roster, undefined);
  await hear({ type: "act", action: "fleet", value: [{ name: "x", count: 2, slots: 3, pool: "p", pairs: ["en>zh"], labels: [] }] });
  assert.deepEqual(last().roster.map(({ id }) => id), ["x-01", "x-02"]);
  assert.equal(last().sides[0].cells.length, 2 * (3 + BEYOND));
  assert.ok(said.length >= 3);
});

test("what is drawn is what runs", async () => {
  const { hear, last } = await started();
  for (let second = 0; second < 12; second += 1) {
    await hear({ type: "skip", ms: 1000 });
    for (const side of last().sides) {
      const count = (...codes) => side.cells.filter((code) => codes.includes(code)).length;
      assert.equal(count(CELL.running, CELL.oversold), side.sums.running);
      assert.equal(count(CELL.sent), side.sums.sent);
      assert.equal(count(CELL.oversold), side.oversold);
    }
  }
});

test("calls are found by kind, side and words, and copied oldest first", async () => {
  const { said, hear, last } = await started();
  await hear({ type: "skip", ms: 9000 });
  await hear({ type: "log", filter: { kind: "refused", side: "0", text: "NO_AVAILABLE" } });
  assert.ok(last().log.length > 0);
  assert.ok(last().log.every((call) => call.failed && call.side === 0 && call.name === "lockless_dispatch"));
  await hear({ type: "log", filter: { kind: "all", side: "all", text: "" } });
  const times = last().log.map((call) => call.atMs);
  assert.deepEqual(times, [...times].sort((one, other) => other - one));
  await hear({ type: "lines", id: 7, filter: { kind: "nodes", side: "1", text: "register general-0" } });
  const answer = said.at(-1);
  assert.equal(answer.id, 7);
  assert.equal(answer.lines.length, 9);
  assert.match(answer.lines[0], /^FCALL seed_register_node 1 'seed:\{playground\}' general-01 /);
  await hear({ type: "log", filter: null });
  assert.equal(last().log, undefined);
});

test("a node is told of as it is and as both schedulers have it", async () => {
  const { hear, last } = await started("rolling-restart");
  await hear({ type: "skip", ms: 20000 });
  await hear({ type: "node", id: "general-01" });
  const { node } = last();
  assert.equal(node.slots, 4);
  assert.equal(node.sides[0].taken, node.sides[0].running + node.sides[0].sent);
  await hear({ type: "node", id: "nobody" });
  assert.equal(last().node, null);
});
