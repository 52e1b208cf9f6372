// BullMQ as the benches drive it: `node peer.mjs PORT` takes one order per line and answers each with one line, `done SECONDS`.
//
//   start CONCURRENCY PROCESSES  makes workers ready: one here when PROCESSES is 0, else one in each of so many processes
//   add COUNT KEEP               puts so many no-op jobs into the queue
//   drain COUNT                  has the workers run until so many jobs that were put in before are finished
//   flow COUNT KEEP              puts jobs in while the workers run: from the first add to the last job that is finished
//   live COUNT KEEP              one job after the other, each of which finds a worker that waits
//   stop                         closes the workers
//
// KEEP is `keep` (BullMQ's default: a finished job's record stays) or `remove` (removeOnComplete).

import readline from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { Queue } from "bullmq";
import { Here, There } from "./crew.mjs";

// As many as the callers that Lockless is measured with.
const ADDERS = 64;
// A worker that finishes nothing for so long has stopped.
const PATIENCE_MS = 30_000;
// In this time a worker that runs has found the queue empty, and waits.
const IDLE_MS = 50;
const PAYLOAD = { text: "hello, world", voice: "b2", speed: 1.0 };

const port = process.argv[2];
const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };
const queue = new Queue("jobs", { connection });

let finished = 0;
const watcher = { news: () => {}, trouble: () => {} };
const heard = {
  finished: (count) => {
    finished += count;
    watcher.news();
  },
  error: (error) => watcher.trouble(error),
};

let crew = [];
let isRunning = false;
const processes = [];

async function start(concurrency, count) {
  while (processes.length < count) processes.push(new There(port, heard));
  crew = count === 0 ? [new Here(port, heard)] : processes.slice(0, count);
  await Promise.all(crew.map((worker) => worker.start(concurrency)));
  finished = 0;
}

async function run() {
  if (isRunning) return;
  isRunning = true;
  await Promise.all(crew.map((worker) => worker.run()));
}

async function stop() {
  await Promise.all(crew.map((worker) => worker.stop()));
  isRunning = false;
}

// When so many more jobs are finished.
function until(count) {
  const goal = finished + count;
  return new Promise((resolve, reject) => {
    let seen = finished;
    const watch = setInterval(() => {
      if (finished === seen) watcher.trouble(new Error(`it stopped ${goal - finished} jobs before the end`));
      seen = finished;
    }, PATIENCE_MS);
    const end = () => {
      clearInterval(watch);
      watcher.news = watcher.trouble = () => {};
    };
    watcher.trouble = (error) => {
      end();
      reject(error);
    };
    watcher.news = () => {
      if (finished < goal) return;
      end();
      resolve(performance.now());
    };
  });
}

async function add(count, keep) {
  const opts = { removeOnComplete: keep === "remove" };
  let left = count;
  const adder = async () => {
    while (left > 0) {
      left -= 1;
      await queue.add("job", PAYLOAD, opts);
    }
  };
  await Promise.all(Array.from({ length: ADDERS }, adder));
}

async function drain(count) {
  const all = until(count);
  const begin = performance.now();
  await run();
  return (await all) - begin;
}

async function flow(count, keep) {
  await run();
  await pause(IDLE_MS);
  const begin = performance.now();
  const [end] = await Promise.all([until(count), add(count, keep)]);
  return end - begin;
}

async function live(count, keep) {
  await run();
  await pause(IDLE_MS);
  const opts = { removeOnComplete: keep === "remove" };
  const begin = performance.now();
  for (let job = 0; job < count; job += 1) {
    const ended = until(1);
    await queue.add("job", PAYLOAD, opts);
    await ended;
  }
  return performance.now() - begin;
}

async function timed(done) {
  const begin = performance.now();
  await done;
  return performance.now() - begin;
}

const orders = {
  start: (concurrency, count) => timed(start(Number(concurrency), Number(count))),
  add: (count, keep) => timed(add(Number(count), keep)),
  drain: (count) => drain(Number(count)),
  flow: (count, keep) => flow(Number(count), keep),
  live: (count, keep) => live(Number(count), keep),
  stop: () => timed(stop()),
};

await queue.waitUntilReady();
console.log("ready");
for await (const line of readline.createInterface({ input: process.stdin })) {
  const [order, ...words] = line.split(" ");
  try {
    console.log(`done ${(await orders[order](...words)) / 1000}`);
  } catch (error) {
    console.log(`failed ${error.message}`);
  }
}
process.exit(0);
