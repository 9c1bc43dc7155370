// What the report page colours and lights: another column's colours, what an op depends on, the critical paths, matches.
// Functions of page.js and tables.js call these; the texts are those of gpuplace/tables/dependency_trace.py and lighting.py.

// ------------------------------------------------------------------------------------------------------------ colours
/** Colours other than those of the assigned devices: a column of DATA.colours, or null. */
let colour = null;
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
for (const found of DATA.colours) found.of = Uint8Array.from(found.of, (letter) => LETTERS.indexOf(letter));
function setColour(name) {
  colour = DATA.colours.find((found) => found.name === name) ?? null;
}
function tintOf(n) {
  return colour ? colour.categories[colour.of[n]] : lookOf(n);
}

function valueText(value, unit) {
  if (unit === "bytes") return bytes(Math.round(value));
  for (const [name, factor] of [["s", 1e6], ["ms", 1e3], ["µs", 1]]) {
    if (value >= factor) return `${Number((value / factor).toPrecision(3))} ${name}`;
  }
  return value ? `${Number((value * 1e3).toPrecision(3))} ns` : "0 µs";
}

/** What an op's own box says about its number. */
function saidOf(n) {
  if (!colour?.values) return "";
  return colour.values[n] === null ? colour.categories[colour.of[n]].label : valueText(colour.values[n], colour.unit);
}

/** Nodes of a box, by number. */
function nodesOf(box) {
  const found = [...box.nodes];
  const below = [...box.scopes];
  while (below.length) {
    const s = below.pop();
    for (const n of direct[s]) found.push(n);
    for (const c of children[s]) below.push(c);
  }
  return found;
}

