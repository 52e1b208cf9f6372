import assert from "node:assert/strict";
import { test } from "node:test";
import { ceiling } from "../../pages/dashboard/chart.js";
import { level, perSecond, rows } from "../../pages/dashboard/history.js";
import { spans } from "../../pages/dashboard/timeline.js";
import { ago, count, duration, percent, rate } from "../../pages/shared/format.js";

const stats = { history: { columns: ["ts", "dispatched", "started", "pending"], rows: [[0, 10, 0, 1], [5000, 20, 5, 2], [15000, 20, 5, 0]] } };

test("counters become rates from row to row", () => {
  assert.deepEqual(perSecond(rows(stats), ["dispatched", "started"]), [{ ts: 5000, value: 3 }, { ts: 15000, value: 0 }]);
  assert.deepEqual(perSecond(rows({ history: { columns: ["ts", "failed"], rows: [[0, 9], [1000, 4]] } }), ["failed"]), [{ ts: 1000, value: 0 }], "a counter that began anew is no negative rate");
  assert.deepEqual(level(rows(stats), (row) => row.pending).map(({ value }) => value), [1, 2, 0]);
  assert.deepEqual(rows(null), []);
});

test("a scale is a round number that is not below what is shown", () => {
  for (const [value, most] of [[0, 1], [0.03, 0.05], [1, 1], [1.2, 2], [7, 10], [101, 200], [5000, 5000]]) assert.equal(ceiling(value), most, String(value));
});

test("numbers and times are written as people read them", () => {
  assert.deepEqual([0, 0.004, 0.256, 3.14159, 1234.5, null].map(rate), ["0", "<0.01", "0.26", "3.1", "1,235", "–"]);
  assert.deepEqual([12, 4200, 59999, 185000, 7800000, 266400000].map(duration), ["12 ms", "4.2 s", "59 s", "3 min 05 s", "2 h 10 min", "3 d 2 h"]);
  assert.deepEqual([percent(1, 3), percent(0, 0), count(1, "node"), count(1200, "node")], ["33\u00a0%", "–", "1 node", "1,200 nodes"]);
  assert.deepEqual([ago(1000, 1200), ago(0, 65000)], ["just now", "1 min 05 s ago"]);
});

test("a job's life is when it waited and when it ran", () => {
  const now = 10000;
  const kinds = (job) => spans(job, now).map(({ kind, from, to, isOpen }) => [kind, to - from, Boolean(isOpen)]);
  assert.deepEqual(kinds({ created_ts: 1000 }), [["waited", 9000, true]]);
  assert.deepEqual(kinds({ created_ts: 1000, started_ts: 3000 }), [["waited", 2000, false], ["ran", 7000, true]]);
  assert.deepEqual(kinds({ created_ts: 1000, started_ts: 1000, ended_ts: 4000 }), [["ran", 3000, false]], "a wait of nothing is not drawn");
  assert.deepEqual(kinds({ created_ts: 1000, ended_ts: 4000 }), [["waited", 3000, false]], "it ended without having run");
});
