"""Feeds of a step: shapes or values of tensors, by name.

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
from gpuplace.typing import ShapeLike
from gpuplace.why.names import suggestions

_SHOWN = 20
"""Number of placeholders that a message lists."""

_NEAREST = 3
_MOST_ELEMENTS = (1 << 63) - 1


def fed_sizes(shape: ShapeLike) -> Sizes:
    """Return a shape given as sizes (None or -1 if unknown), as a ``TensorShape``, as text, or as one size.

    Raises:
        TypeError: The argument is not a shape.
        ValueError: A size is below -1.
    """
    if isinstance(shape, TensorShape):
        return shape.sizes
    if shape is None:
        return None
    if isinstance(shape, str):
        parts = [part.strip() for part in shape.strip("()[] ").split(",") if part.strip()]
        return tuple(None if part in ("?", "None", "-1") else _size(int(part)) for part in parts)
    if isinstance(shape, Dimension):
        return (shape.value,)
    if hasattr(shape, "__iter__"):
        return tuple(_size(size) for size in shape)
    return (_size(shape),)


def checked_sizes(name: str, feed: Any) -> Sizes:
    """Return the shape of a feed, which is a shape as in `fed_sizes` or an array.

    Args:
        name: name of the tensor, for the error.
        feed: the shape, or the array.

    Raises:
        InvalidArgumentError: The feed is neither.
    """
    try:
        return fed_sizes(getattr(feed, "shape", feed))
    except (TypeError, ValueError) as error:
        raise _no_shape(name, feed, {"because": str(error)}) from None


def _no_shape(name: str, feed: Any, facts: Mapping[str, str]) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"Cannot feed {feed!r} for tensor {name}: it is neither a shape nor an array",
        facts=facts,
        hint='give sizes, such as (64, 224, 224, 3) or "64,224,224,3", or an array',
    )


def _check_count(name: str, sizes: Sizes) -> None:
    """Raise InvalidArgumentError if a shape has more elements than TensorFlow can count."""
    if sizes is not None and math.prod([size for size in sizes if size is not None]) > _MOST_ELEMENTS:
        raise InvalidArgumentError.of(
            f"Cannot feed shape {shape_of(sizes)} for tensor {name}: it has more than 2**63 - 1 elements",
            hint="feed a smaller shape",
        )


def _size(size_like: Any) -> int | None:
    if size_like is None:
        return None
    value = getattr(size_like, "value", size_like)
    if value is None:
        return None
    size = operator.index(value)
    if size < -1:
        raise ValueError(f"A size must be at least 0, or -1 if it is unknown; got {size}")
    return None if size == -1 else size


def resolve_feeds(
    graph: PlacementGraph,
    feeds: Mapping[Any, Any],
    declared: Callable[[int, int], Sizes],
    outputs: Callable[[int], int],
) -> dict[tuple[int, int], tuple[Sizes, Value | None]]:
    """Return the fed shapes and values, by node and output.

    Args:
        graph: the graph.
        feeds: name, tensor or operation to a shape or an array.
        declared: function that returns the shape of an output as the graph declares it.
        outputs: function that returns the number of a node's outputs.

    Raises:
        InvalidArgumentError: The graph has no tensor of that name, or it cannot have the shape.
    """
    fed: dict[tuple[int, int], tuple[Sizes, Value | None]] = {}
    for key, feed in feeds.items():
        name = key if isinstance(key, str) else getattr(key, "name", None)
        if not isinstance(name, str):
            raise InvalidArgumentError.of(
                f"Cannot interpret feed key {key!r} as a tensor: it is of type {type(key).__name__}",
                facts=_placeholders(graph, declared),
                hint="use a tensor, or the name of a node or tensor, as the key",
            )
        node_name, output = split_tensor_name(name.removeprefix("^"))
        node = graph.index.get(node_name)
        if node is None:
            nearest = suggestions(node_name, _placeholder_names(graph) or graph.names, _NEAREST)
            raise InvalidArgumentError.of(
                f"Tensor {name}, specified in feeds, is not in the graph",
                facts={
                    **({"nearest": ", ".join(nearest)} if nearest else {}),
                    **_placeholders(graph, declared),
                },
                hint="feed one of the placeholders, or another tensor of the graph, by its name",
            )
        if output >= outputs(node):
            raise InvalidArgumentError.of(
                f"Tensor {name}, specified in feeds, is not in the graph: node '{node_name}' has"
                f" {outputs(node)} output{'' if outputs(node) == 1 else 's'}",
                facts=_placeholders(graph, declared),
                hint=f"feed {node_name}:0" if outputs(node) else "feed a tensor: this node has no outputs",
            )
        declared_sizes = declared(node, output)
        try:
            sizes, value = _shape_and_value(feed, declared_sizes)
        except (TypeError, ValueError) as error:
            facts = {"because": str(error), "shape of the tensor": str(shape_of(declared_sizes))}
            raise _no_shape(f"{node_name}:{output}", feed, facts) from None
        _check_count(f"{node_name}:{output}", sizes)
        if not shape_of(sizes).is_compatible_with(shape_of(declared_sizes)):
            raise InvalidArgumentError.of(
                f"Cannot feed value of shape {shape_of(sizes)} for Tensor '{node_name}:{output}', which has shape"
                f" '{shape_of(declared_sizes)}'",
                facts=_placeholders(graph, declared),
                hint="feed a shape that is compatible with the placeholder",
            )
        merged = shape_of(sizes).merge_with(shape_of(declared_sizes)).sizes
        before = fed.get((node, output))
        if before is not None and not shape_of(before[0]).is_compatible_with(shape_of(merged)):
            raise InvalidArgumentError.of(
                f"Tensor {node_name}:{output} is fed twice, with shapes {shape_of(before[0])} and {shape_of(merged)}",
                hint=f"name it once: '{node_name}' and '{node_name}:0' are the same tensor",
            )
        fed[node, output] = merged, value
    return fed


def _shape_and_value(feed: Any, declared: Sizes) -> tuple[Sizes, Value | None]:
    if isinstance(feed, np.ndarray | np.generic):
        array = np.asarray(feed)
        if shape_of(array.shape).is_compatible_with(shape_of(declared)) or array.dtype.kind not in "iu":
            return array.shape, (array, None)
    if declared == () and isinstance(feed, (bool, int, float)):
        return (), (np.asarray(feed), None)
    return fed_sizes(feed), None


def _placeholder_names(graph: PlacementGraph) -> list[str]:
    is_placeholder = graph.of_types(PLACEHOLDERS | {"PlaceholderWithDefault"})
    return [graph.names[node] for node in np.flatnonzero(is_placeholder).tolist()]


def _placeholders(graph: PlacementGraph, declared: Callable[[int, int], Sizes]) -> dict[str, str]:
    names = _placeholder_names(graph)
    shown = [f"{name} {shape_of(declared(graph.index[name], 0))}" for name in names[:_SHOWN]]
    if len(names) > _SHOWN:
        shown.append(f"and {len(names) - _SHOWN} more")
    return {"placeholders": ", ".join(shown) or "none: the graph needs no feeds"}
