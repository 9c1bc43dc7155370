"""TensorFlow names that gpuplace lacks: the error recommends an alternative.

>>> print(advice("keras.layers.Dense"))
save the model with TensorFlow, model.export('saved_model_dir'), and explore it: gpuplace.explore('saved_model_dir')
>>> error("nn", "relu7", ["relu", "relu6"])
AttributeError("module 'gpuplace.nn' has no attribute 'relu7': did you mean tf.nn.relu?")
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from operator import attrgetter
from types import ModuleType
from typing import Any

from gpuplace.callers import OwnFramesHidden

__all__ = ["advice", "error", "give_advice", "sentence"]

_SAVE = "save the model with TensorFlow, {how}, and explore it: gpuplace.explore('saved_model_dir')"
_KERAS = _SAVE.format(how="model.export('saved_model_dir')")
_WRITE = (
    "write the graph with TensorFlow, tf.train.write_graph(graph, '.', 'graph.pb', as_text=False), and explore it: "
    "gpuplace.explore('graph.pb')"
)
_GRAPHS = "gpuplace runs graphs only: build a graph and run it with tf.Session().run(...)"

RENAMED = {
    "batch_cholesky": "cholesky",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_diag": "matrix_diag",
    "batch_matrix_inverse": "matrix_inverse",
    "batch_matrix_solve": "matrix_solve",
    "batch_matrix_transpose": "matrix_transpose",
    "complex_abs": "abs",
    "concat_v2": "concat",
    "image.per_image_whitening": "image.per_image_standardization",
    "inv": "reciprocal",
    "listdiff": "setdiff1d",
    "mul": "multiply",
    "neg": "negative",
    "nn.bidirectional_rnn": "nn.static_bidirectional_rnn",
    "nn.rnn": "nn.static_rnn",
    "pack": "stack",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
}
"""Names of TensorFlow 0.x -> names of 1.0 with the same or nearly the same arguments."""

ADVICE: Mapping[str, str] = {
    "compat.v2": "gpuplace has TensorFlow 1's names, as in tensorflow.compat.v1; for a program written for "
    "TensorFlow 2, " + _SAVE.format(how="tf.saved_model.save(module, 'saved_model_dir')"),
    "contrib": "gpuplace has the most-used parts of contrib.layers, framework, rnn, seq2seq and slim: build the "
    "rest with tf.layers, tf.nn and tf.losses, or " + _WRITE,
    "contrib.eager": _GRAPHS,
    "contrib.keras": _KERAS,
    "contrib.learn": "gpuplace has contrib.learn.datasets: "
    + _SAVE.format(how="estimator.export_saved_model('exports', input_fn)").replace(
        "saved_model_dir", "exports/<timestamp>"
    ),
    "distribute.cluster_resolver": "pass the addresses to tf.train.Server as a tf.train.ClusterSpec",
    "distribute.experimental": "gpuplace has MirroredStrategy and OneDeviceStrategy: for other strategies, place "
    "the copies with tf.device in a loop over the GPUs, or " + _WRITE,
    "enable_eager_execution": _GRAPHS,
    "enable_v2_behavior": "gpuplace already behaves like TensorFlow 1: remove the call",
    "examples": "gpuplace only has tensorflow.examples.tutorials.mnist.input_data and mnist; load other arrays "
    "yourself, for example with np.load",
    "feature_column": _WRITE,
    "keras": _KERAS,
    "load_op_library": "gpuplace cannot load op libraries: use its own ops instead, or " + _WRITE,
    "load_library": "gpuplace cannot load op libraries: use its own ops instead, or " + _WRITE,
    "lite": _WRITE,
    "ragged": "gpuplace has dense tensors and tf.SparseTensor: pad rows to one length, or " + _WRITE,
    "audio_summary": "TensorFlow 1.0 renamed it to tf.summary.audio",
    "histogram_summary": "TensorFlow 1.0 renamed it to tf.summary.histogram",
    "image_summary": "TensorFlow 1.0 renamed it to tf.summary.image",
    "merge_all_summaries": "TensorFlow 1.0 renamed it to tf.summary.merge_all",
    "merge_summary": "TensorFlow 1.0 renamed it to tf.summary.merge",
    "saved_model.save": _SAVE.format(how="tf.saved_model.save(module, 'saved_model_dir')"),
    "scalar_summary": "TensorFlow 1.0 renamed it to tf.summary.scalar, where the name of the op is the tag",
    **{old: f"TensorFlow 1.0 renamed it to tf.{new}" for old, new in RENAMED.items()},
    "train.SummaryWriter": "TensorFlow 1.0 renamed it to tf.summary.FileWriter",
    "train.SummaryWriterCache": "TensorFlow 1.0 renamed it to tf.summary.FileWriterCache",
}
"""Name without ``tf.``, or prefix of names -> recommendation."""

SPACES = (
    *(
        "audio",
        "bitwise",
        "compat",
        "config",
        "distribute",
        "config.experimental",
        "config.optimizer",
        "config.threading",
        "contrib",
        "data",
        "data.experimental",
        "debugging",
        "distributions",
        "errors",
        "estimator",
        "gfile",
        "graph_util",
        "image",
        "initializers",
        "io",
        "layers",
        "linalg",
        "logging",
        "lookup",
        "losses",
        "manip",
        "math",
        "metrics",
        "nn",
    ),
    *(
        "profiler",
        "python_io",
        "quantization",
        "queue",
        "random",
        "saved_model",
        "sets",
        "signal",
        "sparse",
        "spectral",
        "strings",
    ),
    *("summary", "test", "train", "train.experimental"),
)
"""Namespaces with such errors; ``app`` and ``flags`` are absl's."""

