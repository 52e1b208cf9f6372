// Every call as the FCALL it is, with its reply, to be copied.

import { byId, clockTime, copyFrom, setText } from "./dom.js";

const REFRESH_MS = 250;

export class CallsView {
  #rows = [];
  #shownMs = 0;
  #held = false;

  /** `remote` is asked for the calls and for the lines to copy. */
  constructor(remote) {
    this.remote = remote;
    this.list = byId("calls");
    this.form = byId("filter");
    this.template = byId("call");
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => this.ask());
    byId("copy-all").addEventListener("click", async ({ currentTarget: button }) => {
      const lines = await remote.lines(this.filter);
      await copyFrom(button, `${lines.join("\n")}\n`);
    });
    // Whoever points at a line wants it to stay where it is.
    const hold = (event, held) => this.list.addEventListener(event, ({ target }) => {
      this.#held = held(target);
    });
    hold("pointerenter", () => true);
    hold("pointerleave", () => false);
    // A button that was pressed with a pointer keeps the focus, but nobody is there any more.
    hold("focusin", (target) => target.matches(":focus-visible") || this.list.matches(":hover"));
    hold("focusout", () => this.list.matches(":hover"));
    this.list.addEventListener("click", ({ target }) => {
      const row = target.closest("button.copy") && this.#rows.find(({ item }) => item.contains(target));
      if (row) copyFrom(target, row.call.line);
    });
    // Calls are asked for only while somebody can see them.
    new IntersectionObserver((entries) => {
      this.visible = entries.at(-1).isIntersecting;
      this.ask();
    }).observe(this.list);
  }

  get filter() {
    const { kind, side, text } = Object.fromEntries(new FormData(this.form));
    return { kind, side, text };
  }

  ask() {
    this.#shownMs = 0;
    this.remote.log(this.visible ? this.filter : null);
  }

  show(calls, sides, playing) {
    setText(byId("calls-count"), sides.map((side) => `${side.name}: ${side.calls.toLocaleString("en")}`).join(" · "));
    if (!calls) return;
    const now = performance.now();
    if (playing && (this.#held || now - this.#shownMs < REFRESH_MS)) return;
    this.#shownMs = now;
    while (this.#rows.length < calls.length) this.#rows.push(this.#makeRow());
    this.#rows.forEach((row, index) => {
      row.item.hidden = index >= calls.length;
      if (index < calls.length) fill(row, calls[index]);
    });
  }

  #makeRow() {
    const item = this.template.content.firstElementChild.cloneNode(true);
    this.list.append(item);
    const part = (name) => item.querySelector(`.${name}`);
    return { item, when: part("when"), who: part("who"), line: part("line"), reply: part("reply"), copy: part("copy"), call: null };
  }
}

function fill(row, call) {
  if (row.call && row.call.number === call.number && row.call.side === call.side && row.call.line === call.line) return;
  row.call = call;
  setText(row.when, clockTime(call.atMs, 1));
  setText(row.who, call.side === 0 ? "L" : "S");
  row.who.title = call.side === 0 ? "Lockless" : "the old rule";
  row.who.classList.toggle("theirs", call.side !== 0);
  setText(row.line, call.line);
  row.line.title = call.line;
  setText(row.reply, call.reply);
  row.reply.title = call.reply;
  row.reply.classList.toggle("failed", call.failed);
  row.copy.ariaLabel = `Copy ${call.name}`;
}
