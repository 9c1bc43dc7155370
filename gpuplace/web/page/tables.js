// The tables of the report page, in tabs: nodes, copies, moves, causes, groups, devices, errors and the log.

import { element } from "gpuplace/dom.js";
import { bigTable, drawAll } from "gpuplace/page/big_table.js";
import { valueText } from "gpuplace/page/colours.js";
import {
  COUNT,
  DATA,
  E,
  lookNamed,
  lookOf,
  N,
  nameOf,
  nodeAt,
  requestOf,
  sourceOf,
  typeOf,
  unmet,
} from "gpuplace/page/columns.js";
import { RULES } from "gpuplace/rules.js";
import { counted, grouped, sizeText, words } from "gpuplace/text.js";

/** `{title, content, shown()}` of each tab. */
function panelsOf(model) {
  const panels = [];
  const panel = (title, count, content, shown = () => {}) =>
    panels.push({ title: count === null ? title : `${title} (${count})`, content, shown });
  const table = (columns, rows, options) => bigTable(model, columns, rows, options);
  /** @param {any} [more] total and what `bigTable` takes. */
  const tablePanel = (title, columns, rows, node, more = {}) => {
    const total = more.total ?? rows.length;
    if (!rows.length) return;
    const count = total === rows.length ? grouped(total) : `first ${grouped(rows.length)} of ${grouped(total)}`;
    panel(title, count, table(columns, rows, { caption: title, node, ...more }));
  };

  if (DATA.errors.length) panel("Errors", null, element("div", {}, ...DATA.errors.map(errorBlock)));
  const all = Array.from({ length: COUNT }, (_, n) => n);
  tablePanel("Nodes", nodeColumns(), all, (n) => n, { isLit: (n, lit) => lit.nodes[n] });
  const copies = DATA.copyRows.map((_, c) => c);
  tablePanel("Copies", COPY_COLUMNS, copies, (c) => consumersOf[c][0] ?? DATA.copyRows[c][0], {
    isLit: (c, lit) => edgesOf[c].some((e) => lit.edges[e]),
  });
  if (DATA.moves) {
    const { rows, total } = DATA.moves;
    tablePanel("Moves", MOVE_COLUMNS, rows, (row) => row[0], { total, note: `there: ${DATA.against}` });
    if (!rows.length) panel("Moves", 0, element("p", {}, `No node moves on ${DATA.against}.`));
  }
  tablePanel("Why not on a GPU", CAUSE_COLUMNS, DATA.blame, (row) => nodeAt(row[5]));
  tablePanel("Groups", GROUP_COLUMNS, DATA.groups, (row) => row[2], { total: DATA.groupCount });
  tablePanel("Not understood", TEXT_COLUMNS, DATA.unparsed, () => -1, { total: DATA.unparsedCount });
  const devices = DATA.devices.filter((look) => look.nodes || look.name);
  const below = [table(DEVICE_COLUMNS, devices, { caption: "Devices" })];
  if (DATA.mapping.length) {
    const caption = "GPUs of the machine";
    below.push(
      element("h3", {}, "From the machine's GPUs to devices"),
      table(mappingColumns(), DATA.mapping, { caption }),
    );
  }
  panel("Devices", devices.length, element("div", {}, ...below));
  if (DATA.log.lines.length) {
    const log = element("pre", { class: "gp-log", tabindex: "0", "aria-label": "Log" });
    panel("Log", null, log, () => (log.textContent ||= logText()));
  }
  return panels;
}

function errorBlock(error) {
  const lines = (text) => text.split("\n").flatMap((line, i) => (i ? [element("br"), line] : [line]));
  const rows = error.facts.map(([label, text]) =>
    element("tr", {}, element("th", { scope: "row" }, label), element("td", {}, ...lines(text)))
  );
  return element(
    "div",
    { class: "gp-error", role: "alert" },
    element("p", {}, element("b", {}, error.kind), ": ", ...lines(error.message)),
    element("table", {}, element("tbody", {}, ...rows)),
  );
}

const askedOf = (n) => (requestOf(n) ? (unmet.has(n) ? "≠ " : "") + requestOf(n) : "");

function nodeColumns() {
  const of = [nameOf, typeOf, askedOf, lookOf];
  const widths = [40, 16, 22, 12];
  /** @type {any[]} */
  const columns = RULES.tables.nodes.map((title, c) => ({ title, of: of[c], width: widths[c] }));
  if (DATA.sources.of.length) {
    columns.push({ title: "created at", of: (n) => sourceOf(n).replace(/^.*[/\\]/, ""), whole: sourceOf, width: 16 });
  }
  for (const { name, values, unit } of DATA.colours.filter((found) => found.values && found.measured)) {
    const told = (n) => (values[n] === null ? "" : valueText(values[n], unit));
    columns.push({ title: name, of: told, width: 9, number: (n) => values[n] ?? -1 });
  }
  return columns;
}

