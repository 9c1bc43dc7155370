"""Shapes of all outputs of a graph, by fixpoint iteration if it has loops.

Nodes are visited in TensorFlow's order. A node's shapes follow from those of its inputs, by the shape function of the
op library. Results are cached by kind of node and input shapes, and values are computed only when a shape function
reads them::

    i = Merge(Enter, NextIteration) ──> Switch ──> body ──> NextIteration
          ▲                                                      │
          └──────────────────────────────────────────────────────┘

The ``Merge`` of a loop starts with the shape of the value that enters. After a visit to the body, the shape that comes
back may differ: the merge then gets the least general common shape, and its consumers are visited again, until nothing
changes. Shapes only become more general, so few passes are needed; a node that still changes after ``_MOST_VISITS``
visits keeps what all its visits have in common.

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
from gpuplace.cost.shapes.branches import DeadBranches, live_output
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
"""Visits of a node after which its shapes are merged with the previous ones."""

Feeds = Mapping[tuple[int, int], tuple[Sizes, Value | None]]
"""Feeds: shape and value of outputs, by node and output."""


class Inference(Engine):
    """Shape inference for one graph.

    Attributes:
        faults: nodes with invalid shapes, to the message of their shape function.

    Args:
        graph: the graph.
        kinds: registry of node kinds, shared with the functions of the graph.
        feeds: sizes and values of the fed tensors, by node and output.
        assume: function from a node and its shapes to shapes with assumed sizes; None to keep sizes unknown.
        library: functions that may be called.
        arguments: in a function's body, the value of each ``_Arg`` node.
        use_hints: whether to use shapes that the graph declares.
    """

    def __init__(
        self,
        graph: PlacementGraph,
        kinds: Kinds,
        feeds: Feeds | None = None,
        assume: Callable[[Inference, int, tuple[Sizes, ...]], tuple[Sizes, ...]] | None = None,
        library: calls.Library | None = None,
        arguments: Sequence[calls.Argument] = (),
        use_hints: bool = True,
    ) -> None:
        library = library or calls.Library(graph, kinds.catalogue)
        super().__init__(graph, kinds.of_nodes(graph), library, arguments)
        self.all_kinds = kinds
        self.feeds = feeds or {}
        self._fed_nodes = {node for node, _ in self.feeds}
        self._assume = assume
        self._use_hints = use_hints and graph.tensor_info is not None
        self.faults: dict[int, str] = {}
        self._values: dict[int, list[Value | None]] = {}
        self._visits: dict[int, int] = {}
        self._again: list[tuple[int, int]] = []
        self._queued: set[int] = set()
        self._taken: dict[int, int | None] = {}  # None: it changes

    def feed(self, feeds: Feeds) -> None:
        """Set the feeds, before ``run``."""
        self.feeds = feeds
        self._fed_nodes = {node for node, _ in feeds}

    def body(self, graph: PlacementGraph, arguments: Sequence[calls.Argument]) -> Engine:
        """Return the inferred shapes of a function's body."""
        body = Inference(graph, self.all_kinds, library=self.library, arguments=arguments)
        body.run()
        return body

    def run(self) -> None:
        """Infer all shapes.

        Raises:
            InvalidArgumentError: A node lacks an input, or there is a cycle that is not a loop.
        """
        order = self.order
        self._check_inputs()
        shapes, kinds, visit = self.shapes, self.kinds, self._visit
        for node in order:
            shapes[node] = visit(node, kinds[node])
        back_edges = [node for node in order if kinds[node].op_type in NEXT_ITERATIONS]
        if not back_edges and not self._again:
            return
        consumers = self.consumers
        for node in back_edges:
            for consumer in consumers[node]:
                self.revisit(consumer)
        worklist = self._again
        # Pop in dependency order, so that a node is not visited again before its inputs have settled.
        while worklist:
            _, node = heapq.heappop(worklist)
            self._queued.discard(node)
            if shapes[node] is None:
                continue
            old_values = self._values.pop(node, None)
            new = visit(node, kinds[node])
            visits = self._visits[node] = self._visits.get(node, 0) + 1
            old = shapes[node]
            if visits > _MOST_VISITS and old is not None and len(old) == len(new):
                new = tuple(map(joined, old, new))
            changed = new != old
            shapes[node] = new
            if old_values is not None and not changed:
                changed = not _same_values(old_values, self.node_values(node))
            if changed:
                for consumer in consumers[node]:
                    self.revisit(consumer)

    def _check_inputs(self) -> None:
        """Raise an error for a node with too few inputs, which the placer accepts, as in TensorFlow."""
        for node, (kind, sources) in enumerate(zip(self.kinds, self.inputs, strict=True)):
            if len(sources) < len(kind.input_types) and node not in self._fed_nodes:
                assert kind.op_def is not None
                name = self.graph.names[node]
                fault = input_count_fault(kind.op_def, kind.input_types, len(sources), name)
                raise InvalidArgumentError.of(
                    fault, facts={"node": name}, hint="check the graph: it is invalid"
                )

    def revisit(self, node: int) -> None:
        """Schedule another visit of a node."""
        if node not in self._queued:
            self._queued.add(node)
            heapq.heappush(self._again, (self.rank[node], node))

    @cached_property
    def order(self) -> list[int]:
        """Nodes in dependency order; raises InvalidArgumentError for a cycle that is not a loop."""
        return dependency_order(self.graph)

    @cached_property
    def rank(self) -> list[int]:
        """Position of each node in ``order``."""
        ranks = [0] * len(self.graph)
        for place, node in enumerate(self.order):
            ranks[node] = place
        return ranks

    # One node

    def _visit(self, node: int, kind: Kind) -> tuple[Sizes, ...]:
        shapes = self._infer(node, kind)
        if node in self._fed_nodes:
            shapes = tuple(
                self.feeds[node, output][0] if (node, output) in self.feeds else sizes
                for output, sizes in enumerate(shapes)
            )
        for sizes in shapes:
            if sizes is None or None in sizes:
                return self._complete(node, kind, shapes)
        return shapes

    def _infer(self, node: int, kind: Kind) -> tuple[Sizes, ...]:
        if kind.op_type in ALL_SWITCHES:
            self._take_branch(node)
        rule = RULES.get(kind.op_type)
        if rule is not None:
            rule_shapes = rule(self, node, kind)
            if rule_shapes is not None:
                return tuple(rule_shapes)
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
        except (IndexError, TypeError):  # an input is in a loop and not visited yet, or does not exist
            key = tuple([sizes_of(shapes[source], output) for source, output in self.inputs[node]])
        if kind.handles:
            key = (key, *[self._handle_key(node, at) for at in kind.handles])
        cached = kind.shapes.get(key)
        if cached is None:
            return self._by_function(node, kind, key, {})
        if type(cached) is dict:
            value_digests = tuple([self._digest(node, at) for at in kind.value_inputs])
            rule_shapes = cached.get(value_digests)
            return self._by_function(node, kind, key, cached) if rule_shapes is None else rule_shapes
        return cached

    def _by_function(self, node: int, kind: Kind, key: Any, by_value: dict[Any, Any]) -> tuple[Sizes, ...]:
        read_inputs: set[int] = set()
        op = self._operation(node, kind, read_inputs)
        try:
            shapes = tuple([shape.sizes for shape in infer_shapes(op, len(kind.dtypes))])
        except ValueError as error:
            self.faults[node] = str(error)
            return (None,) * len(kind.dtypes)
        except KeyError as error:
            self.faults[node] = (
                f"NodeDef missing attr {error} from Op<{kind.op_def}>; NodeDef: {{{{node {op.name}}}}}"
            )
            return (None,) * len(kind.dtypes)
        except (AttributeError, TypeError) as error:  # an attribute of a different type than declared
            self.faults[node] = f"The attributes of '{op.name}' are not those of a {kind.op_type}: {error}"
            return (None,) * len(kind.dtypes)
        self.faults.pop(node, None)
        if shape_function_of(kind.op_type) is None:
            shapes = tuple([_HANDLES.get(dtype.name) for dtype in kind.output_types])
        if not read_inputs and not by_value:
            kind.shapes[key] = shapes
            return shapes
        if not read_inputs.issubset(kind.value_inputs):
            # The function read another input's value this time, so keys of earlier results lack it.
            kind.value_inputs = tuple(sorted(read_inputs.union(kind.value_inputs)))
            for old in [old for old, shapes_by_value in kind.shapes.items() if type(shapes_by_value) is dict]:
                del kind.shapes[old]
            by_value = {}
        kind.shapes[key] = by_value
        by_value[tuple([self._digest(node, at) for at in kind.value_inputs])] = shapes
        return shapes

    def _operation(self, node: int, kind: Kind, read_inputs: set[int]) -> Operation:
        """Return the operation that a shape function reads."""
        op = Operation(None, self.graph.names[node], kind.op_type, kind.op_def, (), (), kind.attrs)  # type: ignore[arg-type]
        if kind.op_type == "Const":
            op.attrs = self.attrs_of(node)  # type: ignore[assignment]
        inputs: list[Tensor] = []
        types = kind.input_types
        for at, (source, output) in enumerate(self.inputs[node]):
            dtype = types[at] if at < len(types) else self.kinds[source].dtype(output)
            handle = self._handles.get((source, output))
            creator = NO_OP if handle is None else _maker(handle)
            tensor = Evaluated(creator, output, dtype, shape_of(sizes_of(self.shapes[source], output)))
            tensor.evaluate = self._evaluation(node, at, read_inputs)
            inputs.append(tensor)
        op.inputs = tuple(inputs)
        op.outputs = [Tensor(op, at, dtype, UNKNOWN_SHAPE) for at, dtype in enumerate(kind.dtypes)]
        return op

    def _evaluation(self, node: int, at: int, read_inputs: set[int]) -> Callable[[], Value | None]:
        def evaluate() -> Value | None:
            read_inputs.add(at)
            return self.value_of_input(node, at)

        return evaluate

    def _digest(self, node: int, at: int) -> Any:
        """Return an input's value as part of a key."""
        value = self.value_of_input(node, at) if at < len(self.inputs[node]) else None
        if value is None:
            return None
        array, unknown = value
        content = array.tobytes() if array.dtype != object else tuple(array.ravel().tolist())
        return array.dtype.char, array.shape, content, None if unknown is None else unknown.tobytes()

    def _complete(self, node: int, kind: Kind, shapes: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
        """Return shapes completed by values, by the graph's declarations and by assumptions."""
        if values.decide_shapes(self, node, kind):
            self.shapes[node] = shapes
            output_values = self.node_values(node)
            if None not in output_values:
                return tuple([value[0].shape for value in output_values if value is not None])
        if self._use_hints and node < len(self.graph):
            hint = self.graph.tensor_info
            assert hint is not None
            shapes = tuple(
                sizes if is_known(sizes) else _filled(sizes, _hinted(hint, node, output))
                for output, sizes in enumerate(shapes)
            )
        if len(shapes) == _RESERVING and shapes[-1] is None and kind.op_type in _WITH_RESERVE:
            shapes = (*shapes[:-1], ())
        if self._assume is not None and not all(map(is_known, shapes)):
            shapes = self._assume(self, node, shapes)
        return shapes

    def _handle_key(self, node: int, at: int) -> Any:
        handle = self.handle_at(node, at)
        return None if handle is None else handle.key

    def live_sources(self, node: int) -> list[tuple[int, int]]:
        """Return the inputs of a ``Merge`` that are not in a branch known to be dead."""
        sources = self.inputs[node]
        dead = self._branches.dead_inputs.get(node, ()) if self._taken else ()
        return [source for source in sources if source not in dead] or sources if dead else sources

    def _take_branch(self, node: int) -> None:
        """Note which output of a switch is live; the predicate of a loop decides nothing about a branch."""
        sources, taken = self.inputs[node], self._taken
        is_loop = len(sources) > 1 and self.kinds[sources[1][0]].op_type == "LoopCond"
        if is_loop or (node in taken and taken[node] is None):
            return
        alive = live_output(self, node)
        if node not in taken:
            if alive is not None:
                taken[node] = alive
                self._branches.take(node, alive)
        elif alive != taken[node]:
            # It changes from iteration to iteration. That is final, so that the inference ends.
            taken[node] = None
            for merge in self._branches.dead_inputs:
                self.revisit(merge)
            del self._branches
            for switch, output in taken.items():
                if output is not None:
                    self._branches.take(switch, output)

    @cached_property
    def _branches(self) -> DeadBranches:
        return DeadBranches(self.graph)

    def _follow_handles(self, node: int, kind: Kind) -> None:
        """Pass the resource of the first input to the outputs that return it."""
        if kind.makes_handle:
            for at, (source, output) in enumerate(self.inputs[node]):
                handle = self._handles.get((source, output))
                if handle is not None and at < max(1, len(kind.dtypes)):
                    outputs = range(len(kind.dtypes)) if len(self.inputs[node]) == 1 else (at,)
                    for own_output in outputs:
                        self._handles.setdefault((node, own_output), handle)
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
        """Return the known part of an output's value."""
        fed = self.feeds.get((node, output))
        if fed is not None:
            return fed[1]
        output_values = self.node_values(node)
        return output_values[output] if output < len(output_values) else None

    def node_values(self, node: int) -> list[Value | None]:
        """Return the known parts of the values of a node's outputs, evaluating its inputs first."""
        cached = self._values.get(node)
        if cached is not None:
            return cached
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
            self._values[current] = self._evaluate(current, kind)
        return self._values[node]

    def _evaluate(self, node: int, kind: Kind) -> list[Value | None]:
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
        return [source for source, output in self.inputs[node] if (source, output) not in self.feeds]

    def _is_small(self, node: int, output: int) -> bool:
        sizes = self.sizes(node, output)
        if sizes is None:
            return True
        count = 1
        for size in sizes:
            count *= 1 if size is None else size
        return count <= values.MAX_ELEMENTS


_WITH_RESERVE, _RESERVING = ("FusedBatchNormV3", "_FusedBatchNormEx"), 6
"""Ops whose last output is reserve space for the gradient: a scalar, unless the library needs more."""

_HANDLES: dict[str, Sizes] = {"resource": (), "variant": (), "string_ref": (2,)}
"""Shapes of handles, which ops without a shape function also return."""


def _maker(handle: Handle) -> Operation:
    """Return the operation that created a resource, as shape functions see it."""
    kind = handle.kind
    op = Operation(None, "", kind.op_type, kind.op_def, (), (), kind.attrs)  # type: ignore[arg-type]
    op.inputs = tuple(
        Tensor(NO_OP, 0, dtype, shape_of(sizes))
        for dtype, sizes in zip(kind.input_types, handle.in_sizes, strict=False)
    )
    return op


def _filled(sizes: Sizes, hint: Sizes) -> Sizes:
    """Return a shape with its unknown sizes replaced by a hint, unless they contradict each other."""
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
    except IndexError:  # the node has fewer outputs than its op declares
        return None


def _same_values(old: list[Value | None], new: list[Value | None]) -> bool:
    def same(before: Value | None, after: Value | None) -> bool:
        if before is None or after is None:
            return before is after
        (array, unknown), (new_array, new_unknown) = before, after
        if array.shape != new_array.shape or not np.array_equal(array, new_array):
            return False
        if unknown is None or new_unknown is None:
            return unknown is new_unknown
        return bool(np.array_equal(unknown, new_unknown))

    return len(old) == len(new) and all(map(same, old, new))


# Ops without a shape function


@RULES("Const")
def _const(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes] | None:
    value = engine.attrs_of(node).get("value")
    return None if value is None or not hasattr(value, "shape") else (value.shape.sizes,)


@RULES("Merge", "RefMerge")
def _merge(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    handle = handles.merged_handle(engine, node, kind)
    if handle is not None:
        engine.set_handle(node, 0, handle)
    visited = [
        engine.sizes(source, output)
        for source, output in engine.live_sources(node)
        if engine.shapes[source] is not None
    ]
    if not visited:
        return None, ()
    merged = visited[0]
    for sizes in visited[1:]:
        merged = joined(merged, sizes)
    return merged, ()


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
def _pass_through(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    outputs = len(kind.dtypes)
    handle = engine.handle_at(node, 0)
    if handle is not None:
        is_switch = kind.op_type in ALL_SWITCHES
        for output in range(outputs):
            output_handle = handles.handle_of_branch(handle, kind, output) if is_switch else handle
            engine.set_handle(node, output, output_handle)
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
        engine.set_handle(node, 0, argument.handle)
    return (argument.sizes,)


@RULES("_Retval")
def _retval(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    return ()
