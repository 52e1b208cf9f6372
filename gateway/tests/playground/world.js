// A simulation on the real module, for the tests.

import { readFileSync } from "node:fs";

import { Cell } from "../../pages/playground/engine/cell.js";
import { Ours } from "../../pages/playground/engine/ours.js";
import { readScenario } from "../../pages/playground/engine/scenario.js";
import { Simulation } from "../../pages/playground/engine/simulation.js";
import { Theirs } from "../../pages/playground/engine/theirs.js";
import { Lockless } from "../../../wasm/js/lockless.mjs";

const START_US = 1767225600000000;
const file = (path) => readFileSync(new URL(path, import.meta.url));
const module = await WebAssembly.compile(file("../../../wasm/lockless.wasm"));
const seed = file("../../pages/playground/seed.lua").toString();

export async function simulate(given) {
  const scenario = readScenario(given);
  const hosts = await Promise.all([0, 1].map(() => Lockless.start(module, { now: () => START_US })));
  hosts[1].call(["FUNCTION", "LOAD", "REPLACE", seed], START_US);
  const ours = new Ours(new Cell(hosts[0], "scheduler:{playground}"), scenario.cell);
  const theirs = new Theirs(new Cell(hosts[1], "seed:{playground}"), scenario.cell, scenario.rule);
  return new Simulation(scenario, [ours, theirs]);
}

/** Both sides' counts after so many simulated seconds. */
export async function after(seconds, given) {
  const simulation = await simulate(given);
  simulation.advance(seconds * 1000);
  return { simulation, ours: simulation.sides[0].counts, theirs: simulation.sides[1].counts };
}

/** Every call and its reply, as lines. */
export function history(simulation) {
  return simulation.sides.map((side) => side.words.cell.newest(() => true, Infinity).map((entry) => `${entry.atMs} ${entry.args.join(" ")} => ${entry.reply}`));
}
