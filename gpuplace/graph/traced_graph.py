"""The graph of a function's body while Python builds it.

Tensors of the outer graph that the body uses become arguments, or are copied if the function must stand alone::

    scale = constant(3.0)                 outer graph            body
    lambda x: x * scale                   scale (Const) ──┐      args_0 (Placeholder) ──┬─> mul (Mul)
                                          MapDataset <────┘      mul/Const (Placeholder)┘    fed with ``scale``

Source: tensorflow/python/framework/func_graph.py and function.py, release 1.15 (names, what cannot be copied).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import InaccessibleTensorError
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_sets import PLACEHOLDERS
from gpuplace.graph.operation import CLASS_ATTR, Operation, Tensor
from gpuplace.graph.scopes import ControlDependenciesBlock, attr_scope
from gpuplace.graph.stacks import global_graph, graph_stack
from gpuplace.shapes import TensorShape


@dataclass(frozen=True, eq=False)
class FunctionBody:
    """The graph of a function, ready to be called."""

    graph: Graph
    """Its operations."""
    args: tuple[Tensor, ...]
    """Tensors that a call passes values for."""
    results: tuple[Tensor, ...]
    """Results."""
    targets: tuple[Operation, ...]
    """Operations that run besides the results."""


_SHARED_COLLECTIONS = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
"""Collections of the outer graph to which the function adds."""


class TracedGraph(Graph):
    """The body of a function under construction.

    Args:
        outer: the graph that defines the function.
        by_value: copy tensors of ``outer`` instead of passing them as arguments.
        copied: stateful operations of ``outer`` that may be copied even so.
    """

    is_traced = True
    _building_function = True

    def __init__(self, outer: Graph, by_value: bool = False, copied: Collection[Operation] = ()) -> None:
        super().__init__()
        self.outer = outer
        self.by_value = by_value
        self.args: list[Tensor] = []
        """The function's own arguments."""
        self.captured: dict[Tensor, Tensor] = {}
        """Captured tensors of outer graphs -> the tensors that stand for them here, in argument order."""
        self.control_captures: dict[Operation, None] = {}
        """Operations of outer graphs that a call waits for."""
        self._copied = frozenset(copied)
        self.functions = outer.functions
        self.function_bodies = outer.function_bodies
        self.function_op_defs = outer.function_op_defs
        self.gradient_functions = outer.gradient_functions
        self._take_collections(outer)

    def _take_collections(self, outer: Graph) -> None:
        """Add variables to the outer graph's collections, and copy its other collections here."""
        for key in _SHARED_COLLECTIONS:
            self._collections[key] = outer.get_collection_ref(key)
        for key, values in list(outer._collections.items()):
            if key not in _SHARED_COLLECTIONS:
                self._collections[key] = list(values)

    def add_arg(self, dtype: DType, shape: TensorShape, name: str) -> Tensor:
        """Add an argument."""
        tensor = self.create_op("Placeholder", [], name=name, attrs={"dtype": dtype, "shape": shape}).outputs[
            0
        ]
        self.args.append(tensor)
        return tensor

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Return the tensor that stands here for ``tensor``, which may belong to an outer graph.

        Args:
            tensor: tensor to capture.
            name: name of its placeholder; None: the name of its operation.

        Raises:
            ValueError: the tensor belongs to an unrelated graph or to an inner function, or cannot be copied.
        """
        if tensor.op.graph is self:
            return tensor
        captured = self.captured.get(tensor)
        if captured is None:
            if not self.by_value:
                self._check_accessible(tensor)
            context, self.scopes.of_thread.context = self.scopes.of_thread.context, None
            try:  # it belongs to the whole function, not to a branch or loop
                with self.control_dependencies(None):
                    captured = self._copy(tensor) if self.by_value else self._argument(tensor, name)
            finally:
                self.scopes.of_thread.context = context
            self.captured[tensor] = captured
        return captured

    def _check_accessible(self, tensor: Tensor) -> None:
        """Raise ValueError for a tensor of an inner function or of an unrelated graph."""
        graph = tensor.op.graph
        while isinstance(graph, TracedGraph):
            if graph is self:
                raise InaccessibleTensorError(
                    f"The tensor '{tensor}' cannot be accessed here: it is defined in another function or code block."
                    " Use return values, explicit Python locals or TensorFlow collections to access it. Defined in:"
                    f" {tensor.op.graph!r}; accessed from: {self!r}.\n"
                )
            graph = graph.outer
        around: Graph = self
        while isinstance(around, TracedGraph):
            around = around.outer
        if graph is not around:
            raise ValueError(f"{tensor!r} must be from the same graph as this graph, {self!r}.")

    def _argument(self, tensor: Tensor, name: str | None = None) -> Tensor:
        attrs = {"dtype": tensor.dtype.base_dtype, "shape": tensor.shape}
        return super().create_op("Placeholder", [], name=name or tensor.op.name, attrs=attrs).outputs[0]

    def _copy(self, tensor: Tensor) -> Tensor:
        """Copy a tensor, with everything it depends on, into this graph."""
        pending = [tensor.op]
        while pending:
            op = pending[-1]
            missing = [
                each.op for each in op.inputs if each not in self.captured and each.op.graph is not self
            ]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if op.outputs and op.outputs[0] in self.captured:
                continue
            if op.op_def is not None and op.op_def.is_stateful and op not in self._copied:
                raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")
            if op.type in PLACEHOLDERS:
                raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
            inputs = [self.captured.get(each, each) for each in op.inputs]
            copy = super().create_op(op.type, inputs, name=op.name, attrs=op.attrs, op_def=op.op_def)
            for mine, theirs in zip(copy.outputs, op.outputs, strict=True):
                mine.set_shape(theirs.shape)
                self.captured[theirs] = mine
        return self.captured[tensor]

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Sequence[DType] | None = None,
        input_types: Sequence[DType] | None = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: OpDef | None = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Like ``Graph.create_op``, for inputs that may belong to the outer graph."""
        inputs = [self.capture(tensor) for tensor in inputs]
        return super().create_op(
            op_type, inputs, dtypes, input_types, name, attrs, op_def, compute_shapes, compute_device
        )

    def _add_op(
        self,
        name: str,
        op_type: str,
        op_def: OpDef,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        dtypes: Sequence[DType] | None = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        inputs = tuple([self.capture(tensor) for tensor in inputs])
        return super()._add_op(name, op_type, op_def, inputs, attrs, dtypes, compute_shapes, compute_device)

    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> ControlDependenciesBlock:
        """Like ``Graph.control_dependencies``; operations of the outer graph run before the call."""
        if control_inputs is None or not self.is_func_graph:
            return super().control_dependencies(control_inputs)
        mine = []
        for one in control_inputs:
            op = getattr(one, "op", one)
            if getattr(op, "graph", self) is self:
                mine.append(one)
            else:
                self.control_captures[op] = None
        return super().control_dependencies(mine)

    def _operation_beside(self, item: object) -> Operation:
        """Like ``Graph.colocate_with``, for operations that may belong to an outer graph."""
        op = getattr(item, "op", item)
        if isinstance(op, Operation) and op.graph is not self:
            return op
        return super()._operation_beside(item)

    @property
    def captures(self) -> tuple[Tensor, ...]:
        """The captured tensors of the outer graph, passed after the function's own arguments."""
        return () if self.by_value else tuple(self.captured)

    def stand_in_for(self, tensor: Tensor) -> Tensor | None:
        """Return the tensor that stands here for a tensor of an outer graph, or None if the function does not use it.

        Args:
            tensor: tensor of an outer graph.
        """
        if tensor.op.graph is self:
            return tensor
        if tensor in self.captured:
            return self.captured[tensor]
        outer = self.outer
        found = outer.stand_in_for(tensor) if isinstance(outer, TracedGraph) else tensor
        return None if found is None else self.captured.get(found)

    def origin_of(self, op: Operation) -> Tensor | None:
        """Return the captured tensor that an argument stands for; None for other operations.

        Args:
            op: the operation.
        """
        return next((outer for outer, mine in self.captured.items() if mine.op is op), None)

    def body(self, results: Sequence[Tensor], targets: Sequence[Operation]) -> FunctionBody:
        """Return the completed function.

        Args:
            results: results of the function.
            targets: operations that run besides the results.
        """
        given = [] if self.by_value else self.captured.values()
        return FunctionBody(self, (*self.args, *given), tuple(results), tuple(targets))


def as_seen_here(tensor: Tensor) -> Tensor:
    """Return the captured tensor in the default graph or an outer graph, where the function can be called.

    A function that was traced inside another captures that function's arguments.

    Args:
        tensor: a tensor that a function captured.
    """
    around: set[Graph] = set()
    graph: Graph | None = get_default_graph()
    while graph is not None:
        around.add(graph)
        graph = graph.outer if isinstance(graph, TracedGraph) else None
    while tensor.op.graph not in around and isinstance(tensor.op.graph, TracedGraph):
        origin = tensor.op.graph.origin_of(tensor.op)
        if origin is None:
            break
        tensor = origin
    return tensor


def _graph_around(graph: Graph) -> Graph:
    """Return the nearest graph that is not a function body: itself or an outer graph."""
    while isinstance(graph, TracedGraph):
        graph = graph.outer
    if graph.building_function:
        around = [one for one in graph_stack.stack if not one.building_function]
        return around[-1] if around else global_graph(Graph)
    return graph


@contextmanager
def init_scope() -> Iterator[None]:
    """Create operations in the ``with`` block outside all functions and control flow, without control inputs.

    They are added to the graph around the functions under construction, under the current name scope and devices.
    """
    inner = get_default_graph()
    outer = _graph_around(inner)
    scope, devices = inner.get_name_scope(), inner.scopes.stacks().devices
    context, outer.scopes.of_thread.context = outer.scopes.of_thread.context, None
    creators, outer.scopes.of_thread.variable_creators = outer.scopes.of_thread.variable_creators, ()
    if outer is inner:
        outer.scopes.of_thread.variable_creators = creators
    stacks = outer.scopes.stacks()
    known, stacks.devices = stacks.devices, devices or stacks.devices
    try:
        with outer.as_default(), outer.name_scope(f"{scope}/" if scope else None):
            with outer.control_dependencies(None):
                yield
    finally:
        stacks.devices = known
        outer.scopes.of_thread.context, outer.scopes.of_thread.variable_creators = context, creators


def lifted(tensor: Tensor) -> Tensor:
    """Copy a tensor, with everything it depends on, to the default graph, outside all scopes.

    Args:
        tensor: tensor of a function's body.

    Raises:
        ValueError: the tensor depends on an argument of the function.
    """
    graph, copies = get_default_graph(), dict[Tensor, Tensor]()
    pending = [tensor.op]
    while pending:
        op = pending[-1]
        if op.type in PLACEHOLDERS:
            origin = op.graph.origin_of(op) if isinstance(op.graph, TracedGraph) else None
            if origin is None:
                raise ValueError(
                    f"Unable to lift tensor {tensor!r} because it depends transitively on placeholder {op.name}"
                )
            copies[op.outputs[0]] = origin
            pending.pop()
            continue
        missing = [each.op for each in op.inputs if each not in copies]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if op.outputs and op.outputs[0] in copies:
            continue
        inputs = [copies[each] for each in op.inputs]
        with graph.name_scope(None), attr_scope(graph, {CLASS_ATTR: None}):
            copy = graph.create_op(op.type, inputs, name=op.name, attrs=op.attrs, op_def=op.op_def)
        for mine, theirs in zip(copy.outputs, op.outputs, strict=True):
            mine.set_shape(theirs.shape)
            copies[theirs] = mine
    return copies[tensor]


def add_called_functions(graph: Graph, inner: Graph) -> None:
    """Add the functions that a function's operations call to another graph's library.

    Args:
        graph: graph with the other library.
        inner: body of the function.
    """
    if inner.functions is graph.functions:
        return
    for op in inner.get_operations():
        for name in _named_functions(op):
            if name not in inner.functions or name in graph.functions:
                continue
            graph.functions[name] = inner.functions[name]
            graph.function_op_defs[name] = inner.function_op_defs[name]
            if name in inner.gradient_functions:
                graph.gradient_functions[name] = inner.gradient_functions[name]
            if name in inner.function_bodies:
                graph.function_bodies[name] = inner.function_bodies[name]
                add_called_functions(graph, inner.function_bodies[name].graph)


def _named_functions(op: Operation) -> list[str]:
    found = [op.type]
    for value in op.attrs.values():
        found += [
            one.name
            for one in (value if isinstance(value, tuple) else (value,))
            if isinstance(one, FunctionRef)
        ]
    return found
