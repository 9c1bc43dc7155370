// The page of a placement: the explorer's picture, the timeline of a measured step where there is one, and tables.

import view from "gpuplace/widgets/graph_view.js";
import { download, element } from "gpuplace/dom.js";
import { DATA, nameOf, nodeAt } from "gpuplace/page/columns.js";
import { selected } from "gpuplace/page/data.js";
import { Model } from "gpuplace/page/model.js";
import { showBlocks, showStep } from "gpuplace/page/step.js";
import { showTables } from "gpuplace/page/tables.js";
import { showTrail } from "gpuplace/page/trail.js";
import { keepInAddress, showView, viewIn, viewOf } from "gpuplace/page/views.js";
import { ownKeys } from "gpuplace/widgets/keys.js";

const model = new Model();
globalThis.gpuplacePage = model; // for programs that drive the page
showTables(model, document.getElementById("tables"));
const graph = document.getElementById("graph");
view.render({ model, el: graph });
if (DATA.colours.length) offerColours();
showTrail(graph);
offerViews();
ownKeys(document.body);
const wanted = viewIn(selected);
if (typeof wanted === "string") model.reveal(nodeAt(wanted));
else if (wanted) showView(model, wanted);
model.on("view", () => keepInAddress(model));
const reveal = (name) => {
  const n = nodeAt(name); // sends, receives and kernels of streams are none
  if (n >= 0) model.reveal(n);
};
if (DATA.findings) showBlocks(DATA.findings, document.getElementById("finding-blocks"), reveal);
if (DATA.cost) showBlocks(DATA.cost, document.getElementById("cost-blocks"), reveal);
if (DATA.step) {
  const mark = showStep(DATA.step, document.getElementById("lanes"), reveal);
  model.on("selected", (n) => mark(n < 0 ? "" : nameOf(n)));
  mark(model.selected);
}
// Behind the picture's own first fit.
setTimeout(() => (document.documentElement.dataset.ready = "yes"), 60);

function offerColours() {
  const names = [["", "assigned"], ...DATA.colours.map(({ name }) => [name, name])];
  const options = names.map(([value, text]) => element("option", { value }, text));
  const change = () => model.send({ type: "colour", name: choice.value });
  const choice = element("select", {
    id: "colour-by",
    title: "Colour legend",
    "data-shortcut": "j",
    onchange: change,
  }, ...options);
  const bar = /** @type {HTMLElement} */ (graph.querySelector(".gp-lights"));
  bar.prepend(element("span", { class: "gp-row" }, element("label", { for: "colour-by" }, "Colour by"), choice));
  bar.hidden = false;
  model.on("change:colour", () => (choice.value = model.get("colour")));
}

function offerViews() {
  const told = element("span", { class: "gp-note-alarm", role: "status" });
  const save = () => {
    const text = `${JSON.stringify(viewOf(model), null, 2)}\n`;
    download(new Blob([text], { type: "application/json" }), "view.json");
  };
  const file = element("input", {
    type: "file",
    accept: ".json,application/json",
    hidden: true,
    "aria-label": "File with a view",
    onchange: async () => {
      try {
        if (file.files.length) showView(model, JSON.parse(await file.files[0].text()));
        told.textContent = "";
      } catch (error) {
        told.textContent = `Cannot be opened: ${error.message}`;
      }
      file.value = "";
    },
  });
  const button = (text, title, onclick, key) =>
    element("button", { type: "button", title, "aria-label": title, "data-shortcut": key, onclick }, text);
  graph.querySelector(".gp-tools").append(
    button("Save view", "Save view: open scopes, colouring, highlights and selection, as a file", save, "e"),
    button("Open view", "Open view: one that was saved", () => file.click(), "E"),
    button("?", "Keys (?)", () => document.body.dispatchEvent(new CustomEvent("gp-help")), null),
    file,
    told,
  );
}
