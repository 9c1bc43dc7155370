"""`jupyter nbconvert --to html` of every notebook, opened without a kernel and a network: all of it can be read."""

import re
import shutil

import nbformat
import pytest

from tests.browser.jupyterlab import ROOT

nbconvert = pytest.importorskip("nbconvert")
pytestmark = [pytest.mark.browser, pytest.mark.notebook]

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb"))
WIDTHS = (1300, 900)
"""Of the window, in CSS pixels."""
FAULTS = """() => {
  const faults = [], wide = document.documentElement.clientWidth;
  const name = (e) => `${e.tagName} ${e.className} ${e.textContent.trim().slice(0, 60)}`;
  const whole = document.documentElement.scrollWidth;
  if (whole > wide) faults.push(`the page is ${whole} wide`);
  for (const image of document.images)
    if (!image.complete || image.naturalWidth < 50 || !image.alt) faults.push(`no picture: ${image.alt}`);
  for (const output of document.querySelectorAll('.jp-OutputArea-output')) {
    const box = output.getBoundingClientRect();
    const something = output.innerText.trim() || output.querySelector('img');
    if (box.height < 8 || !something) faults.push(`blank: ${name(output)}`);
  }
  for (const e of document.querySelectorAll('img, table, pre, p, li')) {
    if (!e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (box.right > wide + 1 || box.left < 0) faults.push(`off the page: ${name(e)}`);
    const is_source = e.closest('.jp-InputArea');  // long lines of programs scroll
    if (e.tagName === 'PRE' && !is_source && e.scrollWidth > e.clientWidth + 2) faults.push(`cut off: ${name(e)}`);
  }
  return faults;
}"""


def shown(notebook: nbformat.NotebookNode) -> int:
    """Outputs of the cells."""
    return sum(len(cell.outputs) for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_readable_without_kernel_and_network(path, browser, tmp_path, screenshots):
    notebook = nbformat.read(path, as_version=4)
    html, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    shutil.copytree(path.parent / "images", tmp_path / "images")
    page = browser.new_page()
    try:
        page.route(re.compile("^https?:"), lambda route: route.abort())
        page.goto((tmp_path / "page.html").as_uri())
        assert page.locator(".jp-OutputArea-output").count() == shown(notebook)
        assert page.locator("img[src^='data:image/svg+xml']").count() == html.count('src="data:image/svg+xml')
        assert page.locator("h1").first.is_visible()
        for details in page.locator(".jp-MarkdownCell details").all():
            assert not details.locator("pre").first.is_visible()
        for is_open in (False, True):
            page.evaluate(
                "(open) => document.querySelectorAll('details').forEach((e) => { e.open = open; })", is_open
            )
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 1000})
                assert page.evaluate(FAULTS) == [], width
        page.screenshot(path=screenshots / f"{path.stem}.png", full_page=True)
    finally:
        page.close()


def test_faults_are_seen(browser):
    """The check is one that can fail."""
    page = browser.new_page(viewport={"width": 900, "height": 600})
    page.set_content(
        "<div class='jp-OutputArea-output'></div><img alt='' src='data:,'>"
        "<table style='width: 2000px'><td>x</td></table>"
        "<pre style='width: 100px; overflow: auto'>" + "long" * 100 + "</pre>"
    )
    found = " ".join(page.evaluate(FAULTS))
    page.close()
    for fault in ("the page is", "no picture", "blank", "off the page", "cut off"):
        assert fault in found
