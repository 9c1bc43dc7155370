// The picture of a graph: boxes, the frames of open scopes around them, and the lines between them, where layout.js puts
// them. It is drawn for the light theme, and the style sheet turns its colours into those of the page.
//
// A scene is {boxes, frames, links}: boxes are faces as faces.js has them, with `frame`, the id of the one that they lie in,
// `first`, which orders them, and `isTower`, for those that stand beside each other; frames are {id, frame, first, label, tip},
// the outer ones first, in the outermost, `ROOT`; links are what lines.js joins, with a `rank` as layout.js has it.

import { faceSvg, sizeOf } from "gpuplace/drawing/faces.js";
import { place } from "gpuplace/drawing/layout.js";
import { wiresOf } from "gpuplace/drawing/lines.js";
import { escaped, rounded, widthOf } from "gpuplace/drawing/svg.js";
import { wiresSvg } from "gpuplace/drawing/wires.js";
import { RULES } from "gpuplace/rules.js";

export const ROOT = "c0";
const { font: FONT, readable: READABLE, scope: SCOPE_SIZE, title: TITLE } = RULES.text;
const { frame: FRAME, faint: FAINT, scope: SCOPE_FILL } = RULES.colours.themes.light;
// Parts of a canvas' width and height that a picture is laid out for, until it fits.
const SHARES = [[1, 1], [1, 0.75], [1, 0.55], [0.75, 1], [0.5, 1], [0.6, 0.6], [0.35, 1], [0.35, 0.5]];
const NAME_INSET = 10; // of a frame's name
const SCALE = (1.003 * READABLE) / TITLE; // pixels to a unit in which names can be read

/**
 * The picture of a scene, and what is where in it. What it looks like, `svg(links, copyRow)` as of lines.js, is only written
 * when it is asked for: many are tried for their size alone.
 *
 * @param wanted what `place` takes: the size to fill, and the drawing before.
 */
export function nestedPicture({ boxes, frames, links }, wanted) {
  const root = { id: ROOT, first: -1, items: [] };
  const at = new Map([[ROOT, root]]);
  for (const { id, first, label, tip } of frames) {
    at.set(id, { id, first, label, tip, least: widthOf(label, SCOPE_SIZE, true) + 2 * NAME_INSET, items: [] });
  }
  const items = new Map();
  for (const { frame, first, isTower, face } of boxes) {
    const item = { id: face.id, face, isTower, first: first ?? Infinity, ...sizeOf(face) };
    items.set(item.id, item);
    at.get(frame).items.push(item);
  }
  for (const { id, frame } of [...frames].reverse()) {
    if (at.get(id).items.length) at.get(frame).items.unshift(at.get(id));
  }
  // In the order of the flow, whether open or closed: where lines go in a circle, it begins at the same place.
  for (const { items } of at.values()) items?.sort((a, b) => (a.first === b.first ? 0 : a.first - b.first));
  const placed = place(root, links.map(({ src, dst, rank }) => [src, dst, rank]), wanted);
  const [w, h] = [Math.max(root.w, 80), Math.max(root.h, 60)];
  const drawn = frames.map(({ id }) => at.get(id)).filter((frame) => frame.items.length);
  const svg = (carried, copyRow) => {
    const wires = wiresOf(carried, placed.routes, (id) => items.get(id).face.kind === "op", copyRow);
    const parts = [
      ...drawn.map(frameSvg),
      wiresSvg(wires, [...items.values(), ...drawn.map(nameOf)], { w, h }),
      ...drawn.map(frameLabelSvg),
      ...[...items.values()].map((item) => faceSvg(item.face, item)),
    ];
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 ${w} ${h}"` +
      ` font-family="${FONT}"><g class="graph">${parts.join("")}</g></svg>`
    );
  };
  for (const [id, item] of items) at.set(id, item);
  return { svg, at, placed, w, h };
}

function frameSvg({ id, tip, x, y, w, h }) {
  return (
    `<g id="${id}" class="cluster open"><title>${id}</title><g><a xlink:title="${escaped(tip)}">` +
    `<path fill="${SCOPE_FILL}" stroke="${FRAME}" stroke-width="0.8" d="${
      rounded(x, y, w, h, RULES.box.radius)
    }"/></a></g></g>`
  );
}

/** Where the name of a frame is: beside the lines that go into the scope. */
function nameOf({ least, x, y, w, isNameRight }) {
  const wide = least - 2 * NAME_INSET;
  return { x: isNameRight ? x + w - NAME_INSET - wide : x + NAME_INSET, y: y + 3, w: wide, h: SCOPE_SIZE + 4 };
}

function frameLabelSvg({ label, x, y, w, isNameRight }) {
  const anchor = isNameRight ? `text-anchor="end" x="${x + w - NAME_INSET}"` : `x="${x + NAME_INSET}"`;
  const where = `${anchor} y="${y + 15}" font-size="${SCOPE_SIZE}" font-weight="bold"` +
    ` class="halo" paint-order="stroke" stroke="${SCOPE_FILL}" stroke-width="3" stroke-linejoin="round"`;
  return `<g class="cluster-label" pointer-events="none"><text ${where} fill="${FAINT}">${escaped(label)}</text></g>`;
}

/**
 * The first of some pictures for a canvas whose names can be read on all of it, or else the one that can be read best.
 * A frame does not know what stands around it: one that comes out too large is wrapped for less width or height.
 *
 * @param draw the picture, with its width and height `w` and `h`, for the size that it should fill.
 */
export function fitted(draw, { width, height }) {
  let best = null;
  for (const [across, down] of SHARES) {
    const size = { width: across * width, height: down * height };
    const drawn = draw(size);
    const scale = Math.min(width / drawn.w, height / drawn.h);
    if (!best || scale > best.scale) best = { drawn, size, scale, isSmall: scale >= SCALE };
    if (best.isSmall) break;
  }
  return best;
}
