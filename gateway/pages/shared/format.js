// Numbers and times as people read them.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const whole = (value) => WHOLE.format(value ?? 0);

// "1 node", "5 nodes"
export const count = (value, one, many = `${one}s`) => `${whole(value)} ${value === 1 ? one : many}`;

// Rates: two digits where they are small, none where they are large.
export function rate(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  if (value < 0.01) return "<0.01";
  if (value < 10) return value.toFixed(value < 1 ? 2 : 1);
  return whole(value);
}

export const percent = (part, all) => (all > 0 ? `${Math.round((100 * part) / all)}\u00a0%` : "–");

// "42 s", "3 min 05 s", "2 h 10 min", "4 d 3 h"
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const two = (value) => String(Math.floor(value)).padStart(2, "0");
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

// "just now", "12 s ago"
export function ago(ts, now) {
  const ms = now - ts;
  return ms < 1500 ? "just now" : `${duration(ms).replace(/\.\d/, "")} ago`;
}

const isToday = (ts, now) => new Date(ts).toDateString() === new Date(now).toDateString();

export const clock = (ts, now = Date.now()) => (isToday(ts, now) ? CLOCK : DAY).format(ts);
export const full = (ts) => new Date(ts).toISOString().replace("T", " ").replace("Z", " UTC");

// JSON for reading; anything else as it is.
export function pretty(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
