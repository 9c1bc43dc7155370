"""The resource that a handle refers to: an array of tensors, a list, a stack, a queue or a variable."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuplace.cost.shapes.kinds import Kind, Sizes, Value, is_known, joined
from gpuplace.shapes import TensorShape


def merged_sizes(first: Sizes, second: Sizes) -> Sizes:
    """Return a shape with the known sizes of both; the first one if they contradict each other."""
    if first is None:
        return second
    if second is None or len(first) != len(second):
        return first
    return tuple([b if a is None else a for a, b in zip(first, second, strict=True)])


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class Handle:
    """A resource that handles refer to."""

    kind: Kind
    """Kind of the node that creates it."""
    in_sizes: tuple[Sizes, ...]
    """Shapes of that node's inputs."""
    count: Value | None = None
    """Number of elements, if known."""
    branches: tuple[Handle | None, ...] = ()
    """For an optional from one of several branches, the optional of each; otherwise empty."""
    elements: list[Sizes] | None = None
    """Shapes of the written elements; None before the first write."""
    pushed: list[tuple[Any, int]] = field(default_factory=list)
    """For a stack, the nodes that push tensors: inference and node."""
    readers: weakref.WeakKeyDictionary[Any, set[int]] = field(default_factory=weakref.WeakKeyDictionary)

    @property
    def key(self) -> tuple[int, tuple[Sizes, ...]]:
        """Key that is equal for resources created alike."""
        return self.kind.number, self.in_sizes

    @property
    def is_optional(self) -> bool:
        """Whether it is an optional: a value or nothing."""
        return self.kind.op_type in _OPTIONALS or bool(self.branches)

    def variable_sizes(self) -> Sizes:
        """Return the shape of a variable."""
        declared = self.kind.attrs.get("shape")
        sizes = declared.sizes if isinstance(declared, TensorShape) else None
        if not is_known(sizes) and self.elements is not None and len(self.elements) == 1:
            return merged_sizes(sizes, self.elements[0])
        return sizes

    def write(self, engine: Any, written: Sequence[Sizes]) -> None:
        """Record the shapes of written elements; readers are visited again if the shapes change."""
        old = self.elements
        new = list(written) if old is None or len(old) != len(written) else list(map(joined, old, written))
        if new != old:
            self.elements = new
            for reading, nodes in list(self.readers.items()):
                for node in nodes:
                    reading.revisit(node)

    def read(self, engine: Any, node: int) -> list[Sizes] | None:
        """Return the shapes of the written elements, and register a reader; None before the first write."""
        self.readers.setdefault(engine, set()).add(node)
        return self.elements

    def read_one(self, engine: Any, node: int) -> Sizes:
        """Return the shape of an element, for a resource whose elements have one shape."""
        elements = self.read(engine, node)
        return elements[0] if elements else None


_OPTIONALS = ("OptionalFromValue", "OptionalNone")
