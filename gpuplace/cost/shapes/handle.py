"""What one handle points at: an array of tensors, a list, a stack, a queue, a variable."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class Handle:
    """What one handle points at."""

    kind: Kind
    """The kind of the node that makes it."""
    in_sizes: tuple[Sizes, ...]
    """The shapes of that node's inputs."""
    count: Value | None = None
    """Number of elements, where it is known."""
    branches: tuple[Handle | None, ...] = ()
    """Of an optional that comes from one of several branches: what each gives; empty for all others."""
    elements: list[Sizes] | None = None
    """Shapes of what was written; None before the first write."""
    pushed: list[tuple[Any, int]] = field(default_factory=list)
    """Of a stack: where tensors are pushed, by inference and node."""
    readers: weakref.WeakKeyDictionary[Any, set[int]] = field(default_factory=weakref.WeakKeyDictionary)

    @property
    def key(self) -> tuple[int, tuple[Sizes, ...]]:
        """What is the same for handles that are made alike."""
        return self.kind.number, self.in_sizes

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
