// Breaking a node by hand: the one that is chosen, or any.

import { byId, setText } from "./dom.js";

/** What each button does, by the node's state, where that is not its own name. */
const HEALS = { dead: "revive", cut: "resume" };

export class FaultsBar {
  #roster = [];
  #states = new Map();

  /** `act` does something to a node; `chosen` is told of the node that is looked at. */
  constructor(act, chosen) {
    this.select = byId("node");
    this.says = byId("node-says");
    this.select.addEventListener("change", () => chosen(this.select.value));
    for (const button of document.querySelectorAll("[data-fault]")) {
      button.addEventListener("click", () => this.#strike(button.dataset.fault, act));
    }
  }

  choose(id) {
    this.select.value = id;
    this.says.dataset.none = id === "";
    if (id === "") setText(this.says, "Click a node to choose it.");
  }

  setRoster(roster) {
    this.#roster = roster;
    const before = this.select.value;
    this.select.replaceChildren(new Option("any", ""), ...roster.map(({ id }) => new Option(id, id)));
    this.select.value = roster.some(({ id }) => id === before) ? before : "";
  }

  /** Notes the words for the nodes' states, to know which can be broken or healed. */
  setStates(words) {
    this.#states = new Map(this.#roster.map(({ id }, index) => [id, words[index]]));
  }

  #strike(fault, act) {
    const id = this.select.value;
    if (fault === "heal") {
      const ids = id === "" ? [...this.#states.keys()] : [id];
      for (const one of ids) this.#heal(one, act);
      return;
    }
    const up = this.#roster.filter((node) => this.#states.get(node.id) === "up");
    const target = id || up[Math.floor(Math.random() * up.length)]?.id;
    if (target) act(fault, target);
  }

  #heal(id, act) {
    const word = this.#states.get(id) ?? "";
    const state = word.startsWith("dead") ? "dead" : word.startsWith("cut") ? "cut" : "up";
    if (HEALS[state]) act(HEALS[state], id);
    if (word === "draining") act("undrain", id);
  }

  show(node) {
    if (!node || node.id !== this.select.value) return;
    const sides = node.sides.map((side, index) => {
      const name = index === 0 ? "Lockless" : "The old rule";
      const over = side.oversold > 0 ? `, ${side.oversold} of them without a slot` : "";
      return `${name}: ${side.running} run${over}, ${side.sent} on their way, by its books ${side.taken} of ${node.slots} slots are taken`;
    });
    const what = `${node.id}: pool ${node.pool}, ${node.pairs.join(" ")}${node.labels.length > 0 ? `, labels ${node.labels.join(" ")}` : ""}.`;
    setText(this.says, `${what} ${sides.join(". ")}.`);
  }
}
