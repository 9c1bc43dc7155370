// Tables and tabs of the report page. A table draws the rows in sight and no others, so that 100,000 scroll.

const model = new Model();
window.gpuplacePage = model; // for programs that drive the page

function make(tag, properties = {}, ...content) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...content.filter((part) => part !== null && part !== undefined));
  return node;
}

function chipOf(look) {
  const node = make("span", { class: `gp-chip gp-${look.corners}${look.outlines > 1 ? " gp-more" : ""}` }, look.label);
  node.style.background = look.fill;
  return node;
}

/**
 * A table that can be filtered and sorted.
 *
 * @param columns `{title, of(row) -> text or look, width, number}`; sorting and the filter use the text.
 * @param rows any values.
 * @param options caption; node(row) -> the node that a click selects, or -1; note, what a row is; isLit(row, lit),
 *   where rows can be lit.
 */
function bigTable(columns, rows, { caption, node = () => -1, note = "", isLit = null }) {
  let shown = rows;
  let sorted = null;
  const selected = { node: -1 };
  const filter = make("input", { type: "search", placeholder: "Filter rows (regular expression)", "aria-label": `Filter ${caption} by regular expression` });
  const status = make("span", { class: "gp-hint", role: "status" });
  const scroll = make("div", { class: "gp-rows", tabindex: "0", role: "region", "aria-label": caption });
  const body = make("tbody");
  const before = make("tbody", { "aria-hidden": "true" }, make("tr", {}, make("td", { colspan: String(columns.length) })));
  const after = before.cloneNode(true);
  const text = (column, row) => {
    const value = column.of(row);
    return value !== null && typeof value === "object" ? value.label : String(value ?? "");
  };
  const heads = columns.map((column, c) => {
    const button = make("button", { type: "button", onclick: () => sort(c) }, column.title);
    return make("th", { scope: "col", style: `width:${column.width ?? 1}%` }, button);
  });
  const table = make("table", { "aria-rowcount": String(rows.length), "aria-label": caption }, make("thead", {}, make("tr", {}, ...heads)), before, body, after);
  scroll.append(table);

  function draw() {
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW_PX) - 10);
    const most = printing ? 2000 : Math.ceil((scroll.clientHeight || 400) / ROW_PX) + 20;
    const part = shown.slice(printing ? 0 : first, (printing ? 0 : first) + most);
    body.replaceChildren(
      ...part.map((row, i) => {
        const n = node(row);
        const line = make("tr", { "aria-rowindex": String(first + i + 2), class: n >= 0 ? "gp-pick" : "" });
        if (n >= 0) {
          line.dataset.node = String(n);
          line.tabIndex = 0;
          line.setAttribute("aria-selected", String(n === selected.node));
          line.classList.toggle("gp-selected", n === selected.node);
        }
        for (const column of columns) {
          const value = column.of(row);
          const isLook = value !== null && typeof value === "object";
          const cell = make("td", { class: column.number ? "gp-number" : "" }, isLook ? chipOf(value) : String(value ?? ""));
          if (!isLook) cell.title = String(column.whole?.(row) ?? value ?? "");
          line.append(cell);
        }
        return line;
      }),
    );
    before.firstChild.firstChild.style.height = `${printing ? 0 : first * ROW_PX}px`;
    after.firstChild.firstChild.style.height = `${printing ? 0 : Math.max(0, shown.length - first - part.length) * ROW_PX}px`;
    const hidden = printing && shown.length > part.length ? `, the first ${number(part.length)} printed` : "";
    status.textContent = shown.length === rows.length ? `${counted(rows.length, "row")}${hidden}` : `${number(shown.length)} of ${counted(rows.length, "row")}${hidden}`;
    if (note) status.textContent += `: ${note}`;
  }

  function sort(c) {
    const up = !(sorted?.column === c && sorted.up);
    sorted = { column: c, up };
    heads.forEach((head, h) => (h === c ? head.setAttribute("aria-sort", up ? "ascending" : "descending") : head.removeAttribute("aria-sort")));
    apply();
  }

  function apply() {
    const pattern = filter.value ? searcher(filter.value) : null;
    shown = pattern ? rows.filter((row) => columns.some((column) => pattern.test(text(column, row)))) : rows;
    if (isLit && model.get("lit_only") && model.lit?.nodes) shown = shown.filter((row) => isLit(row, model.lit));
    if (sorted) {
      const column = columns[sorted.column];
      const keyed = shown.map((row) => [column.number ? column.number(row) : text(column, row), row]);
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      keyed.sort((a, b) => (column.number ? a[0] - b[0] : compare(a[0], b[0])));
      if (!sorted.up) keyed.reverse();
      shown = keyed.map(([, row]) => row);
    }
    scroll.scrollTop = 0;
    draw();
  }

  const pick = (event) => {
    const line = event.target.closest("tr[data-node]");
    if (line) model.reveal(Number(line.dataset.node));
    return line;
  };
  body.addEventListener("click", pick);
  body.addEventListener("keydown", (event) => {
    const line = event.target.closest("tr[data-node]");
    if (!line) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pick(event);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      (event.key === "ArrowDown" ? line.nextElementSibling : line.previousElementSibling)?.focus();
    }
  });
  let waiting = 0;
  filter.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 120);
  });
  scroll.addEventListener("scroll", draw);
  if (isLit) model.on("lit", () => (model.get("lit_only") || shown.length !== rows.length) && apply());
  model.on("selected", (n) => {
    selected.node = n;
    const at = n < 0 || panelHidden(scroll) ? -1 : shown.findIndex((row) => node(row) === n);
    if (at >= 0 && (at * ROW_PX < scroll.scrollTop || (at + 2) * ROW_PX > scroll.scrollTop + scroll.clientHeight)) {
      scroll.scrollTop = Math.max(0, at * ROW_PX - scroll.clientHeight / 2);
    }
    draw();
  });
  return { element: make("div", {}, make("div", { class: "gp-table-head" }, filter, status), scroll), draw };
}

