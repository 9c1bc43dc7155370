"""The order of layers: every import in the package, also those inside functions, against one table."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "gpuplace"

# Folders of several layers.
GROUPS = {"files", "model", "runtime", "views"}

# A layer may import those named beside it and itself. Modules on top of all (TOP) may import everything.
# graphdef turns messages into the placer's arrays as well as into graphs, so it stands above the placer.
LAYERS: dict[str, set[str]] = {
    "array_text": set(),
    "callers": set(),
    "lazy": set(),
    "process": set(),
    "release": {"process"},
    "tf_logging": set(),
    "progress": set(),
    "proto": set(),
    "typing": set(),
    "writing": set(),
    "display": {"typing"},
    "errors": {"display", "release", "typing"},
    "shapes": {"display", "errors", "release", "typing"},
    "dtypes": {"display", "errors", "release", "shapes", "typing"},
    "files": {"callers", "errors", "writing"},
}
LAYERS["files.checkpoints"] = set(LAYERS)  # files of values: kernels read and write them
BOTTOM = set(LAYERS)
LAYERS |= {
    "device": BOTTOM,
    "graph": BOTTOM | {"device"},
    "kernels": BOTTOM | {"device", "graph"},
    "numerics": BOTTOM | {"device", "graph", "kernels"},
    "ops": BOTTOM | {"device", "graph", "kernels", "numerics"},
    "placer": BOTTOM | {"device", "graph", "kernels"},
    "graphdef": BOTTOM | {"device", "graph", "kernels", "placer"},
    "why": BOTTOM | {"device", "graph", "kernels", "placer", "graphdef"},
}
RUN = set(LAYERS)
LAYERS |= {"runtime.memory": RUN, "runtime.backends": RUN | {"runtime.memory"}}
LAYERS["runtime.plan"] = RUN | {"runtime.memory", "runtime.backends"}
LAYERS["runtime.tracing"] = LAYERS["runtime.plan"] | {"runtime.plan"}
LAYERS["runtime.session"] = LAYERS["runtime.tracing"] | {"runtime.tracing"}
LAYERS["saving"] = LAYERS["runtime.session"] | {"runtime.session"}
LAYERS["model.subject"] = LAYERS["saving"] | {"saving"}
LAYERS["model.structure"] = LAYERS["model.subject"] | {"model.subject"}
LAYERS["cost"] = LAYERS["model.structure"] | {"model.structure"}
LAYERS["advisor"] = LAYERS["cost"] | {"cost"}
LAYERS["findings"] = LAYERS["advisor"] | {"advisor"}
LAYERS["sweeps"] = LAYERS["findings"] | {"findings"}
LAYERS["clusters"] = LAYERS["model.subject"]
LAYERS["web"] = set()
SHOWN = set(LAYERS)
LAYERS["views.tables"] = SHOWN
LAYERS["views.logs"] = SHOWN | {"views.tables"}
LAYERS["views.picture"] = LAYERS["views.logs"] | {"views.logs"}
LAYERS["views.timelines"] = LAYERS["views.picture"] | {"views.picture"}
LAYERS["views.page"] = LAYERS["views.timelines"] | {"views.timelines"}
LAYERS["jupyter"] = LAYERS["views.page"] | {"views.page"}
TOP = {"__init__", "__main__", "api", "cli", "python", "testing", "tf1"}

# The TensorFlow 1 library, and who may name it: the names of the package, one command, and what waits for a miss.
WALLED = "gpuplace.tf1"
GATES = {
    "gpuplace": {WALLED},
    "gpuplace.api": {WALLED},
    "gpuplace.cli.run_script": {"gpuplace.tf1.stand_in"},
    "gpuplace.ops": {"gpuplace.tf1.op_modules"},
}

# What a class shows or writes by a layer above its own: a method of it imports that layer when it is called.
UPWARDS: dict[str, set[str]] = {
    "gpuplace.display": {"gpuplace.jupyter.reprs"},
    "gpuplace.shapes": {"gpuplace.graphdef.attr_values"},
    "gpuplace.dtypes": {
        "gpuplace.ops.math.cast",
        "gpuplace.ops.math.elementwise",
        "gpuplace.ops.text.strings",
    },
    "gpuplace.files.checkpoints.tensor_slices": {"gpuplace.graphdef.tensor_proto"},
    "gpuplace.device.machine": {"gpuplace.jupyter.frames.machine_frames"},
    "gpuplace.graph.graph": {"gpuplace.graphdef.export"},
    "gpuplace.graph.op_def": {"gpuplace.graphdef.attr_values"},
    "gpuplace.graph.operation": {"gpuplace.graphdef.attr_values", "gpuplace.graphdef.export"},
    "gpuplace.ops.summaries": {"gpuplace.graphdef.messages", "gpuplace.graphdef.summary_messages"},
    "gpuplace.ops.composite": {"gpuplace.ops.nest"},
    "gpuplace.ops.gradients.indexed_slices": {"gpuplace.ops.gradients.slices_spec"},
    "gpuplace.ops.sparse.sparse_tensor": {"gpuplace.ops.sparse.sparse_spec"},
    "gpuplace.ops.train.device_setter": {"gpuplace.graphdef.messages"},
    "gpuplace.tf1.data.iterators": {"gpuplace.tf1.saving.iterators"},
    "gpuplace.ops.sparse.sparse_spec": {"gpuplace.graphdef.tensor_proto"},
    "gpuplace.ops.variables.variables": {"gpuplace.saving.protos"},
    "gpuplace.graphdef.file_writer": {"gpuplace.saving.scoped_meta_graph"},
    "gpuplace.ops.flow.calls": {"gpuplace.graphdef.function_def"},
    "gpuplace.ops.flow.conditionals": {"gpuplace.saving.protos"},
    "gpuplace.ops.flow.while_loops": {"gpuplace.saving.protos"},
    "gpuplace.why.placement": {
        "gpuplace.jupyter.frames.placement_frames",
        "gpuplace.jupyter.pictures",
        "gpuplace.cost.shapes.graph_shapes",
        "gpuplace.cost.step_copies",
        "gpuplace.model.subject.subject",
        "gpuplace.views.tables.dependency_trace",
    },
    "gpuplace.why.blame": {
        "gpuplace.cost.shapes.graph_shapes",
        "gpuplace.jupyter.frames.explanation_frames",
    },
    "gpuplace.why.diff": {"gpuplace.jupyter.frames.explanation_frames", "gpuplace.jupyter.pictures"},
    "gpuplace.why.explanation": {"gpuplace.jupyter.frames.explanation_frames"},
    "gpuplace.cost.step_estimate": {
        "gpuplace.cost.estimate",
        "gpuplace.findings.find",
        "gpuplace.jupyter.frames.estimate_frames",
        "gpuplace.views.timelines.reader",
    },
    "gpuplace.findings.finding": {
        "gpuplace.jupyter.frames.estimate_frames",
        "gpuplace.views.tables.findings",
    },
    "gpuplace.advisor.steps.advice": {
        "gpuplace.findings.finding",
        "gpuplace.jupyter.frames.advice_frames",
    },
    "gpuplace.advisor.steps.tradeoff": {
        "gpuplace.jupyter.frames.advice_frames",
        "gpuplace.views.timelines.tradeoff_plot",
    },
    "gpuplace.advisor.towers": {
        "gpuplace.jupyter.frames.advice_frames",
        "gpuplace.views.timelines.tradeoff_plot",
    },
    "gpuplace.cost.comparison": {"gpuplace.jupyter.frames.estimate_frames"},
    "gpuplace.runtime.session.base_session": {
        "gpuplace.clusters.master",
        "gpuplace.jupyter.frames.machine_frames",
        "gpuplace.views.timelines.reader",
    },
    "gpuplace.runtime.session.session": {"gpuplace.clusters.master"},
    "gpuplace.sweeps.sweep": {"gpuplace.jupyter.frames.sweep_frames"},
    "gpuplace.views.tables.dependency_trace": {"gpuplace.jupyter.frames.placement_frames"},
    "gpuplace.views.logs.log_diff": {"gpuplace.jupyter.frames.log_frames"},
    "gpuplace.views.logs.run_comparison": {"gpuplace.jupyter.frames.log_frames"},
    "gpuplace.views.logs.logged_placement": {
        "gpuplace.jupyter.frames.log_frames",
        "gpuplace.jupyter.pictures",
    },
    "gpuplace.views.timelines.step_timeline": {
        "gpuplace.jupyter.frames.timeline_frames",
        "gpuplace.jupyter.timeline_view",
        "gpuplace.views.timelines.svg",
        "gpuplace.views.timelines.text",
    },
}

# Third-party packages, and the modules (or packages) that may import them.
OWNERS: dict[str, set[str]] = {
    "numpy": {
        "gpuplace.dtypes",
        "gpuplace.files.checkpoints",
        "gpuplace.files",
        "gpuplace.graph",
        "gpuplace.kernels",
        "gpuplace.ops",
        "gpuplace.numerics",
        "gpuplace.placer",
        "gpuplace.why",
        "gpuplace.runtime.backends",
        "gpuplace.model.subject",
        "gpuplace.model.structure",
        "gpuplace.cost",
        "gpuplace.runtime.memory",
        "gpuplace.runtime.plan",
        "gpuplace.runtime.tracing",
        "gpuplace.runtime.session",
        "gpuplace.clusters",
        "gpuplace.saving",
        "gpuplace.advisor",
        "gpuplace.findings",
        "gpuplace.sweeps",
        "gpuplace.graphdef",
        "gpuplace.views.logs",
        "gpuplace.views.tables",
        "gpuplace.views.picture",
        "gpuplace.views.timelines",
        "gpuplace.views.page",
        "gpuplace.jupyter",
        "gpuplace.testing",
        "gpuplace.tf1",
    },
    "ml_dtypes": {"gpuplace.dtypes"},
    "pynvml": {"gpuplace.device.local"},
    "cupy": {"gpuplace.runtime.backends.cupy_backend", "gpuplace.device.local"},
    "google": {"gpuplace.files.checkpoints.messages", "gpuplace.graphdef", "gpuplace.proto"},
    "tensorboard": {
        "gpuplace.files.checkpoints.messages",
        "gpuplace.graphdef",
        "gpuplace.tf1.stand_in.names",
    },
    "graphviz": {"gpuplace.jupyter"},
    "pandas": {"gpuplace.jupyter"},
    "ipywidgets": {"gpuplace.jupyter"},
    "anywidget": {"gpuplace.jupyter"},
    "traitlets": {"gpuplace.jupyter"},
    "tqdm": {"gpuplace.progress"},
    "threadpoolctl": {"gpuplace.numerics.blas_threads"},
    "numba": {
        "gpuplace.numerics.compiled.window_loops",
        "gpuplace.numerics.compiled.dispatch",
        "gpuplace.numerics.compiled.event_heap",
        "gpuplace.numerics.compiled.functions",
        "gpuplace.numerics.compiled.record_types",
    },
    "llvmlite": {
        "gpuplace.numerics.compiled.window_loops",
        "gpuplace.numerics.compiled.functions",
        "gpuplace.numerics.compiled.record_types",
    },
    "tensorflow": {"gpuplace.cost.calibration.tensorflow_steps"},
    "IPython": {"gpuplace.jupyter"},
    "absl": {"gpuplace.api", "gpuplace.tf1.api.testing"},
    "highspy": {"gpuplace.advisor.exact", "gpuplace.advisor.placers"},
    "dask": {"gpuplace.clusters", "gpuplace.sweeps.runner"},
    "distributed": {"gpuplace.clusters", "gpuplace.sweeps.evaluation", "gpuplace.sweeps.runner"},
    "pyarrow": {"gpuplace.sweeps.sweep_file"},
    "PIL": {"gpuplace.tf1.image.codecs"},
    "re2": {"gpuplace.tf1.text"},
    "regex": {"gpuplace.why.names", "gpuplace.views.tables.text"},
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(name: str) -> str:
    """The layer that a dotted name belongs to: its folder or file at the top, in a group the one below."""
    _, *parts = name.split(".")
    if not parts:
        return "__init__"
    layer = ".".join(parts[:2]) if parts[0] in GROUPS else parts[0]
    return layer if layer in LAYERS or layer in TOP else parts[0]


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import statement, `importlib.import_module("...")` included.

    `from a import b` gives `a.b`, since b may be a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise AssertionError(f"line {node.lineno}: a relative import")
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            named = [str(given.value) for given in node.args if isinstance(given, ast.Constant)]
            if called == "above" and len(named) == 2:
                yield node.lineno, ".".join(named)
            elif called in ("import_module", "__import__") and named:
                yield node.lineno, named[0]


def is_within(module: str, owner: str) -> bool:
    return module == owner or module.startswith(owner + ".")


def lazy_imports(tree: ast.AST) -> set[tuple[int, str]]:
    """The imports inside functions."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {found for function in functions for found in imports(function)}


