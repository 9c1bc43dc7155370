r"""Files and objects that hold a model and no TensorFlow graph: recognised by what they begin with, with a way out.

>>> format_of(b"PK\x03\x04rest"), format_of(b"\x1c\x00\x00\x00TFL3rest"), format_of(b"\n\x05")
('a zip archive, as Keras 3 writes models', 'a TensorFlow Lite model', None)
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import DataLossError

_EXPORT = "model.export(folder), or tf.saved_model.save(model, folder), and give the folder"

_ONNX_VERSION = b"\x08"
"""The tag of ONNX's first field, its version: in a GraphDef that field holds nodes, and has another tag."""

_ONNX_NEXT = frozenset({b"\x12", b"\x1a", b"\x22", b"\x28", b"\x32", b"\x3a", b"\x42"})
"""Tags of the fields that follow it: names, versions, the graph, sets of ops."""


def format_of(data: bytes) -> str | None:
    """What a file of another format is, in words; None for what may be a graph.

    Args:
        data: the file, or its beginning.
    """
    known = _known(data)
    return None if known is None else known[0]


def check_format(data: bytes, what: str) -> None:
    """Rejects the formats of Keras, TensorFlow Lite and ONNX.

    Raises:
        DataLossError: it is one of them; the hint says how to get a graph.
    """
    known = _known(data)
    if known is not None:
        raise DataLossError.of(
            f"{what} is {known[0]}, not a TensorFlow graph",
            facts={
                "a graph is": "a GraphDef (.pb, .pbtxt), a MetaGraphDef (.meta) or the folder of a SavedModel"
            },
            hint=known[1],
        )


def _known(data: bytes) -> tuple[str, str] | None:
    if data.startswith(b"\x89HDF\r\n\x1a\n"):
        return (
            "an HDF5 file, as Keras writes models and weights",
            f"load it with tf.keras.models.load_model (weights alone: build the model first), then {_EXPORT}",
        )
    if data.startswith(b"PK\x03\x04"):
        return (
            "a zip archive, as Keras 3 writes models",
            f"load it with tf.keras.models.load_model, then {_EXPORT}; unpack the archive of a SavedModel",
        )
    if data[4:8] == b"TFL3":
        return (
            "a TensorFlow Lite model",
            "its ops have no devices to be placed on: give the SavedModel that it was converted from",
        )
    if data.startswith(_ONNX_VERSION) and _is_onnx(data):
        return (
            "an ONNX model",
            "convert it to a SavedModel, with onnx2tf for instance, and give the folder",
        )
    return None


def _is_onnx(data: bytes) -> bool:
    """Whether a message that begins with a number goes on as ONNX's models do: with the name of what wrote it."""
    return len(data) > 4 and 3 <= data[1] <= 64 and data[2:3] in _ONNX_NEXT


def how_to_save(value: Any) -> str:
    """What to do with an object of TensorFlow that is no graph: the end of a sentence, `""` for another object."""
    if hasattr(value, "get_concrete_function"):
        return (
            ": give the graph of one of its traces, fn.get_concrete_function(*arguments).graph.as_graph_def(), or save "
            "it with tf.saved_model.save and give the folder"
        )
    if hasattr(value, "structured_outputs") and hasattr(value, "graph"):
        return ": give its graph, fn.graph.as_graph_def()"
    if hasattr(value, "as_graph_def"):
        return ": give its GraphDef, graph.as_graph_def()"
    if hasattr(value, "signatures"):
        return ": give the folder that it was loaded from"
    if hasattr(value, "export") and hasattr(value, "trainable_variables"):
        return f": save it, {_EXPORT}"
    if hasattr(value, "trainable_variables"):
        return ": save it with tf.saved_model.save and give the folder"
    return ""
