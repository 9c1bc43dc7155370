// Where the body of a function was opened from, or the placement with a fix, and the heading of what is shown.

import { element } from "gpuplace/dom.js";
import { DATA, open, trail } from "gpuplace/page/data.js";

/** A way back above what is shown, whose summary and settings take the place of the graph's. */
export function showTrail(graph) {
  if (!trail.length) return;
  const steps = ["graph", ...trail].flatMap((name, i) => [
    i ? element("span", { "aria-hidden": "true" }, " › ") : null,
    i < trail.length
      ? element("button", { type: "button", onclick: () => open(trail.slice(0, i)) }, name)
      : element("b", { "aria-current": "page" }, name),
  ]);
  graph.before(
    element("nav", {
      class: "gp-trail",
      "aria-label": DATA.isFix ? "Changed setting" : "Where this function is called",
    }, ...steps),
  );
  if (DATA.isFix) document.getElementById("refused").hidden = true;
  const header = document.querySelector("header");
  header.querySelector("p").textContent = DATA.summary;
  const rows = DATA.settings.map(([label, text]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, text))
  );
  header.querySelector("dl").replaceChildren(...rows);
}
