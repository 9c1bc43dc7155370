// Loads MODULES (name -> text, each behind those that it imports): a widget is one text and has no import map, so every
// module gets a URL of its own, which is written where the others name it. See gpuplace/web/modules.py.
//
// anywidget gives a model two seconds, measured by the clock, and refuses all its messages if that was not enough. So
// nothing is loaded before a view is drawn, modules are loaded once for all widgets of a page, and a model that was too
// late nevertheless is connected again.

/** Linked text -> its URL, for all widgets on the page. */
const URLS = /** @type {Map<string, string>} */ (globalThis.gpuplaceModules ??= new Map());

let loading = null;

function load() {
  const urls = {};
  let last = "";
  // @ts-ignore: stands in front of this text
  for (const [name, text] of Object.entries(MODULES)) {
    const linked = text.replace(/^(import |import .* from |\} from )"(gpuplace\/[^"]+)";$/gm, (_, head, needed) => {
      return `${head}"${urls[needed]}";`;
    });
    if (!URLS.has(linked)) URLS.set(linked, URL.createObjectURL(new Blob([linked], { type: "text/javascript" })));
    urls[name] = last = URLS.get(linked);
  }
  return import(last);
}

async function initialize({ model }) {
  const whole = await model.widget_manager?.get_model?.(model.get("own_id"));
  if (!whole?.comm || !whole._handle_comm_msg) return;
  // Not waited for: it is answered when this model is ready, with an error if it was too late for that.
  const probe = { content: { data: { method: "custom", content: { type: "probe" } } } };
  whole._handle_comm_msg(probe).catch(() => {
    const usual = Object.getPrototypeOf(whole.constructor.prototype)._handle_comm_msg;
    whole.comm.on_msg((message) => usual.call(whole, message));
    whole.comm.send({ method: "request_state" }, {}); // what was said meanwhile is lost
  });
}

async function render(context) {
  const view = await (loading ??= load());
  return view.default.render(context);
}

export default { initialize, render };
