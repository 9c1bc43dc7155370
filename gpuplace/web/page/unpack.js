// Unpacks a page into the frame that holds it; see gpuplace/views/page/packed.py. It is a script of its own and imports nothing.

(async () => {
  const bytes = Uint8Array.from(atob(document.getElementById("packed").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { page, modules } = JSON.parse(await new Response(stream).text());
  const urls = Object.entries(modules).map(([name, text]) => [
    name,
    `data:text/javascript;charset=utf-8,${encodeURIComponent(text)}`,
  ]);
  const map = JSON.stringify({ imports: Object.fromEntries(urls) });
  document.open();
  document.write(page.replace("@modules@", () => map));
  document.close();
})();
