// Pages of gpuplace in frames: asked of the server, and shown where they can reach nothing around them.

/** Asks gpuplace's server extension; throws an error with its words. */
export async function ask(services, path, init = {}) {
  const settings = services.ServerConnection.makeSettings();
  const response = await services.ServerConnection.makeRequest(`${settings.baseUrl}gpuplace/${path}`, init, settings);
  const text = await response.text();
  if (response.ok) return text;
  let told = text;
  try {
    told = JSON.parse(text).reason || JSON.parse(text).message || text;
  } catch {
    // The server answered in plain text.
  }
  if (response.status === 404 && !/file/.test(told)) {
    told = "This Jupyter server does not load gpuplace's extension: jupyter server extension enable gpuplace_jupyter";
  }
  throw Object.assign(new Error(told), { status: response.status });
}

export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A frame with a page: a sandbox with an origin of its own, in the theme of JupyterLab. */
export function frameOf(page, title) {
  const frame = element("iframe", { sandbox: "allow-scripts allow-downloads", title });
  const isDark = document.body.dataset.jpThemeLight === "false";
  Object.assign(frame.style, { border: "0", width: "100%", height: "100%", colorScheme: isDark ? "dark" : "light" });
  frame.srcdoc = page;
  return frame;
}
