// The card about an op or a folded box: what it is, where, why, and what is next to it; see
// gpuplace/jupyter/explorer/details.py for the explorer's.

import {
  attrsOf,
  callsOf,
  DATA,
  E,
  groupOf,
  incoming,
  lookNamed,
  lookOf,
  N,
  nameOf,
  outgoing,
  paths,
  requestOf,
  sourceOf,
  typeOf,
  unmet,
} from "gpuplace/page/columns.js";
import { fullNameOf } from "gpuplace/page/words.js";
import { RULES } from "gpuplace/rules.js";
import { counted, grouped, words } from "gpuplace/text.js";

const NEIGHBORS = RULES.folding.neighbors;

/** A text of a reason, with the node's name and its scope's where marks stand; see gpuplace/views/page/reasons.py. */
function unmarked(text, n) {
  const scope = paths[N.scope[n]];
  const own = nameOf(n);
  const above = own === scope ? own.slice(0, Math.max(0, own.lastIndexOf("/"))) : scope;
  return text.replaceAll("\x02", own).replaceAll("\x01", `${above}/`);
}

function reasonOf(n) {
  const reasons = DATA.reasons;
  if (!reasons) return null;
  const [steps, remedies, ties, because, heldBy, refused, made] = reasons.records[reasons.of[n]];
  const text = (i) => unmarked(reasons.strings[i], n);
  return {
    steps: steps.map((i) => {
      const [rule, note, after] = reasons.steps[i];
      return { rule: text(rule), note: text(note), after: after.slice(0, NEIGHBORS).map((d) => lookNamed(text(d))) };
    }),
    remedies: remedies.map(([kind, told]) => [text(kind), text(told)]),
    ties: ties.map(text),
    because: text(because),
    heldBy: text(heldBy),
    refused: text(refused),
    made: text(made),
  };
}
const unique = (list) => [...new Set(list)];

export function cardOf(n) {
  const reason = reasonOf(n);
  const inputs = unique(incoming.of(n).map((e) => E.src[e]));
  const outputs = unique(outgoing.of(n).map((e) => E.dst[e]));
  const group = groupOf.has(n) ? DATA.groups[groupOf.get(n)] : null;
  const scope = N.scope[n];
  const steps = reason?.steps ?? [];
  if (reason?.refused) steps.push({ rule: "refused", note: reason.refused, after: [] });
  return {
    name: nameOf(n),
    kind: typeOf(n) + (reason?.made ? `, derived from ${reason.made}` : ""),
    devices: [{ ...lookOf(n), text: lookOf(n).label }],
    requested: requestOf(n),
    met: requestOf(n) ? N.device[n] >= 0 && !unmet.has(n) : null,
    source: sourceOf(n),
    attrs: attrsOf(n),
    calls: callsOf(n),
    reason: reason ? "" : words("card_logged"),
    steps,
    remedies: reason?.remedies ?? [],
    group: group ? group[0].filter((m) => m !== n).slice(0, NEIGHBORS).map(nameOf) : [],
    rule: DATA.verdicts ? DATA.verdicts.rules[DATA.verdicts.rule[n]] : "",
    decided_by: DATA.verdicts ? nameOf(DATA.verdicts.culprit[n]) : "",
    because: reason?.because ?? "",
    held_by: reason?.heldBy ?? "",
    terms: DATA.verdicts?.terms ?? {},
    inputs: inputs.slice(0, NEIGHBORS).map(nameOf),
    more_inputs: Math.max(0, inputs.length - NEIGHBORS),
    outputs: outputs.slice(0, NEIGHBORS).map(nameOf),
    more_outputs: Math.max(0, outputs.length - NEIGHBORS),
    toggle: scope ? `c${scope}` : "",
    toggle_text: scope ? words("fold", { scope: paths[scope] }) : "",
  };
}

function kindOf(box) {
  if (box.kind === "scope") return words("card_scope");
  if (box.rest) return words("card_rest");
  return box.scopes.length ? words("card_scopes", { number: box.scopes.length }) : words("card_ops");
}

export function boxCard(box) {
  const asked = box.requests.size
    ? words("card_asked", { requests: [...box.requests].join(", ") })
    : words("card_nothing_asked");
  const unmetText = box.unmet ? "; " + words("card_unmet", { requests: counted(box.unmet, "request") }) : "";
  return {
    name: fullNameOf(box),
    kind: `${kindOf(box)}, ${counted(box.count, "node")}`,
    devices: box.shares.map(([d, n]) => ({ ...DATA.devices[d], text: `${DATA.devices[d].label}: ${grouped(n)}` })),
    requested: "",
    met: null,
    source: "",
    steps: [],
    remedies: [],
    group: [],
    rule: "",
    decided_by: "",
    reason: asked + unmetText,
    inputs: [],
    more_inputs: 0,
    outputs: [],
    more_outputs: 0,
    toggle: box.rest ? "" : box.id,
    toggle_text: words("unfold"),
  };
}
