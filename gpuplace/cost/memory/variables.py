"""Bytes of the variables that a placed graph keeps on each device.

>>> from gpuplace.device.machine import Machine
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.runtime.session.place import place
>>> with Graph().as_default() as graph:
...     _ = apply_op("VariableV2", "v", shape=[3, 2], dtype="float32")
>>> variable_bytes(place(graph, "cpu"))
{'/job:localhost/replica:0/task:0/device:CPU:0': 24}
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.shapes.graph_shapes import graph_shapes
from gpuplace.dtypes import DType
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.placement_graph import PlacementGraph, known_bytes
from gpuplace.why.placement import Placement


def held_bytes(graph: PlacementGraph, node: int, catalogue: Catalogue) -> int | None:
    """Return the bytes of the variable of a node; None if its shape is unknown.

    Args:
        graph: the graph.
        node: a variable, or a handle of one.
        catalogue: op definitions.
    """
    attrs = graph.attrs(node)
    sizes, dtype = getattr(attrs.get("shape"), "sizes", None), attrs.get("dtype")
    if sizes is None or not isinstance(dtype, DType):
        return graph_shapes(graph, catalogue).tensor(node, 0).nbytes
    return known_bytes(dtype, sizes)


def variable_bytes(placement: Placement) -> dict[str, int]:
    """Return the bytes of variables by full device name; variables of unknown shape are not counted.

    Args:
        placement: the placed whole graph.
    """
    graph, catalogue = placement.graph, placement.placer.catalogue
    nbytes = dict.fromkeys(placement.device_set.names, 0)
    for node in np.flatnonzero(graph.of_types(VARIABLE_OPS)).tolist():
        device = int(placement.devices[node])
        if device != NOWHERE:
            nbytes[placement.device_set.names[device]] += held_bytes(graph, node, catalogue) or 0
    return nbytes
