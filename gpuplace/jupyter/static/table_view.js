// A table whose rows can be chosen. Traits: columns, rows ([key, cells...], a cell is a text or {label, fill, ...}),
// total, selected, caption. Messages: {type: "select", name}, {type: "filter", text}.

function chip(look) {
  const node = document.createElement("span");
  node.className = `gp-chip gp-${look.corners}${look.outlines > 1 ? " gp-more" : ""}`;
  node.style.background = look.fill;
  node.textContent = look.label;
  return node;
}

function render({ model, el }) {
  el.classList.add("gp");
  const head = document.createElement("div");
  head.className = "gp-table-head";
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "Filter rows (regular expression)";
  filter.setAttribute("aria-label", "Filter rows by regular expression");
  const count = document.createElement("span");
  count.className = "gp-hint";
  count.setAttribute("role", "status");
  head.append(filter, count);
  const scroll = document.createElement("div");
  scroll.className = "gp-scroll";
  const table = document.createElement("table");
  scroll.append(table);
  el.append(head, scroll);

  let waiting = 0;
  filter.addEventListener("keydown", (event) => event.stopPropagation());
  filter.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => model.send({ type: "filter", text: filter.value }), 150);
  });

  function draw() {
    const thead = document.createElement("thead");
    const titles = thead.insertRow();
    for (const name of model.get("columns")) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = name;
      titles.append(th);
    }
    const tbody = document.createElement("tbody");
    for (const [key, ...cells] of model.get("rows")) {
      const row = tbody.insertRow();
      row.dataset.key = key;
      row.className = "gp-pick";
      row.tabIndex = 0;
      for (const value of cells) {
        const cell = row.insertCell();
        if (value !== null && typeof value === "object") cell.append(chip(value));
        else cell.textContent = value ?? "";
      }
    }
    table.replaceChildren(thead, tbody);
    table.setAttribute("aria-label", model.get("caption"));
    const shown = model.get("rows").length;
    const total = model.get("total");
    count.textContent = shown === total ? `${total.toLocaleString("en")} rows` : `${shown.toLocaleString("en")} of ${total.toLocaleString("en")} rows`;
    mark(false);
  }

  function mark(move = true) {
    const selected = model.get("selected");
    for (const row of table.tBodies[0]?.rows ?? []) {
      const chosen = row.dataset.key === selected && selected !== "";
      row.classList.toggle("gp-selected", chosen);
      row.setAttribute("aria-selected", String(chosen));
      if (chosen && move) {
        const top = row.offsetTop - scroll.clientHeight / 2;
        if (row.offsetTop < scroll.scrollTop + 24 || row.offsetTop > scroll.scrollTop + scroll.clientHeight - 24) scroll.scrollTop = top;
      }
    }
  }

  const pick = (event) => {
    const row = event.target.closest("tr[data-key]");
    if (row) model.send({ type: "select", name: row.dataset.key });
    return row;
  };
  table.addEventListener("click", pick);
  table.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr[data-key]");
    if (!row) return;
    event.stopPropagation();
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pick(event);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      (event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling)?.focus();
    }
  });
  model.on("change:rows", draw);
  model.on("change:total", draw);
  model.on("change:selected", () => mark());
  draw();
}

export default { render };
