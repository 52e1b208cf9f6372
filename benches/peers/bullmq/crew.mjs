// BullMQ's workers: one in the process that asks for it, or one in each of several processes, as BullMQ's documentation recommends to use
// more than one core. `node crew.mjs PORT` is such a process; it stays for the next start, so that its code is warm.

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Worker } from "bullmq";

const OWN_FILE = fileURLToPath(import.meta.url);

// A worker in this process. `heard.finished` is told how many more jobs have finished, `heard.error` what went wrong.
export class Here {
  constructor(port, heard) {
    this.connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };
    this.heard = heard;
  }

  // Ready, and not running yet.
  async start(concurrency) {
    const { connection, heard } = this;
    this.worker = new Worker("jobs", async () => {}, { connection, concurrency, autorun: false });
    this.worker.on("error", heard.error);
    this.worker.on("failed", (_, error) => heard.error(error));
    this.worker.on("completed", () => heard.finished(1));
    await this.worker.waitUntilReady();
  }

  run() {
    this.worker.run().catch(this.heard.error);
  }

  stop() {
    return this.worker.close();
  }
}

// The same in a process of its own.
export class There {
  constructor(port, heard) {
    this.child = fork(OWN_FILE, [String(port)]);
    this.child.on("exit", (code) => heard.error(new Error(`a worker's process ended with ${code}`)));
    this.child.on("message", ([word, value]) => {
      if (word === "finished") heard.finished(value);
      else if (word === "error") heard.error(new Error(value));
      else this.answered();
    });
  }

  ask(...order) {
    return new Promise((resolve) => {
      this.answered = resolve;
      this.child.send(order);
    });
  }

  start(concurrency) {
    return this.ask("start", concurrency);
  }

  run() {
    return this.ask("run");
  }

  stop() {
    return this.ask("stop");
  }
}

// What `There` talks to.
function beThere(port) {
  let untold = 0;
  const tell = () => {
    process.send(["finished", untold]);
    untold = 0;
  };
  const here = new Here(port, {
    // What finishes together is told together, so that telling costs little.
    finished: (count) => {
      if (untold === 0) setImmediate(tell);
      untold += count;
    },
    error: (error) => process.send(["error", error.message]),
  });
  process.on("message", async ([order, value]) => {
    try {
      await here[order](value);
      process.send(["done"]);
    } catch (error) {
      process.send(["error", error.message]);
    }
  });
  // Nobody is left to give orders.
  process.on("disconnect", () => process.exit(0));
}

if (process.argv[1] === OWN_FILE) beThere(process.argv[2]);
