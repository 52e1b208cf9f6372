// Asks before something is done that is not undone by itself.

import { h } from "../shared/dom.js";

// True when the reader agrees. Escape, and everything but the button, is a no.
export function confirm({ title, text, action }) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "dialog", "aria-labelledby": "dialog-title", "aria-describedby": "dialog-text" },
      h("form", { method: "dialog", class: "stack" },
        h("h2", { id: "dialog-title" }, title),
        h("p", { id: "dialog-text" }, text),
        h("div", { class: "dialog-buttons" },
          h("button", { value: "no" }, "Leave it"),
          h("button", { value: "yes", class: "primary" }, action))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.getElementById("dialog").append(dialog);
    dialog.showModal();
  });
}
