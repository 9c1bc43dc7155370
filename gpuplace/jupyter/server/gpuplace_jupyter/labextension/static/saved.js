// Explorers in notebooks: the live widget while its kernel has it, and otherwise the page that the notebook keeps.
//
// A notebook may come from anybody, so nothing of it is executed here: the page's scripts are those of the server, and
// of the notebook there are only data, which become text in a script element that is not run.

import { ask, element, frameOf } from "./pages.js";

const OURS = "application/vnd.gpuplace.explorer+json";
const WIDGET = "application/vnd.jupyter.widget-view+json";
const RANK = -20; // before widgets, which have -10
const PATIENCE_MS = 6000; // for which a kernel may take to show its widget
const HEIGHT_PX = 640;
const LEFT_OUT = ["step", "cost", "findings"]; // sections that the empty page does not have

let template = null;

async function unzipped(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const parsed = (html) => new DOMParser().parseFromString(html, "text/html");

/** The data of the page in an HTML output; nothing in it is run. */
async function dataIn(html) {
  const frame = parsed(html).querySelector("iframe.gpuplace-page");
  if (!frame) throw new Error("The notebook keeps no page of this explorer.");
  const { page } = await unzipped(parsed(frame.getAttribute("srcdoc")).getElementById("packed").textContent);
  return JSON.parse(parsed(page).getElementById("data").textContent);
}

/** The server's page with some data. */
async function pageOf(services, data) {
  template ??= ask(services, "template");
  template.catch(() => (template = null));
  const whole = parsed(await template);
  for (const name of LEFT_OUT) delete data[name];
  whole.getElementById("data").textContent = JSON.stringify(data).replace(
    /[<>&\u2028\u2029]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const header = whole.querySelector("body > header");
  header.querySelector("p").textContent = data.summary;
  const rows = data.settings.map(([label, text]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, text))
  );
  header.querySelector("dl").replaceChildren(...rows);
  return `<!DOCTYPE html>${whole.documentElement.outerHTML}`;
}

export function showSaved(registry, notebooks, { services, widgets }) {
  class SavedExplorer extends widgets.Panel {
    constructor(...options) {
      super(...options);
      this.addClass("gpuplace-saved");
      this.model = null;
      this.live = null;
      this.watch = null;
      this.isSaved = false;
    }

    async renderModel(model) {
      this.model = model;
      if (this.isAttached) await this.show_();
    }

    onAfterAttach(message) {
      super.onAfterAttach(message);
      if (this.model && !this.live && !this.isSaved) this.show_();
    }

    dispose() {
      this.watch?.disconnect();
      clearTimeout(this.patience);
      super.dispose();
    }

    panel() {
      return notebooks?.find((panel) => panel.node.contains(this.node)) ?? notebooks?.currentWidget ?? null;
    }

    async show_() {
      const view = this.model.data[WIDGET];
      const panel = this.panel();
      const rendermime = panel?.content.rendermime;
      const kernel = panel?.sessionContext?.session?.kernel;
      const isStarting = panel && !panel.sessionContext.isReady;
      if (!view || !this.model.trusted || !rendermime?.mimeTypes.includes(WIDGET) || (!kernel && !isStarting)) {
        await this.showPage();
        return;
      }
      this.live = rendermime.createRenderer(WIDGET);
      this.addWidget(this.live);
      this.watch = new MutationObserver(() => this.look());
      this.watch.observe(this.live.node, {
        subtree: true,
        childList: true,
        characterData: true,
        attributes: true,
        attributeFilter: ["class"],
      });
      this.patience = setTimeout(() => this.isAlive() || this.showPage(), PATIENCE_MS);
      await this.live.renderModel(rendermime.createModel({ data: { [WIDGET]: view }, trusted: true }));
      this.look();
    }

    isAlive() {
      const explorer = this.live?.node.querySelector(".gp-explorer");
      return Boolean(explorer) && !explorer.classList.contains("gp-gone");
    }

    /** What became of the widget: shown, not found by the kernel, or left alone by it. */
    look() {
      if (!this.live || this.isDisposed) return;
      const isLost = this.live.node.querySelector(".gp-explorer.gp-gone") ||
        /^Error displaying widget/.test(this.live.node.textContent.trim());
      if (isLost) this.showPage();
      else if (this.isAlive()) this.showLive();
    }

    showLive() {
      this.isSaved = false;
      this.page?.remove();
      this.page = null;
      this.live.show();
    }

    async showPage() {
      if (this.isSaved) return;
      this.isSaved = true;
      this.live?.hide();
      const told = element(
        "p",
        { role: "status" },
        "No kernel has this explorer: its saved picture can be clicked. Run the cell to go on.",
      );
      const frame = element("div", {});
      Object.assign(told.style, { margin: "2px 0 4px", color: "var(--jp-ui-font-color2)" });
      Object.assign(frame.style, { height: `${HEIGHT_PX}px`, resize: "vertical", overflow: "hidden" });
      this.page = element("div", { "data-lm-suppress-shortcuts": "true" }, told, frame);
      this.node.append(this.page);
      try {
        const data = await dataIn(this.model.data["text/html"]);
        frame.append(frameOf(await pageOf(services, data), "Explorer without a kernel"));
      } catch (error) {
        frame.style.height = "auto";
        frame.style.resize = "none";
        await this.showStill(frame, error);
      }
    }

    /** Without the server's page: the output's HTML, as far as JupyterLab trusts it. */
    async showStill(frame, error) {
      console.warn("gpuplace:", error.message);
      const html = registry.createRenderer("text/html");
      await html.renderModel(registry.createModel({ data: this.model.data, trusted: this.model.trusted }));
      frame.append(html.node);
    }
  }

  registry.addFactory({ safe: true, mimeTypes: [OURS], createRenderer: () => new SavedExplorer() }, RANK);
}
