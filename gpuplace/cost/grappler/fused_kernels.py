"""Kernels that Grappler's remapper fuses: a product or convolution, its bias, and an activation.

The fused kernel writes only the last output; intermediate outputs are neither written nor read::

    MatMul --> BiasAdd --> Relu      becomes      _FusedMatMul
      only consumer, only consumer                two passes over memory saved

An intermediate node must have no other consumer, no control edges, and must not be fetched. On a GPU the fused kernels
are cuDNN's: float32 convolutions with a bias and ``Relu``, whose filters are larger than 1x1, and, since 2.x, batch
normalization in inference, with ``Relu`` after it or after an addition to it. Other fusions need an environment
variable (training) or cuBLASLt (products).

Source: tensorflow/core/grappler/optimizers/remapper.cc (FindContractionWithBias, FindContractionWithBiasAndActivation,
FindFusedBatchNormEx, IsGpuCompatible), releases 1.15 and 2.21, the latter with oneDNN, which is the default on x86
processors; the rules of 2.21 for GPUs were verified with its optimizer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.graph.op_sets import APPLIED_TO_BIASED, BATCH_NORMALIZATIONS, BIAS_ADDITIONS, WITH_BIASES
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph


class _Rules(NamedTuple):
    """Fusion rules of a release on a device type, by op type."""

    functions: Mapping[str, Set[str]]
    """Op type to the activations that its kernel applies to its result, or to its result plus a bias."""
    products: Set[str] = frozenset()
    """Op types whose kernels add a bias."""
    additions: Set[str] = frozenset({"BiasAdd"})
    """Op types that add the bias."""
    dtypes: Set[str] = frozenset({"float32"})
    """Names of supported types."""
    is_gpu: bool = False
    """Whether the rules are for GPUs: an activation is required, and normalization must be in inference."""
    large: tuple[int, ...] = ()
    """Filter dimensions of a convolution that must not be 1."""


_EARLY_PRODUCTS = WITH_BIASES - {"DepthwiseConv2dNative"}
_LATER_FUNCTIONS = APPLIED_TO_BIASED | {"LeakyRelu"}
_NORMALIZATIONS = sorted(name for name in BATCH_NORMALIZATIONS if "Grad" not in name)
_NORMALIZED = dict.fromkeys(_NORMALIZATIONS, frozenset({"Relu"}))
_ON_GPU = _Rules({"Conv2D": frozenset({"Relu"})}, frozenset({"Conv2D"}), is_gpu=True)
_RULES: Mapping[str, Sequence[_Rules]] = {
    "1.15": [
        _Rules(dict.fromkeys(_EARLY_PRODUCTS, APPLIED_TO_BIASED), _EARLY_PRODUCTS),
        _ON_GPU._replace(large=(1, 2)),  # the filter's width and its input channels, as in the source
    ],
    "2.21": [
        _Rules(
            dict.fromkeys(WITH_BIASES, APPLIED_TO_BIASED)
            | {"Conv2D": _LATER_FUNCTIONS, "MatMul": _LATER_FUNCTIONS | {"Tanh", "Sigmoid"}}
            | _NORMALIZED,
            WITH_BIASES,
            BIAS_ADDITIONS,
            frozenset({"float32", "bfloat16", "float16"}),
        ),
        _ON_GPU._replace(functions={**_ON_GPU.functions, **_NORMALIZED}, large=(0, 1)),
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
    """Return nodes that one kernel computes if they are on one device, and whether that is a GPU or a CPU.

    The first node of each kernel is the product, convolution or normalization. A bias or activation is fused only if
    all nodes before it are.

    Args:
        graph: the nodes of the step.
        shapes: their shapes.
        release: release whose rules apply; without rules, nothing is fused.
        runs: [nodes] bool: nodes that run; only these consume anything.
        folded: [nodes] bool: constants, which consume nothing.
        fetched: nodes that are fetched, or run as targets.
    """
    consumes = runs & ~folded
    only_consumer = _only_consumers(graph, consumes, list(fetched))
    kernels = []
    for rules in _RULES.get(release, ()):
        fusion = _Fusion(graph, shapes, rules, only_consumer)
        for node in np.flatnonzero(
            graph.of_types(rules.functions) & consumes & (only_consumer >= 0)
        ).tolist():
            joined = fusion.fused_with(node)
            if joined:
                kernels.append((rules.is_gpu, [node, *joined]))
    return kernels


def _only_consumers(graph: PlacementGraph, consumes: np.ndarray, fetched: list[int]) -> np.ndarray:
    """Return [nodes] the only consumer of the first output; -1 if anything else needs or waits for the node."""
    src, dst, port = graph.src, graph.dst, graph.src_output
    first = (port == 0) & consumes[dst]
    consumer = np.full(len(graph), -1, dtype=np.int64)
    consumer[src[first]] = dst[first]
    consumer[np.bincount(src[first], minlength=len(graph)) != 1] = -1
    waits = port == CONTROL
    consumer[src[waits & consumes[dst]]] = -1
    consumer[dst[waits & consumes[src]]] = -1
    consumer[fetched] = -1
    return consumer


class _Fusion:
    def __init__(
        self, graph: PlacementGraph, shapes: StepShapes, rules: _Rules, only_consumer: np.ndarray
    ) -> None:
        self.graph, self.shapes, self.rules, self.only_consumer = graph, shapes, rules, only_consumer

    def fused_with(self, node: int) -> list[int]:
        """Return the bias addition and activation, or either, that a node's kernel also computes."""
        graph, rules = self.graph, self.rules
        if self.shapes.dtypes(node)[0].name not in rules.dtypes:
            return []
        op_type = graph.op_type(node)
        fused: list[int] = []
        consumer = int(self.only_consumer[node])
        if op_type in rules.products:
            if not self.adds_bias(consumer, node) or not self.has_large_filter(node):
                return []
            fused.append(consumer)
        elif rules.is_gpu:
            if graph.attrs(node).get("is_training", True):
                return []
            if self.adds_same_shape(consumer):
                fused.append(consumer)
        if fused:
            consumer = int(self.only_consumer[fused[-1]])
        if consumer >= 0 and graph.op_type(consumer) in rules.functions[op_type]:
            fused.append(consumer)
        elif rules.is_gpu:
            return []
        return fused

    def has_large_filter(self, node: int) -> bool:
        """Whether a convolution's filter satisfies the size rule."""
        edge = self.graph.in_start[node] + 1
        sizes = self.shapes.sizes[self.graph.src[edge]][self.graph.src_output[edge]]
        return not self.rules.large or (
            sizes is not None and all(sizes[at] not in (None, 1) for at in self.rules.large)
        )

    def adds_same_shape(self, node: int) -> bool:
        """Whether a node adds two tensors of equal shape."""
        start = self.graph.in_start[node]
        if self.graph.op_type(node) not in BIAS_ADDITIONS - {"BiasAdd"}:
            return False
        sizes = [
            self.shapes.sizes[self.graph.src[at]][self.graph.src_output[at]] for at in (start, start + 1)
        ]
        return sizes[0] is not None and sizes[0] == sizes[1]

    def adds_bias(self, node: int, product: int) -> bool:
        """Whether a node adds one number per column, or per channel, to a product."""
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
