// BullMQ as the benches drive it: `node peer.mjs PORT` takes one order per line and answers each with one line.
//
//   add COUNT KEEP               puts so many no-op jobs into the queue             -> done SECONDS
//   work COUNT CONCURRENCY       starts a worker until so many jobs are finished    -> done SECONDS
//   flow COUNT KEEP CONCURRENCY  both at the same time: from the first add to the last job that is finished
//   live COUNT KEEP              one job after the other, each of which finds a worker that waits
//
// KEEP is `keep` (BullMQ's default: a finished job's record stays) or `remove` (removeOnComplete).

import readline from "node:readline";
import { Queue, Worker } from "bullmq";

// As many as the callers that Lockless is measured with.
const ADDERS = 64;
// A worker that finishes nothing for so long has stopped.
const PATIENCE_MS = 30_000;
const PAYLOAD = { text: "hello, world", voice: "b2", speed: 1.0 };

const connection = { host: "127.0.0.1", port: Number(process.argv[2]), maxRetriesPerRequest: null };
const queue = new Queue("jobs", { connection });

async function add(count, keep) {
  const opts = { removeOnComplete: keep === "remove" };
  let left = count;
  const adder = async () => {
    while (left > 0) {
      left -= 1;
      await queue.add("job", PAYLOAD, opts);
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: ADDERS }, adder));
  return (performance.now() - begin) / 1000;
}

// Has a worker run until so many jobs are finished. `begun` is called with each job, `ended` with each that is finished.
function until(count, concurrency, { begun = () => {}, ended = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    let finished = 0;
    const worker = new Worker("jobs", async () => begun(), { connection, concurrency });
    let seen = 0;
    const watch = setInterval(() => {
      if (finished === seen) reject(new Error(`it stopped after ${finished} of ${count} jobs`));
      seen = finished;
    }, PATIENCE_MS);
    worker.on("error", reject);
    worker.on("failed", (_, error) => reject(error));
    worker.on("completed", () => {
      finished += 1;
      ended();
      if (finished === count) {
        clearInterval(watch);
        const end = performance.now();
        worker.close().then(() => resolve(end), reject);
      }
    });
  });
}

// The clock runs from the first job that a worker begins to the last one that is finished, so that neither the worker's
// start nor its end counts.
async function work(count, concurrency) {
  let begin;
  const end = await until(count, concurrency, { begun: () => (begin ??= performance.now()) });
  return (end - begin) / 1000;
}

// The first job also waits for the worker's start, some milliseconds.
async function flow(count, keep, concurrency) {
  const begin = performance.now();
  const [end] = await Promise.all([until(count, concurrency), add(count, keep)]);
  return (end - begin) / 1000;
}

async function live(count, keep) {
  let next;
  const all = until(count, 1, { ended: () => next() });
  const opts = { removeOnComplete: keep === "remove" };
  const begin = performance.now();
  for (let job = 0; job < count; job += 1) {
    const ended = new Promise((resolve) => (next = resolve));
    await queue.add("job", PAYLOAD, opts);
    await ended;
  }
  return ((await all) - begin) / 1000;
}

const orders = {
  add: (count, keep) => add(Number(count), keep),
  work: (count, concurrency) => work(Number(count), Number(concurrency)),
  flow: (count, keep, concurrency) => flow(Number(count), keep, Number(concurrency)),
  live: (count, keep) => live(Number(count), keep),
};

await queue.waitUntilReady();
console.log("ready");
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [order, ...words] = line.split(" ");
  try {
    console.log(`done ${await orders[order](...words)}`);
  } catch (error) {
    console.log(`failed ${error.message}`);
  }
}
await queue.close();
process.exit(0);
