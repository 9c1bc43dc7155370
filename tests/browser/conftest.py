"""JupyterLab with a copy of the notebooks, and pages in Chromium that may not err or ask other hosts."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.jupyterlab import CHROMIUM_FLAGS, ROOT, Watch, chromium_path, jupyterlab

VIEWPORT = {"width": 1400, "height": 1400}


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for screenshots, kept by pytest with its other temporary folders."""
    return tmp_path_factory.mktemp("screenshots")


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """One Chromium for the tests of a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), headless=True, args=CHROMIUM_FLAGS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=["JupyterLab Light", "JupyterLab Dark"])
def lab(request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """(address, theme) of a JupyterLab that serves copies of the notebooks."""
    root = tmp_path_factory.mktemp("notebooks")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(path, root)
    with jupyterlab(root, tmp_path_factory.mktemp("jupyter"), request.param) as base:
        yield base, request.param


@pytest.fixture(scope="module")
def page(lab, browser) -> Iterator:
    """A page with a `watch` on what it does; it has to have behaved in the end."""
    base, _ = lab
    page = browser.new_page(viewport=VIEWPORT)
    page.watch = Watch(base).over(page)
    yield page
    page.close()
    assert page.watch.errors == []
    assert page.watch.elsewhere == []