def without_types(tree: ast.Module) -> ast.Module:
    """A module without what only type checkers read."""
    body = [
        node for node in tree.body if not (isinstance(node, ast.If) and is_name(node.test, "TYPE_CHECKING"))
    ]
    return ast.Module(body, [])


def is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def faults(module: str, source: str) -> list[str]:
    """What `source`, as the module of that name, imports against the tables."""
    found = []
    layer = layer_of(module)
    tree = ast.parse(source)
    if (
        module == "gpuplace.typing"
    ):  # names the types of every layer and library for type checkers, and loads none
        tree = without_types(tree)
    allowed = UPWARDS.get(module, set())
    lazy = lazy_imports(tree) if allowed else set()
    for line, name in imports(tree):
        if (line, name) in lazy and name.rpartition(".")[0] in allowed:
            continue
        top = name.partition(".")[0]
        if top == "gpuplace":
            target = layer_of(name)
            if layer not in TOP and target != layer and target not in LAYERS[layer]:
                found.append(f"{module}:{line} imports {name}: {layer} may not import {target}")
        elif top in OWNERS:
            if not any(is_within(module, owner) for owner in OWNERS[top]):
                found.append(f"{module}:{line} imports {name}, which belongs to {sorted(OWNERS[top])}")
        elif top not in sys.stdlib_module_names:
            found.append(f"{module}:{line} imports {name}, which no layer owns")
    return found