const panelHidden = (element) => element.closest("[role=tabpanel]")?.hidden;
let printing = false;
const drawers = [];
const everything = () => drawers.forEach((draw) => draw());
addEventListener("beforeprint", () => ((printing = true), everything()));
addEventListener("afterprint", () => ((printing = false), everything()));

// --------------------------------------------------------------------------------------------------------- the tables
const all = Array.from({ length: COUNT }, (_, n) => n);
const asked = (n) => (requestOf(n) ? `${unmet.has(n) ? "≠ " : ""}${requestOf(n)}` : "");
const panels = [];
const panel = (title, count, content) => panels.push({ title: count === null ? title : `${title} (${count})`, content });
const tablePanel = (title, columns, rows, node, { total = rows.length, note = "", isLit = null } = {}) => {
  if (!rows.length) return;
  const table = bigTable(columns, rows, { caption: title, node, note, isLit });
  drawers.push(table.draw);
  panel(title, total === rows.length ? number(total) : `first ${number(rows.length)} of ${number(total)}`, table.element);
};

if (DATA.errors.length) {
  panel("Errors", null, make("div", {}, ...DATA.errors.map((error) => errorBlock(error))));
}
function errorBlock(error) {
  const lines = (text) => text.split("\n").flatMap((line, i) => (i ? [make("br"), line] : [line]));
  const rows = error.facts.map(([label, text]) => make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, ...lines(text))));
  return make("div", { class: "gp-error", role: "alert" }, make("p", {}, make("b", {}, error.kind), ": ", ...lines(error.message)), make("table", {}, make("tbody", {}, ...rows)));
}
const nodeColumns = [
  { title: "node", of: nameOf, width: 40 },
  { title: "type", of: typeOf, width: 16 },
  { title: "requested", of: asked, width: 22 },
  { title: "assigned", of: lookOf, width: 12 },
];
if (DATA.sources.of.length) nodeColumns.push({ title: "made at", of: (n) => sourceOf(n).replace(/^.*[/\\]/, ""), whole: sourceOf, width: 16 });
for (const { name, values, unit } of DATA.colours.filter((found) => found.values && found.measured)) {
  const told = (n) => (values[n] === null ? "" : valueText(values[n], unit));
  nodeColumns.push({ title: name, of: told, width: 9, number: (n) => values[n] ?? -1 });
}
tablePanel("Nodes", nodeColumns, all, (n) => n, { isLit: (n, lit) => lit.nodes[n] });
const factOf = (e) => DATA.edges.facts[E.fact[e]];
const sent = new Set(DATA.copies.map((e) => `${E.src[e]}:${E.output[e]}:${lookOf(E.dst[e]).name}`)).size;
tablePanel(
  "Copies",
  [
    { title: "tensor", of: (e) => `${nameOf(E.src[e])}:${E.output[e]}`, width: 32 },
    { title: "consumer", of: (e) => nameOf(E.dst[e]), width: 32 },
    { title: "from", of: (e) => lookOf(E.src[e]), width: 9 },
    { title: "to", of: (e) => lookOf(E.dst[e]), width: 9 },
    { title: "type", of: (e) => factOf(e)[0], width: 10 },
    { title: "size", of: (e) => (factOf(e)[1] === null ? "unknown" : bytes(factOf(e)[1])), width: 8, number: (e) => factOf(e)[1] ?? -1 },
  ],
  DATA.copies,
  (e) => E.dst[e],
  {
    note: sent < DATA.copies.length ? `an op that reads a copy each; ${counted(sent, "copy", "copies")}, as one serves all ops of its device` : "",
    isLit: (e, lit) => lit.edges[e],
  },
);
if (DATA.moves) {
  const moves = DATA.moves;
  tablePanel(
    "Moves",
    [
      { title: "node", of: (row) => nameOf(row[0]), width: 36 },
      { title: "here", of: (row) => moves.devices[row[1]], width: 10 },
      { title: "there", of: (row) => moves.devices[row[2]], width: 12 },
      { title: "cause", of: (row) => row[3], width: 12 },
      { title: "because", of: (row) => row[4], width: 26 },
    ],
    moves.rows,
    (row) => row[0],
    { total: moves.total, note: `there: ${DATA.against}` },
  );
  if (!moves.rows.length) panel("Moves", 0, make("p", {}, `No node moves on ${DATA.against}.`));
}
tablePanel(
  "Why not on a GPU",
  [
    { title: "nodes", of: (row) => number(row[0]), width: 6, number: (row) => row[0] },
    { title: "bytes", of: (row) => row[1], width: 9 },
    { title: "rule", of: (row) => row[2], width: 9 },
    { title: "cause", of: (row) => row[3], width: 28 },
    { title: "ops", of: (row) => row[4], width: 16 },
    { title: "for example", of: (row) => row[5], width: 16 },
    { title: "try", of: (row) => row[6], width: 22 },
  ],
  DATA.blame,
  (row) => nodeAt(row[5]),
);
tablePanel(
  "Groups",
  [
    { title: "nodes", of: (row) => number(row[1]), width: 6, number: (row) => row[1] },
    { title: "decided by", of: (row) => nameOf(row[2]), width: 26 },
    { title: "device", of: (row) => lookOf(row[2]), width: 8 },
    { title: "asks for", of: (row) => row[3], width: 14 },
    { title: "members", of: (row) => `${row[0].slice(0, 8).map(nameOf).join(", ")}${row[1] > 8 ? ", …" : ""}`, width: 44 },
  ],
  DATA.groups,
  (row) => row[2],
  { total: DATA.groupCount },
);
tablePanel(
  "Not understood",
  [
    { title: "line", of: (row) => number(row[0]), width: 8, number: (row) => row[0] },
    { title: "text", of: (row) => row[1], width: 92 },
  ],
  DATA.unparsed,
  () => -1,
  { total: DATA.unparsedCount },
);
const devices = DATA.devices.filter((look) => look.nodes || look.name);
const deviceTable = bigTable(
  [
    { title: "device", of: (look) => look, width: 10 },
    { title: "name", of: (look) => look.name || "no device", width: 25 },
    { title: "nodes", of: (look) => number(look.nodes), width: 7, number: (look) => look.nodes },
    { title: "copies to it", of: (look) => number(look.copies), width: 8, number: (look) => look.copies },
    { title: "bytes copied", of: (look) => look.bytes, width: 9 },
    { title: "memory limit", of: (look) => look.limit, width: 9 },
    { title: "what it is", of: (look) => look.text, width: 36 },
  ],
  devices,
  { caption: "Devices" },
);
drawers.push(deviceTable.draw);
const devicePanel = make("div", {}, deviceTable.element);
if (DATA.mapping.length) {
  const titles = ["GPU", "name", "PCI bus id", "visible as", "device", "memory limit", "why not"];
  const mapping = bigTable(
    titles.map((title, c) => ({ title, of: (row) => (title === "device" && row[c] ? lookNamed(row[c].replace("/device:", "")) : row[c]), width: 14 })),
    DATA.mapping,
    { caption: "GPUs of the machine" },
  );
  drawers.push(mapping.draw);
  devicePanel.append(make("h3", {}, "From the machine's GPUs to devices"), mapping.element);
}
panel("Devices", devices.length, devicePanel);
const logText = () => {
  const kind = (n) => (DATA.log.typed ? `(${typeOf(n)}): ` : "");
  const lines = DATA.log.lines.map((line) => (typeof line === "string" ? line : `${nameOf(line)}: ${kind(line)}${DATA.log.devices[N.device[line]]}`));
  if (DATA.log.more) lines.push(`... and ${counted(DATA.log.more, "more line")}`);
  return lines.join("\n");
};
let logElement = null;
if (DATA.log.lines.length) {
  logElement = make("pre", { class: "gp-log", tabindex: "0", "aria-label": "Log" });
  panel("Log", null, logElement);
}

