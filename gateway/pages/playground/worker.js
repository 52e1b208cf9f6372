// The simulation's own thread: what it computes never keeps the page from drawing.

import { Cell } from "./engine/cell.js";
import { Ours } from "./engine/ours.js";
import { Runner } from "./engine/runner.js";
import { readScenario } from "./engine/scenario.js";
import { Simulation } from "./engine/simulation.js";
import { Theirs } from "./engine/theirs.js";
import { Lockless } from "./host.js";

const TURN_MS = 15;
const START_US = 1767225600000000;

const parts = loaded();

async function loaded() {
  const [module, seed] = await Promise.all([
    fetched("lockless.wasm").then((response) => response.arrayBuffer()).then((bytes) => WebAssembly.compile(bytes)),
    fetched("seed.lua").then((response) => response.text()),
  ]);
  return { module, seed };
}

async function fetched(name) {
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) throw new Error(`${name} could not be loaded: ${response.status}`);
  return response;
}

/** Each scheduler has a Redis of its own: an instance of the same module. */
async function make(given, compare) {
  const { module, seed } = await parts;
  const scenario = readScenario(given);
  const options = { now: () => START_US };
  const words = [new Ours(new Cell(await Lockless.start(module, options), "scheduler:{playground}"), scenario.cell)];
  if (compare) {
    const host = await Lockless.start(module, options);
    host.call(["FUNCTION", "LOAD", "REPLACE", seed], START_US);
    words.push(new Theirs(new Cell(host, "seed:{playground}"), scenario.cell, scenario.rule));
  }
  return new Simulation(scenario, words);
}

function failed(error) {
  postMessage({ type: "failed", reason: String(error?.message ?? error) });
}

const runner = new Runner(make, (message, transfer) => postMessage(message, transfer ?? []));
parts.catch(failed);
addEventListener("message", ({ data }) => {
  runner.hear(data).catch(failed);
});
setInterval(() => {
  try {
    runner.turn();
  } catch (error) {
    failed(error);
  }
}, TURN_MS);
