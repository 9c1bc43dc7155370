r"""Files that are neither a graph nor a log, by name and content: what they are, and what to do with one.

>>> kind_of("train.py", b"import tensorflow as tf")
Kind(what='a Python program', advice='run it with gpuplace run train.py')
>>> kind_of("model", b"\x89HDF\r\n\x1a\n").what
'an HDF5 file, such as Keras writes'
>>> kind_of("graph.pb", b"\n\x0c\n\x01a\x12\x07Const") is None
True
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

_SAVE = "save it as a SavedModel, model.export(folder), or tf.saved_model.save(model, folder), and give the folder"
"""How a Keras model becomes a SavedModel, which is what Keras 3 calls to export."""
_EXPORT = f"load it with tf.keras.models.load_model (weights alone: build the model first) and {_SAVE}"
_UNPACK = "unpack it, and give the graph's file or the SavedModel's folder"
_SHOWN = 5
_BEGINNING = 4096
_PYTHON = "a Python program"


class Kind(NamedTuple):
    """What a file is."""

    what: str
    """With its article."""
    advice: str
    """What to do."""


_BY_NAME: tuple[tuple[tuple[str, ...], Kind], ...] = (
    ((".py", ".pyw"), Kind(_PYTHON, "run it with gpuplace run {name}")),
    (
        (".ipynb",),
        Kind(
            "a Jupyter notebook", "open it in JupyterLab: gpuplace.explore(graph) shows its graph in a cell"
        ),
    ),
    (
        (".html", ".htm"),
        Kind("an HTML page", "open it in a browser, or give the graph or the log it was made from"),
    ),
    ((".keras",), Kind("a Keras model", _EXPORT)),
    ((".h5", ".hdf5"), Kind("an HDF5 file, such as Keras writes", _EXPORT)),
    ((".zip", ".whl", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".7z"), Kind("an archive", _UNPACK)),
    (
        (".tflite",),
        Kind(
            "a TensorFlow Lite model",
            "its ops have no devices to be placed on: give the model that it was converted from",
        ),
    ),
    (
        (".onnx",),
        Kind("an ONNX model", "convert it to a SavedModel, with onnx2tf for instance, and give the folder"),
    ),
    (
        (".xplane.pb", ".trace.json", ".trace.json.gz"),
        Kind("a profile of TensorFlow's", "gpuplace timeline {name} shows what ran where and when"),
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
            "TensorBoard's profiler reads it; give the .xplane.pb or .trace.json.gz beside it",
        ),
    ),
    (
        (".index", ".data-00000-of-00001", ".ckpt"),
        Kind("a part of a checkpoint", "it holds values and no graph: give the .meta file beside it"),
    ),
)
"""Endings of names, in small letters."""

_BY_CONTENT: tuple[tuple[re.Pattern[bytes], Kind], ...] = (
    (
        re.compile(rb"PK\x03\x04|PK\x05\x06"),
        Kind("a zip archive, as Keras 3 writes models", f"{_EXPORT}; of another archive: {_UNPACK}"),
    ),
    (re.compile(rb"\x89HDF\r\n"), Kind("an HDF5 file, such as Keras writes", _EXPORT)),
    (re.compile(rb"\s*(?:<!doctype html|<html)", re.IGNORECASE), _BY_NAME[2][1]),
    (re.compile(rb'\s*\{(?=[^\0]*"nbformat"\s*:)'), _BY_NAME[1][1]),
    (re.compile(rb"#!.*python"), _BY_NAME[0][1]),
    (re.compile(rb"....TFL3", re.DOTALL), _BY_NAME[6][1]),
    # ONNX begins with its version, then names, the graph or sets of ops; a GraphDef's first field has another tag.
    (re.compile(rb"\x08[\x03-\x40][\x12\x1a\x22\x28\x32\x3a\x42]..", re.DOTALL), _BY_NAME[7][1]),
    (re.compile(rb"\x93NUMPY"), Kind("a NumPy array", "give a graph, or the log of a run")),
    (
        re.compile(rb"\x89PNG|\xff\xd8\xff|GIF8|%PDF-"),
        Kind("a picture", "give the graph or the log that it shows"),
    ),
)
"""How contents begin."""


def kind_of(path: str | os.PathLike[str], data: bytes) -> Kind | None:
    """What a file is that is neither a graph nor a log; None if it may be one.

    Args:
        path: its name; "" for data without one.
        data: its content, or the beginning.
    """
    name = os.fspath(path)
    small = name.lower()
    kind = next((kind for endings, kind in _BY_NAME if small.endswith(endings)), None)
    if kind is None:
        kind = next((kind for pattern, kind in _BY_CONTENT if pattern.match(data)), None)
    return None if kind is None else Kind(kind.what, kind.advice.format(name=name))


def no_program(path: str) -> str | None:
    """Why a file cannot be run, and what to do with it; None if it may be a Python program.

    Args:
        path: its name.

    Raises:
        OSError: it cannot be read.
    """
    if os.path.isdir(path):
        return f"{path} is a folder: name the Python program in it"
    if path.lower().endswith(_GRAPHS):
        return f"{path} is a graph, not a Python program: gpuplace place {path}, or explore"
    with open(path, "rb") as stream:
        kind = kind_of(path, stream.read(_BEGINNING))
    if kind is None or kind.what == _PYTHON:
        return None
    return f"{path} is {kind.what}, not a Python program: {kind.advice}"


def empty_text(data: bytes) -> str | None:
    """What is said of a file in which there is nothing; None if there is something.

    >>> empty_text(b""), empty_text(b"\\n\\n"), empty_text(b"a")
    ('is empty', 'holds nothing but blanks', None)

    Args:
        data: its content.
    """
    if data.strip(b" \t\r\n\0"):
        return None
    return "holds nothing but blanks" if data else "is empty"


def folder_advice(folder: Path) -> str:
    """What to give instead of a folder that is no SavedModel.

    Args:
        folder: it.
    """
    models = sorted({str(path.parent) for path in folder.glob("*/saved_model.pb*")})
    graphs = sorted(str(path) for path in folder.iterdir() if path.name.lower().endswith(_GRAPHS))
    found = [*models, *graphs]
    if not found:
        return "give a graph's file (.pb, .pbtxt, .meta) or the folder with saved_model.pb"
    more = f", or {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"give {', '.join(found[:_SHOWN])}{more}"


_GRAPHS = (".pb", ".pbtxt", ".meta", ".pb.gz", ".pbtxt.gz", ".meta.gz")
