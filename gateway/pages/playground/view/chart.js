// Oversold slots over time, for both schedulers.

const KEPT = 480;
/** A chart that begins does not stretch its first seconds over the whole width. */
const LEAST = 80;

export class Chart {
  #samples = [];
  #colours = {};

  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  setColours(colours) {
    this.#colours = colours;
    this.draw();
  }

  clear() {
    this.#samples = [];
    this.draw();
  }

  add(samples) {
    if (samples.length === 0) return;
    this.#samples.push(...samples);
    if (this.#samples.length > KEPT) this.#samples.splice(0, this.#samples.length - KEPT);
    this.draw();
  }

  fit() {
    const { clientWidth, clientHeight } = this.canvas;
    const dots = Math.min(2, devicePixelRatio || 1);
    this.canvas.width = Math.round(clientWidth * dots);
    this.canvas.height = Math.round(clientHeight * dots);
    this.context.setTransform(dots, 0, 0, dots, 0, 0);
    this.draw();
  }

  draw() {
    const { context, canvas } = this;
    const colours = this.#colours;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const left = 30;
    const bottom = height - 16;
    context.clearRect(0, 0, width, height);
    const most = Math.max(4, ...this.#samples.map((sample) => Math.max(...sample.oversold)));
    const top = 8;
    const yOf = (value) => bottom - (value / most) * (bottom - top);
    const span = Math.max(LEAST, this.#samples.length) - 1;
    const xOf = (index) => left + (index / span) * (width - left - 4);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colours["ink-3"] ?? "";
    context.strokeStyle = colours.line ?? "";
    context.lineWidth = 1;
    for (const value of [0, most]) {
      context.textAlign = "right";
      context.fillText(String(value), left - 6, yOf(value) + 4);
      context.beginPath();
      context.moveTo(left, Math.round(yOf(value)) + 0.5);
      context.lineTo(width - 4, Math.round(yOf(value)) + 0.5);
      context.stroke();
    }
    context.textAlign = "left";
    context.fillText(`oversold slots, over the last ${Math.round((span + 1) / 4)} s`, left, height - 2);
    this.#line(1, colours.bad, true, xOf, yOf, bottom);
    this.#line(0, colours.accent, false, xOf, yOf, bottom);
  }

  #line(side, colour, filled, xOf, yOf, bottom) {
    const { context } = this;
    const samples = this.#samples;
    if (samples.length < 2 || samples[0].oversold[side] === undefined) return;
    context.beginPath();
    samples.forEach((sample, index) => context.lineTo(xOf(index), yOf(sample.oversold[side])));
    context.lineWidth = 2;
    context.strokeStyle = colour;
    context.stroke();
    if (!filled) return;
    context.lineTo(xOf(samples.length - 1), bottom);
    context.lineTo(xOf(0), bottom);
    context.globalAlpha = 0.15;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }
}
