"""What Grappler's remapper has one kernel of a CPU compute: a product or convolution, its bias, and a function of that.

The kernel writes what the last of them gives out; what the others give out is never written, nor read again::

    MatMul --> BiasAdd --> Relu      becomes      _FusedMatMul
      only BiasAdd takes it, only Relu takes that       two passes over memory less

Nothing else may take what lies between, wait for it or be waited for, and it may not be fetched.

Source: tensorflow/core/grappler/optimizers/remapper.cc (FindContractionWithBias, FindContractionWithBiasAndActivation,
FindFusedBatchNormEx), releases 1.15 and 2.21, the latter with oneDNN, as it is on processors of x86 by default.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import NamedTuple

import numpy as np

from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.graph.op_sets import APPLIED_TO_BIASED, BIAS_ADDITIONS, WITH_BIASES
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

__all__ = ["fused_kernels"]


class _Rules(NamedTuple):
    """What a release makes one kernel of, by types of ops."""

    products: Set[str]
    """Those whose kernels add a bias."""
    additions: Set[str]
    """What adds it."""
    functions: Mapping[str, Set[str]]
    """Of the sum, by what it is a sum of."""
    dtypes: Set[str]
    """Types of numbers."""


_EARLY_PRODUCTS = WITH_BIASES - {"DepthwiseConv2dNative"}
_LATER_FUNCTIONS = APPLIED_TO_BIASED | {"LeakyRelu"}
_RULES: Mapping[str, _Rules] = {
    "1.15": _Rules(
        _EARLY_PRODUCTS, {"BiasAdd"}, dict.fromkeys(_EARLY_PRODUCTS, APPLIED_TO_BIASED), {"float32"}
    ),
    "2.21": _Rules(
        WITH_BIASES,
        BIAS_ADDITIONS,
        dict.fromkeys(WITH_BIASES, APPLIED_TO_BIASED)
        | {"Conv2D": _LATER_FUNCTIONS, "MatMul": _LATER_FUNCTIONS | {"Tanh", "Sigmoid"}}
        | {"FusedBatchNormV3": {"Relu"}},
        {"float32", "bfloat16", "float16"},
    ),
}


def fused_kernels(
    graph: PlacementGraph,
    shapes: StepShapes,
    release: str,
    runs: np.ndarray,
    folded: np.ndarray,
    fetched: Collection[int],
) -> list[tuple[bool, list[int]]]:
    """Nodes that may be computed by one kernel if they are on one device, and whether that is a GPU or a CPU.

    Of each the first is the product, convolution or normalisation; a sum or a function is computed by its kernel if
    those between are.

    Args:
        graph: what the step needs.
        shapes: of it.
        release: whose rules; those without any fuse nothing.
        runs: [nodes] bool: what is to run; nothing else takes anything.
        folded: [nodes] bool: constants, which take nothing.
        fetched: nodes that are fetched, or run for themselves.
    """
    rules = _RULES.get(release)
    if rules is None:
        return []
    joining = _Joining(graph, shapes, rules, runs & ~folded, set(fetched))
    types = [signature.op_type for signature in graph.signatures]
    begins = np.array([name in rules.functions for name in types], dtype=bool)[graph.signature]
    found = []
    for node in np.flatnonzero(begins & runs & ~folded).tolist():
        joined = joining.after(node)
        if joined:
            found.append((False, [node, *joined]))
    return found


class _Joining:
    def __init__(
        self,
        graph: PlacementGraph,
        shapes: StepShapes,
        rules: _Rules,
        takes: np.ndarray,
        fetched: set[int],
    ) -> None:
        self.graph, self.shapes, self.rules = graph, shapes, rules
        self.takes, self.fetched = takes, fetched

    def after(self, node: int) -> list[int]:
        """The sum and the function of it, or either, that the kernel of a node computes too."""
        graph, rules = self.graph, self.rules
        if self.shapes.dtypes(node)[0].name not in rules.dtypes:
            return []
        begin = graph.op_type(node)
        joined: list[int] = []
        if begin in rules.products:
            taker = self.only_taker(node)
            if taker is None or not self.adds_bias(taker, node):
                return []
            joined.append(taker)
        taker = self.only_taker(joined[-1] if joined else node)
        if taker is not None and graph.op_type(taker) in rules.functions[begin]:
            joined.append(taker)
        return joined

    def only_taker(self, node: int) -> int | None:
        """The one node that takes the first output, if nothing else needs the node or makes it wait."""
        graph = self.graph
        start, end = graph.in_start[node], graph.in_start[node + 1]
        waits = (graph.src_output[start:end] == CONTROL) & self.takes[graph.src[start:end]]
        if node in self.fetched or waits.any():
            return None
        edges = graph.out_order[graph.out_start[node] : graph.out_start[node + 1]]
        edges = edges[self.takes[graph.dst[edges]]]
        if (graph.src_output[edges] == CONTROL).any():
            return None
        takers = graph.dst[edges[graph.src_output[edges] == 0]].tolist()
        return int(takers[0]) if len(takers) == 1 else None

    def adds_bias(self, node: int, product: int) -> bool:
        """Whether a node adds a number for each column, or channel, to a product."""
        graph = self.graph
        if graph.op_type(node) not in self.rules.additions:
            return False
        start = graph.in_start[node]
        terms = [(int(graph.src[edge]), int(graph.src_output[edge])) for edge in (start, start + 1)]
        if graph.op_type(node) == "BiasAdd":
            return terms[0] == (product, 0)
        source, output = terms[1] if terms[0] == (product, 0) else terms[0]
        bias, sizes = self.shapes.sizes[source][output], self.shapes.sizes[product][0]
        if bias is None or sizes is None or not bias or len(bias) > len(sizes) or bias[-1] is None:
            return False
        return bias[-1] == sizes[-1] and all(size == 1 for size in bias[:-1])
