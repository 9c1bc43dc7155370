// The rules that settle a node's device, below the choices that they depend on. Traits: see RuleExplorer.

import { element } from "gpuplace/dom.js";

function render({ model, el }) {
  el.classList.add("gp");
  el.setAttribute("data-lm-suppress-shortcuts", "true");
  const ends = [];

  function follow(name, show) {
    model.on(`change:${name}`, show);
    ends.push(() => model.off(`change:${name}`, show));
    show();
  }

  const bar = element("div", { style: "display: flex; flex-wrap: wrap; gap: 4px 16px" });
  for (const name of ["keydown", "mousedown"]) { // JupyterLab would move the focus to its cell
    bar.addEventListener(name, (event) => event.key === "Escape" || event.stopPropagation());
  }
  for (const { name, label, options } of model.get("choices")) {
    const entries = options?.map(([value, text]) => element("option", { value }, text));
    const control = options ? element("select", {}, ...entries) : element("input", { type: "checkbox" });
    const key = options ? "value" : "checked";
    control.addEventListener("change", () => {
      model.set(name, control[key]);
      model.save_changes();
    });
    follow(name, () => control[key] = model.get(name));
    bar.append(
      element(
        "label",
        { style: "display: flex; gap: 4px; align-items: center" },
        ...(options ? [label, control] : [control, label]),
      ),
    );
  }

  const rules = element("div", { class: "jp-RenderedHTMLCommon", role: "status" });
  follow("rules", () => rules.innerHTML = model.get("rules"));
  el.append(bar, rules);
  return () => ends.forEach((end) => end());
}

export default { render };
