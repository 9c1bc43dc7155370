"""A Python function traced for one signature, the node that calls it, and the gradient of such a call.

    x ──┐                                     x ──┐                         dy ──┐
    w ──┴─> PartitionedCall (f) ──> y         w ──┴─> PartitionedCall ──> y      ├─> PartitionedCall ──> dx, dw
                                                      (f, forward) ─────> t ─────┘   (f, backward)

When the gradient of a call is asked for, the call becomes one of a function that gives out, besides, what the gradient
needs, and a second function takes that. A body with loops or conditionals keeps its call, and ``SymbolicGradient`` does
the rest.

Source: tensorflow/python/eager/function.py, release 1.15 (names, sentences, structure of gradients).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace.display import above
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor, add_outputs, set_attr
from gpuplace.graph.traced_graph import FunctionBody, add_called_functions, as_seen_here
from gpuplace.ops import nest
from gpuplace.ops.array.constant import zeros_like
from gpuplace.ops.flow.calls import (
    GRADIENT_ATTR,
    differentiated,
    partitioned_call,
    set_python_gradient,
    symbolic_gradient_of_call,
)
from gpuplace.ops.gradients.gradients import gradients, is_trainable
from gpuplace.shapes import TensorShape
from gpuplace.tf1.functions.func_graph import FuncGraph, func_graph_from_py_func, packed_tensors

_numbers = itertools.count()


class GraphFunction:
    """A function of a graph's library.

    Args:
        name: its name.
        body: its graph.
        attrs: its attributes.
    """

    def __init__(self, name: str, body: FunctionBody, attrs: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self.body = body
        self._attrs = dict(attrs or {})
        self._definition: Any = None

    @property
    def definition(self) -> Any:
        """Its ``FunctionDef``."""
        if self._definition is None:
            make = above("gpuplace.graphdef.function_def", "function_def")
            self._definition = make(self.name, self.body, "", self._attrs)
        return self._definition

    @property
    def signature(self) -> Any:
        """Its signature, an ``OpDef`` message."""
        return self.definition.signature

    @property
    def stateful_ops(self) -> list[Operation]:
        """Its stateful operations."""
        return [
            op for op in self.body.graph.get_operations() if op.op_def is not None and op.op_def.is_stateful
        ]

    def add_to_graph(self, g: Graph) -> None:
        """Puts it into a graph's library, with what it calls.

        Args:
            g: the graph.
        """
        if self.name not in g.functions:
            add = above("gpuplace.graphdef.function_def", "add_function")
            add(g, self.name, self.body, "", self._attrs)
            add_called_functions(g, self.body.graph)


class ConcreteFunction:
    """A Python function traced for one signature.

    Args:
        func_graph: its graph.
        attrs: attributes of the function.
        name: what its name in the library is; None: after that of the graph.
        captured: what is given after the arguments of a call; None: what the graph captures.
    """

    def __init__(
        self,
        func_graph: FuncGraph,
        attrs: Mapping[str, Any] | None = None,
        name: str | None = None,
        captured: Sequence[Tensor] | None = None,
    ) -> None:
        self._func_graph = func_graph
        self._attrs = {
            key: value.encode() if isinstance(value, str) else value for key, value in (attrs or {}).items()
        }
        self._captured = list(func_graph.captures if captured is None else captured)
        number = next(_numbers)
        self._function = GraphFunction(
            name or f"__inference_{func_graph.name}_{number}", func_graph.function_body(), self._attrs
        )
        self._pairs: dict[tuple[Tensor, ...], _Pair] = {}
        self._gradient_name = f"PartitionedCall-{number}".encode()
        differentiated[self._gradient_name] = self

    @property
    def name(self) -> str:
        """Its name in the library."""
        return self._function.name

    @property
    def graph(self) -> FuncGraph:
        """Its graph."""
        return self._func_graph

    @property
    def inputs(self) -> list[Tensor]:
        """Its arguments, and after them what stands for tensors of the graph around it."""
        return self._func_graph.inputs

    @property
    def outputs(self) -> list[Tensor]:
        """Its results."""
        return self._func_graph.outputs

    @property
    def structured_outputs(self) -> Any:
        """Its results in their form."""
        return self._func_graph.structured_outputs

    @property
    def structured_input_signature(self) -> Any:
        """What it takes by position, and by name."""
        return self._func_graph.structured_input_signature

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors that a call gives besides its arguments."""
        return list(self._captured)

    @property
    def variables(self) -> list[Any]:
        """The variables that it uses."""
        return self._func_graph.variables

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of them that are trained."""
        return self._func_graph.trainable_variables

    @property
    def function_def(self) -> Any:
        """Its ``FunctionDef``."""
        return self._function.definition

    @property
    def output_dtypes(self) -> Any:
        """The types of its results, in their form."""
        return nest.map_structure(lambda one: None if one is None else one.dtype, self.structured_outputs)

    @property
    def output_shapes(self) -> Any:
        """The shapes of its results, in their form."""
        return nest.map_structure(lambda one: None if one is None else one.shape, self.structured_outputs)

    def add_to_graph(self, g: Graph | None = None, register_gradient_functions: bool = False) -> None:
        """Puts it into a graph's library.

        Args:
            g: the graph; None: the default one.
            register_gradient_functions: put its gradient there too.
        """
        graph = g or get_default_graph()
        self._function.add_to_graph(graph)
        if register_gradient_functions and self._differentiates():
            pair = self._pair_for(tuple(self.outputs))
            pair.forward.add_to_graph(graph)
            pair.backward.add_to_graph(graph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call.

        Args:
            *args: its arguments, tensors or what can be made into one.
            **kwargs: arguments by name.

        Returns:
            What the Python function returned, of the results of the call.

        Raises:
            TypeError: an argument is missing, or there is one too many.
        """
        wanted = self._func_graph.args
        given = [one for one in nest.flatten(args, opens_slices=True) if one is not None]
        names = [tensor.op.name for tensor in wanted]
        for name in names[len(given) :]:
            if name in kwargs:
                given.append(kwargs.pop(name))
        if kwargs:
            raise TypeError(
                f"Unexpected keyword arguments {list(kwargs)} for a function that takes {', '.join(names) or 'none'}."
            )
        if len(given) != len(wanted):
            raise TypeError(
                f"Expected {len(wanted)} arguments ({', '.join(names)}) to this function, got {len(given)}."
            )
        return self.call_flat(
            [convert_to_tensor(one, tensor.dtype) for one, tensor in zip(given, wanted, strict=True)]
        )

    def call_flat(self, tensors: Sequence[Tensor]) -> Any:
        """Adds a call.

        Args:
            tensors: its arguments.

        Returns:
            What the Python function returned, of the results of the call.
        """
        made = self.add_call(tensors)
        if isinstance(made, Operation):
            return made if self.structured_outputs is None else self.structured_outputs
        return packed_tensors(self.structured_outputs, made)

    def add_call(self, tensors: Sequence[Tensor]) -> Any:
        """The results of a call, in a list; the operation where there are none.

        Args:
            tensors: the arguments.
        """
        captured = [as_seen_here(tensor) for tensor in self._captured]
        with get_default_graph().control_dependencies(list(self._func_graph.control_captures)):
            made = partitioned_call([*tensors, *captured], self._function, config=b"")
        op = made if isinstance(made, Operation) else made[0].op
        set_attr(op, GRADIENT_ATTR, self._gradient_name)
        set_python_gradient(op, self.gradient_of)
        for output, result in zip(op.outputs, self.outputs, strict=True):
            output.set_shape(result.shape)
        return made

    # Gradients

    def _differentiates(self) -> bool:
        """Whether a function of its own can be the gradient: no control flow has to be gone through backwards."""
        return not self._func_graph.scopes.contexts

    def _pair_for(self, results: tuple[Tensor, ...]) -> _Pair:
        """What a call that gives out these tensors of the body becomes, and what its gradient calls."""
        known = self._pairs.get(results)
        if known is not None:
            return known
        inner = self._func_graph
        wanted = [i for i, output in enumerate(results) if is_trainable(output)]
        with inner.as_default():
            graph = FuncGraph(f"__backward_{inner.name}_{next(_numbers)}")
        reached: list[int] = []

        def backward() -> list[Any]:
            given = [
                graph.add_arg(results[i].dtype.base_dtype, results[i].shape, "Placeholder") for i in wanted
            ]
            found = gradients([results[i] for i in wanted], inner.inputs, given) if wanted else []
            reached.extend(i for i, one in enumerate(found) if one is not None)
            return [found[i] for i in reached]

        func_graph_from_py_func(graph.name, backward, (), None, func_graph=graph)
        body = FunctionBody(
            inner, tuple(inner.inputs), (*results, *graph.captures), tuple(inner.control_outputs)
        )
        forward = GraphFunction(f"__forward_{inner.name}_{next(_numbers)}", body, self._attrs)
        pair = self._pairs[results] = _Pair(forward, ConcreteFunction(graph, captured=()), wanted, reached)
        return pair

    def is_called_by(self, op: Operation) -> bool:
        """Whether a call is one of this function, as it was or as gradients have made it.

        Args:
            op: the call.
        """
        called = op.attrs["f"].name
        return called == self.name or any(called == pair.forward.name for pair in self._pairs.values())

    def gradient_of(self, op: Operation, *grads: Any) -> Any:
        """Adds the gradients of the arguments of a call.

        Args:
            op: the call.
            *grads: the gradients of its results.
        """
        if not self._differentiates():
            return symbolic_gradient_of_call(op, *grads)
        body: FunctionBody = op.graph.function_bodies[op.attrs["f"].name]
        count = len(grads)
        pair = self._pair_for(body.results[:count])
        if len(op.outputs) == count:
            _give_out(op, pair.forward, pair.forward.body.results[count:])
        given = [
            zeros_like(op.outputs[i]) if grads[i] is None else convert_to_tensor(grads[i])
            for i in pair.wanted
        ]
        found: list[Any] = [None] * len(op.inputs)
        if pair.reached:
            made = pair.backward.add_call([*given, *op.outputs[count:]])
            results = packed_tensors(pair.backward.structured_outputs, made)
            for i, one in zip(pair.reached, results, strict=True):
                found[i] = one
        return found


class _Pair(NamedTuple):
    """What a call becomes when its gradient is asked for, and what the gradient calls."""

    forward: GraphFunction
    """Gives out, besides, what the other one needs."""
    backward: ConcreteFunction
    """Takes gradients of results, and that; gives the gradients of arguments."""
    wanted: list[int]
    """The positions of the results whose gradients it takes."""
    reached: list[int]
    """The positions of the arguments whose gradients it gives."""


def _give_out(op: Operation, forward: GraphFunction, more: Sequence[Tensor]) -> None:
    """Makes a call one of a function that gives out more."""
    forward.add_to_graph(op.graph)
    set_attr(op, "f", FunctionRef(forward.name))
    set_attr(op, "Tout", (*op.attrs["Tout"], *(one.dtype.base_dtype for one in more)))
    add_outputs(op, [one.dtype.base_dtype for one in more], [TensorShape(one.shape) for one in more])
