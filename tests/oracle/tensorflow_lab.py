"""TensorFlow's log in cells of a real JupyterLab, in Chromium, with the log in files as the judge.

    python -m tests.oracle.tensorflow_lab [--only WORD ...] [--picture FOLDER]

run with TensorFlow 2.21, gpuplace with its extra ``lab``, and Playwright in one environment. Cells with
``%%watch_placement`` run

- each program of ``tensorflow_programs``: the ops by device are those of the program's log in a file;
- eager ops whose log has more than 10 MB: each has its row;
- 50 cells in a row: afterwards as many descriptors and threads are open as before;
- a loop that is interrupted by the notebook's own button: its ops are shown, and the next cell runs as before.

The exit code is how many of these differ. ``--picture`` keeps a screenshot of each notebook.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import nbformat
from playwright.sync_api import Page, sync_playwright

from tests.browser.jupyterlab import CHROMIUM_FLAGS, chromium_path, jupyterlab, open_notebook, run_all
from tests.oracle.tensorflow_log import HERE, PROGRAMS, SWITCH, counts, run

LOAD = "%load_ext gpuplace"
FACTS = """
import json
from tests.oracle.tensorflow_log import counts, left_out
print("FACTS" + json.dumps([counts(log.placement), left_out(log.placement, log.stdout, log.stderr)]))
"""
OPEN = """
import contextlib, gc, os, threading
gc.collect()
files = []
for number in os.listdir("/proc/self/fd"):
    with contextlib.suppress(OSError):
        name = os.readlink(f"/proc/self/fd/{number}")
        if "history.sqlite" not in name:  # IPython's, open while it is written
            files.append(name.partition(":")[0])
print("FACTS" + json.dumps([sorted(files), threading.active_count(), len(log.placement.events)]))
"""
MANY = 150_000
"""Eager ops whose lines have more than 10 MB."""


def facts_of(page: Page) -> list:
    """What the cells printed behind ``FACTS``."""
    texts = page.locator(".jp-OutputArea-output pre").all_text_contents()
    return [json.loads(text[5:]) for text in texts if text.startswith("FACTS")]


class Notebooks:
    """Notebooks that are written, opened and run.

    Args:
        root: the folder that JupyterLab serves.
        base: its address.
        browser: Chromium.
        pictures: folder for screenshots; None for none.
    """

    def __init__(self, root: Path, base: str, browser, pictures: Path | None) -> None:
        self.root, self.base, self.browser, self.pictures = root, base, browser, pictures

    def opened(self, name: str, *cells: str) -> Page:
        """A page with a new notebook."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(notebook, self.root / f"{name}.ipynb")
        page = self.browser.new_page(viewport={"width": 1280, "height": 900})
        open_notebook(page, self.base, f"{name}.ipynb")
        return page

    def facts(self, name: str, *cells: str) -> list:
        """What the cells of a notebook print behind ``FACTS``."""
        page = self.opened(name, *cells)
        try:
            run_all(page, timeout_s=300)
            page.locator("pre", has_text="FACTS").last.wait_for()
            return facts_of(page)
        finally:
            self.closed(page, name)

    def closed(self, page: Page, name: str) -> None:
        """Keep a picture, and end the kernel."""
        if self.pictures is not None:
            page.locator(".jp-CodeCell").nth(2).locator(".jp-OutputArea").first.scroll_into_view_if_needed()
            page.mouse.wheel(0, 300)
            page.wait_for_timeout(300)
            page.screenshot(path=str(self.pictures / f"{name}.png"))
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:shutdown-kernel')")
        page.close()


def program(notebooks: Notebooks, name: str) -> list[str]:
    """What is wrong with a program's cell."""
    path = HERE / "tensorflow_programs" / f"{name}.py"
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, "program.py")
        alone.write_text(f"{SWITCH}\nimport runpy\nrunpy.run_path({str(path)!r})\n")
        from gpuplace.views.logs.parser import parse_log

        expected = counts(parse_log("\n".join(run([str(alone)], folder, "alone"))))
    cell = f"%%watch_placement --into log\n{path.read_text()}"
    ((found, left),) = notebooks.facts(name, LOAD, "import tensorflow", cell, FACTS)
    wrong = [f"left out: {text}" for text in left]
    if found != expected:
        wrong += [f"only in the file: {row}" for row in expected if row not in found][:4]
        wrong += [f"only in the cell: {row}" for row in found if row not in expected][:4]
    return wrong


