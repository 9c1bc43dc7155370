// A table that draws the rows in sight and no others, so that 100,000 scroll.

import { chip, element } from "gpuplace/dom.js";
import { counted, grouped, searcher } from "gpuplace/text.js";

const ROW_PX = 26;
const MOST_PRINTED = 2000;
const drawers = [];
let printing = false;

/** Draws the rows in sight of all tables. */
export const drawAll = () => drawers.forEach((draw) => draw());
addEventListener("beforeprint", () => ((printing = true), drawAll()));
addEventListener("afterprint", () => ((printing = false), drawAll()));

/**
 * A table that can be filtered and sorted.
 *
 * @param model the page's.
 * @param columns `{title, of(row) -> text or look, width, number}`; sorting and the filter use the text.
 * @param rows any values.
 * @param options caption; node(row) -> the node that a click selects, or -1; note, what a row is; isLit(row, lit),
 *   where rows can be lit.
 */
export function bigTable(model, columns, rows, { caption, node = (_row) => -1, note = "", isLit = null }) {
  let shown = rows;
  let sorted = null;
  let patternNote = "";
  const selected = { node: -1 };
  const filter = element("input", {
    type: "search",
    placeholder: "Filter rows (regular expression)",
    "aria-label": `Filter ${caption} by regular expression`,
  });
  const status = element("span", { class: "gp-hint", role: "status" });
  const scroll = element("div", { class: "gp-rows", tabindex: "0", role: "region", "aria-label": caption });
  const body = element("tbody");
  const before = element(
    "tbody",
    { "aria-hidden": "true" },
    element("tr", {}, element("td", { colspan: String(columns.length) })),
  );
  const after = before.cloneNode(true);
  const text = (column, row) => {
    const value = column.of(row);
    return value !== null && typeof value === "object" ? value.label : String(value ?? "");
  };
  const heads = columns.map((column, c) => {
    const button = element("button", { type: "button", onclick: () => sort(c) }, column.title);
    return element("th", { scope: "col", style: `width:${column.width ?? 1}%` }, button);
  });
  const table = element(
    "table",
    { "aria-rowcount": String(rows.length), "aria-label": caption },
    element("thead", {}, element("tr", {}, ...heads)),
    before,
    body,
    after,
  );
  scroll.append(table);

  function draw() {
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW_PX) - 10);
    const most = printing ? MOST_PRINTED : Math.ceil((scroll.clientHeight || 400) / ROW_PX) + 20;
    const part = shown.slice(printing ? 0 : first, (printing ? 0 : first) + most);
    body.replaceChildren(
      ...part.map((row, i) => {
        const n = node(row);
        const line = element("tr", { "aria-rowindex": String(first + i + 2), class: n >= 0 ? "gp-pick" : "" });
        if (n >= 0) {
          line.dataset.node = String(n);
          line.tabIndex = 0;
          line.setAttribute("aria-selected", String(n === selected.node));
          line.classList.toggle("gp-selected", n === selected.node);
        }
        for (const column of columns) {
          const value = column.of(row);
          const isLook = value !== null && typeof value === "object";
          const cell = element(
            "td",
            { class: column.number ? "gp-number" : "" },
            isLook ? chip(value, value.label) : String(value ?? ""),
          );
          if (!isLook) cell.title = String(column.whole?.(row) ?? value ?? "");
          line.append(cell);
        }
        return line;
      }),
    );
    before.firstChild.firstChild.style.height = `${printing ? 0 : first * ROW_PX}px`;
    after.firstChild.firstChild.style.height = `${
      printing ? 0 : Math.max(0, shown.length - first - part.length) * ROW_PX
    }px`;
    const hidden = printing && shown.length > part.length ? `, the first ${grouped(part.length)} printed` : "";
    status.textContent = shown.length === rows.length
      ? `${counted(rows.length, "row")}${hidden}`
      : `${grouped(shown.length)} of ${counted(rows.length, "row")}${hidden}`;
    if (note) status.textContent += `: ${note}`;
    if (patternNote) status.textContent += `; ${patternNote}`;
  }

  function sort(c) {
    const up = !(sorted?.column === c && sorted.up);
    sorted = { column: c, up };
    heads.forEach((
      head,
      h,
    ) => (h === c
      ? head.setAttribute("aria-sort", up ? "ascending" : "descending")
      : head.removeAttribute("aria-sort"))
    );
    apply();
  }

  function apply() {
    const pattern = filter.value ? searcher(filter.value) : null;
    shown = pattern ? rows.filter((row) => columns.some((column) => pattern.test(text(column, row)))) : rows;
    patternNote = pattern?.note ?? "";
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
    const at = n < 0 || /** @type {HTMLElement} */ (scroll.closest("[role=tabpanel]"))?.hidden
      ? -1
      : shown.findIndex((row) => node(row) === n);
    if (at >= 0 && (at * ROW_PX < scroll.scrollTop || (at + 2) * ROW_PX > scroll.scrollTop + scroll.clientHeight)) {
      scroll.scrollTop = Math.max(0, at * ROW_PX - scroll.clientHeight / 2);
    }
    draw();
  });
  drawers.push(draw);
  return element("div", {}, element("div", { class: "gp-table-head" }, filter, status), scroll);
}
