// The counts of both schedulers beside each other, and the verdict over each fleet.

import { setText } from "./dom.js";

/** What is counted, and whether any of it is bad. */
const ROWS = [
  { title: "Oversold slots, now", of: (side) => side.oversold, bad: true, key: true },
  { title: "Jobs that ran without a slot", of: (side) => side.counts.oversold, bad: true, key: true },
  { title: "Oversold slots, at worst", of: (side) => side.counts.worst, bad: true },
  { title: "Jobs placed", of: (side) => side.counts.placed },
  { title: "Jobs refused", of: (side) => side.counts.refused },
  { title: "Jobs finished", of: (side) => side.counts.finished },
  { title: "Given to nodes that were dead or cut off", of: (side) => side.counts.toDead },
  { title: "Given to nodes that drain", of: (side) => side.counts.toDraining, bad: true },
  { title: "Given to nodes that can not run them", of: (side) => side.counts.misplaced, bad: true },
  { title: "Placed twice for one wish", of: (side) => side.counts.twice, bad: true },
  { title: "Jobs lost", of: (side) => side.counts.lost },
  { title: "Lost, and no caller was told", of: (side) => side.counts.lost - side.counts.told, bad: true },
  { title: "Slots held by nothing, now", of: (side) => side.sums.ghosts },
  { title: "A dispatch takes, in this browser", of: (side) => side.dispatchUs, show: (us) => (us < 1000 ? `${Math.round(us)} µs` : `${(us / 1000).toFixed(1)} ms`) },
];

export class Scores {
  #cells = [];

  constructor(body) {
    for (const row of ROWS) {
      const line = body.insertRow();
      if (row.key) line.className = "key-row";
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = row.title;
      line.append(head);
      this.#cells.push([0, 1].map(() => Object.assign(line.insertCell(), { className: "number" })));
    }
  }

  show(sides) {
    ROWS.forEach((row, index) => {
      this.#cells[index].forEach((cell, place) => {
        const side = sides[place];
        const value = side ? row.of(side) : null;
        setText(cell, value === null ? "–" : row.show ? row.show(value) : value.toLocaleString("en"));
        cell.classList.toggle("bad", Boolean(row.bad) && value > 0);
      });
    });
  }
}

/** The verdict over a fleet: how many slots are oversold now, and how many jobs were lost without anybody knowing. */
export function showVerdict(section, side, slots) {
  const { counts, sums, oversold } = side;
  const chip = (name, value, ever) => {
    const verdict = section.querySelector(`[data-verdict=${name}]`);
    setText(verdict.querySelector("strong"), String(value));
    verdict.classList.toggle("bad", value > 0);
    verdict.classList.toggle("was", value === 0 && ever > 0);
    return verdict;
  };
  chip("oversold", oversold, counts.oversold);
  // A loss that its caller knows of is no shame: it could not be helped.
  chip("lost", counts.lost - counts.told, 0).hidden = counts.lost === 0;
  const ghostly = sums.ghosts > 0 ? `, ${sums.ghosts} held by nothing` : "";
  setText(section.querySelector("[data-use]"), `${sums.running} running, ${sums.sent} on their way${ghostly}; ${slots} slots`);
}

/** The same for those who can not see the canvas. */
export function summary(side, nodes, slots) {
  return `${side.name}: ${nodes} nodes with ${slots} slots, ${side.sums.running} jobs running, ${side.oversold} oversold`;
}
