// The page's picture as SVG: boxes, frames and lines where layout.js puts them. It is drawn for the light theme, and the
// style sheet turns its colours into those of the page, as with the explorer's pictures.

import { place } from "gpuplace/layout.js";
import { boxesOf, linksOf } from "gpuplace/page/boxes.js";
import { tintOf, tintsOf } from "gpuplace/page/colours.js";
import { children, direct, inside, lookOf, paths, S } from "gpuplace/page/columns.js";
import { bandsOf, lineSvg, wiresOf } from "gpuplace/page/lines.js";
import { escaped, rounded, widthOf } from "gpuplace/page/svg.js";
import { BAR, lineHeight, linesOf, tipOf } from "gpuplace/page/words.js";
import { RULES } from "gpuplace/rules.js";
import { counted, shortened, words } from "gpuplace/text.js";

const { font: FONT, scope: SCOPE_SIZE, scope_letters: SCOPE_LETTERS } = RULES.text;
const { frame: FRAME, faint: FAINT, alarm: ALARM, scope: SCOPE_FILL } = RULES.colours.themes.light;
const PAPER = RULES.colours.paper;
const BOX = RULES.box;
const BAR_WIDTH = 96;
const INSET = BOX.inset / 2;

function outline(x, y, w, h, corners, attributes) {
  if (corners === "round") return `<path ${attributes} d="${rounded(x, y, w, h, Math.min(BOX.radius, h / 3))}"/>`;
  const c = corners === "cut" ? BOX.radius - 1 : 0;
  const points = [
    [x + c, y],
    [x + w - c, y],
    [x + w, y + c],
    [x + w, y + h - c],
    [x + w - c, y + h],
    [x + c, y + h],
    [x, y + h - c],
    [x, y + c],
  ];
  return `<polygon ${attributes} points="${points.map((p) => p.join(",")).join(" ")}"/>`;
}

/** Fill, corners and number of outlines. */
function lookOfBox(box) {
  if (box.kind !== "op") return { corners: "round", fill: PAPER, outlines: box.kind === "bundle" ? 2 : 1 };
  const { corners, outlines } = lookOf(box.nodes[0]);
  return { corners, outlines, fill: tintOf(box.nodes[0]).fill };
}

function boxSvg({ box, lines, x, y, w, h }) {
  const isOp = box.kind === "op";
  const isUnmet = isOp && box.unmet > 0;
  const look = lookOfBox(box);
  const marks = { unmet: box.unmet, guilty: box.guilty, blank: isOp && look.fill === PAPER };
  const classes = ["node", box.kind, ...Object.keys(marks).filter((name) => marks[name])].join(" ");
  const stroke = box.guilty || isUnmet ? ALARM : FRAME;
  const pen = box.guilty ? BOX.guilty_pen : isUnmet ? BOX.unmet_pen : isOp ? BOX.pen : BOX.folded_pen;
  const dash = isUnmet ? ` stroke-dasharray="${BOX.unmet_dash}"` : "";
  const parts = [];
  for (let k = 0; k < look.outlines; k += 1) {
    const inset = INSET * k;
    const attributes = `fill="${look.fill}" stroke="${stroke}" stroke-width="${pen}"${dash}`;
    parts.push(outline(x + inset, y + inset, w - 2 * inset, h - 2 * inset, look.corners, attributes));
  }
  let top = y + BOX.pad_y + INSET * (look.outlines - 1);
  for (const line of lines) {
    if (line[0] === BAR) {
      parts.push(barSvg(box, x + (w - BAR_WIDTH) / 2, top));
    } else {
      const [text, size, fill, isBold] = line;
      const weight = isBold ? ' font-weight="bold"' : "";
      const where = `text-anchor="middle" x="${x + w / 2}" y="${top + size}" font-size="${size}"`;
      parts.push(`<text ${where}${weight} fill="${fill}">${escaped(text)}</text>`);
    }
    top += lineHeight(line);
  }
  const tip = escaped(tipOf(box));
  return `<g id="${box.id}" class="${classes}"><title>${box.id}</title><g><a xlink:title="${tip}">${
    parts.join("")
  }</a></g></g>`;
}

