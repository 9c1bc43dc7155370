// Lines of the page's picture: what several links go along is one.

import { together } from "gpuplace/page/boxes.js";
import { linkLook } from "gpuplace/page/words.js";
import { labelled, wireOf } from "gpuplace/drawing/wires.js";

/**
 * The lines of some links, each with what all that go along it carry. Folded boxes say what is copied, and lines between ops,
 * of which those with the same copies have one label.
 *
 * @param links from one box to another.
 * @param isOp whether a box with some id is an op.
 * @param routes the points of each, `{id, x, y}`; see layout.js.
 */
export function wiresOf(links, routes, isOp) {
  const along = new Map();
  routes.forEach((points, l) => {
    for (let i = 1; i < points.length; i += 1) {
      const key = `${points[i - 1].id}>${points[i].id}`;
      if (!along.has(key)) along.set(key, []);
      along.get(key).push(l);
    }
  });
  const texts = new Map([...along].map(([key, list]) => [key, list.join()]));
  const wires = new Map();
  for (const points of routes) {
    let first = 0;
    for (let i = 1; i < points.length; i += 1) {
      const here = `${points[i - 1].id}>${points[i].id}`;
      const next = i + 1 < points.length ? texts.get(`${points[i].id}>${points[i + 1].id}`) : "";
      if (next === texts.get(here)) continue;
      const key = `${points[first].id}|${here}`;
      if (!wires.has(key)) {
        const of = along.get(here).map((l) => links[l]);
        const all = of.length > 1 ? together(of) : of[0];
        const look = linkLook(all);
        wires.set(key, {
          title: titleOf(of),
          tells: [...all.sent].sort((a, b) => a - b).join(" "),
          look: of.some(({ src, dst }) => isOp(src) && isOp(dst)) ? look : { ...look, label: [] },
          points: points.slice(first, i + 1),
          isEnd: i === points.length - 1,
        });
      }
      first = i;
    }
  }
  return labelled([...wires.values()].map(wireOf));
}

const titleOf = (links) => links.map(({ src, dst }) => `${src}->${dst}`).join(" ");
