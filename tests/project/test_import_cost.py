"""`import gpuplace` loads little, and a command what it needs: no notebook library, no protobuf, no CuPy, no op."""

import json
import subprocess
import sys

import pytest

from tests.support.node_specs import graph_def
from tests.support.training_graph import training_graph

HEAVY = (
    "IPython",
    "absl",
    "anywidget",
    "cupy",
    "dask",
    "distributed",
    "google.protobuf",
    "gpuplace.cost",
    "gpuplace.graph.graph",
    "gpuplace.ops",
    "gpuplace.runtime.plan",
    "graphviz",
    "ipywidgets",
    "numpy.ma",
    "pandas",
    "pyarrow",
    "pynvml",
    "tensorboard",
    "tensorflow",
    "tqdm",
    "threadpoolctl",
    "traitlets",
)


def loaded_by(code: str) -> list[str]:
    """Names of the heavy packages that a fresh interpreter has loaded after `code`."""
    script = (
        f"{code}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def test_import_loads_no_op():
    assert loaded_by("import gpuplace") == []


def test_building_and_running_a_graph_loads_no_notebook_library():
    code = (
        "import gpuplace as tf\n"
        "tf.use_machine('1x Tesla K40c')\n"
        "with tf.Session() as sess:\n"
        "    print(sess.run(tf.constant(1.0) + 2.0))"
    )
    assert not set(loaded_by(code)) & {"IPython", "anywidget", "graphviz", "ipywidgets", "pandas"}


def test_placing_a_file_from_the_command_line_loads_no_op(tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(graph_def(training_graph(60)))
    code = f"from gpuplace.cli import main\nmain(['place', {str(path)!r}, '--machine', '2x Tesla K40c'])"
    found = set(loaded_by(code))
    assert found == {"google.protobuf", "gpuplace.graph.graph", "tensorboard"}


@pytest.mark.parametrize("name", ["pandas", "google.protobuf"])
def test_the_probe_sees_what_is_loaded(name):
    assert name in loaded_by(f"import {name}")
