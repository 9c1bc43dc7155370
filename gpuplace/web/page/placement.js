// The page of a placement: the explorer's picture, the timeline of a measured step where there is one, and tables.

import "gpuplace/page/theme.js";
import view from "gpuplace/graph_view.js";
import { element } from "gpuplace/dom.js";
import { DATA, nameOf, nodeAt } from "gpuplace/page/columns.js";
import { selected } from "gpuplace/page/data.js";
import { Model } from "gpuplace/page/model.js";
import { showStep } from "gpuplace/page/step.js";
import { showTables } from "gpuplace/page/tables.js";
import { showTrail } from "gpuplace/page/trail.js";

const model = new Model();
globalThis.gpuplacePage = model; // for programs that drive the page
showTables(model, document.getElementById("tables"));
const graph = document.getElementById("graph");
view.render({ model, el: graph });
if (DATA.colours.length) offerColours();
showTrail(graph);
if (selected && nodeAt(selected) >= 0) model.reveal(nodeAt(selected));
if (DATA.step) {
  const mark = showStep(DATA.step, document.getElementById("lanes"), (name) => {
    const n = nodeAt(name); // sends, receives and kernels of streams are none
    if (n >= 0) model.reveal(n);
  });
  model.on("selected", (n) => mark(n < 0 ? "" : nameOf(n)));
  mark(model.selected);
}
// Behind the picture's own first fit.
setTimeout(() => (document.documentElement.dataset.ready = "yes"), 60);

function offerColours() {
  const names = [["", "assigned"], ...DATA.colours.map(({ name }) => [name, name])];
  const options = names.map(([value, text]) => element("option", { value }, text));
  const change = () => model.send({ type: "colour", name: choice.value });
  const choice = element("select", { id: "colour-by", title: "What colours mean", onchange: change }, ...options);
  const bar = /** @type {HTMLElement} */ (graph.querySelector(".gp-lights"));
  bar.prepend(element("label", { for: "colour-by" }, "Colour by"), choice);
  bar.hidden = false;
}