/** Shares of a box by colour, the largest first. */
function tintsOf(box) {
  if (!colour) return box.shares.map(([d, n]) => [deviceAt(d), n]);
  const counts = new Map();
  for (const n of nodesOf(box)) counts.set(colour.of[n], (counts.get(colour.of[n]) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([c, n]) => [colour.categories[c], n]);
}

function tintText(tints, most = 3) {
  const told = tints.slice(0, most).map(([tint, n]) => `${short(tint.label, 20)} ${number(n)}`);
  if (tints.length > most) told.push(`+${tints.length - most}`);
  return told.join(" · ");
}

/** Sum of a folded box's numbers; "" where colours are no numbers. */
function totalOf(box) {
  if (!colour?.values) return "";
  return valueText(nodesOf(box).reduce((sum, n) => sum + (colour.values[n] ?? 0), 0), colour.unit);
}

function attrsOf(n) {
  return DATA.attrs.of.length ? DATA.attrs.rows[DATA.attrs.of[n]] : [];
}

// ------------------------------------------------------------------------------------------------------------- lights
const LIGHT_TEXT = {
  inputs: ["all that it depends on", "Select an op, and all that it depends on is lit.", (of) => `what ${of} depends on`],
  consumers: ["all that depends on it", "Select an op, and all that depends on it is lit.", (of) => `what depends on ${of}`],
  both: ["both", "Select an op, and all that it depends on and that depends on it is lit.", (of) => `what ${of} depends on, and what depends on it`],
};
const PATH_TEXT = { "path by ops": "critical path by ops", "path by bytes": "critical path by bytes copied", "path by time": "critical path by time" };

/** `[value, text]` of what can be lit. A log names no edges. */
function lightChoices() {
  const traces = DATA.paths.length ? Object.entries(LIGHT_TEXT).map(([what, [text]]) => [what, text]) : [];
  return [["", "nothing"], ...traces, ...DATA.paths.map(({ what }) => [what, PATH_TEXT[what]]), ["matches", "matches of the search"]];
}

/** What is reached from some nodes, they themselves too: 1 for each such node. */
function reachedFrom(starts, upwards) {
  const seen = new Uint8Array(COUNT);
  const { start, order } = upwards ? incoming : outgoing;
  const ends = upwards ? E.src : E.dst;
  const waiting = [...starts];
  for (const n of starts) seen[n] = 1;
  while (waiting.length) {
    const n = waiting.pop();
    for (let k = start[n]; k < start[n + 1]; k += 1) {
      const other = ends[order[k]];
      if (!seen[other]) {
        seen[other] = 1;
        waiting.push(other);
      }
    }
  }
  return seen;
}

/** `{what, text, nodes, edges, starts}`; without nodes while there is nothing to light. */
function litBy(what, starts, name, pattern) {
  if (what in LIGHT_TEXT) return starts.length ? traceFrom(what, starts, name) : { what, text: LIGHT_TEXT[what][1] };
  if (what === "matches") {
    if (!pattern) return { what, text: "Search for an op, and all matches are lit." };
    const test = searcher(pattern);
    const nodes = Uint8Array.from({ length: COUNT }, (_, n) => (test.test(nameOf(n)) ? 1 : 0));
    const edges = Uint8Array.from({ length: E.src.length }, (_, e) => nodes[E.src[e]] & nodes[E.dst[e]]);
    const text = `${counted(nodes.reduce((sum, one) => sum + one, 0), "match", "matches")} of ${short(pattern, 40)}`;
    return { what, text, nodes, edges, starts: [] };
  }
  const path = DATA.paths.find((found) => found.what === what);
  if (!path) return { what: "", text: "" };
  const place = new Int32Array(COUNT).fill(-2);
  path.nodes.forEach((n, i) => (place[n] = i));
  const nodes = Uint8Array.from(place, (i) => (i < 0 ? 0 : 1));
  const edges = Uint8Array.from({ length: E.src.length }, (_, e) => (place[E.src[e]] >= 0 && place[E.dst[e]] === place[E.src[e]] + 1 ? 1 : 0));
  return { what, text: path.text, nodes, edges, starts: [] };
}

function traceFrom(what, starts, name) {
  const nodes = new Uint8Array(COUNT);
  const edges = new Uint8Array(E.src.length);
  for (const upwards of { inputs: [true], consumers: [false], both: [true, false] }[what]) {
    const seen = reachedFrom(starts, upwards);
    const ends = upwards ? E.dst : E.src;
    for (let n = 0; n < COUNT; n += 1) nodes[n] |= seen[n];
    for (let e = 0; e < edges.length; e += 1) edges[e] |= seen[ends[e]];
  }
  const begins = new Set(starts);
  const byDevice = DATA.devices.map(() => 0);
  let total = 0;
  for (let n = 0; n < COUNT; n += 1) {
    if (!nodes[n] || begins.has(n)) continue;
    byDevice[N.device[n] < 0 ? byDevice.length - 1 : N.device[n]] += 1;
    total += 1;
  }
  const shares = byDevice.map((n, d) => [DATA.devices[d].label, n]).filter(([, n]) => n);
  const sent = new Map();
  for (const e of DATA.copies) if (edges[e]) sent.set(`${E.src[e]}:${E.output[e]}:${N.device[E.dst[e]]}`, DATA.edges.facts[E.fact[e]]?.[1] ?? null);
  const known = [...sent.values()].filter((size) => size !== null);
  const unsized = sent.size - known.length;
  let size = "";
  if (sent.size) size = known.length ? `, ${bytes(known.reduce((sum, one) => sum + one, 0))}${unsized ? ` and ${number(unsized)} of unknown size` : ""}` : ", unknown size";
  const where =
    !total ? "nothing" : shares.length === 1 ? `${counted(total, "node")} on ${shares[0][0]}` : `${counted(total, "node")} (${shares.map(([label, n]) => `${label} ${number(n)}`).join(", ")})`;
  const copies = total ? `; ${sent.size ? counted(sent.size, "copy", "copies") : "no copy"} between devices${size}` : "";
  return { what, text: `${LIGHT_TEXT[what][2](short(name, 60))}: ${where}${copies}`, nodes, edges, starts };
}

/** What the picture's script marks: boxes with their numbers, and lines by the ids of what they connect. */
function litBoxes(lit, drawn) {
  if (!lit?.nodes) return { what: lit?.what ?? "", text: lit?.text ?? "" };
  const numbers = new Int32Array(drawn.boxes.length);
  for (let n = 0; n < COUNT; n += 1) numbers[drawn.boxOf[n]] += lit.nodes[n];
  const boxes = Object.fromEntries(drawn.boxes.map((box, b) => [box.id, [numbers[b], box.count]]).filter(([, [n]]) => n));
  const links = new Set();
  for (let e = 0; e < E.src.length; e += 1) {
    if (!lit.edges[e]) continue;
    const [a, b] = [drawn.boxOf[E.src[e]], drawn.boxOf[E.dst[e]]];
    if (a !== b) links.add(drawn.endsOf(drawn.boxes[a].id, drawn.boxes[b].id));
  }
  const starts = [...new Set(lit.starts.map((n) => drawn.boxes[drawn.boxOf[n]].id))];
  return { what: lit.what, text: lit.text, boxes, links: [...links], starts };
}
