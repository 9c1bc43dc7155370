// What is lit in the picture while the rest is dimmed: the choice, the text that says how much, and the marks on boxes
// and edges. Traits: lights, lit ({what, text, boxes, links, starts}),
// lit_only; messages: {type: "light", what}, {type: "light", only}.

import { element, svgElement } from "gpuplace/dom.js";
import { grouped } from "gpuplace/text.js";

const LIGHT_KEYS = { i: "inputs", c: "consumers", b: "both", p: "path by ops" };
let lightControlsMade = 0;

export function lightControls(model) {
  const id = `gp-light-${(lightControlsMade += 1)}`;
  const say = (message) => model.send({ type: "light", ...message });
  const choice = element("select", {
    id,
    title: "Highlight these and dim the rest. On a box: I inputs, C consumers, B both, P critical path, L nothing",
    "data-shortcut": "k",
    onchange: () => say({ what: choice.value }),
    onkeydown: (event) => event.key !== "Tab" && event.stopPropagation(),
  });
  const only = element("input", {
    type: "checkbox",
    id: `${id}-only`,
    "aria-label": "Only these in the tables",
    "data-shortcut": "y",
    onchange: () => say({ only: only.checked }),
  });
  const follow = element(
    "span",
    { class: "gp-lit-only" },
    only,
    element("label", { for: `${id}-only`, "aria-hidden": "true" }, "Only these in the tables"),
  );
  const told = element("span", { class: "gp-lit-text", role: "status" });
  const bar = element(
    "div",
    { class: "gp-lights", role: "group", "aria-label": "Highlighting" },
    element("span", { class: "gp-row" }, element("label", { for: id }, "Highlight"), choice),
    follow,
    told,
  );
  const now = () => model.get("lit") || {};
  const known = () => model.get("lights") || [];

  function show() {
    const options = known();
    const key = JSON.stringify(options);
    if (choice.dataset.options !== key) {
      choice.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
      choice.dataset.options = key;
    }
    bar.hidden = options.length < 2;
    const lit = now();
    choice.value = lit.what ?? "";
    only.checked = Boolean(model.get("lit_only"));
    follow.hidden = !lit.what;
    if (told.textContent !== (lit.text ?? "")) told.textContent = lit.text ?? "";
    told.classList.toggle("gp-hint", !lit.boxes);
  }

  // How many of a folded box's nodes are lit, on its upper right corner.
  function badge(group, [number, total]) {
    const outline = group.querySelector("path, polygon").getBBox();
    const text = `◉ ${grouped(number)} of ${grouped(total)}`;
    const words = svgElement("text", { "font-size": 9, "font-weight": "bold", "text-anchor": "middle" }, text);
    const made = svgElement("g", { class: "gp-badge" });
    made.append(words);
    group.append(made);
    const width = Math.max(30, words.getComputedTextLength() || text.length * 5.2) + 10;
    const x = outline.x + outline.width - width / 2 + 5;
    words.setAttribute("x", x);
    words.setAttribute("y", outline.y + 3.5);
    words.before(svgElement("rect", { x: x - width / 2, y: outline.y - 7, width, height: 14, rx: 7 }));
  }

  function paint(svg, canvas) {
    const lit = now();
    const isOn = Boolean(lit.boxes);
    canvas.classList.toggle("gp-lighting", isOn);
    if (!svg) return;
    for (const old of svg.querySelectorAll(".gp-badge")) old.remove();
    const starts = new Set(lit.starts ?? []);
    for (const group of svg.querySelectorAll("g.node")) {
      const of = group.id;
      const number = isOn ? lit.boxes[of] : null;
      group.classList.toggle("gp-on", Boolean(number));
      group.classList.toggle("gp-off", isOn && !number);
      group.classList.toggle("gp-start", isOn && starts.has(of));
      const isOp = group.classList.contains("op");
      const badged = number && !isOp ? ` ${grouped(number[0])} of ${grouped(number[1])} highlighted` : "";
      const more = !isOn || badged ? "" : number ? ", highlighted" : ", not highlighted";
      group.setAttribute("aria-label", `${group.dataset.written}${badged}, ${group.dataset.tip}${more}`);
      if (number && !isOp) badge(group, number);
    }
    const links = new Set(lit.links ?? []);
    for (const edge of svg.querySelectorAll("g.edge")) {
      const isLit = isOn && edge.dataset.ends.split(" ").some((pair) => links.has(pair));
      edge.classList.toggle("gp-on", isLit);
      edge.classList.toggle("gp-off", isOn && !isLit);
    }
  }

  // On the card of an op or scope: light what it depends on, what depends on it; again to put it out.
  function buttons() {
    const row = element("div", { class: "gp-light-buttons" });
    for (
      const [what, text, label] of [
        ["inputs", "◉ All inputs", "All inputs: highlight all that it depends on"],
        ["consumers", "◉ All consumers", "All consumers: highlight all that depends on it"],
      ]
    ) {
      if (!known().some(([value]) => value === what)) return null;
      const isOn = now().what === what;
      row.append(
        element("button", {
          type: "button",
          title: label,
          "aria-label": label,
          "aria-pressed": String(isOn),
          "data-light": what,
          onclick: () => say({ what: now().what === what ? "" : what }),
        }, text),
      );
    }
    return row;
  }

  function press() {
    for (
      const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".gp-light-buttons button"))
    ) {
      if (bar.parentElement?.parentElement?.contains(button)) {
        button.setAttribute("aria-pressed", String(button.dataset.light === now().what));
      }
    }
  }

  // A key on a box; selects the box first.
  function key(event, select) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const pressed = event.key.toLowerCase();
    const what = pressed === "l" ? "" : LIGHT_KEYS[pressed];
    if (what === undefined || !known().some(([value]) => value === what)) return false;
    select();
    say({ what });
    return true;
  }

  model.on("change:lights", show);
  model.on("change:lit", show);
  model.on("change:lit", press);
  model.on("change:lit_only", show);
  show();
  return { bar, paint, buttons, key, notes: () => (now().boxes ? [["mark", `◉ ${now().text}`]] : []) };
}
