"""The examples in README.md and on the pages of the reference: what runs, and what it prints.

Blocks of Python run in the order of their page, in one namespace and in a folder that holds a graph, a log, a measured
step and a script. A block of text directly after one is what it prints. Lines of shell blocks that begin with
``gpuplace`` run in such a folder too.

`python tests/project/page_examples.py [NAME ...]` runs pages and writes into them what they print now.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "notebooks" / "index.md",
    *sorted((ROOT / "notebooks" / "reference").glob("*.md")),
]
_PYTHON = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<between>\n```text\n(?P<printed>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_SHELL = re.compile(r"^```sh\n(?P<lines>.*?)^```$", re.DOTALL | re.MULTILINE)

SCRIPT = """
import tensorflow as tf

x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
global_step = tf.train.get_or_create_global_step()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(tf.matmul(x, x, name="y"))
"""
"""What ``train.py`` holds."""

_TASK = "/job:localhost/replica:0/task:0"
_K40C = "name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5"
LOG = f"""\
Device mapping:
{_TASK}/device:GPU:0 -> device: 0, {_K40C}
{_TASK}/device:GPU:1 -> device: 1, {_K40C.replace("05", "42")}
tower_0/MatMul: (MatMul): {_TASK}/device:GPU:0
tower_1/MatMul: (MatMul): {_TASK}/device:GPU:0
total: (AddN): {_TASK}/device:CPU:0
x: (Const): {_TASK}/device:CPU:0
step 1: loss 0.52
"""
"""What ``run.log`` holds."""

WORKLOAD = """{"maxSizePerFPGA": 4, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
 {"id": 0, "supportedOnFpga": 1, "cpuLatency": 20, "fpgaLatency": 2, "isBackwardNode": 0, "size": 3},
 {"id": 1, "supportedOnFpga": 1, "cpuLatency": 30, "fpgaLatency": 3, "isBackwardNode": 0, "size": 2},
 {"id": 2, "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1, "isBackwardNode": 0, "size": 2}],
 "edges": [{"sourceId": 0, "destId": 1, "cost": 0.5}, {"sourceId": 1, "destId": 2, "cost": 0.5}]}"""
"""What ``workload.json`` holds."""


def has_examples(path: Path) -> bool:
    """Whether a page has a block of Python."""
    return _PYTHON.search(path.read_text(encoding="utf-8")) is not None


def commands(path: Path) -> list[list[str]]:
    """The words of every ``gpuplace`` command on a page, without the command's own name."""
    found = []
    for block in _SHELL.finditer(path.read_text(encoding="utf-8")):
        lines = [line for line in block["lines"].splitlines() if line.startswith("gpuplace ")]
        found += [shlex.split(line, comments=True)[1:] for line in lines]
    return found


@contextlib.contextmanager
def folder_with_files() -> Iterator[Path]:
    """A folder with what the examples read, which is the working directory meanwhile."""
    import gpuplace as tf
    from tests.graphdef.function_libraries import folder as saved_model_folder
    from tests.graphdef.function_libraries import saved_model

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.log").write_text(LOG, encoding="utf-8")
        (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
        with tf.Graph().as_default() as graph:
            x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
            tf.Variable(0, name="global_step")
            y = tf.matmul(x, x, name="y")
        (folder / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
        saved_model_folder(folder / "model", saved_model("serving_default", "train"))
        (folder / "workload.json").write_text(WORKLOAD, encoding="utf-8")
        metadata = tf.RunMetadata()
        with tf.Session(graph=graph) as session:
            session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        (folder / "step.pb").write_bytes(metadata.SerializeToString())
        before = Path.cwd()
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def run(path: Path) -> str:
    """The page with what its examples print now."""
    names: dict[str, object] = {"__name__": "example"}

    def block(match: re.Match[str]) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(match["code"], "example.py", "exec"), names)
        shown = f"```python\n{match['code']}```\n"
        if match["between"] is None:
            return shown
        lines = "".join(f"{line.rstrip()}\n" for line in out.getvalue().rstrip("\n").split("\n"))
        return f"{shown}\n```text\n{lines}```\n"

    with folder_with_files():
        return _PYTHON.sub(block, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for page in PAGES:
        if has_examples(page) and (not sys.argv[1:] or any(name in page.name for name in sys.argv[1:])):
            import gpuplace

            gpuplace.reset_runtime()
            gpuplace.set_release(None)
            gpuplace.reset_default_graph()
            page.write_text(run(page), encoding="utf-8")
            print(page.relative_to(ROOT))
