// The page's picture: the faces of its boxes, and the scene that nested.js draws.

import { BAR } from "gpuplace/drawing/faces.js";
import { nestedPicture } from "gpuplace/drawing/nested.js";
import { boxesOf, linksOf } from "gpuplace/page/boxes.js";
import { stripsOf, tintOf } from "gpuplace/page/colours.js";
import { added, children, direct, inside, lookOf, paths, S } from "gpuplace/page/columns.js";
import { copyRow, linesOf, named, tipOf } from "gpuplace/page/words.js";
import { RULES } from "gpuplace/rules.js";
import { counted, once, shortened, words } from "gpuplace/text.js";

const { scope_letters: SCOPE_LETTERS } = RULES.text;
const { frame: FRAME, alarm: ALARM } = RULES.colours.themes.light;
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

/** The first node inside a scope, at any depth. */
function firstIn(scope) {
  return direct[scope][0] ?? (children[scope].length ? firstIn(children[scope][0]) : -1);
}

/**
 * The picture for the open scopes and bundles, and what is where in it; see gpuplace/drawing/nested.js.
 *
 * @param wanted what `place` takes: the size to fill, and the drawing before; `stay`, boxes that are not to go; `backward`,
 *   as of `linksOf`.
 */
export function drawing(opened, unbundled, wanted) {
  const { boxes, boxOf, open } = boxesOf(opened, unbundled, wanted.stay);
  const links = linksOf(boxes, boxOf, wanted.backward);
  const scene = {
    boxes: boxes.map((box) => ({
      face: faceOf(box),
      frame: `c${box.parent}`,
      first: box.scopes[0],
      isTower: box.kind === "scope" && towers.has(box.scopes[0]),
    })),
    frames: open.filter((s) => s).map((s) => ({
      id: `c${s}`,
      frame: `c${S.parent[s]}`,
      first: s,
      label: shortened(S.name[s], SCOPE_LETTERS),
      tip: words("scope_tip", { scope: added.has(s) ? S.name[s] : paths[s], nodes: counted(inside[s], "node") }),
    })),
    links,
  };
  const picture = nestedPicture(scene, wanted);
  const { at } = picture;
  /** What stood here for a box or frame of another drawing: itself, or what its first node was in. */
  const nameOf = (id) => {
    if (at.has(id)) return id;
    const n = Number(id.slice(1));
    const other = { c: `s${n}`, s: `c${n}` }[id[0]];
    if (at.has(other)) return other;
    const first = id[0] === "n" ? n : id[0] === "s" || id[0] === "c" ? firstIn(n) : -1;
    return first < 0 ? id : boxes[boxOf[first]].id;
  };
  return {
    ...picture,
    svg: once(() => picture.svg(links.map(named), copyRow)),
    boxes,
    boxOf,
    byId: new Map(boxes.map((box) => [box.id, box])),
    nameOf,
  };
}
