// What the page was given: see gpuplace/page/data.py and gpuplace/timelines/page.py.

export const DATA = JSON.parse(document.getElementById("data").textContent);
