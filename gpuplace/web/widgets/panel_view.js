// Blocks of text, facts, small tables, links to nodes and buttons, as Python says. Traits and messages: see PanelView.

import { chip, copyText, element, tell } from "gpuplace/dom.js";
import { grouped } from "gpuplace/text.js";

function render({ model, el }) {
  el.classList.add("gp", "gp-panel");

  const pick = (name) => tell(model, el, { type: "select", name });
  const nodeButton = (name) =>
    element("button", { type: "button", class: "gp-node", title: `Select ${name}`, onclick: () => pick(name) }, name);

  function lines(text) {
    return text.split("\n").flatMap((line, i) => (i ? [element("br"), line] : [line]));
  }

  function cellOf(value) {
    if (value === null || value === undefined) return [""];
    if (typeof value !== "object") return [String(value)];
    if (value.node) return [nodeButton(value.node)];
    if (value.bar) return barOf(value);
    if (value.chips) return value.chips.flatMap((look, i) => (i ? [" ", chip(look)] : [chip(look)]));
    if (value.check !== undefined) return [tickOf(value)];
    if (value.strong) return [element("b", {}, value.strong)];
    if (value.code) return [value.text, element("pre", { class: "gp-source" }, value.code)];
    return [chip(value, value.text)];
  }

  function tickOf({ check, name, label, off }) {
    const tick = element("input", {
      type: "checkbox",
      id: idOf(name),
      "aria-label": label,
      disabled: off,
      onchange: () => tell(model, el, { type: "act", action: name }),
    });
    tick.checked = check;
    return tick;
  }

  const idOf = (name) => `gp-field-${name.replaceAll(":", "-")}-${model.get("own_id")}`;

  const numberClass = (block, column) => (block.numbers?.includes(column) ? "gp-number" : "");

  function barOf({ bar, text }) {
    const parts = bar.map(([share, kind, label]) => {
      const part = element("span", { class: `gp-part gp-part-${kind}`, title: label });
      part.style.width = `${Math.max(share > 0 ? 0.6 : 0, Math.min(100, 100 * share))}%`;
      return part;
    });
    return [
      element("span", { class: "gp-bar", "aria-hidden": "true" }, ...parts),
      element("span", { class: "gp-hint" }, text),
    ];
  }

  function buttonsOf(buttons) {
    return buttons.map(({ label, note, action }) =>
      element(
        "span",
        { class: "gp-remedy" },
        element("button", { type: "button", onclick: () => tell(model, el, { type: "act", action }) }, label),
        note ? element("span", { class: "gp-hint" }, ` ${note}`) : null,
      )
    );
  }

  function factsOf(facts) {
    return element(
      "dl",
      { class: "gp-facts" },
      ...facts.flatMap(([label, text]) => [element("dt", {}, label), element("dd", {}, ...lines(text))]),
    );
  }

  // Sent when it is left or Enter is pressed; what is wrong with it is said below it.
  function fieldOf({ name, label, value, placeholder, size, tip, error, options }) {
    const id = idOf(name);
    if (options) {
      const list = element(
        "select",
        { id, title: tip, onchange: () => tell(model, el, { type: "set", name, value: list.value }) },
        ...options.map((text) => element("option", { value: text }, text)),
      );
      list.value = value;
      return element(
        "div",
        { class: "gp-field gp-field-choice" },
        element("span", { class: "gp-row" }, element("label", { for: id }, label), list),
      );
    }
    const input = element("input", {
      type: "text",
      id,
      size,
      placeholder,
      title: tip,
      spellcheck: "false",
      autocomplete: "off",
      "aria-invalid": error ? "true" : null,
      "aria-describedby": error ? `${id}-error` : null,
      onchange: () => tell(model, el, { type: "set", name, value: input.value }),
      onkeydown: (event) => {
        if (event.key !== "Tab" && !(event.ctrlKey || event.metaKey)) event.stopPropagation();
      },
    });
    input.value = value;
    return element(
      "div",
      { class: `gp-field gp-field-text${error ? " gp-wrong" : ""}` },
      element("span", { class: "gp-row" }, element("label", { for: id }, label), input),
      error ? element("div", { class: "gp-field-error", id: `${id}-error` }, ...lines(error)) : null,
    );
  }

  // A picture of ours, which shows what the tables say too.
  function pictureOf({ svg, label }) {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    const picture = document.importNode(parsed.documentElement, true);
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", label);
    return picture;
  }

  function codeOf({ text, label, copy }) {
    const shown = element("pre", { class: "gp-source", tabindex: "0", "aria-label": label ?? "Program text" }, text);
    if (!copy) return shown;
    const told = element("span", { class: "gp-hint", role: "status" });
    const onclick = async () => {
      told.textContent = await copyText(text)
        ? "Copied."
        : "The browser does not allow copying from here: select the text and copy it.";
    };
    return element(
      "div",
      {},
      element("div", { class: "gp-row" }, element("button", { type: "button", onclick }, copy), told),
      shown,
    );
  }

  function blockOf(block) {
    switch (block.kind) {
      case "heading":
        return element(`h${model.get("level")}`, {}, block.text);
      case "error":
        return element(
          "div",
          { class: "gp-error", role: block.quiet ? "group" : "alert" },
          element("p", {}, element("b", {}, block.title), ": ", ...lines(block.message)),
          block.facts.length ? factsOf(block.facts) : null,
        );
      case "code":
        return codeOf(block);
      case "progress":
        return element(
          "div",
          { class: "gp-progress" },
          element("progress", { "aria-label": block.label, max: 1, value: block.share }),
          element("span", { class: "gp-hint" }, `${Math.round(100 * block.share)} % · ${block.text}`),
        );
      case "buttons":
        return element(
          "div",
          { class: "gp-buttons", role: "group", "aria-label": block.label ?? "Actions" },
          ...buttonsOf(block.buttons),
        );
      case "trail":
        return element(
          "nav",
          { class: "gp-trail", "aria-label": block.label },
          ...block.steps.flatMap(({ label, action }, i) => [
            i ? element("span", { "aria-hidden": "true" }, " › ") : null,
            i + 1 < block.steps.length
              ? element("button", { type: "button", onclick: () => tell(model, el, { type: "act", action }) }, label)
              : element("b", { "aria-current": "page" }, label),
          ]),
        );
      case "side":
        return element(
          "div",
          { class: "gp-side" },
          ...block.parts.map((part) => element("div", {}, ...part.map(blockOf))),
        );
      case "picture":
        return element("div", { class: "gp-plot" }, pictureOf(block));
      case "fields":
        return element(
          "div",
          { class: "gp-fields", role: "group", "aria-label": block.label },
          ...block.fields.map(fieldOf),
        );
      case "nodes":
        return element(
          "div",
          { class: "gp-names" },
          ...block.names.map(nodeButton),
          block.more ? element("span", { class: "gp-hint" }, `and ${grouped(block.more)} more`) : null,
        );
      case "table":
        return element(
          "div",
          { class: block.look ? `gp-wide gp-looks-${block.look}` : "gp-wide" },
          element(
            "table",
            { "aria-label": block.caption },
            block.columns.some(Boolean)
              ? element(
                "thead",
                {},
                element(
                  "tr",
                  {},
                  ...block.columns.map((name, i) =>
                    element("th", { scope: "col", class: numberClass(block, i) }, name)
                  ),
                ),
              )
              : null,
            element(
              "tbody",
              {},
              ...block.rows.map((row) =>
                element(
                  "tr",
                  {},
                  ...row.map((value, i) => element("td", { class: numberClass(block, i) }, ...cellOf(value))),
                )
              ),
            ),
          ),
        );
      default:
        return element("p", {
          class: block.tone ? `gp-tone-${block.tone}` : "",
          role: block.tone === "status" ? "status" : null,
        }, ...lines(block.text));
    }
  }

  function draw() {
    const active = el.contains(document.activeElement) ? document.activeElement : null;
    el.replaceChildren(...model.get("blocks").map(blockOf));
    if (active?.id) el.querySelector(`#${CSS.escape(active.id)}`)?.focus();
    else if (active) {
      [...el.querySelectorAll("button")].find((button) => button.textContent === active.textContent)?.focus();
    }
  }

  if (model.get("live")) el.setAttribute("aria-live", "polite");
  model.on("change:blocks", draw);
  draw();
}

export default { render };
