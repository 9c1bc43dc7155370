// Which boxes there are for the scopes that are open, as gpuplace/views/picture/drawing.py decides it, and the lines between them.

import {
  children,
  copyAt,
  COUNT,
  DATA,
  direct,
  E,
  guilty,
  isAside,
  layers,
  N,
  requestOf,
  S,
  shelfOf,
  stripOf,
  trains,
  unmet,
} from "gpuplace/page/columns.js";
import { RULES } from "gpuplace/rules.js";

const { most_boxes: MOST_BOXES, bundle_from: BUNDLE_FROM, least_alike: LEAST_ALIKE } = RULES.folding;

/**
 * A box: its kind ("op", "scope" or "bundle"), the scopes and nodes that it stands for, the open scope that it lies in,
 * and what is known of its nodes: how many, on which devices (`[device, nodes]`), what they ask for, and what went wrong.
 *
 * @typedef {{kind: string, id: string, key: string, scopes: number[], nodes: number[], parent: number, rest?: boolean,
 *   copies?: {received: Set<number>, sent: Set<number>}, count?: number, trains?: boolean, unmet?: number, guilty?: number, requests?: Set<string>, shares?: number[][], strips?: number[][][]}} Box
 */

/**
 * Boxes for the open scopes and bundles, and the box of each node.
 *
 * @param before boxes that are to stay where their scopes are open still, however many others there are.
 */
export function boxesOf(opened, unbundled, before = []) {
  const shown = new Int32Array(S.name.length).fill(-1); // the closed scope that stands for a scope, -1 where it is open
  const isOpen = S.name.map((_, s) => s === 0 || opened.has(s));
  for (let s = 1; s < S.name.length; s += 1) {
    const above = S.parent[s];
    if (shown[above] >= 0) shown[s] = shown[above];
    else if (!isOpen[s]) shown[s] = s;
  }
  const open = S.name.map((_, s) => s).filter((s) => shown[s] < 0);
  let total = 0;
  for (const s of open) total += direct[s].length + children[s].filter((c) => shown[c] >= 0).length;
  /** @type {Box[]} */
  const boxes = [];
  const wide = [...open].sort((a, b) => children[b].length + direct[b].length - children[a].length - direct[a].length);
  const fair = Math.max(1, Math.floor(MOST_BOXES / Math.max(1, wide.length)));
  const stay = new Set(before.map((box) => box.id));
  const stayIn = new Map();
  for (const { parent } of before) stayIn.set(parent, (stayIn.get(parent) ?? 0) + 1);
  wide.sort((a, b) => Number(stayIn.has(b)) - Number(stayIn.has(a)));
  for (const s of wide) {
    const closed = children[s].filter((c) => shown[c] >= 0);
    /** @type {Box[]} */
    const made = [];
    const plain = (scopes, nodes) => {
      for (const c of scopes) {
        made.push({ kind: "scope", id: `s${c}`, key: `s${c}`, scopes: [c], nodes: [], parent: s });
      }
      for (const n of nodes) made.push({ kind: "op", id: `n${n}`, key: `n${n}`, scopes: [], nodes: [n], parent: s });
    };
    if (total <= Math.min(MOST_BOXES, BUNDLE_FROM)) {
      plain(closed, direct[s]);
    } else {
      const count = closed.length + direct[s].length;
      const runs = new Map();
      const single = [];
      for (const c of closed) {
        const run = S.alike[c];
        if (run < 0 || unbundled.has(`b${run}`)) single.push(c);
        else if (runs.has(run)) runs.get(run).push(c);
        else runs.set(run, [c]);
      }
      for (const [run, members] of runs) {
        if (members.length >= LEAST_ALIKE) {
          made.push({ kind: "bundle", id: `b${run}`, key: `b${run}`, scopes: members, nodes: [], parent: s });
        } else single.push(...members);
      }
      plain(single, []);
      const same = new Map();
      for (const n of direct[s]) {
        const key = `m${s}_${N.type[n]}_${N.device[n]}`;
        if (!same.has(key)) same.set(key, []);
        same.get(key).push(n);
      }
      for (const [key, nodes] of same) {
        if (nodes.length >= LEAST_ALIKE && !unbundled.has(key)) {
          made.push({ kind: "bundle", id: `m${nodes[0]}`, key, scopes: [], nodes, parent: s });
        } else plain([], nodes);
      }
      const least = stayIn.size ? stayIn.get(s) ?? 1 : fair;
      const room = Math.max(least, MOST_BOXES - (total - count));
      if (made.length > room) {
        made.sort((a, b) => Number(stay.has(b.id)) - Number(stay.has(a.id)));
        const rest = made.splice(room - 1);
        const all = { scopes: rest.flatMap((box) => box.scopes), nodes: rest.flatMap((box) => box.nodes) };
        made.push({ kind: "bundle", id: `r${s}`, key: "", rest: true, parent: s, ...all });
      }
      total -= count - made.length;
    }
    boxes.push(...made);
  }
  const ofScope = new Int32Array(S.name.length).fill(-1);
  const boxOf = new Int32Array(COUNT).fill(-1);
  boxes.forEach((box, b) => {
    for (const c of box.scopes) ofScope[c] = b;
    for (const n of box.nodes) boxOf[n] = b;
  });
  const slots = DATA.devices.length;
  const shares = boxes.map(() => new Int32Array(slots));
  const strips = boxes.map(() => [0, 1, 2].map(() => new Int32Array(slots)));
  for (const box of boxes) Object.assign(box, { unmet: 0, guilty: 0, count: 0, trains: true, requests: new Set() });
  for (let n = 0; n < COUNT; n += 1) {
    if (boxOf[n] < 0) boxOf[n] = ofScope[shown[N.scope[n]]];
    const box = boxes[boxOf[n]];
    box.count += 1;
    box.trains &&= trains(n);
    const device = N.device[n] < 0 ? slots - 1 : N.device[n];
    shares[boxOf[n]][device] += 1;
    strips[boxOf[n]][stripOf(n)][device] += 1;
    if (unmet.has(n)) box.unmet += 1;
    if (guilty.has(n)) box.guilty += 1;
    if (requestOf(n) && box.requests.size < 6) box.requests.add(requestOf(n));
  }
  const told = copiesOf(boxes, boxOf);
  boxes.forEach((box, b) => {
    box.copies = told[b];
    const sorted = (counts) => [...counts].map((n, d) => [d, n]).filter(([, n]) => n).sort((x, y) => y[1] - x[1]);
    box.shares = sorted(shares[b]);
    box.strips = strips[b].map(sorted).filter((strip) => strip.length);
  });
  return { boxes, boxOf, open };
}

