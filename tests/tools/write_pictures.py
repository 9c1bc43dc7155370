"""Write the pictures that the README, the lessons and the reference show.

    python -m tests.tools.write_pictures [FOLDER]      (notebooks/images by default)

Report pages and the timeline show the program of lesson 13; the explorer, in JupyterLab, shows the guide's towers and
that program.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

import gpuplace as tf
from gpuplace.views.page.page import page_html
from tests.browser.conftest import write_notebook
from tests.browser.jupyterlab import CHROMIUM_FLAGS, chromium_path, jupyterlab, open_notebook, run_all

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "notebooks" / "images"
LESSON = ROOT / "notebooks" / "13-several-gpus.ipynb"
MACHINE = "4x Tesla K20m"
LOW_PICTURE = ".gp-explorer .gp-canvas { height: 560px !important }"
"""The explorer as a window of 900 pixels shows it; the window is higher, so that the explorer fits into it."""


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


def timeline(page: Page, path: Path) -> None:
    """A step of two towers."""
    page.set_viewport_size({"width": 1000, "height": 700})
    step = tf.estimate(tf.place(towers(2), MACHINE)).timeline()
    page.set_content(f"<body style='margin: 0; background: white'>{step.svg(width=960)}</body>")
    page.locator("svg").first.screenshot(path=path)


def explorer_of(page: Page, base: str, name: str) -> Locator:
    """Run a notebook, and return its explorer, with the file browser out of the way."""
    open_notebook(page, base, name)
    page.add_style_tag(content=LOW_PICTURE)
    run_all(page)
    page.keyboard.press("Control+b")
    explorer = page.locator(".gp-explorer")
    explorer.locator(".gp-canvas svg g.node").first.wait_for()
    return explorer


def shown(page: Page, explorer: Locator, path: Path) -> None:
    """Take a picture of an explorer once it has answered."""
    explorer.locator("p[role=status]").first.wait_for()
    explorer.evaluate("(element) => element.scrollIntoView({ block: 'start' })")
    page.wait_for_timeout(1000)
    explorer.screenshot(path=path)


def guide(page: Page, base: str, folder: Path) -> None:
    """The guide's towers on a machine that hides a GPU, and what moved compared with all GPUs."""
    explorer = explorer_of(page, base, "20-the-whole-guide.ipynb")
    explorer.get_by_role("tab", name="Compare").click()
    explorer.get_by_role("button", name="Pin the current placement").click()
    explorer.get_by_label("Soft placement").check()
    explorer.get_by_label("GPU 3 ·").uncheck()
    explorer.locator(".gp-canvas g.node#n5").click()  # MatMul_1
    explorer.get_by_label("Colour by").select_option("moved")
    shown(page, explorer, folder / "explorer-compare.png")
    explorer.get_by_label("Colour by").select_option("assigned")
    explorer.get_by_role("button", name="Stop comparing").click()
    explorer.get_by_role("tab", name="Table").click()
    shown(page, explorer, folder / "explorer.png")


def training_graph(page: Page, base: str, folder: Path) -> None:
    """Towers that train, with an op found in one of them, in the dark theme."""
    explorer = explorer_of(page, base, "train.ipynb")
    find = explorer.get_by_label("Find an op by regular expression")
    find.fill("tower_2/net/conv2/Conv2D$")
    find.press("Enter")
    explorer.get_by_role("tab", name="Copies").click()
    shown(page, explorer, folder / "explorer-dark.png")


def explorers(browser: Browser, folder: Path) -> None:
    """Pictures of the explorer."""
    with tempfile.TemporaryDirectory() as state, jupyterlab(Path(state)) as lab:
        page = browser.new_page(viewport={"width": 1180, "height": 1700})
        with lab.fresh() as base:
            shutil.copy(ROOT / "notebooks" / "20-the-whole-guide.ipynb", lab.root)
            guide(page, base, folder)
        with lab.fresh("JupyterLab Dark") as base:
            (lab.root / "train.pb").write_bytes(towers(4).as_graph_def().SerializeToString())
            write_notebook(
                lab.root / "train.ipynb", f"import gpuplace as tf\n\ntf.explore('train.pb', {MACHINE!r})"
            )
            training_graph(page, base, folder)


def main(folder: Path) -> None:
    """Write the pictures into a folder."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        page = browser.new_page()
        by_device(page, folder / "by-device.png")
        report_page(page, folder / "report-page.png")
        timeline(page, folder / "timeline.png")
        explorers(browser, folder)
        browser.close()
    for path in folder.glob("*.png"):  # flat colours need no more than a palette
        Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
