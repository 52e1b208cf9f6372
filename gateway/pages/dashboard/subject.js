// A view of one thing, read again and again while it is looked at.

import { h } from "../shared/dom.js";

const AGAIN_MS = 1500;

export class Subject {
  // What was read last, and why the last reading failed.
  it = null;
  problem = null;
  #app;
  #read;
  #stop = new AbortController();
  #timer;

  constructor(app, read) {
    this.#app = app;
    this.#read = read;
  }

  async refresh() {
    clearTimeout(this.#timer);
    const { signal } = this.#stop;
    try {
      this.it = await this.#read(signal);
      this.problem = null;
    } catch (problem) {
      if (signal.aborted) return;
      this.problem = problem;
      // What is gone is not shown as if it were there.
      if (problem.status === 404) this.it = null;
    }
    this.#app.draw();
    if (!signal.aborted) this.#timer = setTimeout(() => this.refresh(), AGAIN_MS * (document.hidden ? 10 : 1));
  }

  view(id, kind, render) {
    const instead = () => {
      if (!this.problem) return h("p", { class: "quiet" }, "Reading…");
      return h("p", { class: "error", role: "alert" }, `${this.problem.message}.`);
    };
    return {
      start: () => this.refresh(),
      stop: () => { this.#stop.abort(); clearTimeout(this.#timer); },
      render: () => h("div", { class: "view" }, this.it ? render(this.it)
        : [h("div", { class: "view-head" }, h("h1", { tabindex: "-1" }, h("span", { class: "quiet" }, `${kind} `), id)), instead()]),
    };
  }
}
