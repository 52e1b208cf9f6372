// A list of which only the rows in sight exist, so that thousands scroll as smoothly as ten. It scrolls with the page; for
// readers who can't see it, each row says which of how many it is.

import { h, keep, morph } from "../shared/dom.js";

const AROUND = 12;

export class List {
  #body = h("div", { class: "list-body", role: "rowgroup" });
  #element;
  #items = [];
  #row;
  #height;
  #drawn = "";
  #onScroll = () => this.#draw();

  // `columns` are [heading, class]; `row(item)` gives the cells; `height` is that of a row in px, as the style has it.
  constructor({ label, columns, row, height }) {
    this.#row = (item) => row(item).map((cell, i) => h("div", { class: `cell ${columns[i][1] ?? ""}`, role: "cell" }, cell));
    this.#height = height;
    const head = columns.map(([text, kind]) => h("div", { class: `cell ${kind ?? ""}`, role: "columnheader" }, text));
    this.#element = h("div", { class: "list", role: "table", "aria-label": label, "data-key": "list" },
      h("div", { role: "rowgroup" }, h("div", { class: "list-row list-head", role: "row", "aria-rowindex": "1" }, head)), this.#body);
    addEventListener("scroll", this.#onScroll, { passive: true });
    addEventListener("resize", this.#onScroll, { passive: true });
  }

  stop() {
    removeEventListener("scroll", this.#onScroll);
    removeEventListener("resize", this.#onScroll);
  }

  // The element, with these items in it: { key, ... }.
  show(items) {
    this.#items = items;
    this.#drawn = "";
    this.#element.setAttribute("aria-rowcount", String(items.length + 1));
    this.#body.style.height = `${items.length * this.#height()}px`;
    // Once it is in the page, so that it knows where it is.
    requestAnimationFrame(() => this.#draw());
    return keep(this.#element);
  }

  #draw() {
    if (!this.#element.isConnected) return;
    const height = this.#height();
    const top = -this.#body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / height) - AROUND);
    const last = Math.min(this.#items.length, Math.ceil((top + innerHeight) / height) + AROUND);
    const drawn = `${first} ${last} ${height}`;
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const rows = this.#items.slice(first, last).map((item, i) =>
      h("div", { class: "list-row", role: "row", "data-key": item.key, "aria-rowindex": String(first + i + 2), vars: { "--top": `${(first + i) * height}px` } },
        this.#row(item)));
    const wanted = this.#body.cloneNode(false);
    wanted.append(...rows);
    morph(this.#body, wanted);
  }
}