/** Shares of a folded box, as wide as they are large. */
function barSvg(box, left, top) {
  let at = left;
  return tintsOf(box).map(([tint, n]) => {
    const wide = (BAR_WIDTH * n) / box.count;
    const edge = tint.fill === PAPER ? ` stroke="${FRAME}" stroke-width="0.6"` : "";
    const part = `<rect x="${at}" y="${top + 1}" width="${
      Math.max(2, wide)
    }" height="${BOX.bar}" fill="${tint.fill}"${edge}/>`;
    at += wide;
    return part;
  }).join("");
}

function frameSvg({ scope, x, y, w, h }) {
  const tip = words("scope_tip", { scope: paths[scope], nodes: counted(inside[scope], "node") });
  const name = escaped(shortened(S.name[scope], SCOPE_LETTERS));
  const where = `x="${x + 10}" y="${y + 15}" font-size="${SCOPE_SIZE}" font-weight="bold"`;
  return (
    `<g id="c${scope}" class="cluster open"><title>cluster_${scope}</title><g><a xlink:title="${escaped(tip)}">` +
    `<path fill="${SCOPE_FILL}" stroke="${FRAME}" stroke-width="0.8" d="${rounded(x, y, w, h, BOX.radius)}"/>` +
    `<text ${where} fill="${FAINT}">${name}</text></a></g></g>`
  );
}

/** A box with its size, for the layout. */
function itemOf(box) {
  const lines = linesOf(box);
  const widths = lines.map(([text, size, , isBold]) => (text === BAR ? BAR_WIDTH : widthOf(text, size, isBold)));
  const grow = 2 * INSET * (lookOfBox(box).outlines - 1);
  return {
    id: box.id,
    box,
    lines,
    w: Math.ceil(Math.max(...widths) + 2 * BOX.pad_x + grow),
    h: lines.reduce((sum, line) => sum + lineHeight(line), 2 * BOX.pad_y + grow),
  };
}

/** The first node inside a scope, at any depth. */
function firstIn(scope) {
  return direct[scope][0] ?? (children[scope].length ? firstIn(children[scope][0]) : -1);
}

/**
 * The picture for the open scopes and bundles, and what is where in it.
 *
 * @param wanted what `place` takes: the size to fill, and the drawing before; `stay`, boxes that are not to go.
 */
export function drawing(opened, unbundled, wanted) {
  const { boxes, boxOf, open } = boxesOf(opened, unbundled, wanted.stay);
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const frames = new Map(open.map((s) => [s, { id: `c${s}`, scope: s, label: S.name[s], items: [] }]));
  const items = new Map();
  for (const box of boxes) {
    const item = itemOf(box);
    items.set(box.id, item);
    frames.get(box.parent).items.push(item);
  }
  for (const s of [...open].reverse()) {
    if (s && frames.get(s).items.length) frames.get(S.parent[s]).items.unshift(frames.get(s));
  }
  const root = frames.get(0);
  const at = new Map(items);
  for (const frame of frames.values()) at.set(frame.id, frame);
  const links = linksOf(boxes, boxOf);
  const placed = place(root, links.map((link) => [link.src, link.dst]), wanted);
  const parts = [];
  for (const s of open) if (s && frames.get(s).items.length) parts.push(frameSvg(frames.get(s)));
  const labels = [...items.values()].map(({ x, y, w, h }) => ({ x, y, w, h }));
  const wires = wiresOf(links, placed.routes);
  const rows = bandsOf(wires);
  for (const wire of wires) parts.push(lineSvg(wire, labels, rows));
  for (const item of items.values()) parts.push(boxSvg(item));
  const [w, h] = [Math.max(root.w, 80), Math.max(root.h, 60)];
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 ${w} ${h}"` +
    ` font-family="${FONT}"><g class="graph">${parts.join("")}</g></svg>`;
  /** What stood here for a box or frame of another drawing: itself, or what its first node was in. */
  const nameOf = (id) => {
    if (at.has(id)) return id;
    const n = Number(id.slice(1));
    const other = { c: `s${n}`, s: `c${n}` }[id[0]];
    if (at.has(other)) return other;
    const first = id[0] === "n" ? n : id[0] === "s" || id[0] === "c" ? firstIn(n) : -1;
    return first < 0 ? id : boxes[boxOf[first]].id;
  };
  return { svg, boxes, boxOf, byId, items, frames, wires, placed, nameOf, w, h };
}
