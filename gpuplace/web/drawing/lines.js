// Lines of a picture: what several links go along is one. A link is {src, dst, tensors, controls, sent, name, single}: how
// many data and control edges it stands for, the numbers of the copies that are sent along it, and where there is but one
// edge or tensor its name and type.

import { labeled, wireOf } from "gpuplace/drawing/wires.js";
import { RULES } from "gpuplace/rules.js";
import { counted, sizesText, words } from "gpuplace/text.js";

const { copy_pen: COPY_PEN, tensor_pen: TENSOR_PEN, control_pen: CONTROL_PEN, most_wider: MOST_WIDER } = RULES.line;

/**
 * The lines of some links, each with what all that go along it carry. Folded boxes say what is copied, and lines between ops,
 * of which those with the same copies have one label.
 *
 * @param links from one box to another.
 * @param routes the points of each, `{id, x, y}`; see layout.js.
 * @param isOp whether a box with some id is an op.
 * @param copyRow the row of a copy, as `sizesText` takes it.
 */
export function wiresOf(links, routes, isOp, copyRow) {
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
        const look = linkLook(all, copyRow);
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
  return labeled([...wires.values()].map(wireOf));
}

const titleOf = (links) => links.map(({ src, dst }) => `${src}->${dst}`).join(" ");

/** What several links carry, as one. */
export function together(links) {
  const all = { tensors: 0, controls: 0, sent: new Set(), name: "", single: null };
  for (const link of links) {
    all.tensors += link.tensors;
    all.controls += link.controls;
    for (const copy of link.sent) all.sent.add(copy);
  }
  return all;
}

/** What the label and the tip of all edges between two boxes say, and how wide their line is. */
export function linkLook({ tensors, controls, sent, name, single }, copyRow) {
  const rows = [...sent].map(copyRow);
  const copies = rows.reduce((sum, row) => sum + row[4], 0);
  const sizes = copies ? sizesText(rows) : "";
  const size = sizes === RULES.words.of_unknown_size ? "" : sizes;
  const title = name || `${counted(tensors, "tensor")}, ${counted(controls, "control edge")}`;
  if (copies) {
    const what = copies === 1 && single ? single : counted(copies, "copy", "copies");
    const tip = `${title}\n${words("copied_tip", { what })}${size ? `, ${size}` : ""}`;
    return { kind: "copy", label: [what, size].filter(Boolean), tip, width: wider(COPY_PEN, copies) };
  }
  if (tensors) {
    const tip = `${title}\n${single ?? counted(tensors, "tensor")}`;
    return { kind: "", label: [], tip, width: wider(TENSOR_PEN, tensors) };
  }
  return { kind: "control", label: [], tip: `${title}\n${counted(controls, "control edge")}`, width: CONTROL_PEN };
}

const wider = (pen, number) => pen + Math.min(MOST_WIDER, Math.log10(number));
