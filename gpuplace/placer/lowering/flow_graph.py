"""A mutable graph: nodes with inputs and consumers, numbered names, nodes in order of creation.

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
"""Number of nodes that lowering may add to any graph. Without a limit, nested calls can multiply to any number."""

ADDED_PER_NODE = 32
"""Further nodes that it may add for each node and input of the graph and of the called functions."""

MAX_WEIGHT = 200_000_000
"""Approximate memory in bytes that the added nodes may take in any graph."""

WEIGHT_PER_NODE = 24_000
"""Further bytes for each node and input of the graph and of the called functions."""

_NODE_WEIGHT, _INPUT_WEIGHT, _ATTR_WEIGHT = 400, 250, 16
"""Approximate bytes of a node without its name, of an input with its back reference, and of a reference."""

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
    """Its control inputs, in order of connection."""
    consumers: dict[FlowNode, list[int]] = field(default_factory=dict)
    """The nodes that it feeds or precedes, in order of connection, each with the positions of the inputs it feeds."""
    position: int = -1
    """Position in the original graph, for nodes of that graph."""
    turns: list[int] = field(default_factory=list)
    """When each input was connected: a counter of the graph's connections."""
    first: int | FlowNode = 0
    """The first edge into the node: an input's index, or the node of a control edge."""
    caller: int = -1
    """For an added node: position, in the original graph, of the node that it was added for."""
    functions: tuple[str, ...] = ()
    """For a copied node: the functions that it comes from, outermost first."""
    inner: str = ""
    """For a copied node: its name in its function."""


class FlowGraph:
    """The nodes, in order of creation."""

    def __init__(self) -> None:
        self._nodes: dict[FlowNode, None] = {}
        self._created: list[FlowNode] = []
        self._count = 0
        self._added = 0
        self._weight = 0
        self._most = 0
        self._most_weight = 0
        self._connections = 0
        self._within: FlowNode | None = None

    def nodes(self) -> Iterator[FlowNode]:
        """Return all nodes that have not been removed."""
        return iter(self._nodes)

    def nodes_as_they_grow(self) -> Iterator[FlowNode]:
        """Yield all nodes, including those that are added meanwhile; removed nodes are skipped."""
        seen = 0
        while seen < len(self._created):
            node = self._created[seen]
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
        """Return `prefix/_N` with the graph's next number."""
        number, self._count = self._count, self._count + 1
        return f"{prefix}/_{number}"

    def made_for(self, node: FlowNode) -> None:
        """Record that the nodes added from now on replace `node`."""
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
        """Add a node at the end.

        Raises:
            ResourceExhaustedError: the limit of added nodes, or of their memory, is exceeded.
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
        self._created.append(node)
        for control in controls:
            self.add_control(control, node)
        return node

    def _weigh(self, node: FlowNode) -> None:
        """Count an added node towards the limits.

        Raises:
            ResourceExhaustedError: a limit is exceeded.
        """
        groups = node.attrs.get("_class") or ()
        self._added += 1
        self._weight += _NODE_WEIGHT + len(node.name) + _INPUT_WEIGHT * len(node.inputs)
        self._weight += _ATTR_WEIGHT * (len(node.attrs) + len(node.functions))
        if groups:
            self._weight += sum(64 + len(group) for group in groups)
        if self._added > self._most or self._weight > self._most_weight:
            raise _too_much(node.name, self._added)

    def allow(self, written: int) -> None:
        """Set the limits from the number of nodes and inputs in the graph and in the functions called so far."""
        self._most = MAX_ADDED + ADDED_PER_NODE * written
        self._most_weight = MAX_WEIGHT + WEIGHT_PER_NODE * written

    def expect(self, count: int, name: str) -> None:
        """Check that `count` more nodes, needed for the node `name`, stay within the limit.

        Raises:
            ResourceExhaustedError: they do not.
        """
        if self._added + count > self._most:
            raise _too_much(name, self._added + count)

    def add_control(self, before: FlowNode, after: FlowNode) -> None:
        """Add a control edge from `before` to `after`."""
        if before not in after.controls:
            after.controls[before] = None
            before.consumers.setdefault(after, [])

    def feed(self, node: FlowNode, output: Output) -> None:
        """Add an input to a node."""
        output[0].consumers.setdefault(node, []).append(len(node.inputs))
        node.inputs.append(output)
        node.turns.append(self._next_turn())
        self._weight += _INPUT_WEIGHT

    def connect_again(self, source: FlowNode) -> None:
        """Mark the inputs fed by `source` as the latest connections, in the current order of its consumers."""
        for consumer, slots in source.consumers.items():
            for slot in sorted(slots):
                consumer.turns[slot] = self._next_turn()

    def set_input(self, node: FlowNode, index: int, output: Output) -> None:
        """Replace the source of an input."""
        old = node.inputs[index][0]
        old.consumers[node].remove(index)
        node.inputs[index] = output
        node.turns[index] = self._next_turn()
        output[0].consumers.setdefault(node, []).append(index)
        if not old.consumers[node] and old not in node.controls:
            del old.consumers[node]

    def replace(self, node: FlowNode, outputs: list[Output], control: FlowNode | None) -> None:
        """Feed the consumers of `node` from `outputs`, and replace control edges from it with edges from `control`."""
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
        """Remove a node without consumers."""
        for source in [*(source for source, _ in node.inputs), *node.controls]:
            source.consumers.pop(node, None)
        del self._nodes[node]


def guarded(node: FlowNode, work: Callable[[FlowNode], Any]) -> Any:
    """Return `work(node)`.

    Raises:
        InvalidArgumentError: the node does not match its op or function.
    """
    try:
        return work(node)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError.of(
            f"Node '{node.name}' ({node.op_type}) does not match its op or the functions that it calls",
            facts={"because": repr(error)},
        ) from error


def _too_much(name: str, added: int) -> ResourceExhaustedError:
    count = str(added) if added <= 1 << 40 else "more than 2**40"
    return ResourceExhaustedError.of(
        "Inlining calls and control flow would add too many nodes, or too large ones",
        facts={
            "reached at": name[:200],
            "nodes to add": count,
            "allowed": f"{MAX_ADDED}, plus {ADDED_PER_NODE} for each node and input of the graph and its functions",
        },
        hint="check for functions that call each other many times: each call is copied",
    )
