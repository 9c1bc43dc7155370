"""What one handle points at: an array of tensors, a list, a stack, a queue, a variable."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from gpuplace.cost.shapes.kinds import Kind, Sizes, Value, is_known, joined
from gpuplace.shapes import TensorShape


def merged_sizes(one: Sizes, other: Sizes) -> Sizes:
    """What both say of a shape; the first where they contradict each other."""
    if one is None:
        return other
    if other is None or len(one) != len(other):
        return one
    return tuple([b if a is None else a for a, b in zip(one, other, strict=True)])


class Handle:
    """What one handle points at.

    Attributes:
        kind: the kind of the node that makes it.
        in_sizes: the shapes of that node's inputs.
        count: number of elements, where it is known.
        branches: of an optional that comes from one of several branches: what each gives; empty for all others.
    """

    __slots__ = (
        "kind",
        "in_sizes",
        "elements",
        "count",
        "readers",
        "key",
        "pushed",
        "branches",
        "__weakref__",
    )

    def __init__(self, kind: Kind, in_sizes: tuple[Sizes, ...]) -> None:
        self.kind = kind
        self.in_sizes = in_sizes
        self.key = (kind.number, in_sizes)
        self.count: Value | None = None
        self.branches: tuple[Handle | None, ...] = ()
        self.elements: list[Sizes] | None = None
        """Shapes of what was written; None before the first write."""
        self.pushed: list[tuple[Any, int]] = []
        """Of a stack: where tensors are pushed, by inference and node."""
        self.readers: weakref.WeakKeyDictionary[Any, set[int]] = weakref.WeakKeyDictionary()

    @property
    def is_optional(self) -> bool:
        """Whether it is an optional: a value or none."""
        return self.kind.op_type in _OPTIONALS or bool(self.branches)

    def variable_sizes(self) -> Sizes:
        """The shape of a variable."""
        declared = self.kind.attrs.get("shape")
        sizes = declared.sizes if isinstance(declared, TensorShape) else None
        if not is_known(sizes) and self.elements is not None and len(self.elements) == 1:
            return merged_sizes(sizes, self.elements[0])
        return sizes

    def write(self, engine: Any, written: Sequence[Sizes]) -> None:
        """Notes the shapes of what is written; those that read are looked at again if that says something new."""
        old = self.elements
        new = list(written) if old is None or len(old) != len(written) else list(map(joined, old, written))
        if new != old:
            self.elements = new
            for reading, nodes in list(self.readers.items()):
                for node in nodes:
                    reading.look_again(node)

    def read(self, engine: Any, node: int) -> list[Sizes] | None:
        """The shapes of what was written; None before the first write."""
        self.readers.setdefault(engine, set()).add(node)
        return self.elements

    def read_one(self, engine: Any, node: int) -> Sizes:
        """The shape of an element, where a thing has elements of one kind."""
        found = self.read(engine, node)
        return found[0] if found else None


_OPTIONALS = ("OptionalFromValue", "OptionalNone")
