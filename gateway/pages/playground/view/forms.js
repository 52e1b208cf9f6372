// The forms that shape the load and the faults: each has a field for each member of what it shapes.

import { throttled } from "./dom.js";

const PERCENT = new Set(["labelPct", "lostPct"]);
/** A slider for a rate from 0 to 500, fine at its lower end: its position is the square root. */
const RATE_MAX = 500;
const RATE_STEPS = 100;

export class ShapeForm {
  /** `changed` is called with the new whole, a moment after the hand rests. */
  constructor(form, read, changed) {
    this.form = form;
    this.read = read;
    const tell = throttled(() => changed(this.value), 200);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      this.#label();
      tell();
    });
  }

  get value() {
    const given = {};
    for (const field of this.form.elements) {
      if (!field.name) continue;
      given[field.name] = field.type === "checkbox" ? field.checked : field.value;
    }
    if ("rate" in given) given.rate = rateOf(Number(given.rate));
    return this.read(given);
  }

  fill(value) {
    for (const field of this.form.elements) {
      if (!field.name || field === document.activeElement) continue;
      const own = value[field.name];
      if (own === undefined) continue;
      if (field.type === "checkbox") field.checked = own;
      else field.value = field.name === "rate" ? positionOf(own) : Array.isArray(own) ? own.join(" ") : own;
    }
    this.#label();
  }

  #label() {
    const { elements } = this.form;
    for (const output of this.form.querySelectorAll("output")) {
      const name = output.dataset.of;
      const { value } = elements[name];
      const shown = name === "rate" ? rateOf(Number(value)) : value;
      output.value = PERCENT.has(name) ? `${shown} %` : shown;
    }
  }
}

function rateOf(position) {
  const rate = RATE_MAX * (position / RATE_STEPS) ** 2;
  return rate < 20 ? Math.round(rate * 2) / 2 : Math.round(rate);
}

function positionOf(rate) {
  return Math.round(RATE_STEPS * Math.sqrt(rate / RATE_MAX));
}
