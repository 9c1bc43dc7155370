"""Items of a view: an item stands for one node, or for all nodes of an op type or Python line.

Source: tensorflow/core/profiler/internal/tfprof_node_show.cc and tfprof_show.cc, release 1.15 (sums, shown
items).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Self

from gpuplace.tf1.profiling.graph_profile import GraphProfile
from gpuplace.tf1.profiling.nodes import NodeProfile, shape_message
from gpuplace.tf1.profiling.options import COUNTS, Options, is_any, matches
from gpuplace.tf1.profiling.views.introsort import introsorted

__all__ = ["ROOT", "Item", "NodeItem", "NodesItem", "is_shown", "ordered", "unrolled"]

ROOT = "_TFProfRoot"
"""Name of the root item."""


def unrolled(task: Generator[Any, Any, Any]) -> Any:
    """Run a recursion written as generators: each yields the call that it waits for, and returns its result.

    Graphs are deeper than Python's stack.

    Args:
        task: the outermost call.

    Returns:
        The result of the outermost call.
    """
    tasks, answer = [task], None
    while tasks:
        try:
            tasks.append(tasks[-1].send(answer))
            answer = None
        except StopIteration as done:
            tasks.pop()
            answer = done.value
    return answer


class Item:
    """A named item with its own counts, and their sums with those of its children.

    Args:
        name: the name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.own: dict[str, int] = {}
        self.total: dict[str, int] = {}
        self.children: list[Self] = []
        """All children."""
        self.kept: list[Self] = []
        """The children that count, later those that are shown."""
        self.counted = False
        self.line = ""

    @property
    def types(self) -> set[str]:
        """Types of the item's nodes."""
        return set()

    @property
    def devices(self) -> list[str]:
        """Devices of the item's nodes."""
        return []

    def count(self, options: Options) -> None:
        """Compute the item's counts, and record whether it is counted.

        Args:
            options: the step, and the types to count.
        """
        raise NotImplementedError

    def add_up(self, below: Sequence[Item], with_own: bool = True) -> None:
        """Compute the sums.

        Args:
            below: the children that count.
            with_own: whether to include the item's own counts.
        """
        self.total = {"definition_count": int(with_own)}
        if with_own:
            self.total.update(self.own)
        for item in below:
            for count, value in item.total.items():
                self.total[count] = self.total.get(count, 0) + value

    def write(self, message: Any) -> None:
        """Write the item into its message, without its children.

        Args:
            message: the message.
        """
        message.name = self.name
        for count, value in self.own.items():
            if hasattr(message, count):
                setattr(message, count, value)
        for count, value in self.total.items():
            if hasattr(message, f"total_{count}"):
                setattr(message, f"total_{count}", value)


class NodeItem(Item):
    """One node, or a scope without one.

    Args:
        name: its name.
        profile: the profile with the node.
        node: the node; None for a scope.
        kind: the type of a scope.
    """

    def __init__(self, name: str, profile: GraphProfile, node: NodeProfile | None, kind: str = "") -> None:
        super().__init__(name)
        self.node = node
        self._kind = kind
        self.shapes: Mapping[int, list[int]] = {} if node is None else profile.input_shapes(node)

    @property
    def types(self) -> set[str]:
        return {self._kind} if self.node is None else self.node.types

    @property
    def devices(self) -> list[str]:
        return [self.node.device] if self.node is not None and self.node.device else []

    def count(self, options: Options) -> None:
        patterns = options.patterns["account_type"]
        self.own = {} if self.node is None else self.node.counts(options.step)
        self.counted = is_any(patterns) or any(matches(patterns, type_) for type_ in self.types)

    def write(self, message: Any) -> None:
        super().write(message)
        message.devices.extend(self.devices)
        for index, sizes in self.shapes.items():
            shape_message(sizes, message.input_shapes[index])


class NodesItem(Item):
    """Several nodes.

    Args:
        name: its name.
        profile: the profile with the nodes.
    """

    def __init__(self, name: str, profile: GraphProfile) -> None:
        super().__init__(name)
        self._profile = profile
        self.nodes: dict[str, NodeProfile] = {}
        self.counted_nodes: list[NodeItem] = []
        """The nodes that count, by name."""

    @property
    def types(self) -> set[str]:
        return {type_ for item in self.counted_nodes for type_ in item.types}

    @property
    def devices(self) -> list[str]:
        """The devices of all nodes; "" stands for nodes that did not run."""
        return sorted({item.node.device for item in self.counted_nodes if item.node is not None})

    def count(self, options: Options) -> None:
        patterns = options.patterns["account_type"]
        self.counted_nodes = [
            NodeItem(name, self._profile, node)
            for name, node in sorted(self.nodes.items())
            if node.match_count(patterns)
        ]
        for item in self.counted_nodes:
            item.count(options)
            item.add_up(())
        often = {item.name: self.nodes[item.name].match_count(patterns) for item in self.counted_nodes}
        self.own = {
            count: sum(item.own[count] * often[item.name] for item in self.counted_nodes) for count in COUNTS
        }
        self.counted = bool(self.counted_nodes) or is_any(patterns)

    def write(self, message: Any) -> None:
        super().write(message)
        for item in self.counted_nodes:
            item.write(message.graph_nodes.add())


def is_shown(item: Item, options: Options, depth: int, of_groups: bool) -> bool:
    """Return whether an item is shown, if its parents are.

    Args:
        item: the item, with its sums.
        options: what to show.
        depth: number of parents.
        of_groups: whether the limits of parameters and operations apply to sums, and that of runs is ignored.
    """
    if item.name == ROOT:
        return True
    for count, least in options.least.items():
        if count == "run_count":
            value = least if of_groups else item.own.get(count, 0)
        elif count in ("parameters", "float_ops") and not of_groups:
            value = item.own.get(count, 0)
        else:
            value = item.total.get(count, 0)
        if value < least:
            return False
    show, hide = options.patterns["show_name"], options.patterns["hide_name"]
    return (
        depth <= options.max_depth
        and (is_any(show) or matches(show, item.name))
        and not matches(hide, item.name)
    )


def ordered(items: list[Any], options: Options) -> list[Any]:
    """Return items in the selected order.

    Args:
        items: the items, with their sums; equal ones are ordered as by ``std::sort``.
        options: what to sort by.
    """
    if not options.order_by:
        return items
    count = options.order
    if options.order_by == "occurrence" and items and isinstance(items[0], NodesItem):
        return introsorted(items, lambda one, other: len(one.counted_nodes) > len(other.counted_nodes))
    if count is None:
        return sorted(items, key=lambda item: item.name)
    return introsorted(items, lambda one, other: one.total.get(count, 0) > other.total.get(count, 0))
