"""A graph that can be changed: nodes with their inputs and consumers, numbered names, nodes in order of making.

>>> graph = FlowGraph()
>>> a = graph.add("a", "Const")
>>> b = graph.add(graph.new_name("b"), "Identity", inputs=[(a, 0)])
>>> b.name, [node.name for node in a.consumers]
('b/_0', ['b/_0'])
>>> graph.remove(b)
>>> [node.name for node in graph.nodes()]
['a']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Output = tuple["FlowNode", int]
"""An output of a node."""


@dataclass(eq=False)
class FlowNode:
    """A node; compared by identity."""

    name: str
    op_type: str
    attrs: Mapping[str, Any]
    device: str
    inputs: list[Output]
    controls: list[FlowNode]
    consumers: dict[FlowNode, None] = field(default_factory=dict)
    """The nodes that it feeds or precedes, in order of connection."""
    position: int = -1
    """Place in the graph that was lowered, for nodes of that graph."""
    turns: list[int] = field(default_factory=list)
    """When each input was connected: a number that grows with each connection in the graph."""
    first: int | FlowNode = 0
    """The first edge into it: an input's index, or the node of a control edge."""
    caller: int = -1
    """For an added node: place, in the graph that was lowered, of the node that it was made for."""
    functions: tuple[str, ...] = ()
    """The functions that a copied node comes out of, the outermost first."""

    def has_control_consumers(self) -> bool:
        """Whether some node must run after it."""
        return any(self in consumer.controls for consumer in self.consumers)


class FlowGraph:
    """The nodes, in the order in which they were made."""

    def __init__(self) -> None:
        self._nodes: dict[FlowNode, None] = {}
        self._made: list[FlowNode] = []
        self._count = 0
        self._connections = 0
        self._within: FlowNode | None = None

    def nodes(self) -> Iterator[FlowNode]:
        """All nodes that are still there."""
        return iter(self._nodes)

    def nodes_as_they_grow(self) -> Iterator[FlowNode]:
        """All nodes, those that are added meanwhile at the end; a removed one does not come up."""
        seen = 0
        while seen < len(self._made):
            node = self._made[seen]
            seen += 1
            if node in self._nodes:
                yield node

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node: FlowNode) -> bool:
        return node in self._nodes

    def _next_turn(self) -> int:
        self._connections += 1
        return self._connections

    def new_name(self, prefix: str) -> str:
        """`prefix/_N` with the next number of the graph."""
        number, self._count = self._count, self._count + 1
        return f"{prefix}/_{number}"

    def made_for(self, node: FlowNode) -> None:
        """Says that the nodes added from now on stand for `node`."""
        self._within = node

    def add(
        self,
        name: str,
        op_type: str,
        attrs: Mapping[str, Any] | None = None,
        device: str = "",
        inputs: Iterable[Output] = (),
        controls: Iterable[FlowNode] = (),
    ) -> FlowNode:
        """Adds a node at the end."""
        node = FlowNode(name, op_type, attrs or {}, device, list(inputs), [])
        within = self._within
        if within is not None:
            node.caller = within.position if within.position >= 0 else within.caller
            node.functions = within.functions
        for source, _ in node.inputs:
            source.consumers[node] = None
            node.turns.append(self._next_turn())
        self._nodes[node] = None
        self._made.append(node)
        for control in controls:
            self.add_control(control, node)
        return node

    def add_control(self, before: FlowNode, after: FlowNode) -> None:
        """Makes `after` wait for `before`."""
        if before not in after.controls:
            after.controls.append(before)
            before.consumers[after] = None

    def feed(self, node: FlowNode, output: Output) -> None:
        """Gives a node one more input."""
        node.inputs.append(output)
        node.turns.append(self._next_turn())
        output[0].consumers[node] = None

    def connect_again(self, source: FlowNode, consumers: Iterable[FlowNode]) -> None:
        """Makes the inputs that these nodes have from `source` the latest connections."""
        for consumer in consumers:
            for slot, (feeding, _) in enumerate(consumer.inputs):
                if feeding is source:
                    consumer.turns[slot] = self._next_turn()

    def set_input(self, node: FlowNode, index: int, output: Output) -> None:
        """Feeds an input from elsewhere."""
        old = node.inputs[index][0]
        node.inputs[index] = output
        node.turns[index] = self._next_turn()
        output[0].consumers[node] = None
        if old not in node.controls and all(source is not old for source, _ in node.inputs):
            old.consumers.pop(node, None)

    def replace(self, node: FlowNode, outputs: list[Output], control: FlowNode | None) -> None:
        """Feeds the consumers of `node` from `outputs`, and makes those that waited for it wait for `control`."""
        for consumer in list(node.consumers):
            for index, (source, output) in enumerate(consumer.inputs):
                if source is node:
                    consumer.inputs[index] = outputs[output]
                    consumer.turns[index] = self._next_turn()
                    outputs[output][0].consumers[consumer] = None
            if node in consumer.controls:
                consumer.controls.remove(node)
                if control is not None:
                    self.add_control(control, consumer)
                    if consumer.first is node:
                        consumer.first = control
        node.consumers.clear()

    def remove(self, node: FlowNode) -> None:
        """Takes a node without consumers out."""
        for source in [*(source for source, _ in node.inputs), *node.controls]:
            source.consumers.pop(node, None)
        del self._nodes[node]
