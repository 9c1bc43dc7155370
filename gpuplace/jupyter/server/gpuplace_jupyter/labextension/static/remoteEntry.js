// The extension as JupyterLab loads it: a container with `init` and `get`, which is what webpack's federated modules are.
// Libraries are JupyterLab's own, from the scope that it shares. What a plugin does is loaded when it is first needed.

(() => {
  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;
  let scope = null;

  async function shared(name) {
    const versions = scope[name];
    const newest = Object.keys(versions).pop();
    return (await versions[newest].get())();
  }

  const load = (name) => import(new URL(name, here).href);
  const renderer = load("./saved.js"); // beside JupyterLab's own scripts: JupyterLab waits for it before it is ready
  renderer.catch(() => {}); // an error is seen where it is awaited

  async function plugins() {
    const names = [
      ...["apputils", "docmanager", "docregistry", "launcher", "notebook", "rendermime", "services", "ui-components"]
        .map((name) => `@jupyterlab/${name}`),
      "@lumino/widgets",
    ];
    const [apputils, docmanager, docregistry, launcher, notebook, rendermime, services, ui, widgets] = await Promise
      .all(
        names.map(shared),
      );
    const libraries = { apputils, docregistry, services, ui, widgets };
    const files = {
      id: "gpuplace:files",
      autoStart: true,
      requires: [docmanager.IDocumentManager],
      optional: [launcher.ILauncher],
      activate: (app, documents, cards) => {
        load("./files.js").then(({ openFiles }) => openFiles(app, documents, cards, libraries));
      },
    };
    const saved = {
      id: "gpuplace:saved-explorers",
      autoStart: true,
      requires: [rendermime.IRenderMimeRegistry],
      optional: [notebook.INotebookTracker],
      activate: async (_app, registry, notebooks) => {
        const { showSaved } = await renderer;
        showSaved(registry, notebooks, libraries);
      },
    };
    return [files, saved];
  }

  globalThis._JUPYTERLAB ??= {};
  globalThis._JUPYTERLAB.gpuplace = {
    init: (given) => {
      scope = given;
    },
    get: async () => {
      const found = await plugins();
      return () => ({ default: found, __esModule: true });
    },
  };
})();