def through_the_wall(module: str, source: str) -> list[str]:
    """What of the TensorFlow 1 library `source`, as the module of that name, imports or names without being a gate."""
    if is_within(module, WALLED):
        return []
    gates = [
        targets
        for gate, targets in GATES.items()
        if module == gate or (gate == "gpuplace.api" and is_within(module, gate))
    ]
    allowed = set().union(*gates)
    tree = ast.parse(source)
    names = {(line, name) for line, name in imports(tree) if is_within(name, WALLED)}
    names |= {
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"gpuplace\.tf1\.[\w.]+", node.value)
    }
    return [
        f"{module}:{line} names {name}"
        for line, name in sorted(names)
        if not any(is_within(name, gate) for gate in allowed)
    ]


SERVER = (
    PACKAGE / "jupyter" / "server"
)  # a package of its own, which a Jupyter server loads and which loads none of ours
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if SERVER not in path.parents)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_point_downwards(path):
    assert faults(module_name(path), path.read_text(encoding="utf-8")) == []


def test_the_rest_does_without_the_tensorflow_1_library():
    found = [through_the_wall(module_name(path), path.read_text(encoding="utf-8")) for path in MODULES]
    assert [fault for faults in found for fault in faults] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gpuplace.ops.losses", "from gpuplace.tf1.sparse.sparse_ops import sparse_add"),
        ("gpuplace.runtime.session.session", "def f():\n    from gpuplace.tf1.training import hooks"),
        ("gpuplace.saving.protos", "runner = above('gpuplace.tf1.input.queue_runner', 'QueueRunner')"),
        ("gpuplace.ops", "wait_for_a_miss('gpuplace.tf1.image.boxes')"),
        ("gpuplace.cli.run_script", "from gpuplace.tf1 import data_sets"),
        ("gpuplace.testing", "import gpuplace.tf1"),
    ],
)
def test_a_way_around_the_wall_is_found(module, source):
    assert through_the_wall(module, source) != []


