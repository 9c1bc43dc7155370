"""Shapes of a whole graph before anything is fed, as edges, tables, pictures and pages show them.

A size that depends on the batch stays unknown, and the bytes of such a tensor are known per example. The batch is the
first dimension of data from outside: placeholders, queues, iterators. To find what depends on it, and how, shapes are
inferred for two batch sizes in addition to the general case::

    batch ?    (?, 112, 112, 64)            batch 7    (7, 112, 112, 64)     proportional to the batch:
                                            batch 13   (13, 112, 112, 64)    3,211,264 bytes per example

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.kernels.registry import default_catalogue
>>> from gpuplace.ops.array.constant import placeholder
>>> from gpuplace.placer.from_graph import placement_graph_of
>>> with Graph().as_default() as graph:
...     rows = placeholder("float32", [None, 10], name="rows")
...     _ = apply_op("Tanh", "y", x=rows)
>>> nodes = placement_graph_of(graph, default_catalogue())
>>> graph_shapes(nodes, default_catalogue()).tensor(nodes.index["y"], 0)
TensorShapeFact(dtype=tf.float32, sizes=(None, 10), nbytes=None, example_bytes=40)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpuplace.cost.shapes.default_sizes import demanded_sizes
from gpuplace.cost.shapes.inference import Inference
from gpuplace.cost.shapes.kinds import Kinds, Sizes
from gpuplace.dtypes import DType
from gpuplace.errors import OpError
from gpuplace.graph.op_sets import PLACEHOLDERS
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import PlacementGraph, known_bytes

_BATCHES = (7, 13)
"""Batch sizes to infer with; primes, so that they do not divide common sizes."""
_FROM_OUTSIDE = re.compile(r".*(Queue|Iterator|Reader|Dataset|Stage|Barrier).*|_Arg")
"""Op types, besides placeholders, whose unknown first dimension is a batch."""


class TensorShapeFact(NamedTuple):
    """Known facts about one output of a node."""

    dtype: DType | None
    """Type; None if the op is unknown."""
    sizes: Sizes
    """Sizes, None for an unknown size; None for an unknown rank."""
    nbytes: int | None
    """Bytes; None if a size is unknown, or for a type without a fixed size."""
    example_bytes: int | None
    """Bytes per example if they are proportional to the batch, otherwise None."""


UNKNOWN = TensorShapeFact(None, None, None, None)
"""An output without known facts."""


class GraphShapes:
    """Shapes of all outputs of a graph, inferred on construction.

    Args:
        graph: the graph, as it is placed.
        catalogue: op definitions.
    """

    def __init__(self, graph: PlacementGraph, catalogue: Catalogue) -> None:
        self.graph = graph
        self._facts: dict[tuple[int, int], TensorShapeFact] = {}
        self._plain: Inference | None = None
        self._with_batch: list[Inference] = []
        kinds = Kinds(catalogue)
        try:
            self._plain = self._inferred(kinds, None)
            shapes = self._plain.shapes
            if any(sizes is None or None in sizes for outputs in shapes for sizes in outputs or ()):
                self._with_batch = [self._inferred(kinds, batch) for batch in _BATCHES]
        except OpError:  # an invalid graph, which the placement reports; the graph's declared shapes remain
            self._with_batch = []

    def _inferred(self, kinds: Kinds, batch: int | None) -> Inference:
        def from_outside(engine: Inference, node: int, shapes: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
            if engine.kinds[node].is_stateful:  # an assigned value has the shape of its variable
                shapes = demanded_sizes(engine, node, shapes)
            op_type = engine.kinds[node].op_type
            is_outside = op_type in PLACEHOLDERS or op_type == "PlaceholderWithDefault"
            if (
                batch is None
                or engine.graph is not self.graph
                or not (is_outside or _FROM_OUTSIDE.fullmatch(op_type))
            ):
                return shapes
            return tuple((batch, *sizes[1:]) if sizes and sizes[0] is None else sizes for sizes in shapes)

        engine = Inference(self.graph, kinds, assume=from_outside)
        engine.run()
        return engine

    def tensor(self, node: int, output: int) -> TensorShapeFact:
        """Return the known facts about an output.

        Args:
            node: position of its node.
            output: number of the output.
        """
        fact = self._facts.get((node, output))
        if fact is None:
            fact = self._facts[node, output] = self._fact(node, output)
        return fact

    def _fact(self, node: int, output: int) -> TensorShapeFact:
        if self._plain is None:
            return self._stated(node, output)
        dtypes = self._plain.kinds[node].dtypes
        if output >= len(dtypes):
            return self._stated(node, output)
        dtype, sizes = dtypes[output], self._plain.sizes(node, output)
        nbytes = _bytes(dtype, sizes)
        if nbytes is not None or not self._with_batch or (sizes is not None and None not in sizes):
            return TensorShapeFact(dtype, sizes, nbytes, None)
        small, large = (engine.sizes(node, output) for engine in self._with_batch)
        if small is None or large is None or len(small) != len(large):
            return TensorShapeFact(dtype, sizes, None, None)
        pairs = list(zip(small, large, strict=True))
        sizes = tuple(a if a == b else None for a, b in pairs)
        of_small, of_large = _bytes(dtype, small), _bytes(dtype, large)
        if of_small is None or of_large is None:
            return TensorShapeFact(dtype, sizes, None, None)
        if None not in sizes:
            return TensorShapeFact(dtype, sizes, of_small, None)
        is_proportional = of_small * _BATCHES[1] == of_large * _BATCHES[0]
        return TensorShapeFact(dtype, sizes, None, of_small // _BATCHES[0] if is_proportional else None)

    def _stated(self, node: int, output: int) -> TensorShapeFact:
        """Return the graph's declared facts about an output."""
        if self.graph.tensor_info is None:
            return UNKNOWN
        info = self.graph.tensor_info(node, output)
        return TensorShapeFact(info.dtype, info.shape, info.nbytes, None)


def _bytes(dtype: DType, sizes: Sizes) -> int | None:
    return known_bytes(dtype, sizes) if dtype.size and not dtype.is_handle else None


def graph_shapes(graph: PlacementGraph, catalogue: Catalogue) -> GraphShapes:
    """Return the shapes of a graph, cached in the graph.

    Args:
        graph: the graph, as it is placed.
        catalogue: op definitions.
    """
    shapes: GraphShapes | None = graph.__dict__.get("_graph_shapes")
    if shapes is None:
        shapes = graph.__dict__["_graph_shapes"] = GraphShapes(graph, catalogue)
    return shapes