_ALIKE = 2
_CUTOFF = 0.82


def advice(name: str) -> str:
    """Return the recommendation for a missing TensorFlow name; "" if there is none.

    Args:
        name: name without ``tf.``: ``keras``, ``nn.rnn_cell``, ``contrib.layers``.
    """
    path = name
    while path:
        if path in ADVICE:
            return ADVICE[path]
        path = path.rpartition(".")[0]
    return ""


def sentence(name: str, known: Iterable[str] = ()) -> str:
    """Return the hint for a missing name: a recommendation, similar names, or how to use TensorFlow's.

    Args:
        name: name without ``tf.``.
        known: existing names beside it.
    """
    space, _, last = name.rpartition(".")
    if found := advice(name):
        return found
    prefix = f"tf.{space}." if space else "tf."
    if alike := get_close_matches(last, list(known), _ALIKE, _CUTOFF):
        return f"did you mean {' or '.join(prefix + one for one in alike)}?"
    return f"if TensorFlow has it, {_WRITE}"


def error(space: str, name: str, known: Iterable[str] = ()) -> AttributeError:
    """Return the error for a missing name in a namespace.

    Args:
        space: ``""`` for gpuplace itself, or for example ``"nn"``.
        name: the missing name.
        known: existing names of the namespace.
    """
    module = f"gpuplace.{space}" if space else "gpuplace"
    told = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("_"):
        told += f": {sentence(f'{space}.{name}' if space else name, known)}"
    return AttributeError(told, name=name)  # without the module: Python would add its own suggestion


def give_advice() -> None:
    """Add hints to the errors of gpuplace and of its loaded namespaces."""
    package = sys.modules["gpuplace"]
    advise("", package)
    for space in SPACES:
        if space in vars(package):
            advise_in(space)


def advise_in(name: str) -> None:
    """Add hints to the errors of a loaded namespace of gpuplace and of those in it.

    Args:
        name: name in gpuplace; no effect if it is not a namespace.
    """
    for space in SPACES:
        if space == name or space.startswith(f"{name}."):
            above, _, own = space.rpartition(".")
            holder = attrgetter(above)(sys.modules["gpuplace"]) if above else sys.modules["gpuplace"]
            if own in vars(holder):
                advise(space, vars(holder)[own])


def advise(space: str, module: ModuleType) -> None:
    """Add hints to the errors of a namespace.

    Args:
        space: name without ``tf.``.
        module: module of the namespace.
    """
    names = vars(module)
    names["__getattr__"] = _getter(space, module, names.get("__getattr__"))


def _getter(space: str, module: ModuleType, lazy: Callable[[str], Any] | None) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        if lazy is not None:
            try:
                return lazy(name)
            except AttributeError:  # the error below is better
                pass
        with OwnFramesHidden(AttributeError):
            raise error(space, name, getattr(module, "__all__", ()))

    return get
