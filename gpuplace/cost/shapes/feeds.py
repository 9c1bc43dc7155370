"""What is fed to a step: shapes, or values, for tensors by name.

>>> fed_sizes((64, None, 3)), fed_sizes("64,224,224,3"), fed_sizes(64)
((64, None, 3), (64, 224, 224, 3), (64,))
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.cost.shapes.kinds import Sizes, Value, shape_of
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import PLACEHOLDERS
from gpuplace.placer.placement_graph import PlacementGraph, split_tensor_name
from gpuplace.shapes import Dimension, TensorShape
from gpuplace.why.names import suggestions

_SHOWN = 20
"""Placeholders that a message lists."""

_NEAREST = 3
_MOST_ELEMENTS = (1 << 63) - 1


def fed_sizes(given: Any) -> Sizes:
    """A shape as it may be given: sizes with None or -1 for unknown ones, a ``TensorShape``, text, or one size.

    Raises:
        TypeError: it is nothing of the kind.
        ValueError: a size is below -1.
    """
    if isinstance(given, TensorShape):
        return given.sizes
    if given is None:
        return None
    if isinstance(given, str):
        parts = [part.strip() for part in given.strip("()[] ").split(",") if part.strip()]
        return tuple(None if part in ("?", "None", "-1") else _size(int(part)) for part in parts)
    if isinstance(given, Dimension):
        return (given.value,)
    if hasattr(given, "__iter__"):
        return tuple(_size(size) for size in given)
    return (_size(given),)


def checked_sizes(name: str, given: Any) -> Sizes:
    """A shape, as of `fed_sizes`, or that of an array.

    Args:
        name: of the tensor, for the error.
        given: the shape, or the array.

    Raises:
        InvalidArgumentError: it is nothing of the kind.
    """
    try:
        return fed_sizes(getattr(given, "shape", given))
    except (TypeError, ValueError) as error:
        raise _no_shape(name, given, {"because": str(error)}) from None


def _no_shape(name: str, given: Any, facts: Mapping[str, str]) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"Cannot feed {given!r} for tensor {name}: it is neither a shape nor an array",
        facts=facts,
        hint='give sizes, such as (64, 224, 224, 3) or "64,224,224,3", or an array',
    )


def _check_count(name: str, sizes: Sizes) -> None:
    """Raises InvalidArgumentError for more elements than TensorFlow can count."""
    if sizes is not None and math.prod([size for size in sizes if size is not None]) > _MOST_ELEMENTS:
        raise InvalidArgumentError.of(
            f"Cannot feed shape {shape_of(sizes)} for tensor {name}: too many elements, 2**63 - 1 at most",
            hint="a smaller shape in feeds",
        )


def _size(given: Any) -> int | None:
    if given is None:
        return None
    value = getattr(given, "value", given)
    if value is None:
        return None
    size = operator.index(value)
    if size < -1:
        raise ValueError(f"A size is at least 0, or -1 where it is not known: got {size}")
    return None if size == -1 else size


def resolve_feeds(
    graph: PlacementGraph,
    feeds: Mapping[Any, Any],
    declared: Callable[[int, int], Sizes],
    outputs: Callable[[int], int],
) -> dict[tuple[int, int], tuple[Sizes, Value | None]]:
    """What is fed, by node and output.

    Args:
        graph: the graph.
        feeds: name, tensor or operation to a shape or an array.
        declared: the shape of an output as the graph has it.
        outputs: how many outputs a node has.

    Raises:
        InvalidArgumentError: a name is of no tensor of the graph, or a shape is not one that it can have.
    """
    found: dict[tuple[int, int], tuple[Sizes, Value | None]] = {}
    for key, given in feeds.items():
        name = key if isinstance(key, str) else getattr(key, "name", None)
        if not isinstance(name, str):
            raise InvalidArgumentError.of(
                f"Cannot interpret feed key {key!r} as a tensor: it is of type {type(key).__name__}",
                facts=_placeholders(graph, declared),
                hint="give the name of a node or a tensor, or a tensor",
            )
        node_name, output = split_tensor_name(name.removeprefix("^"))
        node = graph.index.get(node_name)
        if node is None:
            near = suggestions(node_name, _placeholder_names(graph) or graph.names, _NEAREST)
            raise InvalidArgumentError.of(
                f"Tensor {name}, specified in feeds, is not in the graph",
                facts={**({"nearest": ", ".join(near)} if near else {}), **_placeholders(graph, declared)},
                hint="feed one of the placeholders, or another tensor of the graph, by its name",
            )
        if output >= outputs(node):
            raise InvalidArgumentError.of(
                f"Tensor {name}, specified in feeds, is not in the graph: node '{node_name}' has"
                f" {outputs(node)} output{'' if outputs(node) == 1 else 's'}",
                facts=_placeholders(graph, declared),
                hint=f"feed {node_name}:0" if outputs(node) else "feed a tensor: this node has no outputs",
            )
        known = declared(node, output)
        try:
            sizes, value = _shape_and_value(given, known)
        except (TypeError, ValueError) as error:
            facts = {"because": str(error), "shape of the tensor": str(shape_of(known))}
            raise _no_shape(f"{node_name}:{output}", given, facts) from None
        _check_count(f"{node_name}:{output}", sizes)
        if not shape_of(sizes).is_compatible_with(shape_of(known)):
            raise InvalidArgumentError.of(
                f"Cannot feed value of shape {shape_of(sizes)} for Tensor '{node_name}:{output}', which has shape"
                f" '{shape_of(known)}'",
                facts=_placeholders(graph, declared),
                hint="feed a shape that the graph was built for",
            )
        merged = shape_of(sizes).merge_with(shape_of(known)).sizes
        before = found.get((node, output))
        if before is not None and not shape_of(before[0]).is_compatible_with(shape_of(merged)):
            raise InvalidArgumentError.of(
                f"Tensor {node_name}:{output} is fed twice, with shapes {shape_of(before[0])} and {shape_of(merged)}",
                hint=f"name it once: '{node_name}' and '{node_name}:0' are the same tensor",
            )
        found[node, output] = merged, value
    return found


def _shape_and_value(given: Any, declared: Sizes) -> tuple[Sizes, Value | None]:
    if isinstance(given, np.ndarray | np.generic):
        array = np.asarray(given)
        if shape_of(array.shape).is_compatible_with(shape_of(declared)) or array.dtype.kind not in "iu":
            return array.shape, (array, None)
    if declared == () and isinstance(given, (bool, int, float)):
        return (), (np.asarray(given), None)
    return fed_sizes(given), None


def _placeholder_names(graph: PlacementGraph) -> list[str]:
    is_placeholder = graph.of_types(PLACEHOLDERS | {"PlaceholderWithDefault"})
    return [graph.names[node] for node in np.flatnonzero(is_placeholder).tolist()]


def _placeholders(graph: PlacementGraph, declared: Callable[[int, int], Sizes]) -> dict[str, str]:
    names = _placeholder_names(graph)
    shown = [f"{name} {shape_of(declared(graph.index[name], 0))}" for name in names[:_SHOWN]]
    if len(names) > _SHOWN:
        shown.append(f"and {len(names) - _SHOWN} more")
    return {"placeholders": ", ".join(shown) or "none: nothing has to be fed"}
