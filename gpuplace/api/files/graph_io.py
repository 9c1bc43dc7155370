"""Graphs and tensors as messages: ``tf.import_graph_def``, ``tf.make_tensor_proto``, ``tf.train.write_graph``, ...

Each loads protobuf when it is called, which ``import gpuplace`` does not.
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
    """Adds the nodes of a ``GraphDef`` to the default graph.

    Args:
        graph_def: a ``GraphDef``.
        input_map: ``"node:output"``, ``"node"`` or ``"^node"`` to the tensor (or operation) to use in its place.
        return_elements: a list of names of nodes (``"a"``) and tensors (``"a:0"``) to return; None: none.
        name: prefix for the names; ``"import"`` where None, none where empty.
        op_dict: ignored, as in TensorFlow; deprecated.
        producer_op_list: ignored: which attributes newer releases added with which defaults is known.

    Returns:
        The operations and tensors named by ``return_elements``, or None.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: the graph is invalid (a cycle, a name twice, an unknown input, types that do not fit, ...).
        NotFoundError: an op type is not registered.

    Source: tensorflow/python/framework/importer.py, release 1.15.
    """
    from gpuplace.graphdef.importer import import_graph_def as run

    with OwnFramesHidden(OpError, TypeError, ValueError):
        return run(graph_def, input_map, return_elements, name, op_dict, producer_op_list)


def make_tensor_proto(
    values: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike = None, verify_shape: bool = False
) -> TensorProto:
    """Returns a Python value or array as a ``TensorProto``.

    Args:
        values: a scalar, nested lists, or an array.
        dtype: its type; None: what the value suggests, as for ``tf.constant``.
        shape: its shape; the last element fills what the value leaves. None: the value's.
        verify_shape: refuse a value of another shape.

    Raises:
        TypeError: the value does not fit the type, or, with ``verify_shape``, the shape.
        ValueError: the value is ragged or has too many elements.

    Source: tensorflow/python/framework/tensor_util.py, release 1.15.
    """
    from gpuplace.graphdef.tensor_proto import make_tensor_proto as run

    return run(values, dtype, shape, verify_shape)


def make_ndarray(tensor: TensorProto) -> Array:
    """Returns the elements of a ``TensorProto`` as a writable NumPy array.

    Args:
        tensor: a ``TensorProto``.

    Source: tensorflow/python/framework/tensor_util.py, release 1.15.
    """
    from gpuplace.graphdef.tensor_proto import make_ndarray as run

    return run(tensor)


def write_graph(
    graph_or_graph_def: Graph | GraphDef, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Writes a graph to the file ``logdir/name``.

    Args:
        graph_or_graph_def: a ``Graph`` or ``GraphDef``.
        logdir: its folder, made where it is missing.
        name: its name.
        as_text: protobuf's text format, else binary.

    Returns:
        The file's path.

    Source: tensorflow/python/framework/graph_io.py, release 1.15.
    """
    from gpuplace.graphdef.export import write_graph as run

    return run(graph_or_graph_def, logdir, name, as_text)
