"""Runs notebooks in clean kernels, and keeps of their outputs what is the same on every machine.

Notebooks are kept *with* outputs, so that they can be read without a kernel: pictures as images, widgets as their still
picture. `python tests/notebooks/notebook_runs.py` runs them all and saves the outputs; a test runs them and compares.
"""

import os
import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb"))
TIMEOUT_S = 180
LIVE = ("application/vnd.jupyter.widget-view+json",)
"""Outputs that mean nothing without the kernel that made them."""


def execute(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh kernel that has no settings of this process.

    Raises:
        CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GPUPLACE_", "CUDA_"))}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
    )
    client.execute(env=env)
    return notebook


def texts(cell: nbformat.NotebookNode) -> list[str]:
    """What a cell printed and showed, as text: streams joined, then the plain form of each shown object."""
    streams: dict[str, str] = {}
    shown = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            streams[output.name] = streams.get(output.name, "") + output.text
        elif output.output_type == "error":
            shown.append(f"{output.ename}: {output.evalue}")
        else:
            shown.append(output.data.get("text/plain", ""))
    return [*(f"{name}: {text}" for name, text in sorted(streams.items())), *shown]


def portable(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without what differs from run to run."""
    notebook = nbformat.from_dict(notebook)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        joined: list = []
        for output in cell.get("outputs", ()):
            output.get("metadata", {}).clear()
            if "data" in output:
                for form in LIVE:
                    output.data.pop(form, None)
            if (
                joined
                and output.output_type == "stream" == joined[-1].output_type
                and output.name == joined[-1].name
            ):
                joined[-1].text += output.text
            else:
                joined.append(output)
        if cell.cell_type == "code":
            cell.outputs = joined
    return notebook


def code_cell(notebook: nbformat.NotebookNode, pattern: str) -> nbformat.NotebookNode:
    """The only code cell whose source has a match for the pattern."""
    (cell,) = [
        cell for cell in notebook.cells if cell.cell_type == "code" and re.search(pattern, cell.source)
    ]
    return cell


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(portable(execute(path)), path)
        print(path.name)