def test_every_module_belongs_to_a_layer():
    layers = {layer_of(module_name(path)) for path in MODULES}
    assert layers - GROUPS | {"files"} <= set(LAYERS) | TOP


def test_files_import_each_other_in_one_direction():
    """As in a topological sort, files are taken away that import none of those left; none is left in the end."""
    paths = {module_name(path): path for path in (PACKAGE / "runtime").rglob("*.py")}
    left: dict[str, set[str]] = {}
    for module, path in paths.items():
        names = {name for _, name in imports(ast.parse(path.read_text(encoding="utf-8")))}
        left[module] = ({one if one in paths else one.rpartition(".")[0] for one in names} & set(paths)) - {
            module
        }
    while free := {module for module, imported in left.items() if not imported & left.keys()}:
        left = {module: imported for module, imported in left.items() if module not in free}
    assert left == {}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gpuplace.placer.placer", "from gpuplace import ops"),
        ("gpuplace.device.spec", "def f():\n    from gpuplace.graph import Graph"),
        ("gpuplace.views.tables.table", "def f():\n    import pandas as pd"),
        ("gpuplace.ops.math_ops", "import importlib\ncp = importlib.import_module('cupy')"),
        ("gpuplace.runtime.session.session", "from google.protobuf import text_format"),
        ("gpuplace.kernels.registry", "import requests"),
        ("gpuplace.graph.graph", "from gpuplace import placer"),
        ("gpuplace.graphdef.load", "import gpuplace"),
        ("gpuplace.errors", "from gpuplace.dtypes import DType"),
        ("gpuplace.device.machine", "import numpy"),
        ("gpuplace.device.machine", "from gpuplace.jupyter.frames.machine_frames import mapping_frame"),
        ("gpuplace.device.machine", "def f():\n    from gpuplace.jupyter.pictures import Picture"),
        ("gpuplace.typing", "import pandas"),
    ],
)
def test_a_wrong_import_is_found(module, source):
    assert len(faults(module, source)) == 1


def test_upward_imports_that_are_named_are_there():
    """A name that nobody needs any more goes from the table."""
    for module, names in UPWARDS.items():
        path = PACKAGE.parent / (module.replace(".", "/") + ".py")
        used = {
            name.rpartition(".")[0] for _, name in lazy_imports(ast.parse(path.read_text(encoding="utf-8")))
        }
        assert names <= used, module


def test_a_right_import_is_not():
    assert (
        faults("gpuplace.runtime.session.session", "from gpuplace.graphdef import messages\nimport numpy, os")
        == []
    )
    assert faults("gpuplace.cli.main", "from gpuplace.jupyter import explore") == []
    lazy = "def f():\n    from gpuplace.jupyter.frames.machine_frames import mapping_frame"
    assert faults("gpuplace.device.machine", lazy) == []
    assert faults("gpuplace.typing", "if TYPE_CHECKING:\n    import pandas") == []


def test_what_is_taken_from_above_is_there():
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "above":
                module, name = (given.value for given in node.args)
                assert callable(getattr(importlib.import_module(module), name))
