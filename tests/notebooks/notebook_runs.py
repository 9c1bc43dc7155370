"""Runs notebooks in clean kernels, and keeps of their outputs what is the same on every machine.

Notebooks are kept *with* outputs, so that they can be read without a kernel: pictures as images, widgets as their still
picture. The things to try have answers in folded blocks of Markdown, with a block of code and one of what it prints::

    <details><summary>Answer</summary>

    ```python
    print(placement.counts())
    ```

    prints:

    ```text
    {'GPU:0': 3}
    ```
    </details>

Answers run in the kernel of their notebook, where they stand. `python tests/notebooks/notebook_runs.py [NAME ...]` runs
notebooks and saves the outputs, those of answers too; tests run them and compare.

Outputs are compared with a fresh run, exactly: estimates, recommendations and placements are the same on every machine.
A cell with the tag `within:0.05` shows numbers that threads add up in another order: they may differ by that part. A
cell with the tag `measured` shows times of the computer that runs it: tests compare the kinds of its outputs, and no
lesson argues from it.
"""

import base64
import math
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb"))
LESSONS = [path for path in NOTEBOOKS if "01" <= path.stem[:2] <= "12"]
SEQUELS = [path for path in NOTEBOOKS if "13" <= path.stem[:2] <= "18"]
"""Longer lessons; with `LESSONS` they are the path through the lessons. Reference lessons have numbers from 20 on."""
TIMEOUT_S = 180
LIVE = ("application/vnd.jupyter.widget-view+json",)
"""Outputs that mean nothing without the kernel that made them."""

ANSWER = re.compile(r"```python\n(?P<code>.*?)\n```(?:\s*prints:\s*```text\n(?P<text>.*?)```)?", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
_IMAGE = re.compile(r'src="data:image/svg\+xml;base64,([^"]*)"')
_SVG = "{http://www.w3.org/2000/svg}"


class Answer(NamedTuple):
    """The answer to a thing to try, after it ran."""

    code: str
    """What ran."""
    expected: str
    """What the notebook says that it prints."""
    printed: str
    """What it printed."""


class Run(NamedTuple):
    """A notebook with the outputs of a fresh kernel."""

    notebook: nbformat.NotebookNode
    answers: list[Answer]


def execute(path: Path) -> Run:
    """Runs a notebook and the answers in it, in a fresh kernel that has no settings of this process.

    Raises:
        CellExecutionError: a cell or an answer failed.
    """
    notebook = nbformat.read(path, as_version=4)
    cells, expected = [], {}
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        else:
            for match in ANSWER.finditer(cell.source):
                cells.append(nbformat.v4.new_code_cell(match["code"]))
                expected[len(cells) - 1] = match["text"] or ""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GPUPLACE_", "CUDA_"))}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    client = NotebookClient(
        nbformat.from_dict({**notebook, "cells": cells}),
        timeout=TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
    )
    client.execute(env=env)
    done = client.nb.cells
    for cell in done:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _is_bar(output)]
    notebook.cells = [cell for position, cell in enumerate(done) if position not in expected]
    answers = [Answer(done[i].source, text, _printed(done[i])) for i, text in expected.items()]
    return Run(notebook, answers)


def _is_bar(output: nbformat.NotebookNode) -> bool:
    """Whether it is a bar of progress, which shows where something takes long and is gone when that ends."""
    return output.output_type == "display_data" and set(output.data) == {"text/plain", *LIVE}


def _printed(cell: nbformat.NotebookNode) -> str:
    """What an answer shows, as one text."""
    told = [text.removeprefix("stdout: ").rstrip("\n") for text in texts(cell)]
    return "".join(f"{text}\n" for text in told)


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


def is_measured(cell: nbformat.NotebookNode) -> bool:
    """Whether what the cell shows depends on times, or on which of several devices came first."""
    return "measured" in cell.metadata.get("tags", ())


def tolerance(cell: nbformat.NotebookNode) -> float:
    """The part by which the numbers that the cell shows may differ from the stored ones."""
    (part,) = [
        tag.partition(":")[2] for tag in cell.metadata.get("tags", ()) if tag.startswith("within:")
    ] or "0"
    return float(part)


