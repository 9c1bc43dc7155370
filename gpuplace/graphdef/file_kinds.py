r"""Detection of files that are neither a graph nor a log, by name and content, with advice on what to do.

>>> kind_of("train.py", b"import tensorflow as tf")
Kind(what='a Python program', advice='run it with gpuplace run train.py')
>>> kind_of("model", b"\x89HDF\r\n\x1a\n").what
'an HDF5 file, such as a Keras model'
>>> kind_of("graph.pb", b"\n\x0c\n\x01a\x12\x07Const") is None
True
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_SAVE = (
    "save it as a SavedModel, model.export(folder) or tf.saved_model.save(model, folder), and pass the folder"
)
"""How to convert a Keras model to a SavedModel; Keras 3 calls this export."""
_EXPORT = f"load it with tf.keras.models.load_model (for weights only, build the model first) and {_SAVE}"
_UNPACK = "unpack it and pass the graph file or the SavedModel folder"
_SHOWN = 5
_BEGINNING = 4096
_PYTHON = "a Python program"


class Kind(NamedTuple):
    """Kind of a file."""

    what: str
    """Description with its article."""
    advice: str
    """What to do instead."""


_BY_NAME: tuple[tuple[tuple[str, ...], Kind], ...] = (
    ((".py", ".pyw"), Kind(_PYTHON, "run it with gpuplace run {name}")),
    (
        (".ipynb",),
        Kind("a Jupyter notebook", "open it in JupyterLab and call gpuplace.explore(graph) in a cell"),
    ),
    (
        (".html", ".htm"),
        Kind("an HTML page", "open it in a browser, or pass the graph or log that it was created from"),
    ),
    ((".keras",), Kind("a Keras model", _EXPORT)),
    ((".h5", ".hdf5"), Kind("an HDF5 file, such as a Keras model", _EXPORT)),
    ((".zip", ".whl", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".7z"), Kind("an archive", _UNPACK)),
    (
        (".tflite",),
        Kind(
            "a TensorFlow Lite model",
            "its ops are not placed on devices; pass the model that it was converted from",
        ),
    ),
    (
        (".onnx",),
        Kind("an ONNX model", "convert it to a SavedModel, for example with onnx2tf, and pass the folder"),
    ),
    (
        (".xplane.pb", ".trace.json", ".trace.json.gz"),
        Kind("a TensorFlow profile", "open it with gpuplace timeline {name}"),
    ),
    (
        (
            ".overview_page.pb",
            ".input_pipeline.pb",
            ".input_pipeline_analyzer.pb",
            ".kernel_stats.pb",
            ".tensorflow_stats.pb",
            ".op_profile.pb",
            ".pod_viewer.pb",
            ".memory_profile.pb",
            ".hlo_proto.pb",
        ),
        Kind(
            "a file of TensorFlow's profiler",
            "open it with TensorBoard's profiler, or pass the .xplane.pb or .trace.json.gz beside it",
        ),
    ),
    (
        (".index", ".data-00000-of-00001", ".ckpt"),
        Kind("a part of a checkpoint", "it contains values but no graph; pass the .meta file beside it"),
    ),
)
"""File name suffixes in lower case -> kind."""

_BY_CONTENT: tuple[tuple[re.Pattern[bytes], Kind], ...] = (
    (
        re.compile(rb"PK\x03\x04|PK\x05\x06"),
        Kind("a zip archive, such as a Keras 3 model", f"{_EXPORT}; for other archives, {_UNPACK}"),
    ),
    (re.compile(rb"\x89HDF\r\n"), Kind("an HDF5 file, such as a Keras model", _EXPORT)),
    (re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE), _BY_NAME[2][1]),
    (re.compile(rb'\s*\{(?=[^\0]*"nbformat"\s*:)'), _BY_NAME[1][1]),
    (re.compile(rb"#!.*python"), _BY_NAME[0][1]),
    (re.compile(rb"....TFL3", re.DOTALL), _BY_NAME[6][1]),
    # ONNX starts with its version, then names, the graph or op sets; the first field of a GraphDef has another tag.
    (re.compile(rb"\x08[\x03-\x40][\x12\x1a\x22\x28\x32\x3a\x42]..", re.DOTALL), _BY_NAME[7][1]),
    (re.compile(rb"\x93NUMPY"), Kind("a NumPy array", "pass a graph or the log of a run")),
    (
        re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8|%PDF-"),
        Kind("a picture", "pass the graph or log that it shows"),
    ),
)
"""Patterns of the first bytes -> kind."""


def kind_of(path: str | os.PathLike[str], data: bytes) -> Kind | None:
    """Return the kind of a file that is neither a graph nor a log; None if it may be one.

    Args:
        path: file name; "" for data without a name.
        data: content, or its first part.
    """
    name = os.fspath(path)
    small = name.lower()
    kind = next((kind for endings, kind in _BY_NAME if small.endswith(endings)), None)
    if kind is None:
        kind = next((kind for pattern, kind in _BY_CONTENT if pattern.match(data)), None)
    return None if kind is None else Kind(kind.what, kind.advice.format(name=name))


def no_program(path: str) -> str | None:
    """Return why a file cannot be run and what to do instead; None if it may be a Python program.

    Args:
        path: file name.

    Raises:
        OSError: the file cannot be read.
    """
    if os.path.isdir(path):
        return f"{path} is a folder; pass the path of a Python program"
    if path.lower().endswith(_GRAPHS):
        return (
            f"{path} is a graph, not a Python program; use gpuplace place {path} or gpuplace explore {path}"
        )
    with open(path, "rb") as stream:
        kind = kind_of(path, stream.read(_BEGINNING))
    if kind is None or kind.what == _PYTHON:
        return None
    return f"{path} is {kind.what}, not a Python program; {kind.advice}"


def empty_text(data: bytes) -> str | None:
    """Describe an empty file; None if the file is not empty.

    >>> empty_text(b""), empty_text(b"\\n\\n"), empty_text(b"a")
    ('is empty', 'contains only white space', None)

    Args:
        data: content of the file.
    """
    if data.strip(b" \t\r\n\0"):
        return None
    return "contains only white space" if data else "is empty"


def folder_advice(folder: Path) -> str:
    """Return advice on a folder that is not a SavedModel: what to pass instead.

    Args:
        folder: path of the folder.
    """
    models = sorted({str(path.parent) for path in folder.glob("*/saved_model.pb*")})
    graphs = sorted(str(path) for path in folder.iterdir() if path.name.lower().endswith(_GRAPHS))
    candidates = [*models, *graphs]
    if not candidates:
        return "pass a graph file (.pb, .pbtxt, .meta) or the folder that contains saved_model.pb"
    more = f", or {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""
    return f"pass {', '.join(candidates[:_SHOWN])}{more}"


_GRAPHS = (".pb", ".pbtxt", ".meta", ".pb.gz", ".pbtxt.gz", ".meta.gz")
