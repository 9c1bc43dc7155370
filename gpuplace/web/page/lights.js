// What is lit while the rest is dimmed, as gpuplace/views/picture/lighting.py and tables/dependency_trace.py decide it.

import { COUNT, DATA, E, incoming, N, nameOf, outgoing } from "gpuplace/page/columns.js";
import { RULES } from "gpuplace/rules.js";
import { counted, filled, grouped, searcher, shortened, sizesText } from "gpuplace/text.js";

const { choices: CHOICES, first: FIRST, told: TOLD } = RULES.lights;
const TRACES = { inputs: [true], consumers: [false], both: [true, false] }; // whether against the edges
const { lit_letters: NAME_LETTERS, pattern_letters: PATTERN_LETTERS } = RULES.text;

/** `[value, text]` of what can be lit. A log names no edges. */
export function lightChoices() {
  const traces = DATA.paths.length ? Object.keys(TRACES) : [];
  return ["", ...traces, ...DATA.paths.map(({ what }) => what), "matches"].map((what) => [what, CHOICES[what]]);
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
export function litBy(what, starts, name, pattern) {
  if (what in TRACES) return starts.length ? traceFrom(what, starts, name) : { what, text: FIRST[what] };
  if (what === "matches") {
    if (!pattern) return { what, text: FIRST[what] };
    const test = searcher(pattern);
    const nodes = Uint8Array.from({ length: COUNT }, (_, n) => (test.test(nameOf(n)) ? 1 : 0));
    const edges = Uint8Array.from({ length: E.src.length }, (_, e) => nodes[E.src[e]] & nodes[E.dst[e]]);
    const matches = counted(nodes.reduce((sum, one) => sum + one, 0), "match", "matches");
    const text = filled(TOLD.matches, { matches, pattern: shortened(pattern, PATTERN_LETTERS) });
    return { what, text, nodes, edges, starts: [] };
  }
  const path = DATA.paths.find((found) => found.what === what);
  if (!path) return { what: "", text: "" };
  const place = new Int32Array(COUNT).fill(-2);
  path.nodes.forEach((n, i) => (place[n] = i));
  const nodes = Uint8Array.from(place, (i) => (i < 0 ? 0 : 1));
  const edges = Uint8Array.from(
    { length: E.src.length },
    (_, e) => (place[E.src[e]] >= 0 && place[E.dst[e]] === place[E.src[e]] + 1 ? 1 : 0),
  );
  return { what, text: path.text, nodes, edges, starts: [] };
}

function traceFrom(what, starts, name) {
  const nodes = new Uint8Array(COUNT);
  const edges = new Uint8Array(E.src.length);
  for (const upwards of TRACES[what]) {
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
  const told = filled(TOLD[what], { name: shortened(name, NAME_LETTERS) });
  return { what, text: `${told}: ${whereText(total, shares)}${total ? copiesText(edges) : ""}`, nodes, edges, starts };
}

function whereText(total, shares) {
  if (!total) return "nothing";
  if (shares.length === 1) return `${counted(total, "node")} on ${shares[0][0]}`;
  return `${counted(total, "node")} (${shares.map(([label, n]) => `${label} ${grouped(n)}`).join(", ")})`;
}

/** The copies between devices along some edges, in words. */
function copiesText(edges) {
  const copies = new Set(DATA.copies.flatMap((e, i) => (edges[e] ? [DATA.copyOf[i]] : [])));
  if (!copies.size) return "; no copy between devices";
  const rows = [...copies].map((c) => DATA.copyRows[c]);
  const total = rows.reduce((sum, row) => sum + row[4], 0);
  return `; ${counted(total, "copy", "copies")} between devices, ${sizesText(rows)}`;
}

/** What the picture's script marks: boxes with their numbers, and lines by the ids of what they connect. */
export function litBoxes(lit, drawn) {
  if (!lit?.nodes) return { what: lit?.what ?? "", text: lit?.text ?? "" };
  const numbers = new Int32Array(drawn.boxes.length);
  for (let n = 0; n < COUNT; n += 1) numbers[drawn.boxOf[n]] += lit.nodes[n];
  const boxes = Object.fromEntries(
    drawn.boxes.map((box, b) => [box.id, [numbers[b], box.count]]).filter(([, [n]]) => n),
  );
  const links = new Set();
  for (let e = 0; e < E.src.length; e += 1) {
    if (!lit.edges[e]) continue;
    const [a, b] = [drawn.boxOf[E.src[e]], drawn.boxOf[E.dst[e]]];
    if (a !== b) links.add(`${drawn.boxes[a].id}->${drawn.boxes[b].id}`);
  }
  const starts = [...new Set(lit.starts.map((n) => drawn.boxes[drawn.boxOf[n]].id))];
  return { what: lit.what, text: lit.text, boxes, links: [...links], starts };
}
