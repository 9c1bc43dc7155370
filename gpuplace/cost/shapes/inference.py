"""Shapes of all outputs of a graph, to a fixpoint where it has loops.

Nodes are visited in the order in which TensorFlow visits them. A node's shapes follow from those of its inputs, by the
shape function that the op library registers (what is found for one kind of node with inputs of certain shapes is kept),
and what a shape function asks about values is worked out when it asks::

    i = Merge(Enter, NextIteration) ──> Switch ──> body ──> NextIteration
          ▲                                                      │
          └──────────────────────────────────────────────────────┘

A ``Merge`` of a loop begins with the shape of what enters. When the body has been visited, what comes round may differ:
the merge then gets the least general shape that fits both, and what hangs on it is visited again, until nothing
changes. Shapes only get more general on the way, so there are few rounds; a node that is still not at rest after
``_MOST_VISITS`` of them keeps what all its visits have in common.

Source: tensorflow/core/common_runtime/shape_refiner.cc and tensorflow/core/grappler/costs/graph_properties.cc, release
1.15 (which values are followed).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.cost.shapes import calls, handles, values
from gpuplace.cost.shapes.engine import NO_OP, RULES, Engine, sizes_of
from gpuplace.cost.shapes.handle import Handle
from gpuplace.cost.shapes.kinds import Kind, Kinds, Sizes, Value, is_known, joined, shape_of
from gpuplace.cost.shapes.order import dependency_order
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import Evaluated
from gpuplace.graph.op_def import input_count_fault
from gpuplace.graph.op_sets import (
    ALL_SWITCHES,
    IDENTITY_OPS,
    MERGES,
    NEXT_ITERATIONS,
)
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import infer_shapes, shape_function_of
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape

_MOST_VISITS = 12
"""Visits of a node; after more its shapes are what they have in common."""

Given = Mapping[tuple[int, int], tuple[Sizes, Value | None]]
"""What is fed: shape and value of outputs, by node and output."""


class Inference(Engine):
    """The shapes of one graph.

    Attributes:
        faults: nodes whose shapes do not fit, with the sentence of their shape function.

    Args:
        graph: the graph.
        kinds: where kinds of nodes are kept; functions of the graph share them.
        given: what is fed.
        assume: gives, for a node and its shapes, those with what stands for unknown sizes; None: sizes stay unknown.
        library: the functions that may be called.
        arguments: in a function's body: what each ``_Arg`` node is.
        use_hints: whether shapes that the graph says it has count.
    """

    def __init__(
        self,
        graph: PlacementGraph,
        kinds: Kinds,
        given: Given | None = None,
        assume: Callable[[Inference, int, tuple[Sizes, ...]], tuple[Sizes, ...]] | None = None,
        library: calls.Library | None = None,
        arguments: Sequence[calls.Argument] = (),
        use_hints: bool = True,
    ) -> None:
        library = library or calls.Library(graph, kinds.catalogue)
        super().__init__(graph, kinds.of_nodes(graph), library, arguments)
        self.all_kinds = kinds
        self.given = given or {}
        self._given_nodes = {node for node, _ in self.given}
        self._assume = assume
        self._use_hints = use_hints and graph.tensor_info is not None
        self.faults: dict[int, str] = {}
        self._values: dict[int, list[Value | None]] = {}
        self._visits: dict[int, int] = {}
        self._again: list[tuple[int, int]] = []
        self._queued: set[int] = set()

    def feed(self, given: Given) -> None:
        """Says what is fed, before ``run``."""
        self.given = given
        self._given_nodes = {node for node, _ in given}

    def body(self, graph: PlacementGraph, arguments: Sequence[calls.Argument]) -> Engine:
        """The shapes of a function's body, inferred."""
        made = Inference(graph, self.all_kinds, library=self.library, arguments=arguments)
        made.run()
        return made

    def run(self) -> None:
        """Infers all shapes.

        Raises:
            InvalidArgumentError: a node lacks an input, or there is a cycle that is no loop.
        """
        order = self.order
        self._check_inputs()
        shapes, kinds, visit = self.shapes, self.kinds, self._visit
        for node in order:
            shapes[node] = visit(node, kinds[node])
        looped = [node for node in order if kinds[node].op_type in NEXT_ITERATIONS]
        if not looped and not self._again:
            return
        consumers = self.consumers
        for node in looped:
            for consumer in consumers[node]:
                self.look_again(consumer)
        again = self._again
        while again:
            _, node = heapq.heappop(again)
            self._queued.discard(node)
            if shapes[node] is None:
                continue
            old_values = self._values.pop(node, None)
            found = visit(node, kinds[node])
            visits = self._visits[node] = self._visits.get(node, 0) + 1
            old = shapes[node]
            if visits > _MOST_VISITS and old is not None and len(old) == len(found):
                found = tuple(map(joined, old, found))
            changed = found != old
            shapes[node] = found
            if old_values is not None and not changed:
                changed = not _same_values(old_values, self.node_values(node))
            if changed:
                for consumer in consumers[node]:
                    self.look_again(consumer)

    def _check_inputs(self) -> None:
        """Placing lets a node with too few inputs pass, as TensorFlow does, whose kernel then cannot be made."""
        for node, (kind, sources) in enumerate(zip(self.kinds, self.inputs, strict=True)):
            if len(sources) < len(kind.input_types) and node not in self._given_nodes:
                assert kind.op_def is not None
                name = self.graph.names[node]
                fault = input_count_fault(kind.op_def, kind.input_types, len(sources), name)
                raise InvalidArgumentError.of(fault, facts={"node": name}, hint="is the graph sound?")

    def look_again(self, node: int) -> None:
        """Has a node visited once more."""
        if node not in self._queued:
            self._queued.add(node)
            heapq.heappush(self._again, (self.rank[node], node))

    @cached_property
    def order(self) -> list[int]:
        """The nodes, each after what it needs; InvalidArgumentError for a cycle that is no loop."""
        return dependency_order(self.graph)

    @cached_property
    def rank(self) -> list[int]:
        """The place of each node in ``order``."""
        found = [0] * len(self.graph)
        for place, node in enumerate(self.order):
            found[node] = place
        return found

    # One node

    def _visit(self, node: int, kind: Kind) -> tuple[Sizes, ...]:
        found = self._inferred(node, kind)
        if node in self._given_nodes:
            found = tuple(
                self.given[node, output][0] if (node, output) in self.given else sizes
                for output, sizes in enumerate(found)
            )
        for sizes in found:
            if sizes is None or None in sizes:
                return self._completed(node, kind, found)
        return found

    def _inferred(self, node: int, kind: Kind) -> tuple[Sizes, ...]:
        rule = RULES.get(kind.op_type)
        if rule is not None:
            made = rule(self, node, kind)
            if made is not None:
                return tuple(made)
        elif kind.op_def is not None and kind.op_type in self.graph.functions:
            return tuple(calls.call(self, node, kind))
        if kind.op_def is None:
            return ()
        if kind.handles:
            self._follow_handles(node, kind)
        elif kind.makes_handle:
            self.own_handle(node, kind)
        shapes = self.shapes
        try:
            key: Any = tuple([shapes[source][output] for source, output in self.inputs[node]])  # type: ignore[index]
        except (IndexError, TypeError):  # an input is in a loop, and not visited yet, or has no such output
            key = tuple([sizes_of(shapes[source], output) for source, output in self.inputs[node]])
        if kind.handles:
            key = (key, *[self._handle_key(node, at) for at in kind.handles])
        found = kind.found.get(key)
        if found is None:
            return self._by_function(node, kind, key, {})
        if type(found) is dict:
            known = tuple([self._digest(node, at) for at in kind.asked])
            made = found.get(known)
            return self._by_function(node, kind, key, found) if made is None else made
        return found

    def _by_function(self, node: int, kind: Kind, key: Any, by_value: dict[Any, Any]) -> tuple[Sizes, ...]:
        asked: set[int] = set()
        op = self._operation(node, kind, asked)
        try:
            made = tuple([shape.sizes for shape in infer_shapes(op, len(kind.dtypes))])
        except ValueError as error:
            self.faults[node] = str(error)
            return (None,) * len(kind.dtypes)
        except KeyError as error:
            self.faults[node] = (
                f"NodeDef missing attr {error} from Op<{kind.op_def}>; NodeDef: {{{{node {op.name}}}}}"
            )
            return (None,) * len(kind.dtypes)
        except (AttributeError, TypeError) as error:  # an attribute of another type than the op declares
            self.faults[node] = f"The attributes of '{op.name}' are not those of a {kind.op_type}: {error}"
            return (None,) * len(kind.dtypes)
        self.faults.pop(node, None)
        if shape_function_of(kind.op_type) is None:
            made = tuple([_HANDLES.get(dtype.name) for dtype in kind.output_types])
        if not asked and not by_value:
            kind.found[key] = made
            return made
        if not asked.issubset(kind.asked):
            kind.asked = tuple(sorted(asked.union(kind.asked)))
            for old in [old for old, found in kind.found.items() if type(found) is dict]:
                del kind.found[old]
            by_value = {}
        kind.found[key] = by_value
        by_value[tuple([self._digest(node, at) for at in kind.asked])] = made
        return made

    def _operation(self, node: int, kind: Kind, asked: set[int]) -> Operation:
        """What a shape function looks at."""
        op = Operation(None, self.graph.names[node], kind.op_type, kind.op_def, (), (), kind.attrs)  # type: ignore[arg-type]
        if kind.op_type == "Const":
            op.attrs = self.attrs_of(node)  # type: ignore[assignment]
        made: list[Tensor] = []
        types = kind.input_types
        for at, (source, output) in enumerate(self.inputs[node]):
            dtype = types[at] if at < len(types) else self.kinds[source].dtypes[output]
            handle = self._handles.get((source, output))
            maker = NO_OP if handle is None else _maker(handle)
            tensor = Evaluated(maker, output, dtype, shape_of(sizes_of(self.shapes[source], output)))
            tensor.evaluate = self._evaluation(node, at, asked)
            made.append(tensor)
        op.inputs = tuple(made)
        op.outputs = [Tensor(op, at, dtype, UNKNOWN_SHAPE) for at, dtype in enumerate(kind.dtypes)]
        return op

    def _evaluation(self, node: int, at: int, asked: set[int]) -> Callable[[], Value | None]:
        def evaluate() -> Value | None:
            asked.add(at)
            return self.value_of_input(node, at)

        return evaluate

    def _digest(self, node: int, at: int) -> Any:
        """A value as part of a key."""
        known = self.value_of_input(node, at) if at < len(self.inputs[node]) else None
        if known is None:
            return None
        array, unknown = known
        content = array.tobytes() if array.dtype != object else tuple(array.ravel().tolist())
        return array.dtype.char, array.shape, content, None if unknown is None else unknown.tobytes()

    def _completed(self, node: int, kind: Kind, found: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
        """Shapes with what values tell, with what the graph itself says, and with what is assumed."""
        if values.decide_shapes(self, node, kind):
            self.shapes[node] = found
            made = self.node_values(node)
            if None not in made:
                return tuple([value[0].shape for value in made if value is not None])
        if self._use_hints and node < len(self.graph):
            hint = self.graph.tensor_info
            assert hint is not None
            found = tuple(
                sizes if is_known(sizes) else _filled(sizes, _hinted(hint, node, output))
                for output, sizes in enumerate(found)
            )
        if len(found) == _RESERVING and found[-1] is None and kind.op_type in _WITH_RESERVE:
            found = (*found[:-1], ())
        if self._assume is not None and not all(map(is_known, found)):
            found = self._assume(self, node, found)
        return found

    def _handle_key(self, node: int, at: int) -> Any:
        handle = self.handle_at(node, at)
        return None if handle is None else handle.key

    def _follow_handles(self, node: int, kind: Kind) -> None:
        """Hands on what the first input points at, where a node gives it out again."""
        if kind.makes_handle:
            for at, (source, output) in enumerate(self.inputs[node]):
                handle = self._handles.get((source, output))
                if handle is not None and at < max(1, len(kind.dtypes)):
                    outputs = range(len(kind.dtypes)) if len(self.inputs[node]) == 1 else (at,)
                    for own in outputs:
                        self._handles.setdefault((node, own), handle)
        elif kind.op_type in MERGES | ALL_SWITCHES | IDENTITY_OPS:
            self._pass_handle(node, len(kind.dtypes))

    def _pass_handle(self, node: int, outputs: int) -> None:
        for source in self.inputs[node]:
            handle = self._handles.get(source)
            if handle is not None:
                for output in range(outputs):
                    self._handles.setdefault((node, output), handle)
                return

    # Values

    def known_value(self, node: int, output: int) -> Value | None:
        """What is known of the value of an output."""
        fed = self.given.get((node, output))
        if fed is not None:
            return fed[1]
        found = self.node_values(node)
        return found[output] if output < len(found) else None

    def node_values(self, node: int) -> list[Value | None]:
        """What is known of the values of a node's outputs, which what feeds it is evaluated for."""
        found = self._values.get(node)
        if found is not None:
            return found
        pending, under_way = [node], set()
        while pending:
            current = pending[-1]
            if current in self._values:
                pending.pop()
                continue
            kind = self.kinds[current]
            missing = []
            if current not in under_way:
                under_way.add(current)
                missing = [
                    source for source in self._value_sources(current, kind) if source not in self._values
                ]
                missing = [source for source in missing if source not in under_way]
            if missing:
                pending += missing
                continue
            pending.pop()
            self._values[current] = self._evaluated(current, kind)
        return self._values[node]

    def _evaluated(self, node: int, kind: Kind) -> list[Value | None]:
        if self.shapes[node] is None:
            return [None] * len(kind.dtypes)
        if kind.op_type == "_Arg" and self.arguments:
            argument = self.argument(kind)
            return [None if argument is None else argument.value]
        return values.evaluate(self, node, kind)

    def _value_sources(self, node: int, kind: Kind) -> list[int]:
        if not values.inputs_to_evaluate(kind):
            return []
        if kind.op_type in MERGES:
            return [source for source, _ in self.merged_sources(node)]
        if not all(self._is_small(source, output) for source, output in self.inputs[node]):
            return []
        return [source for source, output in self.inputs[node] if (source, output) not in self.given]

    def _is_small(self, node: int, output: int) -> bool:
        sizes = self.sizes(node, output)
        if sizes is None:
            return True
        count = 1
        for size in sizes:
            count *= 1 if size is None else size
        return count <= values.MAX_ELEMENTS


_WITH_RESERVE, _RESERVING = ("FusedBatchNormV3", "_FusedBatchNormEx"), 6
"""Ops whose last output is what the library wants to keep for the gradient: one number, where it needs no more."""

_HANDLES: dict[str, Sizes] = {"resource": (), "variant": (), "string_ref": (2,)}
"""Shapes of handles, which ops without a shape function have as any other."""


def _maker(handle: Handle) -> Operation:
    """The operation that made a handle, as shape functions look at it."""
    kind = handle.kind
    op = Operation(None, "", kind.op_type, kind.op_def, (), (), kind.attrs)  # type: ignore[arg-type]
    op.inputs = tuple(
        Tensor(NO_OP, 0, dtype, shape_of(sizes))
        for dtype, sizes in zip(kind.input_types, handle.in_sizes, strict=False)
    )
    return op


def _filled(sizes: Sizes, hint: Sizes) -> Sizes:
    """A shape with what another program found for it, where that does not contradict it."""
    if hint is None or sizes == hint:
        return sizes
    if sizes is None:
        return hint
    if len(sizes) != len(hint) or any(
        a is not None and b is not None and a != b for a, b in zip(sizes, hint, strict=True)
    ):
        return sizes
    return tuple([b if a is None else a for a, b in zip(sizes, hint, strict=True)])


def _hinted(hint: Callable[[int, int], Any], node: int, output: int) -> Sizes:
    try:
        return hint(node, output).shape
    except IndexError:  # the node has fewer outputs than its op says
        return None


def _same_values(old: list[Value | None], new: list[Value | None]) -> bool:
    def same(one: Value | None, other: Value | None) -> bool:
        if one is None or other is None:
            return one is other
        return (
            one[0].shape == other[0].shape
            and bool(np.array_equal(one[0], other[0]))
            and (
                one[1] is other[1]
                or (one[1] is not None and other[1] is not None and bool(np.array_equal(one[1], other[1])))
            )
        )

    return len(old) == len(new) and all(map(same, old, new))


# Ops whose shapes no shape function can tell


@RULES("Const")
def _const(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes] | None:
    value = engine.attrs_of(node).get("value")
    return None if value is None or not hasattr(value, "shape") else (value.shape.sizes,)


@RULES("Merge", "RefMerge")
def _merge(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = handles.merged_handle(engine, node, kind)
    if handle is not None:
        engine.hand_on(node, 0, handle)
    known = [
        engine.sizes(source, output)
        for source, output in engine.inputs[node]
        if engine.shapes[source] is not None
    ]
    if not known:
        return None, ()
    found = known[0]
    for sizes in known[1:]:
        found = joined(found, sizes)
    return found, ()


@RULES(
    "Switch",
    "RefSwitch",
    "Enter",
    "RefEnter",
    "Exit",
    "RefExit",
    "NextIteration",
    "RefNextIteration",
    "_SwitchN",
    "Identity",
    "StopGradient",
    "_ParallelConcatUpdate",
)
def _handed_on(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    outputs = len(kind.dtypes)
    handle = engine.handle_at(node, 0)
    if handle is not None:
        is_switch = kind.op_type in ALL_SWITCHES
        for output in range(outputs):
            own = handles.handle_of_branch(handle, kind, output) if is_switch else handle
            engine.hand_on(node, output, own)
    return (engine.input_sizes(node, 0),) * outputs


@RULES("_ParallelConcatStart")
def _whole_shape(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    shape = kind.attrs.get("shape")
    return (shape.sizes if isinstance(shape, TensorShape) else None,)


@RULES("_Arg")
def _arg(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    argument = engine.argument(kind)
    if argument is None:
        return (None,)
    if argument.handle is not None:
        engine.hand_on(node, 0, argument.handle)
    return (argument.sizes,)


@RULES("_Retval")
def _retval(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    return ()
