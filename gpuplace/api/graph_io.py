"""Graphs and tensors as messages: ``tf.import_graph_def``, ``tf.make_tensor_proto``, ``tf.train.write_graph``, ...

Each loads protobuf when it is called, which ``import gpuplace`` does not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

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
    """Adds the nodes of a ``GraphDef`` to the default graph; see ``gpuplace.graphdef.importer.import_graph_def``."""
    from gpuplace.graphdef.importer import import_graph_def as run

    return run(graph_def, input_map, return_elements, name, op_dict, producer_op_list)


def make_tensor_proto(
    values: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike = None, verify_shape: bool = False
) -> TensorProto:
    """A ``TensorProto``; see ``gpuplace.graphdef.tensor_proto.make_tensor_proto``."""
    from gpuplace.graphdef.tensor_proto import make_tensor_proto as run

    return run(values, dtype, shape, verify_shape)


def make_ndarray(tensor: TensorProto) -> Array:
    """The array in a ``TensorProto``."""
    from gpuplace.graphdef.tensor_proto import make_ndarray as run

    return run(tensor)


def write_graph(
    graph_or_graph_def: Graph | GraphDef, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Writes a graph to a file and returns its path; see ``gpuplace.graphdef.export.write_graph``."""
    from gpuplace.graphdef.export import write_graph as run

    return run(graph_or_graph_def, logdir, name, as_text)
