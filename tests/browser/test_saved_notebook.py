"""The saved notebook, opened and not run: pictures, tables and the explorer's still picture are there."""

import pytest

from tests.browser.jupyterlab import open_notebook

pytestmark = [
    pytest.mark.browser,
    pytest.mark.parametrize("lab", ["JupyterLab Dark"], indirect=True),
]


def test_everything_can_be_read_before_anything_runs(page, lab, screenshots):
    base, _ = lab
    open_notebook(page, base, "10-the-whole-guide.ipynb")
    images = page.locator(".jp-OutputArea-output img[src^='data:image/svg+xml']")
    pages = page.locator(
        ".jp-OutputArea-output iframe"
    )  # of explorers, which are pages where the extension is
    assert images.count() + pages.count() >= 6
    for image in images.all():
        image.scroll_into_view_if_needed()
        assert image.evaluate("image => image.complete && image.naturalWidth > 100")
        assert image.get_attribute("alt").startswith("Placement graph. ")
    still = page.locator(".jp-OutputArea-output").filter(has_text="<Explorer of 7 nodes")
    assert still.locator("img").count() == 1
    assert "MatMul_1" in still.locator("table").first.text_content()
    assert page.locator(".gp-explorer").count() == 0
    still.scroll_into_view_if_needed()
    page.screenshot(path=screenshots / "saved-dark.png")
