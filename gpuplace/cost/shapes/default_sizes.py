"""Sizes in place of unknown ones: those that an assignment requires, or the largest possible.

A ``RestoreV2`` reads whatever a file contains. The ``Assign`` that consumes it accepts only the variable's shape, so a
step that succeeds has this shape there. If the number of results depends on values, as with indices of nonzero or
unique elements, the largest possible number applies.
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
"""Maximum length of a chain of nodes that pass a tensor through."""


def demanded_sizes(engine: Engine, node: int, inferred: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
    """Return the shapes of a node's outputs, with unknown sizes replaced by those that assignments require.

    Args:
        engine: the graph.
        node: the node.
        inferred: inferred shapes of its outputs.
    """
    consumers_of: dict[int, list[int]] = {}
    for consumer in engine.consumers[node]:
        for source, output in dict.fromkeys(engine.inputs[consumer]):
            if source == node:
                consumers_of.setdefault(output, []).append(consumer)
    demanded = {
        output: _demanded(engine, node, output, consumers_of.get(output, ()))
        for output, sizes in enumerate(inferred)
        if not is_known(sizes)
    }
    if not any(map(is_known, demanded.values())):
        return inferred
    return tuple(
        [
            sizes if output not in demanded else merged_sizes(sizes, demanded[output])
            for output, sizes in enumerate(inferred)
        ]
    )


def _demanded(engine: Engine, node: int, output: int, consumers: Sequence[int]) -> Sizes:
    """Return the shape that assignments require of an output with given consumers."""
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
        consumers = [
            successor for successor in engine.consumers[node] if (node, 0) in engine.inputs[successor]
        ]
    return None


def _of_variable(engine: Engine, node: int, output: int) -> Sizes:
    """Return the declared shape of a variable."""
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
    """Return the size that replaces unknown sizes of each output of a node; None if there is no such bound.

    Args:
        op_type: op type.
        first: shape of its first input.
        outputs: number of its outputs.
    """
    rule = _rules.get(op_type)
    return rule(first, outputs) if rule is not None and is_known(first) else None


def most_sizes(engine: Engine, node: int) -> Sequence[int] | None:
    """Return the size that replaces unknown sizes of each output of a node; None for other ops or an unknown input."""
    kind = engine.kinds[node]
    return most_of(kind.op_type, engine.input_sizes(node, 0), len(kind.dtypes))
