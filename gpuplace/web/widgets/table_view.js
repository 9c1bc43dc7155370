// A table of any length: rows come in chunks as they are scrolled into sight. Traits and messages: see TableView.

import { chip, element, tell } from "gpuplace/dom.js";
import { grouped } from "gpuplace/text.js";

const ROW_PX = 27;
const CHUNK = 200;
const AROUND = 12;
let tables = 0;

function render({ model, el }) {
  el.classList.add("gp", "gp-rows");
  const plain = model.get("plain");
  if (plain) el.classList.add("gp-lines");
  const id = `gp-table-${(tables += 1)}`;
  const filter = element("input", {
    type: "search",
    placeholder: "Filter rows (regular expression)",
    "aria-label": `Filter rows by regular expression: ${model.get("caption")}`,
    "data-shortcut": "q",
  });
  const count = element("span", { class: "gp-hint", role: "status" });
  const columns = model.get("columns");
  const shares = columns.reduce((sum, [, share]) => sum + share, 0);
  const titles = columns.map(([title], i) =>
    element(
      "th",
      { scope: "col", role: "columnheader", "aria-sort": "none" },
      plain ? title : element("button", {
        type: "button",
        class: "gp-sort",
        title: `Sort by ${title}`,
        onclick: () => sort(i),
      }, title),
    )
  );
  const head = element("thead", { role: "rowgroup" }, element("tr", { role: "row", "aria-rowindex": "1" }, ...titles));
  const body = element("tbody", { role: "rowgroup" });
  const table = element(
    "table",
    { role: "grid", "aria-label": model.get("caption"), tabindex: "0", "aria-readonly": "true" },
    element(
      "colgroup",
      {},
      ...columns.map(([, share]) => element("col", { style: `width:${(100 * share) / shares}%` })),
    ),
    plain ? null : head,
    body,
  );
  const space = element("div", { class: "gp-space" }, table);
  const scroll = element("div", { class: "gp-scroll" }, space);
  const nothing = element("p", { class: "gp-hint gp-empty" });
  el.append(element("div", { class: "gp-table-head" }, filter, count), scroll, nothing);

  let chunks = new Map();
  let asked = new Set();
  let version = -1;
  let active = -1;
  let waiting = 0;
  let asking = 0;
  let painted = "";

  const total = () => model.get("total");
  const headPx = () => (plain ? 0 : head.offsetHeight || ROW_PX);
  const rowAt = (i) => chunks.get(Math.floor(i / CHUNK))?.[i % CHUNK];

  function store(first, rows) {
    for (let i = 0; i < rows.length; i += CHUNK) chunks.set(Math.floor((first + i) / CHUNK), rows.slice(i, i + CHUNK));
  }

  function begin() {
    const window = model.get("window");
    if (!window.rows || window.version === version) return;
    version = window.version;
    chunks = new Map();
    asked = new Set();
    store(window.first, window.rows);
    const height = total() * ROW_PX;
    space.style.height = `${height + headPx()}px`;
    scroll.style.height = `${Math.min(plain ? 360 : 330, height + headPx() + 2)}px`;
    table.setAttribute("aria-rowcount", String(total() + (plain ? 0 : 1)));
    const size = model.get("size");
    const note = model.get("note") ? `: ${model.get("note")}` : "";
    count.textContent =
      (total() === size
        ? `${grouped(size)} ${plain ? "lines" : "rows"}`
        : `${grouped(total())} of ${grouped(size)} rows`) + note;
    nothing.textContent = total() ? "" : size ? "No row matches the filter." : model.get("empty");
    scroll.hidden = !total();
    if (active >= total()) active = -1;
    if (document.activeElement !== filter && filter.value !== model.get("pattern")) filter.value = model.get("pattern");
    paint(true);
  }

  function span() {
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW_PX) - AROUND);
    const seen = Math.ceil((scroll.clientHeight || 330) / ROW_PX) + 2 * AROUND;
    return [first, Math.min(total(), first + seen)];
  }

  // Asks for the chunks in sight that are not here, a moment after scrolling rests.
  function ask() {
    clearTimeout(asking);
    asking = setTimeout(() => {
      const [first, last] = span();
      for (let chunk = Math.floor(first / CHUNK); chunk * CHUNK < last; chunk += 1) {
        if (chunks.has(chunk) || asked.has(chunk)) continue;
        asked.add(chunk);
        tell(model, el, { type: "rows", first: chunk * CHUNK, count: CHUNK, version });
      }
    }, 30);
  }

  function paint(force = false) {
    const [first, last] = span();
    const key = `${first}-${last}-${version}`;
    if (!force && key === painted) return;
    painted = key;
    const rows = [];
    let missing = false;
    for (let i = first; i < last; i += 1) {
      const data = rowAt(i);
      const row = element("tr", { role: "row", id: `${id}-${i}`, "aria-rowindex": String(i + (plain ? 1 : 2)) });
      if (data) {
        const [name, ...cells] = data;
        if (name) {
          row.dataset.key = name;
          row.className = "gp-pick";
        }
        for (const value of cells) {
          const cell = element("td", { role: "gridcell" });
          if (value !== null && typeof value === "object") cell.append(chip(value, value.text));
          else {
            cell.textContent = value ?? "";
            cell.title = value ?? "";
          }
          row.append(cell);
        }
      } else {
        missing = true;
        row.append(element("td", { role: "gridcell", colspan: String(columns.length), class: "gp-hint" }, "…"));
      }
      row.dataset.row = String(i);
      rows.push(row);
    }
    body.replaceChildren(...rows);
    table.style.top = `${first * ROW_PX}px`;
    table.setAttribute("aria-busy", String(missing));
    if (missing) ask();
    mark();
  }

  function mark() {
    const selected = model.get("selected");
    for (const row of body.rows) {
      const chosen = selected !== "" && row.dataset.key === selected;
      row.classList.toggle("gp-selected", chosen);
      row.setAttribute("aria-selected", String(chosen));
      row.classList.toggle("gp-active", Number(row.dataset.row) === active);
    }
    if (active >= 0) table.setAttribute("aria-activedescendant", `${id}-${active}`);
    else table.removeAttribute("aria-activedescendant");
  }

  function reveal(i, middle) {
    const top = i * ROW_PX;
    const height = scroll.clientHeight - headPx();
    if (height <= 0) return;
    if (top < scroll.scrollTop || top + ROW_PX > scroll.scrollTop + height) {
      if (middle) scroll.scrollTop = Math.max(0, top - height / 2);
      else scroll.scrollTop = top < scroll.scrollTop ? top : top + ROW_PX - height;
    }
  }

  function showSelected() {
    const row = model.get("selected_row");
    if (row >= 0) {
      active = row;
      reveal(row, true);
    }
    paint();
    mark();
  }

  function showOrder() {
    const order = model.get("order");
    titles.forEach((title, i) => {
      const sorted = order.column === i ? (order.descending ? "descending" : "ascending") : "none";
      title.setAttribute("aria-sort", sorted);
    });
  }

  function sort(column) {
    const order = model.get("order");
    if (order.column !== column) tell(model, el, { type: "sort", column, descending: false });
    else if (!order.descending) tell(model, el, { type: "sort", column, descending: true });
    else tell(model, el, { type: "sort", column: null, descending: false });
  }

  function choose(i) {
    const name = rowAt(i)?.[0];
    active = i;
    mark();
    if (name) tell(model, el, { type: "select", name });
  }

  filter.addEventListener("keydown", (event) => event.key !== "Tab" && event.stopPropagation());
  filter.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => tell(model, el, { type: "filter", text: filter.value }), 150);
  });
  scroll.addEventListener("scroll", () => paint());
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-row]");
    if (row) choose(Number(row.dataset.row));
  });
  table.addEventListener("keydown", (event) => {
    if (event.target !== table) return;
    const page = Math.max(1, Math.floor((scroll.clientHeight - headPx()) / ROW_PX) - 1);
    const here = active < 0 ? Math.ceil(scroll.scrollTop / ROW_PX) - 1 : active;
    const to = {
      ArrowDown: here + 1,
      ArrowUp: active < 0 ? here : here - 1,
      PageDown: here + page,
      PageUp: here - page,
      Home: 0,
      End: total() - 1,
    }[event.key];
    if (to !== undefined && total()) {
      event.preventDefault();
      event.stopPropagation();
      active = Math.max(0, Math.min(total() - 1, to));
      reveal(active, false);
      paint();
      mark();
    } else if ((event.key === "Enter" || event.key === " ") && active >= 0) {
      event.preventDefault();
      event.stopPropagation();
      choose(active);
    }
  });

  model.on("msg:custom", (message) => {
    if (message.type !== "rows" || message.version !== version) return;
    store(message.first, message.rows);
    paint(true);
  });
  model.on("change:window", begin);
  model.on("change:selected", mark);
  model.on("change:selected_row", showSelected);
  model.on("change:order", showOrder);
  // A table behind another tab has no height: what is selected is shown when it comes to the front.
  const seen = new ResizeObserver(() => showSelected());
  seen.observe(scroll);
  begin();
  showOrder();
  return () => seen.disconnect();
}

export default { render };
