"""The saved notebook, opened and not run: pictures, tables and the explorer's still picture are there."""

import pytest

from tests.browser.jupyterlab import open_notebook

pytestmark = [
    pytest.mark.browser,
    pytest.mark.parametrize("lab", ["JupyterLab Dark"], indirect=True),
]


def test_everything_can_be_read_before_anything_runs(page, lab, screenshots):
    base, _ = lab
    open_notebook(page, base, "20-the-whole-guide.ipynb")
    images = page.locator(".jp-OutputArea-output img[src^='data:image/svg+xml']")
    images.first.wait_for()
    assert images.count() >= 6
    assert page.get_by_text("Error displaying widget").count() == 0
    for image in images.all():
        image.scroll_into_view_if_needed()
        assert image.evaluate("image => image.complete && image.naturalWidth > 100")
        assert image.get_attribute("alt").startswith("Placement graph. ")
    assert page.locator(".gp-explorer").count() == 0
    page.screenshot(path=screenshots / "saved-dark.png")
