"""JupyterLab with a copy of the notebooks, and pages in Chromium that may not err or ask other hosts."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.browser.jupyterlab import CHROMIUM_FLAGS, ROOT, Lab, Watch, chromium_path, jupyterlab

KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
TRAINING = """
import gpuplace as tf

with tf.Graph().as_default() as graph:
    ends = []
    for tower in range(4):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            x = tf.placeholder(tf.float32, [8, 8], name="x")
            for layer in range(250):
                with tf.name_scope(f"layer_{layer}"):
                    for _ in range(3):
                        x = tf.matmul(x, x + 1.0)
            ends.append(x)
    with tf.name_scope("train"), tf.device("/cpu:0"):
        tf.add_n(ends)
tf.explore(graph, machine="4x Tesla K20m")
"""
"""A graph of 9,000 operations."""
MODEL = """
import gpuplace as tf
from tests.graphdef.function_libraries import saved_model

tf.explore(saved_model("serving_default", "other"), machine="2x Tesla K40c")
"""
"""A model with two signatures and functions."""
VIEWPORT = {"width": 1400, "height": 1400}


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for screenshots, kept by pytest with its other temporary folders."""
    return tmp_path_factory.mktemp("screenshots")


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """One Chromium for the tests of a module."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), headless=True, args=CHROMIUM_FLAGS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One JupyterLab for all tests; `fresh` before it is used."""
    with jupyterlab(tmp_path_factory.mktemp("jupyter")) as lab:
        yield lab


@pytest.fixture(scope="module", params=["JupyterLab Light", "JupyterLab Dark"])
def lab(request, jupyter: Lab) -> Iterator[tuple[str, str]]:
    """(address, theme) of a JupyterLab that serves copies of the notebooks."""
    with jupyter.fresh(request.param) as base:
        for path in (ROOT / "notebooks").glob("*.ipynb"):
            shutil.copy(path, jupyter.root)
        write_notebook(jupyter.root / "training.ipynb", TRAINING)
        write_notebook(jupyter.root / "model.ipynb", MODEL)
        yield base, request.param


def write_notebook(path: Path, *sources: str) -> None:
    """A notebook of code cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), path)


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
