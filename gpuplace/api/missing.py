"""What TensorFlow has and gpuplace has not: what to do instead, in the error for the name.

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
_GRAPHS = "gpuplace runs graphs: build one and give it to tf.Session().run(...)"

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
"""Names of TensorFlow 0.x -> those of 1.0, whose arguments are the same or nearly so."""

ADVICE: Mapping[str, str] = {
    "compat.v2": "gpuplace has TensorFlow 1's names, as in tensorflow.compat.v1; of a program for TensorFlow 2, "
    + _SAVE.format(how="tf.saved_model.save(module, 'saved_model_dir')"),
    "contrib": "gpuplace has contrib.layers, framework, rnn, seq2seq and slim, as far as they are used most: build the "
    "rest with tf.layers, tf.nn and tf.losses, or " + _WRITE,
    "contrib.eager": _GRAPHS,
    "contrib.keras": _KERAS,
    "contrib.learn": "gpuplace has contrib.learn.datasets: "
    + _SAVE.format(how="estimator.export_saved_model('exports', input_fn)").replace(
        "saved_model_dir", "exports/<timestamp>"
    ),
    "distribute.cluster_resolver": "give tf.train.Server the addresses, as a tf.train.ClusterSpec",
    "distribute.experimental": "gpuplace has MirroredStrategy and OneDeviceStrategy: of others, place the copies with "
    "tf.device in a loop over the GPUs, or " + _WRITE,
    "enable_eager_execution": _GRAPHS,
    "enable_v2_behavior": "gpuplace has TensorFlow 1's behaviour: leave the call out",
    "examples": "of TensorFlow's examples there are tensorflow.examples.tutorials.mnist.input_data and mnist; load "
    "other arrays yourself, with np.load for example",
    "feature_column": _WRITE,
    "keras": _KERAS,
    "load_op_library": "gpuplace has no ops of other libraries: build what they do of its own ops, or "
    + _WRITE,
    "load_library": "gpuplace has no ops of other libraries: build what they do of its own ops, or " + _WRITE,
    "lite": _WRITE,
    "ragged": "gpuplace has dense tensors and tf.SparseTensor: fill rows up to one length, or " + _WRITE,
    "audio_summary": "TensorFlow 1.0 named it tf.summary.audio",
    "histogram_summary": "TensorFlow 1.0 named it tf.summary.histogram",
    "image_summary": "TensorFlow 1.0 named it tf.summary.image",
    "merge_all_summaries": "TensorFlow 1.0 named it tf.summary.merge_all",
    "merge_summary": "TensorFlow 1.0 named it tf.summary.merge",
    "saved_model.save": _SAVE.format(how="tf.saved_model.save(module, 'saved_model_dir')"),
    "scalar_summary": "TensorFlow 1.0 named it tf.summary.scalar, where the name of the op is the tag",
    **{old: f"TensorFlow 1.0 named it tf.{new}" for old, new in RENAMED.items()},
    "train.SummaryWriter": "TensorFlow 1.0 named it tf.summary.FileWriter",
    "train.SummaryWriterCache": "TensorFlow 1.0 named it tf.summary.FileWriterCache",
}
"""Name without ``tf.``, for all below it too -> what to do."""

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
"""Namespaces that answer so; ``app`` and ``flags`` are absl's."""

_ALIKE = 2
_CUTOFF = 0.82


def advice(name: str) -> str:
    """What to do without a name of TensorFlow; "" if that is not known.

    Args:
        name: without ``tf.``: ``keras``, ``nn.rnn_cell``, ``contrib.layers``.
    """
    path = name
    while path:
        if path in ADVICE:
            return ADVICE[path]
        path = path.rpartition(".")[0]
    return ""


def sentence(name: str, known: Iterable[str] = ()) -> str:
    """What follows "there is no such name": advice, names that are alike, or how TensorFlow's own can be looked at.

    Args:
        name: without ``tf.``.
        known: the names beside it that exist.
    """
    space, _, last = name.rpartition(".")
    if found := advice(name):
        return found
    prefix = f"tf.{space}." if space else "tf."
    if alike := get_close_matches(last, list(known), _ALIKE, _CUTOFF):
        return f"did you mean {' or '.join(prefix + one for one in alike)}?"
    return f"if TensorFlow has it, {_WRITE}"


def error(space: str, name: str, known: Iterable[str] = ()) -> AttributeError:
    """The error for a name that a namespace does not have.

    Args:
        space: ``""`` for gpuplace itself, ``"nn"``.
        name: in it.
        known: the names that it has.
    """
    module = f"gpuplace.{space}" if space else "gpuplace"
    told = f"module {module!r} has no attribute {name!r}"
    if not name.startswith("_"):
        told += f": {sentence(f'{space}.{name}' if space else name, known)}"
    return AttributeError(told, name=name)  # without the module, or Python adds a guess of its own


def give_advice() -> None:
    """Makes the errors of gpuplace, and of its namespaces that are loaded, say what to do."""
    package = sys.modules["gpuplace"]
    advise("", package)
    for space in SPACES:
        if space in vars(package):
            advise_in(space)


def advise_in(name: str) -> None:
    """Makes the errors of a namespace of gpuplace, which is loaded, and of those loaded in it say what to do.

    Args:
        name: of something in gpuplace; nothing happens where it is no namespace.
    """
    for space in SPACES:
        if space == name or space.startswith(f"{name}."):
            above, _, own = space.rpartition(".")
            holder = attrgetter(above)(sys.modules["gpuplace"]) if above else sys.modules["gpuplace"]
            if own in vars(holder):
                advise(space, vars(holder)[own])


def advise(space: str, module: ModuleType) -> None:
    """Makes the errors of a namespace say what to do.

    Args:
        space: its name without ``tf.``.
        module: the module.
    """
    names = vars(module)
    names["__getattr__"] = _getter(space, module, names.get("__getattr__"))


def _getter(space: str, module: ModuleType, lazy: Callable[[str], Any] | None) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        if lazy is not None:
            try:
                return lazy(name)
            except AttributeError:  # said better below
                pass
        with OwnFramesHidden(AttributeError):
            raise error(space, name, getattr(module, "__all__", ()))

    return get
