// What boxes and lines of the page's picture say, as gpuplace/views/picture/sheet.py does.

import { BAR } from "gpuplace/drawing/faces.js";
import { colour, nodesOf, saidOf, stripsOf, tintOf, tintsOf, tintText, totalOf } from "gpuplace/page/colours.js";
import {
  added,
  DATA,
  E,
  guilty,
  localName,
  lookOf,
  nameOf,
  paths,
  requestOf,
  S,
  typeOf,
  unmet,
} from "gpuplace/page/columns.js";
import { RULES } from "gpuplace/rules.js";
import {
  bytesText,
  counted,
  grouped,
  nameLines,
  percentText,
  shortened,
  sizesText,
  timeText,
  words,
} from "gpuplace/text.js";

const { ink: INK, alarm: ALARM, faint: FAINT, copy: COPY } = RULES.colours.themes.light;
const { costs } = DATA;
const stepSeconds = costs ? costs.seconds.reduce((sum, seconds) => sum + seconds, 0) : 0;
const variableBytes = new Map(costs?.variables);
const differs = new Map(S.differs);
const contents = new Map(S.contents); // of a tower its layers
const { title: TITLE, small: SMALL, name_letters: LETTERS } = RULES.text;

/**
 * `[text, size, colour, is bold]`, or `[BAR, strip]`.
 *
 * @returns {any[][]}
 */
export function linesOf(box) {
  if (box.kind === "op") {
    const n = box.nodes[0];
    const request = requestOf(n);
    const ink = tintOf(n).ink ?? INK;
    const lines = [
      [shortened(localName(n), LETTERS), TITLE, ink, true],
      [`${shortened(typeOf(n), LETTERS)} · ${lookOf(n).label}`, SMALL, ink],
    ];
    if (saidOf(n)) lines.push([saidOf(n), SMALL, ink]);
    if (request) {
      lines.push([words(unmet.has(n) ? "asked_unmet" : "asked", { request: shortened(request, LETTERS) }), SMALL, ink]);
    }
    if (guilty.has(n)) lines.push([words("guilty"), SMALL, ink, true]);
    return lines;
  }
  /** @type {any[][]} */
  const lines = nameLines(`▸ ${labelOf(box)}`).map((name) => [name, TITLE, INK, true]);
  const isPlain = box.lane !== undefined && !colour; // its lane shows the device
  if (!isPlain) stripsOf(box).forEach((_, strip) => lines.push([BAR, strip]));
  const total = totalOf(box);
  const tints = tintsOf(box);
  const first = S.hasRoom ? tints.length : 1; // a narrow box has a line for what is elsewhere
  const isListed = !total && !isPlain;
  const shown = tints.slice(0, first);
  const counts = isPlain ? shareText(box) : S.hasRoom ? `${tintText(shown)} ${nodesWord(shown)}` : tintText(shown);
  lines.push([total ? words("in_all", { total }) : counts, SMALL, INK]);
  if (isListed && tints.length > first) lines.push([tintText(tints.slice(first), 1), SMALL, FAINT]);
  if (box.kind === "scope" && box.lane === undefined) {
    for (const text of contents.get(box.scopes[0]) ?? []) lines.push([text, SMALL, FAINT]);
  }
  const cost = costText(box);
  if (cost) lines.push([cost, SMALL, INK]);
  if (box.lane === undefined) { for (const [text] of copyTexts(box)) lines.push([text, SMALL, COPY]); }
  if (box.unmet) lines.push([words("unmet_inside", { number: grouped(box.unmet) }), SMALL, ALARM]);
  if (differsText(box)) {
    lines.push([S.hasRoom ? words("differs_text", { text: differsText(box) }) : words("differs"), SMALL, ALARM]);
  }
  if (box.guilty) lines.push([words("guilty_inside", { number: grouped(box.guilty) }), SMALL, ALARM]);
  return lines;
}

/** `[text of a box, sentence]` for copies in and copies out, each where there are any. */
function copyTexts({ copies }) {
  const found = [];
  for (const [set, isIn] of [[copies.received, true], [copies.sent, false]]) {
    if (!set.size) continue;
    const rows = [...set].map((copy) => DATA.copyRows[copy]);
    const copied = rows.reduce((sum, row) => sum + row[4], 0);
    const all = { copies: counted(copied, "copy", "copies"), size: sizesText(rows) };
    const [first, more] = all.size.split(" and "); // a box is narrow
    const short = { number: grouped(copied), size: `${first}${more ? " …" : ""}` };
    let text = isIn ? words("copies_in", short) : words("copies_out", short);
    if (all.size !== RULES.words.of_unknown_size) {
      const bytes = isIn ? words("bytes_in", short) : words("bytes_out", short);
      text = S.hasRoom ? `${text}, ${short.size}` : bytes;
    }
    found.push([text, isIn ? words("copies_in_tip", all) : words("copies_out_tip", all)]);
  }
  return found;
}

