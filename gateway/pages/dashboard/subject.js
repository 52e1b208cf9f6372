// A view of one thing, read again and again while it is looked at.

import { h } from "../shared/dom.js";
import { repeat } from "./repeat.js";

const AGAIN_MS = 1500;

export class Subject {
  // What was read last, and why the last reading failed.
  it = null;
  problem = null;
  #loop;

  constructor(app, read) {
    this.#loop = repeat(app, AGAIN_MS, async (signal) => {
      try {
        this.it = await read(signal);
        this.problem = null;
      } catch (problem) {
        this.problem = problem;
        // What is gone is not shown as if it were there.
        if (problem.status === 404) this.it = null;
      }
    });
  }

  refresh() {
    return this.#loop.now();
  }

  view(id, kind, render) {
    const instead = () => {
      if (!this.problem) return h("p", { class: "quiet" }, "Reading…");
      return h("p", { class: "error", role: "alert" }, `${this.problem.message}.`);
    };
    return {
      start: () => this.refresh(),
      stop: () => this.#loop.stop(),
      render: () => h("div", { class: "view" }, this.it ? render(this.it)
        : [h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, h("span", { class: "quiet" }, `${kind} `), id)), instead()]),
    };
  }
}
