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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError

MAX_ADDED = 1 << 17
"""Nodes that rewriting may add in any case; functions that call each other could come to any number."""

ADDED_PER_NODE = 32
"""How many more it may add for each node and input of the graph and of the functions that are called."""

MAX_WEIGHT = 200_000_000
"""Bytes, roughly, that the added nodes may take in any case."""

WEIGHT_PER_NODE = 24_000
"""How many more they may take for each node and input that is written down."""

_NODE_WEIGHT, _INPUT_WEIGHT, _ATTR_WEIGHT = 400, 250, 16
"""Bytes, roughly, of a node without its name, of an input with its way back, of a reference."""

Output = tuple["FlowNode", int]
"""An output of a node."""


@dataclass(eq=False, slots=True)
class FlowNode:
    """A node; compared by identity."""

    name: str
    op_type: str
    attrs: Mapping[str, Any]
    device: str
    inputs: list[Output]
    controls: dict[FlowNode, None] = field(default_factory=dict)
    """The nodes that it waits for, in order of connection."""
    consumers: dict[FlowNode, list[int]] = field(default_factory=dict)
    """The nodes that it feeds or precedes, in order of connection; for each the positions of the inputs it feeds."""
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
    inner: str = ""
    """The name of a copied node in its function."""


class FlowGraph:
    """The nodes, in the order in which they were made."""

    def __init__(self) -> None:
        self._nodes: dict[FlowNode, None] = {}
        self._made: list[FlowNode] = []
        self._count = 0
        self._added = 0
        self._weight = 0
        self._most = 0
        self._most_weight = 0
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
        """Adds a node at the end.

        Raises:
            ResourceExhaustedError: more was added than was allowed, or larger nodes.
        """
        node = FlowNode(name, op_type, {} if attrs is None else attrs, device, list(inputs))
        within = self._within
        if within is not None:
            node.caller = within.position if within.position >= 0 else within.caller
            node.functions = within.functions
            self._weigh(node)
        for index, (source, _) in enumerate(node.inputs):
            source.consumers.setdefault(node, []).append(index)
            node.turns.append(self._next_turn())
        self._nodes[node] = None
        self._made.append(node)
        for control in controls:
            self.add_control(control, node)
        return node

    def _weigh(self, node: FlowNode) -> None:
        """Counts a node that was added while rewriting; ResourceExhaustedError if it all gets too much."""
        groups = node.attrs.get("_class") or ()
        self._added += 1
        self._weight += _NODE_WEIGHT + len(node.name) + _INPUT_WEIGHT * len(node.inputs)
        self._weight += _ATTR_WEIGHT * (len(node.attrs) + len(node.functions))
        if groups:
            self._weight += sum(64 + len(group) for group in groups)
        if self._added > self._most or self._weight > self._most_weight:
            raise _too_much(node.name, self._added)

    def allow(self, written: int) -> None:
        """Says how many nodes and inputs the graph and the functions called so far are written with."""
        self._most = MAX_ADDED + ADDED_PER_NODE * written
        self._most_weight = MAX_WEIGHT + WEIGHT_PER_NODE * written

    def expect(self, count: int, name: str) -> None:
        """ResourceExhaustedError if `count` more nodes would be too many; `name` says which node they are for."""
        if self._added + count > self._most:
            raise _too_much(name, self._added + count)

    def add_control(self, before: FlowNode, after: FlowNode) -> None:
        """Makes `after` wait for `before`."""
        if before not in after.controls:
            after.controls[before] = None
            before.consumers.setdefault(after, [])

    def feed(self, node: FlowNode, output: Output) -> None:
        """Gives a node one more input."""
        output[0].consumers.setdefault(node, []).append(len(node.inputs))
        node.inputs.append(output)
        node.turns.append(self._next_turn())
        self._weight += _INPUT_WEIGHT

    def connect_again(self, source: FlowNode) -> None:
        """Makes the inputs that are fed by `source` the latest connections, consumer by consumer as they are now."""
        for consumer, slots in source.consumers.items():
            for slot in sorted(slots):
                consumer.turns[slot] = self._next_turn()

    def set_input(self, node: FlowNode, index: int, output: Output) -> None:
        """Feeds an input from elsewhere."""
        old = node.inputs[index][0]
        old.consumers[node].remove(index)
        node.inputs[index] = output
        node.turns[index] = self._next_turn()
        output[0].consumers.setdefault(node, []).append(index)
        if not old.consumers[node] and old not in node.controls:
            del old.consumers[node]

    def replace(self, node: FlowNode, outputs: list[Output], control: FlowNode | None) -> None:
        """Feeds the consumers of `node` from `outputs`, and makes those that waited for it wait for `control`."""
        for consumer, positions in list(node.consumers.items()):
            for index in sorted(positions):
                output = outputs[consumer.inputs[index][1]]
                consumer.inputs[index] = output
                consumer.turns[index] = self._next_turn()
                output[0].consumers.setdefault(consumer, []).append(index)
            if node in consumer.controls:
                del consumer.controls[node]
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


def guarded(node: FlowNode, work: Callable[[FlowNode], Any]) -> Any:
    """What `work(node)` gives; InvalidArgumentError for a node that is not as its op says."""
    try:
        return work(node)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError.of(
            f"Node '{node.name}' ({node.op_type}) does not fit its op or the functions that it calls",
            facts={"because": repr(error)},
        ) from error


def _too_much(name: str, added: int) -> ResourceExhaustedError:
    times = str(added) if added <= 1 << 40 else "more than 2**40"
    return ResourceExhaustedError.of(
        "Calls and control flow come to too many nodes, or to nodes too large to hold",
        facts={
            "reached at": name[:200],
            "nodes to add": times,
            "allowed": f"{MAX_ADDED}, and {ADDED_PER_NODE} for each node and input that is written down",
        },
        hint="do its functions call each other many times over?",
    )
