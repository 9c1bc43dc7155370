"""Writes the pictures of report pages that the README, the lessons and the reference show: the program of lesson 13.

    python -m tests.tools.write_pictures [FOLDER]      (notebooks/images by default)

Pictures of the explorer are screenshots of JupyterLab, and of timelines of a measured step; they are taken by hand.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

import gpuplace as tf
from gpuplace.views.page.page import page_html
from tests.browser.jupyterlab import CHROMIUM_FLAGS, chromium_path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "notebooks" / "images"
LESSON = ROOT / "notebooks" / "13-several-gpus.ipynb"
MACHINE = "4x Tesla K20m"


def towers(gpus: int) -> tf.Graph:
    """Return the graph of the lesson's program: towers that train, the variables and the queue on the CPU."""
    names: dict[str, Any] = {}
    for cell in json.loads(LESSON.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            exec(source.partition("\n\n\ntwo = ")[0], names)
            if "program" in names:
                return names["program"](gpus)
    raise LookupError(f"{LESSON} defines no function program")


def opened(page: Page, title: str, **options: Any) -> None:
    """Opens the report page of the four towers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page_html(tf.place(towers(4), MACHINE), title=title, **options), encoding="utf-8")
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")


def by_device(page: Page, path: Path) -> None:
    """A lane for each device."""
    page.set_viewport_size({"width": 1300, "height": 1150})
    opened(page, "by device")
    page.get_by_role("button", name="Fold all").click()
    page.get_by_role("button", name="By device").click()
    page.wait_for_timeout(300)
    page.locator("#graph .gp-picture").screenshot(path=path)


def report_page(page: Page, path: Path) -> None:
    """The model's picture, and what moves on another machine."""
    page.set_viewport_size({"width": 1300, "height": 1000})
    soft = tf.ConfigProto(allow_soft_placement=True)
    other = tf.place(towers(4), "2x Tesla K20m", soft)
    opened(page, "train.pb", against=other, against_text="2x Tesla K20m")
    page.get_by_role("tab", name="Moves").click()
    page.locator("#graph g.node").filter(has_text="tower_1").first.click()
    page.wait_for_timeout(300)
    page.screenshot(path=path)


def main(folder: Path) -> None:
    """Writes the pictures into a folder."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        page = browser.new_page()
        by_device(page, folder / "by-device.png")
        report_page(page, folder / "report-page.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
