"""The most that there can be where the number of results hangs on values: places that are not zero, unique elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gpuplace.cost.shapes.engine import Engine
from gpuplace.cost.shapes.kinds import Sizes, is_known

Rule = Callable[[tuple[int, ...], int], Sequence[int]]
"""From the shape of the first input and the number of outputs: what stands for unknown sizes of each output."""

_rules: dict[str, Rule] = {}


def _rule(*op_types: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        _rules.update(dict.fromkeys(op_types, function))
        return function

    return register


@_rule("Where", "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff", "SparseSlice")
def _all_elements(sizes: tuple[int, ...], outputs: int) -> Sequence[int]:
    return (math.prod(sizes),) * outputs


@_rule("DynamicPartition")
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
    return rule(first, outputs) if rule is not None and is_known(first) else None  # type: ignore[arg-type]


def most_sizes(engine: Engine, node: int) -> Sequence[int] | None:
    """What stands for unknown sizes of each output of a node, where its input is known; None for other ops."""
    kind = engine.kinds[node]
    return most_of(kind.op_type, engine.input_sizes(node, 0), len(kind.dtypes))
