// A small chart of one series over time, as SVG. It says in words what it shows; whoever points at it reads each value.

import { h, svg } from "../shared/dom.js";
import { ago } from "../shared/format.js";

const WIDTH = 300;
const HEIGHT = 64;
// Gaps longer than this are gaps, not lines.
const GAP_MS = 30000;

// The next "round" number, so that the scale does not jump with every value.
export function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

// Pieces without gaps.
function pieces(points) {
  const out = [];
  for (const point of points) {
    const last = out.at(-1)?.at(-1);
    if (!last || point.ts - last.ts > GAP_MS) out.push([]);
    out.at(-1).push(point);
  }
  return out;
}

// chart({ name, points: [{ ts, value }], from, to, show(value), top })
export function chart({ name, points, from, to, show, top, kind }) {
  const most = top ?? ceiling(Math.max(0, ...points.map(({ value }) => value)));
  const x = (ts) => ((ts - from) / (to - from)) * WIDTH;
  const y = (value) => HEIGHT - 1 - (Math.min(value, most) / most) * (HEIGHT - 4);
  const at = ({ ts, value }) => `${x(ts).toFixed(1)},${y(value).toFixed(1)}`;
  const shapes = pieces(points).map((piece) => {
    const line = piece.map(at).join(" L");
    const area = `M${x(piece[0].ts).toFixed(1)},${HEIGHT} L${line} L${x(piece.at(-1).ts).toFixed(1)},${HEIGHT} Z`;
    return [svg("path", { class: "area", d: area }), svg("path", { class: "line", d: `M${line}` })];
  });
  const last = points.at(-1);
  const said = last ? `now ${show(last.value)}, at most ${show(Math.max(...points.map(({ value }) => value)))}` : "nothing yet";

  const point = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const ts = from + ((event.clientX - box.left) / box.width) * (to - from);
    const near = points.reduce((best, one) => (!best || Math.abs(one.ts - ts) < Math.abs(best.ts - ts) ? one : best), null);
    const label = event.currentTarget.querySelector(".chart-point");
    if (!near || !label) return;
    label.textContent = `${show(near.value)}, ${ago(near.ts, to)}`;
    label.style.setProperty("--x", `${(100 * x(near.ts)) / WIDTH}%`);
    label.classList.toggle("left", x(near.ts) > WIDTH / 2);
    event.currentTarget.classList.add("pointed");
  };
  return h("div", { class: `chart ${kind}`, role: "img", "aria-label": `${name}: ${said}`, onpointermove: point,
    onpointerleave: (event) => event.currentTarget.classList.remove("pointed") },
    h("span", { class: "chart-span" }, `${Math.round((to - from) / 60000)} min`),
    h("span", { class: "chart-top" }, points.length > 0 && show(most)),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
      svg("path", { class: "base", d: `M0,${HEIGHT - 0.5} H${WIDTH}` }), shapes),
    h("span", { class: "chart-point", "data-keep": "", "data-key": "point" }));
}
