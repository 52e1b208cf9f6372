// The fleet as a table, for those who do not see the canvas or want the numbers. It is kept only while it is open.

import { BEYOND, CELL } from "../engine/frame.js";
import { byId, setText } from "./dom.js";
import { stateWord } from "./paint.js";

const REFRESH_MS = 1000;
// Before any moment, also of a page that is younger than REFRESH_MS: one that stands still is shown once.
const NEVER_MS = -Infinity;

export class NodesTable {
  #roster = [];
  #shownMs = NEVER_MS;
  #sides = null;

  constructor() {
    this.details = byId("nodes-table");
    this.body = byId("nodes");
    this.details.addEventListener("toggle", () => {
      this.#shownMs = NEVER_MS;
      if (this.#sides) this.show(this.#sides);
    });
  }

  setRoster(roster) {
    this.#roster = roster;
    this.#shownMs = NEVER_MS;
  }

  show(sides) {
    this.#sides = sides;
    const now = performance.now();
    if (!this.details.open || now - this.#shownMs < REFRESH_MS) return;
    this.#shownMs = now;
    while (this.body.rows.length > this.#roster.length) this.body.deleteRow(-1);
    while (this.body.rows.length < this.#roster.length) this.#addRow();
    const running = sides.map((side) => perNode(this.#roster, side));
    this.#roster.forEach((node, index) => {
      const [ours, theirs] = running.map((counts) => counts[index]);
      const texts = [
        node.id, stateWord(sides[0].states[index]), node.slots, ours.running, theirs?.running ?? "–", theirs?.oversold ?? "–",
      ];
      [...this.body.rows[index].cells].forEach((cell, place) => setText(cell, String(texts[place])));
    });
  }

  #addRow() {
    const row = this.body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    row.append(head);
    row.insertCell();
    for (let i = 0; i < 4; i += 1) row.insertCell().className = "number";
  }
}

function perNode(roster, side) {
  let offset = 0;
  return roster.map((node, index) => {
    const room = node.slots + BEYOND;
    const counts = { running: 0, oversold: side.more[index] };
    for (let place = offset; place < offset + room; place += 1) {
      const code = side.cells[place];
      if (code === CELL.oversold) counts.oversold += 1;
      if (code === CELL.running || code === CELL.oversold) counts.running += 1;
    }
    offset += room;
    return counts;
  });
}
