// The playground's page: puts its parts together.

import { PRESETS, findPreset } from "./engine/presets.js";
import { readChaos, readLoad, readScenario } from "./engine/scenario.js";
import { fromHash, toHash } from "./engine/share.js";
import { offered } from "./engine/workload.js";
import { Remote } from "./remote.js";
import { CallsView } from "./view/calls.js";
import { Chart } from "./view/chart.js";
import { Clock } from "./view/clock.js";
import { onThemeChange, readColours } from "./view/colours.js";
import { byId, clockTime, copyFrom, setText } from "./view/dom.js";
import { FaultsBar } from "./view/faults.js";
import { ShapeForm } from "./view/forms.js";
import { GroupsForm } from "./view/groups.js";
import { paintLegend } from "./view/legend.js";
import { NodesTable } from "./view/nodes.js";
import { stateWord } from "./view/paint.js";
import { Scores, showVerdict, summary } from "./view/scores.js";
import { Settings } from "./view/settings.js";
import { Stage } from "./view/stage.js";
import { StoryView } from "./view/story.js";

const ANNOUNCE_MS = 30000;
/** Who asked for less motion sees a moment of the rush first, and starts the clock by hand. */
const STILL_START_MS = 12000;

const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const remote = new Remote(heard);
const sections = [...document.querySelectorAll(".side")];
const stages = sections.map((section) => new Stage(section.querySelector("canvas"), { pick: choose, still }));
const chart = new Chart(byId("chart"));
const scores = new Scores(byId("scores"));
const story = new StoryView(byId("story"));
const calls = new CallsView(remote);
const table = new NodesTable();
const faults = new FaultsBar(act, choose);
const clock = new Clock(remote, still);
const load = new ShapeForm(byId("load"), readLoad, (value) => act("load", value));
const chaos = new ShapeForm(byId("chaos"), readChaos, (value) => act("chaos", value));
const groups = new GroupsForm((value) => act("fleet", value));
const settings = new Settings(() => restart());

let presetId = PRESETS[0].id;
/** What the history began with; `current` is what is set now. */
let base = null;
let current = null;
let roster = [];
let latest = null;
let announcedMs = -Infinity;
/** How many audits there were when one was asked for, until it is told of. */
let askedAfter = null;

function open(scenario) {
  base = readScenario(scenario);
  current = { fleet: base.fleet, load: base.load, chaos: base.chaos };
  fillForms();
  story.clear();
  chart.clear();
  document.querySelector(".stage").classList.toggle("alone", !settings.compare);
  sections[1].hidden = !settings.compare;
  remote.send("open", { scenario: base, compare: settings.compare });
  if (still) remote.send("skip", { ms: STILL_START_MS });
  clock.resume();
}

function fillForms() {
  load.fill(current.load);
  chaos.fill(current.chaos);
  groups.fill(current.fleet);
  settings.fill(base);
  byId("seed").value = base.seed;
  showOffered();
  for (const input of byId("presets").querySelectorAll("input")) input.checked = input.value === presetId;
  setText(byId("preset-says"), findPreset(presetId)?.says ?? "A scenario of your own.");
}

function showOffered() {
  const share = offered(current.load, current.fleet);
  setText(byId("offered"), Number.isFinite(share) ? `The load keeps ${Math.round(share * 100)} % of all slots busy.` : "There are no slots.");
}

function act(action, value) {
  if (Object.hasOwn(current, action)) {
    current = { ...current, [action]: value };
    showOffered();
  }
  remote.send("act", { action, value });
}

/** From the beginning, with what is set now; what was done to nodes by hand is not done again. */
function restart() {
  const seed = Number(byId("seed").value);
  open({ ...base, ...current, ...settings.value, seed });
}

function choose(id) {
  faults.choose(id);
  for (const stage of stages) stage.select(id);
  remote.send("node", { id: id || null });
}

function heard(message) {
  if (message.type === "failed") {
    fail(`The playground stopped: ${message.reason}`);
    return;
  }
  if (message.type !== "frame") return;
  // Samples and sentences come once; a frame that is not drawn must not lose them.
  chart.add(message.samples);
  story.add(message.told);
  if (message.roster) setRoster(message.roster);
  if (!latest) requestAnimationFrame(draw);
  latest = message;
}

