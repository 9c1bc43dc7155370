"""What stands for sizes that nobody gives: what an assignment demands, or the most that there can be.

A ``RestoreV2`` reads whatever a file holds. The ``Assign`` that takes it refuses anything but the variable's shape, so
that a step that runs has this shape there. Where the number of results hangs on values, as of places that are not zero
or of unique elements, the most that there can be counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuplace.cost.shapes.engine import Engine
from gpuplace.cost.shapes.handle import merged_sizes
from gpuplace.cost.shapes.kinds import Rules, Sizes, is_known
from gpuplace.graph.op_sets import ASSIGNMENTS, IDENTITY_OPS, VARIABLE_OPS
from gpuplace.shapes import TensorShape

_LONGEST_WAY = 20
"""Nodes that hand a tensor on unchanged."""


def demanded_sizes(engine: Engine, node: int, found: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
    """The shapes of a node's outputs, with those that assignments demand of them where they are not known.

    Args:
        engine: the graph.
        node: the node.
        found: what is known of its outputs.
    """
    takers: dict[int, list[int]] = {}
    for consumer in engine.consumers[node]:
        for source, output in dict.fromkeys(engine.inputs[consumer]):
            if source == node:
                takers.setdefault(output, []).append(consumer)
    demanded = {
        output: _demanded(engine, node, output, takers.get(output, ()))
        for output, sizes in enumerate(found)
        if not is_known(sizes)
    }
    if not any(map(is_known, demanded.values())):
        return found
    return tuple(
        [
            sizes if output not in demanded else merged_sizes(sizes, demanded[output])
            for output, sizes in enumerate(found)
        ]
    )


def _demanded(engine: Engine, node: int, output: int, consumers: Sequence[int]) -> Sizes:
    """The shape that assignments demand of an output, given the consumers that take it."""
    for _ in range(_LONGEST_WAY):
        following = []
        for consumer in consumers:
            kind, sources = engine.kinds[consumer], engine.inputs[consumer]
            if kind.op_type in ASSIGNMENTS and sources[1:2] == [(node, output)]:
                sizes = _of_variable(engine, *sources[0])
                if is_known(sizes) and kind.attrs.get("validate_shape", True):
                    return sizes
            elif kind.op_type in IDENTITY_OPS:
                following.append(consumer)
        if not following:
            return None
        node, output = following[0], 0
        consumers = [after for after in engine.consumers[node] if (node, 0) in engine.inputs[after]]
    return None


def _of_variable(engine: Engine, node: int, output: int) -> Sizes:
    """The shape that a variable is declared to have."""
    for _ in range(_LONGEST_WAY):
        kind = engine.kinds[node]
        if kind.op_type in VARIABLE_OPS:
            shape = kind.attrs.get("shape")
            return shape.sizes if isinstance(shape, TensorShape) else None
        if kind.op_type not in IDENTITY_OPS or not engine.inputs[node]:
            return None
        node, output = engine.inputs[node][0]
    return None


_rules = Rules()


@_rules("Where", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff", "SparseSlice")
def _all_elements(sizes: tuple[int, ...], outputs: int) -> Sequence[int]:
    return (math.prod(sizes),) * outputs


@_rules("DynamicPartition")
def _equal_parts(sizes: tuple[int, ...], outputs: int) -> Sequence[int]:
    rows = sizes[0] if sizes else 1
    return (-(-rows // max(1, outputs)),) * outputs


def most_of(op_type: str, first: Sizes, outputs: int) -> Sequence[int] | None:
    """Return what stands for unknown sizes of each output of a node; None where there is no such bound.

    Args:
        op_type: its op type.
        first: shape of its first input.
        outputs: the number of its outputs.
    """
    rule = _rules.get(op_type)
    return rule(first, outputs) if rule is not None and is_known(first) else None


def most_sizes(engine: Engine, node: int) -> Sequence[int] | None:
    """What stands for unknown sizes of each output of a node, where its input is known; None for other ops."""
    kind = engine.kinds[node]
    return most_of(kind.op_type, engine.input_sizes(node, 0), len(kind.dtypes))
