"""Every notebook runs from a clean kernel, top to bottom, in the order of its cells."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


def test_there_is_a_first_lesson():
    assert [path.name for path in NOTEBOOKS if path.name.startswith("01-")]


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute()  # a cell that fails raises, unless it is tagged as one that should
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code" and cell.source]
    assert counts == list(range(1, len(counts) + 1))
