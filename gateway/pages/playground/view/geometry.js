// Where everything of a fleet is drawn: as large as fits.

const SIZES = [18, 16, 14, 12, 11, 10, 9, 8, 7, 6, 5];
const MARGIN = 16;
const HEADING = 20;
/** From this size on there is room for a node's name. */
const NAMED = 11;

/** Tiles for nodes, in the largest size whose height is no more than `wantedHeight`; the smallest may be higher. */
export function layOut(roster, width, wantedHeight) {
  let made;
  for (const size of SIZES) {
    made = tiles(roster, width, size);
    if (made.height <= wantedHeight) break;
  }
  return made;
}

function tiles(roster, width, size) {
  const gap = size >= NAMED ? 2 : 1;
  const space = size >= NAMED ? 8 : Math.max(3, Math.round(size / 2));
  const named = size >= NAMED;
  const inset = named ? 4 : 2;
  const out = { size, gap, inset, named, width, height: 0, tiles: [], headings: [] };
  let x = MARGIN;
  let y = 4;
  let rowHeight = 0;
  let group = null;
  for (const node of roster) {
    const shape = shapeOf(node.slots, size, gap, inset, named);
    if (node.group !== group) {
      if (group !== null) y += rowHeight + space;
      group = node.group;
      out.headings.push({ x: MARGIN, y: y + 13, text: headingOf(node) });
      x = MARGIN;
      y += HEADING;
      rowHeight = 0;
    } else if (x + shape.width > width - MARGIN) {
      x = MARGIN;
      y += rowHeight + space;
      rowHeight = 0;
    }
    out.tiles.push({ x, y, node, ...shape });
    x += shape.width + space;
    rowHeight = Math.max(rowHeight, shape.height);
  }
  out.height = y + rowHeight + 4;
  return out;
}

function headingOf({ group, pool, pairs, labels }) {
  const marks = labels.length > 0 ? ` · ${labels.join(" ")}` : "";
  return `${group} · pool ${pool} · ${pairs.join(" ")}${marks}`;
}

function shapeOf(slots, size, gap, inset, named) {
  const columns = slots <= 4 ? slots : slots <= 8 ? 4 : slots <= 32 ? 8 : 16;
  const rows = Math.ceil(slots / columns);
  const step = size + gap;
  // At least so wide that a few diamonds fit below.
  const inner = Math.max(columns * step - gap, Math.round(size * 2.5));
  const top = named ? 13 : inset;
  const below = Math.round(size * 0.85);
  return {
    columns, step, top, inner, below, belowY: top + rows * step + 1,
    width: inner + 2 * inset, height: top + rows * step + below + inset,
  };
}

/** The tile at a point, or -1. */
export function tileAt(layout, x, y) {
  return layout.tiles.findIndex((tile) => x >= tile.x && x <= tile.x + tile.width && y >= tile.y && y <= tile.y + tile.height);
}
