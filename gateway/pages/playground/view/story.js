// What happens, newest first.

import { clockTime } from "./dom.js";

const SHOWN = 40;

export class StoryView {
  constructor(list) {
    this.list = list;
  }

  clear() {
    this.list.replaceChildren();
  }

  add(told) {
    for (const { atMs, who, text } of told) {
      const item = document.createElement("li");
      const time = document.createElement("time");
      time.textContent = clockTime(atMs);
      const words = document.createElement("span");
      words.className = who;
      words.textContent = text;
      item.append(time, words);
      this.list.prepend(item);
    }
    while (this.list.childElementCount > SHOWN) this.list.lastElementChild.remove();
  }
}