def differences(before: str, after: str, part: float) -> list[str]:
    """What differs between two texts, where numbers may differ by a part of them."""
    pairs = zip(NUMBER.findall(before), NUMBER.findall(after), strict=False)
    found = [
        f"{old} is {new}" for old, new in pairs if not math.isclose(float(old), float(new), rel_tol=part)
    ]
    return found if NUMBER.sub("#", before) == NUMBER.sub("#", after) else [*found, after]


def kinds(cell: nbformat.NotebookNode) -> set[tuple[str, ...]]:
    """The types and forms of a cell's outputs, without those that need a kernel; a stream may come in pieces."""
    return {
        (output.output_type, *sorted(set(output.get("data", ())) - set(LIVE)))
        for output in cell.get("outputs", ())
    }


def pages(cell: nbformat.NotebookNode) -> list[str]:
    """The HTML that a cell shows."""
    return [
        output.data["text/html"]
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]


def without_pictures(page: str) -> str:
    """HTML without the pictures in it: tables, reasons and descriptions."""
    return _IMAGE.sub("", page)


class Picture(NamedTuple):
    """What a picture shows, wherever its layout puts it."""

    boxes: frozenset[tuple[str, str, str]]
    """Identifier, text and colour of each box; in a picture of memory kind, title and size of each bar."""
    arrows: tuple[tuple[str, str], ...]
    """Class and text of each arrow, sorted."""


def pictures(cell: nbformat.NotebookNode) -> list[Picture]:
    """The pictures that a cell shows, in their order."""
    found = []
    for page in pages(cell):
        for data in _IMAGE.findall(page):
            groups = list(ElementTree.fromstring(base64.b64decode(data)).iter(f"{_SVG}g"))
            boxes = frozenset(
                (group.get("id", ""), _text(group), _fill(group)) for group in groups if _is_a(group, "node")
            )
            arrows = sorted(
                (group.get("class", ""), _text(group)) for group in groups if _is_a(group, "edge")
            )
            found.append(Picture(boxes or frozenset(_bars(data)), tuple(arrows)))
    return found


def _bars(data: str) -> list[tuple[str, str, str]]:
    """Kind, title and size of each bar of a picture of memory."""
    bars = ElementTree.fromstring(base64.b64decode(data)).iter(f"{_SVG}rect")
    return [
        (
            bar.get("class", ""),
            bar.findtext(f"{_SVG}title", ""),
            f"{bar.get('x')} {bar.get('y')} {bar.get('width')}",
        )
        for bar in bars
    ]


def _is_a(group: ElementTree.Element, kind: str) -> bool:
    return kind in group.get("class", "").split()


def _text(group: ElementTree.Element) -> str:
    return " ".join("".join(part.itertext()).strip() for part in group.iter(f"{_SVG}text"))


def _fill(group: ElementTree.Element) -> str:
    fills = (part.get("fill") for part in group.iter() if part.tag in (f"{_SVG}path", f"{_SVG}polygon"))
    return next((fill for fill in fills if fill not in (None, "none")), "")


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


def with_answers(notebook: nbformat.NotebookNode, answers: list[Answer]) -> nbformat.NotebookNode:
    """The notebook with what its answers printed written after them."""
    told = iter(answers)

    def block(match: re.Match) -> str:
        printed = next(told).printed
        return f"```python\n{match['code']}\n```" + (
            f"\n\nprints:\n\n```text\n{printed}```" if printed else ""
        )

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = ANSWER.sub(block, cell.source)
    return notebook


def code_cell(notebook: nbformat.NotebookNode, pattern: str) -> nbformat.NotebookNode:
    """The only code cell whose source has a match for the pattern."""
    (cell,) = [
        cell for cell in notebook.cells if cell.cell_type == "code" and re.search(pattern, cell.source)
    ]
    return cell


if __name__ == "__main__":
    for path in NOTEBOOKS:
        if not sys.argv[1:] or any(name in path.name for name in sys.argv[1:]):
            done = execute(path)
            nbformat.write(with_answers(portable(done.notebook), done.answers), path)
            print(path.name)
