"""Graphs and tensors as messages: ``tf.import_graph_def``, ``tf.make_tensor_proto``, ``tf.train.write_graph``, ...

Each function loads protobuf when it is called; ``import gpuplace`` does not load it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.callers import OwnFramesHidden
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.typing import Array, DTypeLike, GraphDef, ShapeLike, TensorLike, TensorProto

__all__ = ["import_graph_def", "make_ndarray", "make_tensor_proto", "write_graph"]


def import_graph_def(
    graph_def: GraphDef,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of a ``GraphDef`` to the default graph.

    Args:
        graph_def: a ``GraphDef``.
        input_map: ``"node:output"``, ``"node"`` or ``"^node"`` -> tensor (or operation) to use instead.
        return_elements: list of names of nodes (``"a"``) and tensors (``"a:0"``) to return, or None.
        name: prefix of the names; None: ``"import"``; empty: no prefix.
        op_dict: ignored, as in TensorFlow; deprecated.
        producer_op_list: ignored, since the attributes that newer releases added and their defaults are known.

    Returns:
        The operations and tensors named by ``return_elements``, or None.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: the graph is invalid (a cycle, a duplicate name, an unknown input, mismatching types, ...).
        NotFoundError: an op type is not registered.

    Source: tensorflow/python/framework/importer.py, release 1.15.
    """
    from gpuplace.graphdef.importer import import_graph_def as run

    with OwnFramesHidden(OpError, TypeError, ValueError):
        return run(graph_def, input_map, return_elements, name, op_dict, producer_op_list)


def make_tensor_proto(
    values: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike = None, verify_shape: bool = False
) -> TensorProto:
    """Return a Python value or array as a ``TensorProto``.

    Args:
        values: scalar, nested lists, or array.
        dtype: element type; None: inferred as by ``tf.constant``.
        shape: shape; the last element fills a larger shape. None: the shape of the value.
        verify_shape: raise an error if the value has another shape.

    Raises:
        TypeError: the value does not match the type or, with ``verify_shape``, the shape.
        ValueError: the value is ragged or has too many elements.

    Source: tensorflow/python/framework/tensor_util.py, release 1.15.
    """
    from gpuplace.graphdef.tensor_proto import make_tensor_proto as run

    return run(values, dtype, shape, verify_shape)


def make_ndarray(tensor: TensorProto) -> Array:
    """Return the elements of a ``TensorProto`` as a writable NumPy array.

    Args:
        tensor: a ``TensorProto``.

    Source: tensorflow/python/framework/tensor_util.py, release 1.15.
    """
    from gpuplace.graphdef.tensor_proto import make_ndarray as run

    return run(tensor)


def write_graph(
    graph_or_graph_def: Graph | GraphDef, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Write a graph to the file ``logdir/name``.

    Args:
        graph_or_graph_def: a ``Graph`` or ``GraphDef``.
        logdir: folder, created if necessary.
        name: file name.
        as_text: write protobuf's text format instead of binary.

    Returns:
        The path of the file.

    Source: tensorflow/python/framework/graph_io.py, release 1.15.
    """
    from gpuplace.graphdef.export import write_graph as run

    return run(graph_or_graph_def, logdir, name, as_text)