/** [boxes] the copies that come from other boxes, and those that go to others, as sets of numbers. */
function copiesOf(boxes, boxOf) {
  const found = boxes.map(() => ({ received: new Set(), sent: new Set() }));
  for (const [e, copy] of copyAt) {
    const [a, b] = [boxOf[E.src[e]], boxOf[E.dst[e]]];
    if (a === b) continue;
    found[a].sent.add(copy);
    found[b].received.add(copy);
  }
  return found;
}

const isLayer = (box) => box.kind === "scope" && layers.has(box.scopes[0]);
/** Whether two boxes lie in one layer. */
const isWithin = (a, b) => a.parent === b.parent && a.parent > 0 && !(isLayer(a) && isLayer(b));

/** Whether a scope lies in no layer, as the whole does and what averages the gradients of all. */
const isOutside = (s) => !s || (!layers.has(s) && isOutside(S.parent[s]));

/**
 * 1 where the end of a line stands below its start, -1 where it stands above, 0 where either may be: gradients and updates
 * stand below their layers, in one scope or outside of all; what only gradients lead to (not `isOnWay`) stands below them.
 */
function rankOf(a, b, isFlow, isOnWay) {
  if (isFlow || !(isOnWay(b.id) || b.trains)) return 1;
  const isApart = (a.trains && isOutside(a.parent)) || (b.trains && isOutside(b.parent));
  if (!(a.trains || b.trains) || !(a.parent === b.parent || isApart)) return 0;
  return a.trains && !b.trains ? -1 : 1;
}

/**
 * Edges between boxes, those of one pair together.
 *
 * @param backward whether lines of gradients and updates are drawn between the layers of a model, too.
 */
export function linksOf(boxes, boxOf, backward) {
  const found = new Map();
  const onWay = new Set(); // boxes that the forward flow comes to or from
  for (let e = 0; e < E.src.length; e += 1) {
    const [a, b] = [boxOf[E.src[e]], boxOf[E.dst[e]]];
    if (a !== b && !isAside(e)) onWay.add(boxes[a].id).add(boxes[b].id);
    if (a === b || shelfOf[N.scope[E.src[e]]] !== shelfOf[N.scope[E.dst[e]]]) continue;
    const isFlow = !isAside(e);
    if (!isFlow && !backward && !copyAt.has(e) && !isWithin(boxes[a], boxes[b])) continue;
    const key = a * boxes.length + b;
    let link = found.get(key);
    if (!link) {
      found.set(
        key,
        link = { src: boxes[a].id, dst: boxes[b].id, tensors: 0, controls: 0, sent: new Set(), edges: [], isFlow },
      );
    }
    link.isFlow ||= isFlow;
    if (E.output[e] < 0) link.controls += 1;
    else link.tensors += 1;
    if (copyAt.has(e)) link.sent.add(copyAt.get(e));
    if (link.edges.length < 2) link.edges.push(e);
  }
  const byId = new Map(boxes.map((box) => [box.id, box]));
  return [...found.values()].map((link) => ({
    ...link,
    rank: rankOf(byId.get(link.src), byId.get(link.dst), link.isFlow, (id) => onWay.has(id)),
  }));
}
