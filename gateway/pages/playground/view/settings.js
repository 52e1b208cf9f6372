// What a history can not change on its way: the old rule, and the times of the cell.

import { byId, setText, throttled } from "./dom.js";

const SAYS = {
  capacity: "the design it grew from: max(running, reserved)",
  counter: "the design it grew from: a counter",
};

export class Settings {
  constructor(changed) {
    this.form = byId("settings");
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", throttled(changed, 100));
  }

  get compare() {
    return this.form.elements.compare.checked;
  }

  get value() {
    const { rule, heartbeatMs, ttlMs, ackMs } = this.form.elements;
    return { rule: rule.value, cell: { heartbeatMs: heartbeatMs.value, ttlMs: ttlMs.value, ackMs: ackMs.value } };
  }

  fill({ rule, cell }) {
    const { elements } = this.form;
    elements.rule.value = rule;
    for (const [name, value] of Object.entries(cell)) elements[name].value = value;
    setText(byId("rule-says"), SAYS[rule]);
  }
}