/** For each copy the edges whose tensor it brings, and the nodes that take it: none of a fetch. */
const edgesOf = DATA.copyRows.map(() => []);
DATA.copies.forEach((e, i) => edgesOf[DATA.copyOf[i]].push(e));
const consumersOf = edgesOf.map((edges) => edges.map((e) => E.dst[e]));
const deviceAt = (c, end) => DATA.devices[DATA.copyRows[c][end]];
function targetOf(c) {
  const names = consumersOf[c].map(nameOf);
  if (!names.length) return words("copy_fetch");
  return names[0] + (names.length > 1 ? words("copy_more", { number: grouped(names.length - 1) }) : "");
}
const COPY_COLUMNS = [
  { title: "tensor", of: (c) => `${nameOf(DATA.copyRows[c][0])}:${DATA.copyRows[c][1]}`, width: 32 },
  { title: "consumer", of: targetOf, whole: (c) => consumersOf[c].map(nameOf).join("\n"), width: 32 },
  { title: "from", of: (c) => deviceAt(c, 2), width: 9 },
  { title: "to", of: (c) => deviceAt(c, 3), width: 9 },
  { title: "type", of: (c) => DATA.copyRows[c][5], width: 10 },
  {
    title: "size",
    of: (c) => {
      const [, , , , runs, , size, example] = DATA.copyRows[c];
      return sizeText(size, example) + (runs === 1 ? "" : words("copy_runs", { number: grouped(runs) }));
    },
    width: 8,
    number: (c) => DATA.copyRows[c][6] ?? DATA.copyRows[c][7] ?? -1,
  },
];

const MOVE_COLUMNS = [
  { title: "node", of: (row) => nameOf(row[0]), width: 36 },
  { title: "here", of: (row) => DATA.moves.devices[row[1]], width: 10 },
  { title: "there", of: (row) => DATA.moves.devices[row[2]], width: 12 },
  { title: "cause", of: (row) => row[3], width: 12 },
  { title: "because", of: (row) => row[4], width: 26 },
];
const CAUSE_COLUMNS = [
  { title: "nodes", of: (row) => grouped(row[0]), width: 6, number: (row) => row[0] },
  { title: "bytes", of: (row) => row[1], width: 9 },
  { title: "rule", of: (row) => row[2], width: 9 },
  { title: "cause", of: (row) => row[3], width: 28 },
  { title: "ops", of: (row) => row[4], width: 16 },
  { title: "for example", of: (row) => row[5], width: 16 },
  { title: "try", of: (row) => row[6], width: 22 },
];
const membersOf = ([nodes, size]) => `${nodes.slice(0, 8).map(nameOf).join(", ")}${size > 8 ? ", …" : ""}`;
const GROUP_COLUMNS = [
  { title: "nodes", of: (row) => grouped(row[1]), width: 6, number: (row) => row[1] },
  { title: "decided by", of: (row) => nameOf(row[2]), width: 26 },
  { title: "device", of: (row) => lookOf(row[2]), width: 8 },
  { title: "asks for", of: (row) => row[3], width: 14 },
  { title: "members", of: membersOf, width: 44 },
];
const TEXT_COLUMNS = [
  { title: "line", of: (row) => grouped(row[0]), width: 8, number: (row) => row[0] },
  { title: "text", of: (row) => row[1], width: 92 },
];
const DEVICE_COLUMNS = [
  { title: "device", of: (look) => look, width: 10 },
  { title: "name", of: (look) => look.name || words("no_device"), width: 25 },
  { title: "nodes", of: (look) => grouped(look.nodes), width: 7, number: (look) => look.nodes },
  { title: "copies in", of: (look) => grouped(look.copies), width: 8, number: (look) => look.copies },
  { title: "bytes copied", of: (look) => look.bytes, width: 9 },
  { title: "memory limit", of: (look) => look.limit, width: 9 },
  { title: "what it is", of: (look) => look.text, width: 36 },
];

function mappingColumns() {
  const cell = (title, text) => (title === "device" && text ? lookNamed(text.replace("/device:", "")) : text);
  return RULES.tables.mapping.map((title, c) => ({ title, of: (row) => cell(title, row[c]), width: 14 }));
}

function logText() {
  const { lines, devices, typed, more } = DATA.log;
  const kind = (n) => (typed ? `(${typeOf(n)}): ` : "");
  const told = lines.map((
    line,
  ) => (typeof line === "string" ? line : `${nameOf(line)}: ${kind(line)}${devices[N.device[line]]}`));
  return [...told, ...(more ? [`... and ${counted(more, "more line")}`] : [])].join("\n");
}

/** Puts the tables into an element, the first one in front. */
export function showTables(model, el) {
  const panels = panelsOf(model);
  const tabs = element("div", { class: "gp-tabs", role: "tablist", "aria-label": "Tables" });
  el.append(tabs);
  panels.forEach((item, i) => {
    const id = `panel-${i}`;
    const about = { type: "button", role: "tab", id: `tab-${i}`, "aria-controls": id, onclick: () => show(i) };
    item.tab = element("button", about, item.title);
    const title = element("h3", { class: "gp-print" }, item.title);
    item.panel = element("div", { role: "tabpanel", id, "aria-labelledby": `tab-${i}` }, title, item.content);
    tabs.append(item.tab);
    el.append(item.panel);
  });

  function show(chosen) {
    panels.forEach((item, i) => {
      item.panel.hidden = i !== chosen;
      item.tab.setAttribute("aria-selected", String(i === chosen));
      item.tab.tabIndex = i === chosen ? 0 : -1;
      item.tab.classList.toggle("gp-chosen", i === chosen);
    });
    panels[chosen].shown();
    drawAll();
  }

  tabs.addEventListener("keydown", (event) => {
    const at = panels.findIndex((item) => item.tab === document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || !step) return;
    event.preventDefault();
    const to = (at + step + panels.length) % panels.length;
    show(to);
    panels[to].tab.focus();
  });
  show(0);
}
