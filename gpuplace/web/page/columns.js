// What the page's data mean: the columns of gpuplace/views/page/data.py, and what follows from them.

import { DATA } from "gpuplace/page/data.js";
import { RULES } from "gpuplace/rules.js";

export { DATA };
export const N = DATA.nodes;
export const S = DATA.scopes;
export const E = DATA.edges;
export const COUNT = N.name.length;
export const unmet = new Set(N.unmet);
export const guilty = new Set(N.guilty);
/** The name scope that each scope is or lies in. */
export const paths = S.path;
/** Scopes that are no name scopes: shelves, and parts of a model. */
export const added = new Set(S.added);
/** Scopes that are parts of a model. */
export const layers = new Set(S.layers);
/** Whether scopes are parts of a model, or name scopes alone. */
export const isModel = layers.size > 0;
/** The strip of its box that a node counts for: forward, backward or update. */
export const stripOf = (n) => Number(N.strip[n] ?? 0);
/** Gradients, what averages and clips them, updates and bookkeeping. */
const aside = new Set(N.aside);
export const trains = (n) => aside.has(n);
/** Whether there are gradients or updates. */
export const isTraining = N.strip.length > 0;
/** Whether an edge is outside the flow between layers. */
export const isAside = (e) => isModel && (E.output[e] < 0 || aside.has(E.src[e]) || aside.has(E.dst[e]));
/** A text for each scope that no other has. */
export const keys = [];
S.key.forEach((key, s) => {
  const before = keys[S.parent[s]];
  keys.push(key.startsWith("/") ? key.slice(1) : before ? `${before}/${key}` : key);
});
/** Name scopes of nodes that lie elsewhere. */
const prefixes = new Map(N.elsewhere.map((n, i) => [n, N.prefixes[N.prefix[i]]]));
export const nameOf = (n) => {
  const prefix = prefixes.get(n) ?? paths[N.scope[n]];
  return prefix ? `${prefix}/${N.name[n]}` : N.name[n];
};
let nameIndex = null;
export const nodeAt = (name) => {
  if (!nameIndex) {
    nameIndex = new Map();
    for (let n = 0; n < COUNT; n += 1) nameIndex.set(nameOf(n), n);
  }
  return nameIndex.get(name) ?? -1;
};
export const localName = (n) => {
  const s = N.scope[n];
  return s && !added.has(s) && paths[s] === nameOf(n) ? `(${N.name[n]})` : N.name[n];
};
export const typeOf = (n) => DATA.types[N.type[n]];
export const requestOf = (n) => DATA.requests[N.request[n]];
/** The device of a node as a number into DATA.devices, the last of which is none. */
export const deviceOf = (n) => (N.device[n] < 0 ? DATA.devices.length - 1 : N.device[n]);
export const lookOf = (n) => DATA.devices[deviceOf(n)];
export const sourceOf = (n) => (DATA.sources.of.length ? DATA.sources.texts[DATA.sources.of[n]] : "");
const callsAt = new Map(DATA.calls);
/** `[attribute, function]` of the functions that a node calls. */
export const callsOf = (n) => callsAt.get(n) ?? [];
/** Edge to the copy that brings it its tensor. */
export const copyAt = new Map(DATA.copies.map((e, i) => [e, DATA.copyOf[i]]));

function sorted(keys) {
  const start = new Int32Array(COUNT + 1);
  for (const key of keys) start[key + 1] += 1;
  for (let i = 0; i < COUNT; i += 1) start[i + 1] += start[i];
  const order = new Int32Array(keys.length);
  const at = start.slice();
  keys.forEach((key, e) => (order[at[key]++] = e));
  return { of: (n) => [...order.subarray(start[n], start[n + 1])], start, order };
}
export const incoming = sorted(E.dst);
export const outgoing = sorted(E.src);
export const children = S.name.map(() => []);
export const direct = S.name.map(() => []);
for (let s = 1; s < S.name.length; s += 1) children[S.parent[s]].push(s);
for (let n = 0; n < COUNT; n += 1) direct[N.scope[n]].push(n);
/** The shelf that each scope is or lies on, 0 for the network's. */
export const shelfOf = new Int32Array(S.name.length);
for (const s of S.shelves) shelfOf[s] = s;
for (let s = 1; s < S.name.length; s += 1) shelfOf[s] ||= shelfOf[S.parent[s]];
export const inside = new Int32Array(S.name.length);
for (let n = 0; n < COUNT; n += 1) inside[N.scope[n]] += 1;
for (let s = S.name.length - 1; s > 0; s -= 1) inside[S.parent[s]] += inside[s];
export const groupOf = new Map();
DATA.groups.forEach(([members], g) => members.forEach((n) => groupOf.set(n, g)));
const looksByLabel = new Map(DATA.devices.flatMap((look) => [[look.label, look], [look.name, look]]));
export const lookNamed = (label) =>
  looksByLabel.get(label) ?? { label, fill: RULES.colours.paper, corners: "square", outlines: 1 };
export const attrsOf = (n) => (DATA.attrs.of.length ? DATA.attrs.rows[DATA.attrs.of[n]] : []);