// ------------------------------------------------------------------------------------------------------ page and tabs
const tabs = make("div", { class: "gp-tabs", role: "tablist", "aria-label": "Tables" });
const place_of_panels = document.getElementById("tables");
place_of_panels.append(tabs);
panels.forEach((item, i) => {
  const id = `panel-${i}`;
  item.tab = make("button", { type: "button", role: "tab", id: `tab-${i}`, "aria-controls": id, onclick: () => show(i) }, item.title);
  item.panel = make("div", { role: "tabpanel", id, "aria-labelledby": `tab-${i}` }, make("h3", { class: "gp-print" }, item.title), item.content);
  tabs.append(item.tab);
  place_of_panels.append(item.panel);
});
tabs.addEventListener("keydown", (event) => {
  const at = panels.findIndex((item) => item.tab === document.activeElement);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (at < 0 || !step) return;
  event.preventDefault();
  const to = (at + step + panels.length) % panels.length;
  show(to);
  panels[to].tab.focus();
});
function show(chosen) {
  panels.forEach((item, i) => {
    item.panel.hidden = i !== chosen;
    item.tab.setAttribute("aria-selected", String(i === chosen));
    item.tab.tabIndex = i === chosen ? 0 : -1;
    item.tab.classList.toggle("gp-chosen", i === chosen);
  });
  if (panels[chosen].content === logElement && !logElement.textContent) logElement.textContent = logText();
  everything();
}

show(0);
graphView.render({ model, el: document.getElementById("graph") });
if (DATA.colours.length) {
  const options = [["", "assigned"], ...DATA.colours.map((found) => [found.name, found.name])].map(([value, text]) => make("option", { value }, text));
  const choice = make("select", { id: "colour-by", title: "What colours mean", onchange: () => model.send({ type: "colour", name: choice.value }) }, ...options);
  document.querySelector("#graph .gp-lights").prepend(make("label", { for: "colour-by" }, "Colour by"), choice);
  document.querySelector("#graph .gp-lights").hidden = false;
}
const wanted = decodeURIComponent(location.hash.slice(1));
if (wanted && nodeAt(wanted) >= 0) model.reveal(nodeAt(wanted));
setTimeout(() => model.magnify(), 60); // behind the picture's own first fit
