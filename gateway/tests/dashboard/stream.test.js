import assert from "node:assert/strict";
import { test } from "node:test";
import { Parser, recent } from "../../pages/dashboard/stream.js";

const text = (id) => `id: ${id}\nevent: node_lost\ndata: {"id":"${id}","type":"node_lost"}\n\n`;

test("events come whole, wherever the pieces of the stream end", () => {
  const stream = `: events\n\n${text("1-0")}${text("2-0")}: nothing new\n\n${text("3-0")}`;
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const parser = new Parser();
    const seen = [...parser.feed(stream.slice(0, cut)), ...parser.feed(stream.slice(cut))];
    assert.deepEqual(seen.map((event) => event.id), ["1-0", "2-0", "3-0"], `cut at ${cut}`);
  }
});

test("the last while is the longest span that one page holds", async () => {
  const asked = [];
  const api = (perSpan) => ({
    get: async (path, { after }) => {
      const span = 1000000 - Number(after.split("-")[0]);
      asked.push(span);
      return { events: Array.from({ length: perSpan(span) }, () => ({})), last_id: "x" };
    },
  });
  const quiet = await recent(api(() => 3), 1000000);
  assert.equal(quiet.events.length, 3);
  assert.deepEqual(asked.splice(0), [900000]);
  const busy = await recent(api((span) => (span > 60000 ? 1000 : 40)), 1000000);
  assert.equal(busy.events.length, 40);
  assert.deepEqual(asked, [900000, 60000]);
});