function setRoster(nodes) {
  roster = nodes;
  for (const stage of stages) stage.setRoster(nodes);
  faults.setRoster(nodes);
  table.setRoster(nodes);
}

function draw() {
  const frame = latest;
  latest = null;
  const slots = roster.reduce((sum, node) => sum + node.slots, 0);
  frame.sides.forEach((side, index) => {
    stages[index].draw(side);
    showVerdict(sections[index], side, slots);
  });
  faults.setStates([...frame.sides[0].states].map(stateWord));
  faults.show(frame.node);
  scores.show(frame.sides);
  clock.show(frame);
  calls.show(frame.log, frame.sides, frame.playing);
  table.show(frame.sides);
  showAudit(frame.audits);
  announce(frame, slots);
  document.documentElement.dataset.ready = "true";
}

function showAudit({ count, atMs, violations, tookMs }) {
  const element = byId("audit-says");
  const sound = violations.length === 0;
  element.classList.toggle("bad", !sound);
  if (count === 0) setText(element, "Not audited yet.");
  else if (sound) setText(element, `Sound at ${clockTime(atMs)}: no violation in ${count} ${count === 1 ? "audit" : "audits"}; the last took ${Math.max(1, Math.round(tookMs))} ms.`);
  else setText(element, `At ${clockTime(atMs)}: ${violations.join("; ")}`);
  element.dataset.count = count;
  if (askedAfter === null || count <= askedAfter) return;
  askedAfter = null;
  setText(byId("announce"), element.textContent);
}

/** Now and then a sentence for those who listen to the page. */
function announce(frame, slots) {
  const now = performance.now();
  if (now - announcedMs < ANNOUNCE_MS) return;
  announcedMs = now;
  frame.sides.forEach((side, index) => {
    sections[index].querySelector("canvas").ariaLabel = summary(side, roster.length, slots);
  });
  setText(byId("announce"), frame.sides.map((side) => summary(side, roster.length, slots)).join(". "));
}

function fail(text) {
  const element = byId("failure");
  // The first reason is the cause of the others.
  if (!element.hidden) return;
  element.hidden = false;
  setText(element, text);
}

function recolour() {
  const colours = readColours();
  for (const stage of stages) stage.setColours(colours);
  chart.setColours(colours);
  paintLegend(document.querySelector(".legend"), colours);
}

function refit() {
  for (const stage of stages) stage.fit();
  chart.fit();
}

function makeChips() {
  for (const { id, title } of PRESETS) {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { type: "radio", name: "preset", value: id });
    label.append(input, title);
    byId("presets").append(label);
    input.addEventListener("change", () => {
      presetId = id;
      history.replaceState(null, "", `#${id}`);
      open(findPreset(id).scenario);
    });
  }
}

function openHash() {
  const found = fromHash(location.hash) ?? { presetId: PRESETS[0].id, scenario: PRESETS[0].scenario };
  presetId = found.presetId;
  open(found.scenario);
}

byId("restart").addEventListener("click", restart);
byId("replay").addEventListener("click", async () => open((await remote.scenario()).scenario));
byId("seed").addEventListener("change", restart);
byId("audit").addEventListener("click", () => {
  askedAfter = Number(byId("audit-says").dataset.count);
  remote.send("audit");
});
byId("share").addEventListener("click", async ({ currentTarget: button }) => {
  const { scenario } = await remote.scenario();
  const hash = toHash(scenario, presetId);
  history.replaceState(null, "", hash);
  await copyFrom(button, location.href);
});
byId("seed-source").addEventListener("toggle", async () => {
  const response = await fetch(new URL("seed.lua", import.meta.url));
  setText(byId("source"), await response.text());
}, { once: true });
addEventListener("hashchange", openHash);
addEventListener("resize", refit);
onThemeChange(recolour);

if (typeof WebAssembly === "object") {
  makeChips();
  recolour();
  refit();
  openHash();
} else {
  fail("This browser has no WebAssembly, or it is turned off. The playground runs the scheduler itself in your browser, and can not do without.");
}
