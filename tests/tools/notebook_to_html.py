"""Execute a notebook in a clean kernel and write it as one HTML page that needs no network.

python tests/tools/notebook_to_html.py notebooks/01-devices-and-names.ipynb build
"""

import argparse
import copy
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def execute(path: Path, timeout_s: int = 300) -> nbformat.NotebookNode:
    """Returns the notebook at `path` with the outputs of a fresh kernel.

    Raises:
        CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=timeout_s, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()
    return notebook


def to_html(notebook: nbformat.NotebookNode, title: str) -> str:
    """Returns one page with everything inside it: no script, style or font is asked of another host.

    A live widget needs scripts from elsewhere, so each output shows the still picture or text that it has beside it.
    """
    notebook = copy.deepcopy(notebook)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if len(data) > 1:
                data.pop(WIDGET_VIEW, None)
    exporter = HTMLExporter(require_js_url="", jquery_url="", mathjax_url="")
    html, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": title}})
    return re.sub(r'<script src="">\s*</script>', "", html)


def main() -> int:
    """Runs the command line; 0 when the page is written, 1 when a cell failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("folder", type=Path, help="where the page is written")
    arguments = parser.parse_args()
    if not arguments.notebook.is_file():
        print(f"{arguments.notebook}: there is no such notebook", file=sys.stderr)
        return 1
    start = time.perf_counter()
    try:
        notebook = execute(arguments.notebook)
    except CellExecutionError as error:
        print(f"{arguments.notebook}: a cell failed\n{error}", file=sys.stderr)
        return 1
    arguments.folder.mkdir(parents=True, exist_ok=True)
    page = arguments.folder / f"{arguments.notebook.stem}.html"
    page.write_text(to_html(notebook, arguments.notebook.stem), encoding="utf-8")
    print(f"{page}: {page.stat().st_size / 1e6:.1f} MB, executed in {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
