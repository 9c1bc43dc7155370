// Loads MODULES (name -> text, each behind those that it imports): a widget is one text and has no import map, so every
// module gets a URL of its own, which is written where the others name it. See gpuplace/web/modules.py.

const urls = {};
let last = "";
// @ts-ignore: stands in front of this text
for (const [name, text] of Object.entries(MODULES)) {
  const linked = text.replace(/^(import |import .* from |\} from )"(gpuplace\/[^"]+)";$/gm, (_, head, needed) => {
    return `${head}"${urls[needed]}";`;
  });
  urls[name] = last = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
}
const view = await import(last);
for (const url of Object.values(urls)) URL.revokeObjectURL(url);

export default view.default;
