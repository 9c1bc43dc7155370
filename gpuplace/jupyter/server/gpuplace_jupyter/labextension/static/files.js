// TensorFlow's files in tabs of their own: a double-click shows the page of `gpuplace report`.

import { ask, element, frameOf } from "./pages.js";

const FACTORY = "gpuplace";
const PROVIDER = "gpuplace-no-content";
const MACHINES = [
  "local",
  "cpu",
  "1x Tesla T4",
  "2x Tesla K40c",
  "4x Tesla K20m",
  "2 CPU, 1x V100 + 2x K40c",
  "8x H100",
];
const TEXTS = /\.(pbtxt|log|txt)$/i;
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
<path d="M7 6v5h10v5M7 11v5" fill="none" stroke="#6b7480" stroke-width="1.6"/>
<rect x="3" y="2.5" width="8" height="5.5" rx="1.5" fill="#c8ccd2" stroke="#57606a"/>
<rect x="3" y="15.5" width="8" height="5.5" rx="1.5" fill="#6d96ff" stroke="#57606a"/>
<rect x="13" y="15.5" width="8" height="5.5" rx="1.5" fill="#edae69" stroke="#57606a"/></svg>`;
let made = 0;

const styled = (node, style) => Object.assign(node.style, style) && node;

/** A page with the switches that a graph is placed with; `source` is what asks for it. */
function pageView({ title, source, actions }) {
  made += 1;
  const machine = element("input", {
    id: `gpuplace-machine-${made}`,
    list: `gpuplace-machines-${made}`,
    size: "24",
    placeholder: "this computer",
    title: 'Such as "4x Tesla K20m", "2 CPU, 1x V100", cpu or local',
    onchange: () => show(),
  });
  const soft = element("input", { id: `gpuplace-soft-${made}`, type: "checkbox", onchange: () => show() });
  const told = element("span", { role: "status" });
  const bar = styled(
    element(
      "div",
      { role: "toolbar", "aria-label": "Placement", "data-lm-suppress-shortcuts": "true" },
      element("label", { for: machine.id }, "Machine"),
      machine,
      element(
        "datalist",
        { id: `gpuplace-machines-${made}` },
        ...MACHINES.map((value) => element("option", { value })),
      ),
      soft,
      element("label", { for: soft.id }, "Soft placement"),
      ...actions({ machine, soft }),
      told,
    ),
    {
      display: "flex",
      flexWrap: "wrap",
      gap: "4px 8px",
      alignItems: "center",
      padding: "5px 10px",
      color: "var(--jp-ui-font-color1)",
      background: "var(--jp-layout-color1)",
      borderBottom: "1px solid var(--jp-border-color1)",
    },
  );
  const place = styled(element("div", {}), { flex: "1 1 0", minHeight: "0", overflow: "auto" });
  const node = styled(element("div", { class: "gpuplace-page-view" }, bar, place), {
    display: "flex",
    flexDirection: "column",
    height: "100%",
    background: "var(--jp-layout-color1)",
  });
  let asking = null;

  async function show() {
    asking?.abort();
    const mine = asking = new AbortController();
    told.textContent = "working …";
    const query = new URLSearchParams({ machine: machine.value, soft: soft.checked ? "1" : "" });
    try {
      const page = await source(query, mine.signal);
      if (mine.signal.aborted) return;
      place.replaceChildren(frameOf(page, `Placement of ${title}`));
    } catch (error) {
      if (mine.signal.aborted) return;
      const message = element("pre", { role: "alert" }, error.message);
      styled(message, { margin: "16px", whiteSpace: "pre-wrap", color: "var(--jp-ui-font-color1)" });
      place.replaceChildren(message);
    }
    told.textContent = "";
  }

  return { node, show, stop: () => asking?.abort(), isSoft: () => soft.checked, machine: () => machine.value };
}

const button = (text, onclick) => element("button", { type: "button", onclick, class: "jp-mod-styled" }, text);

/** A notebook beside the file, with the cell that explores it. */
async function openInNotebook(app, documents, path, { machine, soft }) {
  const slash = path.lastIndexOf("/");
  const [folder, name] = [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)];
  const isSaved = /^saved_model\.pb(txt)?$/.test(name);
  const words = [JSON.stringify(isSaved ? "." : name)];
  if (machine.value) words.push(`machine=${JSON.stringify(machine.value)}`);
  if (soft.checked) words.push("soft_placement=True");
  const call = /\.log$/i.test(name) ? `tf.explore(tf.parse_log(${words[0]}))` : `tf.explore(${words.join(", ")})`;
  const contents = app.serviceManager.contents;
  const notebook = await contents.newUntitled({ path: folder, type: "notebook" });
  const cell = {
    cell_type: "code",
    execution_count: null,
    id: "explorer",
    metadata: {},
    outputs: [],
    source: `import gpuplace as tf\n\n${call}`,
  };
  const kernelspec = { name: "python3", display_name: "Python 3 (ipykernel)", language: "python" };
  await contents.save(notebook.path, {
    type: "notebook",
    format: "json",
    content: { cells: [cell], metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 },
  });
  documents.openOrReveal(notebook.path);
}

export function openFiles(app, documents, cards, { apputils, docregistry, services, ui, widgets }) {
  const icon = new ui.LabIcon({ name: "gpuplace:graph", svgstr: ICON });
  const registry = app.docRegistry;
  const types = [
    ["tensorflow-graph", "TensorFlow graph", [".pb", ".pbtxt", ".meta"]],
    ["tensorflow-log", "TensorFlow log", [".log"]],
  ];
  for (const [name, displayName, extensions] of types) {
    registry.addFileType({ name, displayName, extensions, icon, contentType: "file", fileFormat: "base64" });
  }
  // A graph may have many megabytes: the server reads it, and JupyterLab needs to know only that it is there.
  const contents = app.serviceManager.contents;
  const providers = contents.defaultDrive?.contentProviderRegistry;
  providers?.register(PROVIDER, {
    get: async (path, options) => ({
      ...(await contents.get(path, { content: false })),
      content: "",
      format: options?.format ?? "base64",
    }),
  });

  class PageFactory extends docregistry.ABCWidgetFactory {
    createNewWidget(context) {
      const { path } = context;
      const view = pageView({
        title: path,
        source: (query, signal) => {
          query.set("path", contents.localPath(path));
          return ask(services, `page?${query}`, { signal });
        },
        actions: (fields) => [
          button("Open in a notebook", () => openInNotebook(app, documents, path, fields)),
          TEXTS.test(path) ? button("Open as text", () => documents.openOrReveal(path, "Editor")) : null,
        ],
      });
      const content = new widgets.Widget({ node: view.node });
      content.addClass("gpuplace-document");
      const widget = new docregistry.DocumentWidget({ content, context });
      widget.disposed.connect(view.stop);
      context.ready.then(() => {
        view.show();
        context.fileChanged.connect(view.show);
      });
      return widget;
    }
  }
  registry.addWidgetFactory(
    new PageFactory({
      name: FACTORY,
      label: "gpuplace",
      fileTypes: [...types.map(([name]) => name), "text"],
      defaultFor: types.map(([name]) => name),
      modelName: "base64",
      readOnly: true,
      ...(providers ? { contentProviderId: PROVIDER } : {}),
    }),
  );
  addLauncher(app, documents, cards, icon, { apputils, services, widgets });
}

/** A tab that takes a file from the computer or from the file browser. */
function dropView(documents, services, widgets) {
  const file = element("input", {
    type: "file",
    "aria-label": "A TensorFlow file",
    onchange: () => take(file.files[0]),
  });
  const place = styled(
    element(
      "div",
      { class: "gpuplace-drop" },
      element("h2", {}, "Explore a TensorFlow graph"),
      element(
        "p",
        {},
        "Drop a file here: .pb, .pbtxt, .meta, a log or a RunMetadata. It stays on this Jupyter server.",
      ),
      file,
    ),
    {
      flex: "1",
      margin: "24px",
      padding: "24px",
      border: "2px dashed var(--jp-border-color1)",
      borderRadius: "8px",
      color: "var(--jp-ui-font-color1)",
    },
  );
  const node = styled(element("div", { "data-lm-suppress-shortcuts": "true" }, place), {
    display: "flex",
    flexDirection: "column",
    height: "100%",
    background: "var(--jp-layout-color1)",
  });

  function take(dropped) {
    if (!dropped) return;
    const view = pageView({
      title: dropped.name,
      source: (query, signal) => {
        query.set("name", dropped.name);
        return ask(services, `page?${query}`, { method: "POST", body: dropped, signal });
      },
      actions: () => [button("Another file", () => node.replaceChildren(place))],
    });
    node.replaceChildren(view.node);
    view.show();
  }

  node.addEventListener("dragover", (event) => event.preventDefault());
  node.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    take(event.dataTransfer.files[0]);
  });
  for (const name of ["lm-dragenter", "lm-dragover", "lm-drop"]) {
    node.addEventListener(name, (event) => {
      if (!event.mimeData.hasData("application/x-jupyter-icontents")) return;
      event.preventDefault();
      event.stopPropagation();
      event.dropAction = event.proposedAction;
      if (name === "lm-drop") {
        for (const path of event.mimeData.getData("application/x-jupyter-icontents")) {
          documents.openOrReveal(path, FACTORY);
        }
      }
    });
  }
  return new widgets.Widget({ node });
}

function addLauncher(app, documents, cards, icon, { apputils, services, widgets }) {
  const command = "gpuplace:explore";
  app.commands.addCommand(command, {
    label: "gpuplace",
    icon,
    caption: "Explore a TensorFlow graph: where every op runs, and why",
    execute: () => {
      const widget = new apputils.MainAreaWidget({ content: dropView(documents, services, widgets) });
      made += 1;
      widget.id = `gpuplace-explore-${made}`;
      widget.title.label = "gpuplace";
      widget.title.icon = icon;
      widget.title.closable = true;
      app.shell.add(widget, "main");
      app.shell.activateById(widget.id);
      return widget;
    },
  });
  cards?.add({ command, category: "Other", rank: 10 });
}
