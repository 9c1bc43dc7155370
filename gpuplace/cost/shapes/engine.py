"""What the rules of ops may ask of the inference that they are part of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from gpuplace.cost.shapes.handle import Handle
from gpuplace.cost.shapes.kinds import Kind, Sizes, Value
from gpuplace.placer.placement_graph import PlacementGraph


class Engine(Protocol):
    """The shapes of one graph while they are inferred; nodes by position (see ``inference.Inference``)."""

    graph: PlacementGraph
    kinds: list[Kind]
    inputs: list[list[tuple[int, int]]]
    shapes: list[tuple[Sizes, ...] | None]
    attrs_of: Callable[[int], Mapping[str, Any]]
    library: Any

    @property
    def consumers(self) -> list[list[int]]:
        """The nodes that take an output of each node."""

    def sizes(self, node: int, output: int) -> Sizes:
        """The shape of an output as far as it is known by now."""

    def input_sizes(self, node: int, at: int) -> Sizes:
        """The shape of an input."""

    def known_value(self, node: int, output: int) -> Value | None:
        """What is known of the value of an output."""

    def value_of_input(self, node: int, at: int) -> Value | None:
        """What is known of the value of an input."""

    def shape_from_input(self, node: int, at: int) -> Sizes:
        """The shape that an input describes by its value."""

    def handle_at(self, node: int, at: int) -> Handle | None:
        """What an input points at."""

    def handle_of(self, node: int, output: int) -> Handle | None:
        """What an output points at."""

    def own_handle(self, node: int, kind: Kind) -> Handle:
        """What a node makes and points at."""

    def hand_on(self, node: int, output: int, handle: Handle) -> None:
        """Says what an output points at."""

    def argument(self, kind: Kind) -> Any:
        """What a function's ``_Arg`` node is; None where that is not known."""

    def merged_sources(self, node: int) -> list[tuple[int, int]]:
        """The inputs whose values a ``Merge`` may have."""

    def body(self, graph: PlacementGraph, arguments: Sequence[Any]) -> Engine:
        """The shapes of a function's body, inferred."""
