// The page's picture as SVG: boxes, frames and lines where layout.js puts them. It is drawn for the light theme, and the
// style sheet turns its colours into those of the page, as with the explorer's pictures.

import { BAR, faceSvg, sizeOf } from "gpuplace/drawing/faces.js";
import { place } from "gpuplace/drawing/layout.js";
import { boxesOf, linksOf } from "gpuplace/page/boxes.js";
import { stripsOf, tintOf } from "gpuplace/page/colours.js";
import { added, children, direct, inside, lookOf, paths, S } from "gpuplace/page/columns.js";
import { wiresOf } from "gpuplace/page/lines.js";
import { linesOf, tipOf } from "gpuplace/page/words.js";
import { RULES } from "gpuplace/rules.js";
import { escaped, rounded, widthOf } from "gpuplace/drawing/svg.js";
import { counted, once, shortened, words } from "gpuplace/text.js";
import { wiresSvg } from "gpuplace/drawing/wires.js";

const { font: FONT, scope: SCOPE_SIZE, scope_letters: SCOPE_LETTERS } = RULES.text;
const { frame: FRAME, faint: FAINT, alarm: ALARM, scope: SCOPE_FILL } = RULES.colours.themes.light;
const towers = new Set(S.towers);
const PAPER = RULES.colours.paper;
const BOX = RULES.box;

/** Fill, corners and number of outlines. */
function lookOfBox(box) {
  if (box.kind !== "op") return { corners: "round", fill: PAPER, outlines: box.kind === "bundle" ? 2 : 1 };
  const { corners, outlines } = lookOf(box.nodes[0]);
  return { corners, outlines, fill: tintOf(box.nodes[0]).fill };
}

/** What is seen of a box. */
export function faceOf(box) {
  const isOp = box.kind === "op";
  const isUnmet = isOp && box.unmet > 0;
  const look = lookOfBox(box);
  const marks = { unmet: box.unmet, guilty: box.guilty, blank: isOp && look.fill === PAPER };
  const lines = linesOf(box);
  return {
    ...look,
    id: box.id,
    kind: box.kind,
    isNarrow: !S.hasRoom && !isOp,
    classes: [box.kind, ...Object.keys(marks).filter((name) => marks[name])],
    lines,
    bars: lines.some(([text]) => text === BAR)
      ? stripsOf(box).map((strip) => strip.map(([tint, n]) => [tint.fill, n]))
      : [],
    stroke: box.guilty || isUnmet ? ALARM : FRAME,
    pen: box.guilty ? BOX.guilty_pen : isUnmet ? BOX.unmet_pen : isOp ? BOX.pen : BOX.folded_pen,
    dash: isUnmet,
    tip: tipOf(box),
  };
}

function frameSvg({ scope, x, y, w, h }) {
  const name = added.has(scope) ? S.name[scope] : paths[scope];
  const tip = words("scope_tip", { scope: name, nodes: counted(inside[scope], "node") });
  return (
    `<g id="c${scope}" class="cluster open"><title>cluster_${scope}</title><g><a xlink:title="${escaped(tip)}">` +
    `<path fill="${SCOPE_FILL}" stroke="${FRAME}" stroke-width="0.8" d="${
      rounded(x, y, w, h, BOX.radius)
    }"/></a></g></g>`
  );
}

/** Above the lines that go into the scope. */
function frameLabelSvg({ label, x, y }) {
  const where = `x="${x + 10}" y="${y + 15}" font-size="${SCOPE_SIZE}" font-weight="bold"` +
    ` class="halo" paint-order="stroke" stroke="${SCOPE_FILL}" stroke-width="3" stroke-linejoin="round"`;
  return `<g class="cluster-label" pointer-events="none"><text ${where} fill="${FAINT}">${escaped(label)}</text></g>`;
}

/** The first node inside a scope, at any depth. */
function firstIn(scope) {
  return direct[scope][0] ?? (children[scope].length ? firstIn(children[scope][0]) : -1);
}

/**
 * The picture for the open scopes and bundles, and what is where in it. What it looks like, `svg()`, is only written
 * when it is asked for: many are tried for their size alone.
 *
 * @param wanted what `place` takes: the size to fill, and the drawing before; `stay`, boxes that are not to go; `backward`,
 *   as of `linksOf`.
 */
export function drawing(opened, unbundled, wanted) {
  const { boxes, boxOf, open } = boxesOf(opened, unbundled, wanted.stay);
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const frames = new Map(open.map((s) => {
    const label = shortened(S.name[s], SCOPE_LETTERS);
    return [s, { id: `c${s}`, scope: s, first: s, label, least: widthOf(label, SCOPE_SIZE, true) + 20, items: [] }];
  }));
  const items = new Map();
  for (const box of boxes) {
    const face = faceOf(box);
    const isTower = box.kind === "scope" && towers.has(box.scopes[0]);
    const item = { id: box.id, face, isTower, first: box.scopes[0] ?? Infinity, ...sizeOf(face) };
    items.set(box.id, item);
    frames.get(box.parent).items.push(item);
  }
  for (const s of [...open].reverse()) {
    if (s && frames.get(s).items.length) frames.get(S.parent[s]).items.unshift(frames.get(s));
  }
  // In the order of the flow, whether open or closed: where lines go in a circle, it begins at the same place.
  for (const { items } of frames.values()) items.sort((a, b) => (a.first === b.first ? 0 : a.first - b.first));
  const root = frames.get(0);
  const at = new Map(items);
  for (const frame of frames.values()) at.set(frame.id, frame);
  const links = linksOf(boxes, boxOf, wanted.backward);
  const placed = place(root, links.map((link) => [link.src, link.dst, link.rank]), wanted);
  const [w, h] = [Math.max(root.w, 80), Math.max(root.h, 60)];
  const svg = once(() => {
    const parts = [];
    for (const s of open) if (s && frames.get(s).items.length) parts.push(frameSvg(frames.get(s)));
    const wires = wiresOf(links, placed.routes, (id) => byId.get(id).kind === "op");
    parts.push(wiresSvg(wires, [...items.values()], { w, h }));
    for (const s of open) if (s && frames.get(s).items.length) parts.push(frameLabelSvg(frames.get(s)));
    for (const item of items.values()) parts.push(faceSvg(item.face, item));
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 ${w} ${h}"` +
      ` font-family="${FONT}"><g class="graph">${parts.join("")}</g></svg>`
    );
  });
  /** What stood here for a box or frame of another drawing: itself, or what its first node was in. */
  const nameOf = (id) => {
    if (at.has(id)) return id;
    const n = Number(id.slice(1));
    const other = { c: `s${n}`, s: `c${n}` }[id[0]];
    if (at.has(other)) return other;
    const first = id[0] === "n" ? n : id[0] === "s" || id[0] === "c" ? firstIn(n) : -1;
    return first < 0 ? id : boxes[boxOf[first]].id;
  };
  return { svg, boxes, boxOf, byId, items, frames, placed, nameOf, w, h };
}
