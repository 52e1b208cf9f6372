// The snapshot's history as series: what was counted becomes rates, levels stay as they are.

// [{ ts, dispatched, ... }], the oldest first.
export function rows(stats) {
  const { columns, rows: lines } = stats?.history ?? { columns: [], rows: [] };
  return lines.map((line) => Object.fromEntries(columns.map((name, i) => [name, line[i]])));
}

// The growth per second of the sum of these counters, from row to row.
export function perSecond(history, names) {
  const sum = (row) => names.reduce((total, name) => total + row[name], 0);
  const out = [];
  for (let i = 1; i < history.length; i += 1) {
    const seconds = (history[i].ts - history[i - 1].ts) / 1000;
    if (seconds > 0) out.push({ ts: history[i].ts, value: Math.max(0, (sum(history[i]) - sum(history[i - 1])) / seconds) });
  }
  return out;
}

export const level = (history, value) => history.map((row) => ({ ts: row.ts, value: value(row) }));
