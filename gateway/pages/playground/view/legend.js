// The signs of the legend, drawn as they are drawn in the fleet.

import { CELL, NODE } from "../engine/frame.js";
import { paintCell, paintCross, paintNode } from "./paint.js";

const SIZE = 18;

export function paintLegend(list, colours) {
  for (const key of list.querySelectorAll("[data-key]")) {
    const canvas = key.firstElementChild ?? key.appendChild(document.createElement("canvas"));
    const dots = Math.min(2, devicePixelRatio || 1);
    canvas.width = SIZE * dots;
    canvas.height = SIZE * dots;
    canvas.style.width = `${SIZE}px`;
    canvas.ariaHidden = "true";
    const context = canvas.getContext("2d");
    context.setTransform(dots, 0, 0, dots, 0, 0);
    const { key: name } = key.dataset;
    if (Object.hasOwn(CELL, name)) {
      paintCell(context, colours, CELL[name], 0.5, 2, 2, SIZE - 4);
    } else {
      paintNode(context, colours, NODE[name], false, 1, 1, SIZE - 2, SIZE - 2);
      if (name === "dead") paintCross(context, colours, 1, 1, SIZE - 2, SIZE - 2);
    }
  }
}
