"""What Grappler's remapper has one kernel compute: a product or convolution, its bias, and a function of that.

The kernel writes what the last of them gives out; what the others give out is never written, nor read again::

    MatMul --> BiasAdd --> Relu      becomes      _FusedMatMul
      only BiasAdd takes it, only Relu takes that       two passes over memory less

Nothing else may take what lies between, wait for it or be waited for, and it may not be fetched. On a GPU these are
cuDNN's: convolutions of float32 with a bias and ``Relu``, whose filters are larger than 1x1, and, since 2.x, batch
normalisation that does not train, with ``Relu`` after it or after what is added to it. Training has others only where
an environment variable asks for them, and products have cuBLASLt's.

Source: tensorflow/core/grappler/optimizers/remapper.cc (FindContractionWithBias, FindContractionWithBiasAndActivation,
FindFusedBatchNormEx, IsGpuCompatible), releases 1.15 and 2.21, the latter with oneDNN, as it is on processors of x86 by
default; what 2.21 does on GPUs was asked of its optimizer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.graph.op_sets import APPLIED_TO_BIASED, BATCH_NORMALIZATIONS, BIAS_ADDITIONS, WITH_BIASES
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph


class _Rules(NamedTuple):
    """What a release makes one kernel of on a type of device, by types of ops."""

    functions: Mapping[str, Set[str]]
    """What the kernel of each applies: to what it computes, or to the sum of that and a bias."""
    products: Set[str] = frozenset()
    """Those whose kernels add a bias."""
    additions: Set[str] = frozenset({"BiasAdd"})
    """What adds it."""
    dtypes: Set[str] = frozenset({"float32"})
    """Types of numbers."""
    is_gpu: bool = False
    """Whether it is of GPUs: then there has to be a function, and normalisation may not train, but add a tensor."""
    large: tuple[int, ...] = ()
    """Dimensions of a convolution's filter that are not 1."""


_EARLY_PRODUCTS = WITH_BIASES - {"DepthwiseConv2dNative"}
_LATER_FUNCTIONS = APPLIED_TO_BIASED | {"LeakyRelu"}
_NORMALISATIONS = sorted(name for name in BATCH_NORMALIZATIONS if "Grad" not in name)
_NORMALISED = dict.fromkeys(_NORMALISATIONS, frozenset({"Relu"}))
_ON_GPU = _Rules({"Conv2D": frozenset({"Relu"})}, frozenset({"Conv2D"}), is_gpu=True)
_RULES: Mapping[str, Sequence[_Rules]] = {
    "1.15": [
        _Rules(dict.fromkeys(_EARLY_PRODUCTS, APPLIED_TO_BIASED), _EARLY_PRODUCTS),
        _ON_GPU._replace(large=(1, 2)),  # the filter's width and its input channels, as the source has it
    ],
    "2.21": [
        _Rules(
            dict.fromkeys(WITH_BIASES, APPLIED_TO_BIASED)
            | {"Conv2D": _LATER_FUNCTIONS, "MatMul": _LATER_FUNCTIONS | {"Tanh", "Sigmoid"}}
            | _NORMALISED,
            WITH_BIASES,
            BIAS_ADDITIONS,
            frozenset({"float32", "bfloat16", "float16"}),
        ),
        _ON_GPU._replace(functions={**_ON_GPU.functions, **_NORMALISED}, large=(0, 1)),
    ],
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
    takes = runs & ~folded
    takers = _only_takers(graph, takes, list(fetched))
    found = []
    for rules in _RULES.get(release, ()):
        joining = _Joining(graph, shapes, rules, takers)
        for node in np.flatnonzero(graph.of_types(rules.functions) & takes & (takers >= 0)).tolist():
            joined = joining.after(node)
            if joined:
                found.append((rules.is_gpu, [node, *joined]))
    return found


def _only_takers(graph: PlacementGraph, takes: np.ndarray, fetched: list[int]) -> np.ndarray:
    """[nodes] the one node that takes the first output, if nothing else needs the node or makes it wait; -1: none."""
    src, dst, port = graph.src, graph.dst, graph.src_output
    first = (port == 0) & takes[dst]
    found = np.full(len(graph), -1, dtype=np.int64)
    found[src[first]] = dst[first]
    found[np.bincount(src[first], minlength=len(graph)) != 1] = -1
    waits = port == CONTROL
    found[src[waits & takes[dst]]] = -1
    found[dst[waits & takes[src]]] = -1
    found[fetched] = -1
    return found


class _Joining:
    def __init__(self, graph: PlacementGraph, shapes: StepShapes, rules: _Rules, takers: np.ndarray) -> None:
        self.graph, self.shapes, self.rules, self.takers = graph, shapes, rules, takers

    def after(self, node: int) -> list[int]:
        """The sum and the function of it, or either, that the kernel of a node computes too."""
        graph, rules = self.graph, self.rules
        if self.shapes.dtypes(node)[0].name not in rules.dtypes:
            return []
        begin = graph.op_type(node)
        joined: list[int] = []
        taker = int(self.takers[node])
        if begin in rules.products:
            if not self.adds_bias(taker, node) or not self.has_large_filter(node):
                return []
            joined.append(taker)
        elif rules.is_gpu:
            if graph.attrs(node).get("is_training", True):
                return []
            if self.adds_alike(taker):
                joined.append(taker)
        if joined:
            taker = int(self.takers[joined[-1]])
        if taker >= 0 and graph.op_type(taker) in rules.functions[begin]:
            joined.append(taker)
        elif rules.is_gpu:
            return []
        return joined

    def has_large_filter(self, node: int) -> bool:
        """Whether a convolution's filter is as large as the rules want it."""
        edge = self.graph.in_start[node] + 1
        sizes = self.shapes.sizes[self.graph.src[edge]][self.graph.src_output[edge]]
        return not self.rules.large or (
            sizes is not None and all(sizes[at] not in (None, 1) for at in self.rules.large)
        )

    def adds_alike(self, node: int) -> bool:
        """Whether a node adds two tensors of one shape."""
        start = self.graph.in_start[node]
        if self.graph.op_type(node) not in BIAS_ADDITIONS - {"BiasAdd"}:
            return False
        sizes = [
            self.shapes.sizes[self.graph.src[at]][self.graph.src_output[at]] for at in (start, start + 1)
        ]
        return sizes[0] is not None and sizes[0] == sizes[1]

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
