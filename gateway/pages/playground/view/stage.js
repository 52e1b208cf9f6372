// One scheduler's fleet on its canvas. Only what changed is drawn again, so that hundreds of nodes stay smooth.

import { BEYOND, CELL, NODE } from "../engine/frame.js";
import { layOut, tileAt } from "./geometry.js";
import { paintBeyond, paintCell, paintCross, paintNode } from "./paint.js";

const STEPS = 24;

export class Stage {
  #layout = null;
  #roster = [];
  #colours = {};
  #drawn = [];
  #selected = -1;
  #frame = null;

  /** `pick` is called with the id of a node that was clicked. `still` leaves out what moves all the time. */
  constructor(canvas, { pick, still }) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.still = still;
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const found = this.#layout ? tileAt(this.#layout, event.clientX - box.left, event.clientY - box.top) : -1;
      pick(found < 0 ? "" : this.#roster[found].id);
    });
  }

  setColours(colours) {
    this.#colours = colours;
    this.#drawn = [];
    this.#redraw();
  }

  setRoster(roster) {
    this.#roster = roster;
    this.fit();
  }

  select(id) {
    const before = this.#selected;
    this.#selected = this.#roster.findIndex((node) => node.id === id);
    for (const index of [before, this.#selected]) if (index >= 0) delete this.#drawn[index];
    this.#redraw();
  }

  /** Lays everything out for the width there is. */
  fit() {
    const width = this.canvas.parentElement.clientWidth;
    if (width === 0 || this.#roster.length === 0) return;
    // So that the clock above and the bar below are in sight together with the whole fleet, if that is possible.
    const wantedHeight = Math.max(width < 500 ? 300 : 240, Math.min(520, innerHeight - 430));
    this.#layout = layOut(this.#roster, width, wantedHeight);
    const { height } = this.#layout;
    const dots = Math.min(2, devicePixelRatio || 1);
    this.canvas.width = Math.round(width * dots);
    this.canvas.height = Math.round(height * dots);
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(dots, 0, 0, dots, 0, 0);
    this.#drawn = [];
    this.#redraw();
  }

  #redraw() {
    if (this.#frame) this.draw(this.#frame);
  }

  draw(frame) {
    this.#frame = frame;
    const layout = this.#layout;
    // A frame that was on its way while the fleet changed is of the fleet before.
    if (!layout || frame.states.length !== layout.tiles.length) return;
    if (this.#drawn.length === 0) this.#drawHeadings();
    let offset = 0;
    for (let index = 0; index < layout.tiles.length; index += 1) {
      const tile = layout.tiles[index];
      const room = tile.node.slots + BEYOND;
      if (frame.cells.length < offset + room) return;
      this.#drawTile(index, tile, frame, offset);
      offset += room;
    }
  }

  #drawHeadings() {
    const { context, canvas } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.font = "600 11px system-ui, sans-serif";
    context.fillStyle = this.#colours["ink-3"];
    for (const { x, y, text } of this.#layout.headings) context.fillText(text, x, y, this.#layout.width - 2 * x);
  }

  #drawTile(index, tile, frame, offset) {
    const { slots } = tile.node;
    const { cells, progress } = frame;
    const state = frame.states[index];
    const beyond = cells.subarray(offset + slots, offset + slots + BEYOND).filter((code) => code !== CELL.free);
    const look = `${state} ${frame.more[index]} ${beyond}`;
    const before = this.#drawn[index];
    const fresh = before?.look !== look;
    const drawn = fresh ? { look, cells: new Int16Array(slots).fill(-1) } : before;
    this.#drawn[index] = drawn;
    if (fresh) {
      this.#drawFrame(index, tile, state);
      this.#drawBeyond(tile, beyond, frame.more[index]);
    }
    let changed = fresh;
    for (let place = 0; place < slots; place += 1) {
      const code = cells[offset + place];
      const step = code === CELL.running && !this.still ? Math.round((progress[offset + place] / 255) * STEPS) : 0;
      if (drawn.cells[place] === code * 64 + step) continue;
      drawn.cells[place] = code * 64 + step;
      changed = true;
      this.#drawCell(tile, place, code, this.still ? 1 : step / STEPS);
    }
    if (changed && state & NODE.dead) paintCross(this.context, this.#colours, tile.x, tile.y + tile.top - 3, tile.width, tile.height - tile.top + 3);
  }

  #drawCell(tile, place, code, progress) {
    const { size, inset } = this.#layout;
    const x = tile.x + inset + (place % tile.columns) * tile.step;
    const y = tile.y + tile.top + Math.floor(place / tile.columns) * tile.step;
    this.context.fillStyle = this.#colours.sunken;
    this.context.fillRect(x - 0.5, y - 0.5, size + 1, size + 1);
    paintCell(this.context, this.#colours, code, progress, x, y, size);
  }

  #drawFrame(index, tile, state) {
    const { context } = this;
    const { inset, named } = this.#layout;
    context.clearRect(tile.x - 2, tile.y - 2, tile.width + 4, tile.height + 4);
    paintNode(context, this.#colours, state, index === this.#selected, tile.x, tile.y, tile.width, tile.height);
    if (!named) return;
    context.font = "10px system-ui, sans-serif";
    context.fillStyle = this.#colours["ink-3"];
    context.fillText(nameOf(tile.node, state), tile.x + inset + 1, tile.y + 10, tile.inner);
  }

  /** The jobs that have no slot, below the slots: as many as fit, and the number of the others. */
  #drawBeyond(tile, codes, more) {
    const { context } = this;
    const { size, inset } = this.#layout;
    const step = size * 0.85;
    const fit = Math.max(1, Math.floor((tile.inner + 1) / step));
    const count = codes.length + more;
    const shown = count > fit ? fit - 1 : count;
    const y = tile.y + tile.belowY;
    for (let i = 0; i < shown; i += 1) paintBeyond(context, this.#colours, codes[i], tile.x + inset + i * step, y, step - 1);
    if (count <= fit) return;
    context.font = `700 ${Math.max(8, Math.round(step))}px system-ui, sans-serif`;
    context.fillStyle = this.#colours.bad;
    context.fillText(`+${count - shown}`, tile.x + inset + shown * step, y + step - 1, tile.inner - shown * step);
  }
}

function nameOf(node, state) {
  const number = node.id.slice(node.group.length + 1);
  if (state & NODE.dead) return `${number} dead`;
  if (state & NODE.cut) return `${number} cut off`;
  return state & NODE.draining ? `${number} drains` : number;
}
