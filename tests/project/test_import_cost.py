"""`import gpuplace` loads the core alone: no notebook library, no protobuf, no CuPy."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "IPython",
    "absl",
    "anywidget",
    "cupy",
    "dask",
    "distributed",
    "google.protobuf",
    "graphviz",
    "ipywidgets",
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


def test_import_loads_the_core_alone():
    assert loaded_by("import gpuplace") == []


def test_building_and_running_a_graph_loads_no_notebook_library():
    code = (
        "import gpuplace as tf\n"
        "tf.use_machine('1x Tesla K40c')\n"
        "with tf.Session() as sess:\n"
        "    print(sess.run(tf.constant(1.0) + 2.0))"
    )
    assert not set(loaded_by(code)) & {"IPython", "anywidget", "graphviz", "ipywidgets", "pandas"}


@pytest.mark.parametrize("name", ["pandas", "google.protobuf"])
def test_the_probe_sees_what_is_loaded(name):
    assert name in loaded_by(f"import {name}")
