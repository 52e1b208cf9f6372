// How a slot, a job and a node's state are drawn. Each differs in shape, not in colour alone.

import { CELL, NODE } from "../engine/frame.js";

/** One cell with its upper left corner at x, y. `progress` is from 0 to 1. */
export function paintCell(context, colours, code, progress, x, y, size) {
  const radius = Math.min(3, size / 4);
  if (code === CELL.oversold) {
    paintBeyond(context, colours, code, x, y, size);
    return;
  }
  box(context, x, y, size, size, radius);
  if (code === CELL.free) {
    context.fillStyle = colours.free;
    context.fill();
  } else if (code === CELL.running) {
    context.save();
    context.clip();
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.45;
    context.fillRect(x, y, size, size);
    context.globalAlpha = 1;
    const height = Math.max(1, Math.round(size * progress));
    context.fillRect(x, y + size - height, size, height);
    context.restore();
  } else if (code === CELL.sent) {
    context.lineWidth = 1.5;
    context.strokeStyle = colours.accent;
    box(context, x + 0.75, y + 0.75, size - 1.5, size - 1.5, radius);
    context.stroke();
    context.fillStyle = colours.accent;
    context.beginPath();
    context.arc(x + size / 2, y + size / 2, Math.max(1, size / 7), 0, 7);
    context.fill();
  } else {
    paintGhost(context, colours, x, y, size);
  }
}

function paintGhost(context, colours, x, y, size) {
  context.save();
  context.clip();
  context.fillStyle = colours.free;
  context.fillRect(x, y, size, size);
  context.strokeStyle = colours.offline;
  context.lineWidth = 1.25;
  context.beginPath();
  for (let from = -size; from < size; from += Math.max(3, size / 3)) {
    context.moveTo(x + from, y + size);
    context.lineTo(x + from + size, y);
  }
  context.stroke();
  context.restore();
}

/** A job that has no slot: a diamond, hollow while it is on its way. One that was there before its slot was taken away stays a cell. */
export function paintBeyond(context, colours, code, x, y, size) {
  if (code === CELL.running) {
    paintCell(context, colours, code, 1, x, y, size - 1);
    return;
  }
  const half = size / 2;
  context.beginPath();
  context.moveTo(x + half, y);
  context.lineTo(x + size, y + half);
  context.lineTo(x + half, y + size);
  context.lineTo(x, y + half);
  context.closePath();
  if (code === CELL.sent) {
    context.lineWidth = 1.25;
    context.strokeStyle = colours.bad;
    context.stroke();
  } else {
    context.fillStyle = colours.bad;
    context.fill();
  }
}

/** A node's frame, by its state. */
export function paintNode(context, colours, state, selected, x, y, width, height) {
  const radius = 5;
  box(context, x, y, width, height, radius);
  context.fillStyle = colours.surface;
  context.fill();
  context.fillStyle = colours.sunken;
  context.globalAlpha = state & NODE.dead ? 0.5 : 1;
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = selected ? 2 : 1;
  context.strokeStyle = colours.line;
  if (state & NODE.draining) mark(context, colours.draining, [4, 2]);
  if (state & NODE.cut) mark(context, colours.busy, [1.5, 2.5]);
  if (state & NODE.dead) mark(context, colours.offline, []);
  if (selected) mark(context, colours.ink, []);
  box(context, x + 0.5, y + 0.5, width - 1, height - 1, radius);
  context.stroke();
  context.setLineDash([]);
}

function mark(context, colour, dash) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash(dash);
}

/** A cross over a dead node; it is painted over the cells. */
export function paintCross(context, colours, x, y, width, height) {
  context.strokeStyle = colours.offline;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x + 3, y + 3);
  context.lineTo(x + width - 3, y + height - 3);
  context.moveTo(x + width - 3, y + 3);
  context.lineTo(x + 3, y + height - 3);
  context.stroke();
}

function box(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

/** A node's state in a word. */
export function stateWord(state) {
  if (state & NODE.dead) return state & NODE.out ? "dead, given up" : "dead";
  if (state & NODE.cut) return state & NODE.out ? "cut off, given up" : "cut off";
  return state & NODE.draining ? "draining" : "up";
}
