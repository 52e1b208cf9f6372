// Which view is shown: what stands after '#', such as #/nodes/node-1?cell=tenant:{a}. Links are real links.

// What is not a sound escape is taken as it stands: whoever types an address may well write 100%.
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function read(hash = location.hash) {
  const [path, query = ""] = (hash.startsWith("#/") ? hash.slice(2) : "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { name: parts[0] ?? "overview", id: parts.slice(1).join("/") || null, query: new URLSearchParams(query) };
}

// The link to a view, in the cell that is shown now.
export function link(name, id = null, query = {}) {
  const wanted = new URLSearchParams();
  const cell = read().query.get("cell");
  if (cell) wanted.set("cell", cell);
  for (const [key, value] of Object.entries(query)) if (value) wanted.set(key, value);
  const path = [name === "overview" ? "" : name, id && encodeURIComponent(id)].filter(Boolean).join("/");
  return `#/${path}${wanted.size > 0 ? `?${wanted}` : ""}`;
}

// Changes what the view was asked for, without another entry in the history.
export function replaceQuery(changes) {
  const { name, id, query } = read();
  const wanted = Object.fromEntries(query);
  delete wanted.cell;
  history.replaceState(null, "", link(name, id, { ...wanted, ...changes }));
}