def long_log(notebooks: Notebooks) -> list[str]:
    """What is wrong with a cell that logs more than 10 MB."""
    cell = (
        "%%watch_placement --into log\nx = tensorflow.constant(1.0)\n"
        f"for _ in range({MANY}):\n    tensorflow.raw_ops.Neg(x=x)"
    )
    size = 'print("FACTS" + json.dumps([len(log.stderr) + len(log.stdout)]))'
    (found, left), (nbytes,) = notebooks.facts("long_log", LOAD, "import json, tensorflow", cell, FACTS, size)
    eager = sum(row[3] for row in found if row[1] == "Neg")
    wrong = [f"left out: {text}" for text in left[:4]]
    wrong += [] if nbytes > 10_000_000 else [f"the log has {nbytes:,} characters"]
    return wrong if eager == MANY else [*wrong, f"{eager:,} of {MANY:,} ops"]


def many_cells(notebooks: Notebooks) -> list[str]:
    """What 50 cells leave open."""
    cell = "%%watch_placement --into log\ntensorflow.add(1.0, 2.0)"
    before, after = notebooks.facts(
        "many_cells", LOAD, "import json, tensorflow", cell, cell, OPEN, *[cell] * 50, OPEN
    )
    more = list((Counter(after[0]) - Counter(before[0])).elements())
    return (
        [] if before == after else [f"open: {more}, threads and ops: {before[1:]} before, {after[1:]} after"]
    )


def interrupted(notebooks: Notebooks) -> list[str]:
    """What is wrong after a cell was interrupted."""
    loop = (
        "%%watch_placement --into log\nimport time\nx = tensorflow.constant(1.0)\n"
        "print('the loop begins')\nwhile True:\n    tensorflow.raw_ops.Neg(x=x)\n    time.sleep(0.01)"
    )
    after = "%%watch_placement --into log\ntensorflow.raw_ops.Exp(x=1.0)"
    page = notebooks.opened("interrupted", LOAD, "import tensorflow", loop)
    try:
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        # a cell that waits for the import also shows `*`: only the loop's own line says that it runs
        page.locator(".jp-OutputArea-output", has_text="the loop begins").first.wait_for(timeout=120_000)
        page.wait_for_timeout(5000)
        page.locator("[data-jupyter-action='interrupt'], [title^='Interrupt']").first.click()
        page.locator("text=KeyboardInterrupt").first.wait_for(timeout=30_000)
        for text in (FACTS, after, FACTS):
            page.evaluate("() => window.jupyterapp.commands.execute('notebook:insert-cell-below')")
            page.evaluate(
                "(text) => window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(text)",
                text,
            )
            page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell')")
        page.wait_for_function(
            "() => [...document.querySelectorAll('pre')]"
            ".filter((pre) => pre.textContent.startsWith('FACTS')).length === 2",
            timeout=60_000,
        )
        (first, left), (second, _) = facts_of(page)
    finally:
        notebooks.closed(page, "interrupted")
    wrong = [f"left out: {text}" for text in left[:4]]
    wrong += [] if any(row[1] == "Neg" and row[3] > 10 for row in first) else [f"interrupted: {first}"]
    return wrong if any(row[1] == "Exp" for row in second) else [*wrong, f"afterwards: {second}"]


def main(argv: list[str] | None = None) -> int:
    """Run the notebooks; how many are wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args(argv)
    checks = {name: lambda notebooks, name=name: program(notebooks, name) for name in PROGRAMS}
    checks |= {check.__name__: check for check in (long_log, many_cells, interrupted)}
    failed = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        state = Path(folder)
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        with jupyterlab(state) as lab, lab.fresh() as base:
            notebooks = Notebooks(lab.root, base, browser, options.picture)
            for name, check in checks.items():
                if options.only and name not in options.only:
                    continue
                wrong = check(notebooks)
                failed += bool(wrong)
                print(f"{'WRONG' if wrong else 'equal':<7}{name}", flush=True)
                for text in wrong:
                    print("  ", text)
        browser.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
