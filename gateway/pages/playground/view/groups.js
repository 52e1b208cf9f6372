// The form that shapes the fleet: a row for each group of nodes that are alike.

import { KINDS } from "../engine/presets.js";
import { readFleet } from "../engine/scenario.js";
import { byId, throttled } from "./dom.js";

export class GroupsForm {
  #groups = [];

  /** `changed` is called with the new fleet. */
  constructor(changed) {
    this.list = byId("groups");
    this.template = byId("group");
    this.changed = changed;
    const kind = byId("kind");
    KINDS.forEach(({ title }, index) => kind.append(new Option(title, index)));
    byId("add").addEventListener("click", () => this.#become([...this.#groups, KINDS[Number(kind.value)].group]));
    byId("fleet").addEventListener("submit", (event) => event.preventDefault());
    const tell = throttled(() => this.#become(this.#read()), 400);
    this.list.addEventListener("change", tell);
    this.list.addEventListener("click", ({ target }) => {
      const row = target.closest("[data-remove]") && target.closest(".group");
      if (row) this.#become(this.#groups.filter((_, index) => row !== this.list.children[index]));
    });
  }

  #become(groups) {
    this.fill(readFleet(groups));
    this.changed(this.#groups);
  }

  #read() {
    return [...this.list.children].map((row) => {
      const group = {};
      for (const field of row.querySelectorAll("input")) group[field.name] = field.value;
      return group;
    });
  }

  fill(groups) {
    this.#groups = groups;
    while (this.list.childElementCount > groups.length) this.list.lastElementChild.remove();
    while (this.list.childElementCount < groups.length) this.list.append(this.template.content.firstElementChild.cloneNode(true));
    groups.forEach((group, index) => {
      const row = this.list.children[index];
      row.ariaLabel = `Group ${group.name}`;
      row.querySelector("[data-remove]").ariaLabel = `Remove group ${group.name}`;
      for (const field of row.querySelectorAll("input")) {
        // What is being typed is not written over.
        if (field === document.activeElement) continue;
        const value = group[field.name];
        field.value = Array.isArray(value) ? value.join(" ") : value;
      }
    });
  }
}