/** How a layer or tower differs from equal ones. */
export const differsText = (box) => (box.kind === "scope" ? differs.get(box.scopes[0]) ?? "" : "");

/** What a box takes of the predicted step: seconds, its part of those of all nodes, and bytes of variables. */
function costOf(box) {
  const found = { seconds: 0, share: 0, variables: 0 };
  for (const n of nodesOf(box)) {
    found.seconds += costs.seconds[n];
    found.variables += variableBytes.get(n) ?? 0;
  }
  found.share = stepSeconds ? found.seconds / stepSeconds : 0;
  return found;
}

function costText(box) {
  if (!costs) return "";
  const { share, variables } = costOf(box);
  return [
    share ? words("step_share", { share: percentText(share) }) : "",
    variables ? words("variable_bytes", { size: bytesText(variables) }) : "",
  ].filter(Boolean).join(" · ");
}

function costTip(box) {
  const { seconds, share, variables } = costOf(box);
  const told = { share: percentText(share), time: timeText(1e6 * seconds), variables: bytesText(variables) };
  return words("cost_tip", told);
}

/** The unit of a box's first line of counts. */
const nodesWord = (tints) => (tints.length === 1 && tints[0][1] === 1 ? "node" : "nodes");

function shareText({ of, count }) {
  if (of === undefined) return counted(count, "node");
  return words("share_of", { number: grouped(count), nodes: counted(of, "node") });
}

export function labelOf(box) {
  if (box.rest) return words("everything_else");
  if (box.kind === "scope") return S.name[box.scopes[0]];
  if (box.scopes.length) return `${S.name[box.scopes[0]]} … ${S.name[box.scopes.at(-1)]} × ${box.scopes.length}`;
  return box.nodes.length ? `${typeOf(box.nodes[0])} × ${box.nodes.length}` : "";
}

/** A scope's path; a shelf or a stretch has none of its own. */
export function fullNameOf(box) {
  return box.kind === "scope" && !added.has(box.scopes[0]) ? paths[box.scopes[0]] : labelOf(box);
}

export function tipOf(box) {
  if (box.kind === "op") {
    const n = box.nodes[0];
    const request = requestOf(n);
    const tip = [nameOf(n), `${typeOf(n)} on ${lookOf(n).name || words("no_device")}`];
    if (request) tip.push(words("asked_tip", { request }) + (unmet.has(n) ? words("unmet_tip") : ""));
    if (colour) tip.push(words("coloured_by", { title: colour.title, value: saidOf(n) || tintOf(n).label }));
    return tip.join("\n");
  }
  const name = fullNameOf(box);
  const shares = tintText(box.shares.map(([d, n]) => [DATA.devices[d], n]), 99);
  const told = [name, `${counted(box.count, "node")}: ${shares}`];
  if (differsText(box)) told.push(words("differs_tip", { text: differsText(box) }));
  if (costText(box)) told.push(costTip(box));
  told.push(...copyTexts(box).map(([, sentence]) => sentence));
  if (!box.rest) told.push(words("unfold_tip"));
  return told.join("\n");
}

/** A link with its name and its tensor, where it is one edge; see gpuplace/drawing/lines.js. */
export function named(link) {
  const [edge] = link.edges;
  const isSingle = link.tensors === 1 && link.edges.length === 1;
  return {
    ...link,
    name: link.tensors + link.controls === 1 ? edgeName(edge) : "",
    single: (isSingle ? DATA.edges.facts[E.fact[edge]]?.[0] : null) ?? null,
  };
}

/** The row of a copy, as `sizesText` takes it. */
export const copyRow = (copy) => DATA.copyRows[copy];

function edgeName(e) {
  const isControl = E.output[e] < 0;
  return `${isControl ? "^" : ""}${nameOf(E.src[e])}${isControl ? "" : `:${E.output[e]}`} → ${nameOf(E.dst[e])}`;
}
