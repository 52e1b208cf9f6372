// All nodes at a glance: a cell each, as full as the node is, in the colour and shape of its state. One canvas, so that thousands
// cost nothing. The list of nodes says the same in words; this is the picture of it.

import { h, keep } from "../shared/dom.js";
import { count } from "../shared/format.js";
import { link } from "./router.js";
import { STATES } from "./parts.js";

// Cells are as large as this height allows, within these sizes; many nodes make it higher.
const HEIGHT = 196;
const [LARGEST, SMALLEST] = [34, 7];
const COLOURS = ["free", "ready", "full", "busy", "draining", "offline"];
const gapOf = (size) => (size > 14 ? 4 : size > 9 ? 3 : 2);
const columnsOf = (size, width) => Math.max(1, Math.floor((width + gapOf(size)) / (size + gapOf(size))));

function sizeFor(count, width) {
  for (let size = LARGEST; size > SMALLEST; size -= 1) {
    if (Math.ceil(count / columnsOf(size, width)) * (size + gapOf(size)) <= HEIGHT) return size;
  }
  return SMALLEST;
}

export class FleetMap {
  #canvas = h("canvas", {});
  #tip = h("span", { class: "map-tip", hidden: true });
  #element = h("div", { class: "map", "data-key": "fleet-map", role: "img" }, this.#canvas, this.#tip);
  #nodes = [];
  #drawn = "";
  #columns = 1;
  #pitch = 12;
  #observer = new ResizeObserver(() => this.#draw());

  constructor() {
    this.#canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.#canvas.addEventListener("pointerleave", () => { this.#tip.hidden = true; });
    this.#canvas.addEventListener("click", (event) => {
      const node = this.#at(event);
      if (node) location.hash = link("nodes", node.node_id);
    });
    this.#observer.observe(this.#element);
  }

  stop() {
    this.#observer.disconnect();
  }

  // The element, with these nodes in it. It is asked for with every event, and drawn when there are other nodes or other colours.
  show(nodes) {
    const look = this.#look();
    if (nodes === this.#nodes && look === this.#drawn) return keep(this.#element);
    this.#nodes = nodes;
    const states = Object.keys(STATES).map((state) => [state, nodes.filter((node) => node.state === state).length]);
    const said = states.filter(([, n]) => n > 0).map(([state, n]) => `${n} ${state}`);
    this.#element.setAttribute("aria-label", `${count(nodes.length, "node")}: ${said.join(", ")}`);
    this.#draw();
    return keep(this.#element);
  }

  #colours() {
    const style = getComputedStyle(this.#element);
    return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--map-${name}`)]));
  }

  #look() {
    return `${Object.values(this.#colours()).join()} ${devicePixelRatio}`;
  }

  #draw() {
    const width = this.#element.clientWidth;
    if (width === 0) return;
    this.#drawn = this.#look();
    const size = sizeFor(this.#nodes.length, width);
    const gap = gapOf(size);
    this.#pitch = size + gap;
    this.#columns = columnsOf(size, width);
    const height = Math.max(1, Math.ceil(this.#nodes.length / this.#columns)) * this.#pitch - gap;
    const scale = devicePixelRatio || 1;
    const canvas = this.#canvas;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const colours = this.#colours();
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    this.#nodes.forEach((node, i) => {
      const x = (i % this.#columns) * this.#pitch;
      const y = Math.floor(i / this.#columns) * this.#pitch;
      drawCell(context, colours, node, x, y, size);
    });
  }

  #at(event) {
    const box = this.#canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / this.#pitch);
    const row = Math.floor((event.clientY - box.top) / this.#pitch);
    return column < this.#columns ? this.#nodes[row * this.#columns + column] : undefined;
  }

  #point(event) {
    const node = this.#at(event);
    this.#tip.hidden = !node;
    if (!node) return;
    this.#tip.textContent = `${node.node_id} · ${node.state} · ${node.held + node.foreign} of ${node.max_jobs}`;
    const box = this.#element.getBoundingClientRect();
    const x = Math.min(event.clientX - box.left + 12, box.width - this.#tip.offsetWidth);
    this.#tip.style.setProperty("--x", `${Math.max(0, x)}px`);
    this.#tip.style.setProperty("--y", `${event.clientY - box.top + 16}px`);
  }
}

// As full as the node, from below; one that takes no work has a mark of its own.
function drawCell(context, colours, node, x, y, size) {
  const share = Math.min(1, (node.held + node.foreign) / node.max_jobs);
  context.fillStyle = colours.free;
  context.beginPath();
  context.roundRect(x, y, size, size, Math.min(4, size / 4));
  if (node.state === "offline") {
    context.lineWidth = 1.5;
    context.strokeStyle = colours.offline;
    context.save();
    context.clip();
    context.stroke();
    context.beginPath();
    context.moveTo(x, y + size);
    context.lineTo(x + size, y);
    context.stroke();
    context.restore();
    return;
  }
  context.fill();
  context.save();
  context.clip();
  context.fillStyle = colours[node.state];
  const height = Math.max(share > 0 ? 2 : 0, Math.round(share * size));
  context.fillRect(x, y + size - height, size, height);
  if (node.state === "busy" || node.state === "draining") {
    context.fillRect(x, y, size, Math.max(2, size / 8));
    if (node.state === "draining") context.fillRect(x, y, Math.max(2, size / 8), size);
  }
  context.restore();
}
