"""The tree of a model's parts during construction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpuplace.model.structure.scopes import ROOT


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a model."""

    path: str
    """A unique text; for a name scope, its full name."""
    label: str
    """Its name."""
    parent: int
    """Position of the parent part."""
    kind: str
    """``"root"``, ``"scope"``, ``"group"``, ``"series"``, ``"shared"``, ``"shelf"``, or ``"role"`` (serves a layer)."""
    times: int = 1
    """Number of equal parts in a series."""
    is_tower: bool = False
    """Whether it is a copy of the model that shares its variables with other copies."""
    is_loop: bool = False
    """Whether most of it is a loop."""
    is_conditional: bool = False
    """Whether it is a conditional, of whose branches one runs."""
    has_variables: bool = False
    """Whether ops of the model in it read variables."""


class PartTree:
    """The parts of a model during construction, and the part of each node.

    Attributes:
        parts: parents before their children.
        part_of: [nodes] innermost part of each node; -1 if not assigned yet.
    """

    def __init__(self, count: int) -> None:
        self.parts = [Part("", "", ROOT, "root")]
        self.part_of = [-1] * count
        self.served: dict[tuple[int, str], int] = {}
        self.taken: dict[str, int] = {}

    def part(
        self,
        path: str,
        label: str,
        parent: int,
        kind: str,
        times: int = 1,
        is_tower: bool = False,
        is_loop: bool = False,
        is_conditional: bool = False,
    ) -> int:
        """Add a part and return its position; see `Part`."""
        self.parts.append(Part(path, label, parent, kind, times, is_tower, is_loop, is_conditional))
        return len(self.parts) - 1

    def path(self, part: int, label: str) -> str:
        """Return a unique path for a part that is not a name scope."""
        path = f"{self.parts[part].path}/({label})".lstrip("/")
        self.taken[path] = self.taken.get(path, 0) + 1
        return path if self.taken[path] == 1 else f"{path} ({self.taken[path]})"

    def serving(self, part: int, label: str, kind: str = "role") -> int:
        """Return the inner part with nodes that serve a part, such as its gradients."""
        if (part, label) not in self.served:
            self.served[part, label] = self.part(self.path(part, label), label, part, kind)
        return self.served[part, label]

    def layer_of_part(self, part: int) -> int:
        """Return the part that a role part serves, or the part itself."""
        while self.parts[part].kind == "role":
            part = self.parts[part].parent
        return part

    def way(self, part: int) -> list[int]:
        """Return the path from the root to a part."""
        way = [part]
        while way[-1] != ROOT:
            way.append(self.parts[way[-1]].parent)
        return way[::-1]

    def named_in(self, part: int, scope: str) -> int:
        """Return the part for a name scope inside another part; create it if necessary."""
        for piece in scope.split("/"):
            if (part, piece) not in self.served:
                self.served[part, piece] = self.part(self.path(part, piece), piece, part, "scope")
            part = self.served[part, piece]
        return part

    def finish(self, is_reading: Sequence[bool]) -> list[int]:
        """Remove groups of a single op without serving nodes, and mark parts with variables."""
        nodes = Counter(self.part_of)
        children = Counter(part.parent for part in self.parts[1:])
        is_gone = [
            part.kind == "group" and nodes[position] == 1 and not children[position]
            for position, part in enumerate(self.parts)
        ]
        at = np.cumsum(~np.array(is_gone)) - 1
        up = [
            part.parent if gone else position
            for position, (part, gone) in enumerate(zip(self.parts, is_gone, strict=True))
        ]
        self.part_of = [int(at[up[part]]) for part in self.part_of]
        reading = {self.part_of[node] for node, reads in enumerate(is_reading) if reads}
        kept = [part for part, gone in zip(self.parts, is_gone, strict=True) if not gone]
        parents = [int(at[part.parent]) for part in kept]
        for position in range(len(kept) - 1, -1, -1):
            if position in reading:
                reading.add(parents[position])
        self.parts = [
            replace(part, parent=parent, has_variables=position in reading)
            if parent != part.parent or position in reading
            else part
            for position, (part, parent) in enumerate(zip(kept, parents, strict=True))
        ]
        return [int(at[part]) for part in up]
