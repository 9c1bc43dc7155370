"""A Python function traced for one signature, the node that calls it, and the gradient of such a call.

    x ──┐                                     x ──┐                         dy ──┐
    w ──┴─> PartitionedCall (f) ──> y         w ──┴─> PartitionedCall ──> y      ├─> PartitionedCall ──> dx, dw
                                                      (f, forward) ─────> t ─────┘   (f, backward)

To build the gradient of a call, the call is replaced by one of a function that also returns the values that the
gradient needs; a second function takes these values. Bodies with loops or conditionals keep their call, and their
gradient is a ``SymbolicGradient``.

Source: tensorflow/python/eager/function.py, release 1.15 (names, messages, structure of gradients).
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
        """The ``FunctionDef``."""
        if self._definition is None:
            make = above("gpuplace.graphdef.function_def", "function_def")
            self._definition = make(self.name, self.body, "", self._attrs)
        return self._definition

    @property
    def signature(self) -> Any:
        """The signature, an ``OpDef`` message."""
        return self.definition.signature

    @property
    def stateful_ops(self) -> list[Operation]:
        """The stateful operations of the body."""
        return [
            op for op in self.body.graph.get_operations() if op.op_def is not None and op.op_def.is_stateful
        ]

    def add_to_graph(self, g: Graph) -> None:
        """Add the function, and the functions that it calls, to a graph's library.

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
        name: prefix of its name in the library; None: the name of the graph.
        captured: the inputs of a call after its arguments; None: the tensors that the graph captures.
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
        """Name in the library."""
        return self._function.name

    @property
    def graph(self) -> FuncGraph:
        """The graph of the body."""
        return self._func_graph

    @property
    def inputs(self) -> list[Tensor]:
        """The arguments, then the placeholders of captured tensors."""
        return self._func_graph.inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The results, as a list."""
        return self._func_graph.outputs

    @property
    def structured_outputs(self) -> Any:
        """The results in their structure."""
        return self._func_graph.structured_outputs

    @property
    def structured_input_signature(self) -> Any:
        """The positional arguments and the keyword arguments."""
        return self._func_graph.structured_input_signature

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The captured tensors, which a call takes besides its arguments."""
        return list(self._captured)

    @property
    def variables(self) -> list[Any]:
        """The variables that the function uses."""
        return self._func_graph.variables

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables that the function uses."""
        return self._func_graph.trainable_variables

    @property
    def function_def(self) -> Any:
        """The ``FunctionDef``."""
        return self._function.definition

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return nest.map_structure(lambda out: None if out is None else out.dtype, self.structured_outputs)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure."""
        return nest.map_structure(lambda out: None if out is None else out.shape, self.structured_outputs)

    def add_to_graph(self, g: Graph | None = None, register_gradient_functions: bool = False) -> None:
        """Add the function to a graph's library.

        Args:
            g: the graph; None: the default one.
            register_gradient_functions: whether to add its gradient too.
        """
        graph = g or get_default_graph()
        self._function.add_to_graph(graph)
        if register_gradient_functions and self._differentiates():
            pair = self._pair_for(tuple(self.outputs))
            pair.forward.add_to_graph(graph)
            pair.backward.add_to_graph(graph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call.

        Args:
            *args: its arguments, tensors or convertible values.
            **kwargs: arguments by name.

        Returns:
            The results of the call, in the structure that the Python function returned.

        Raises:
            TypeError: an argument is missing, or there is one too many.
        """
        wanted = self._func_graph.args
        arguments = [item for item in nest.flatten(args, opens_slices=True) if item is not None]
        names = [tensor.op.name for tensor in wanted]
        for name in names[len(arguments) :]:
            if name in kwargs:
                arguments.append(kwargs.pop(name))
        if kwargs:
            raise TypeError(
                f"Unexpected keyword arguments {list(kwargs)}; the function takes {', '.join(names) or 'none'}."
            )
        if len(arguments) != len(wanted):
            raise TypeError(
                f"Expected {len(wanted)} arguments ({', '.join(names)}) to this function, got {len(arguments)}."
            )
        return self.call_flat(
            [convert_to_tensor(arg, tensor.dtype) for arg, tensor in zip(arguments, wanted, strict=True)]
        )

    def call_flat(self, tensors: Sequence[Tensor]) -> Any:
        """Add a call.

        Args:
            tensors: its arguments.

        Returns:
            The results of the call, in the structure that the Python function returned.
        """
        results = self.add_call(tensors)
        if isinstance(results, Operation):
            return results if self.structured_outputs is None else self.structured_outputs
        return packed_tensors(self.structured_outputs, results)

    def add_call(self, tensors: Sequence[Tensor]) -> Any:
        """Return the results of a new call as a list; the operation if it has none.

        Args:
            tensors: the arguments.
        """
        captured = [as_seen_here(tensor) for tensor in self._captured]
        with get_default_graph().control_dependencies(list(self._func_graph.control_captures)):
            call = partitioned_call([*tensors, *captured], self._function, config=b"")
        op = call if isinstance(call, Operation) else call[0].op
        set_attr(op, GRADIENT_ATTR, self._gradient_name)
        set_python_gradient(op, self.gradient_of)
        for output, result in zip(op.outputs, self.outputs, strict=True):
            output.set_shape(result.shape)
        return call

    # Gradients

    def _differentiates(self) -> bool:
        """Return whether a backward function can be the gradient: the body has no control flow."""
        return not self._func_graph.scopes.contexts

    def _pair_for(self, results: tuple[Tensor, ...]) -> _Pair:
        """Return the forward and backward function for a call that returns these tensors of the body."""
        existing = self._pairs.get(results)
        if existing is not None:
            return existing
        inner = self._func_graph
        wanted = [i for i, output in enumerate(results) if is_trainable(output)]
        with inner.as_default():
            graph = FuncGraph(f"__backward_{inner.name}_{next(_numbers)}")
        reached: list[int] = []

        def backward() -> list[Any]:
            dys = [
                graph.add_arg(results[i].dtype.base_dtype, results[i].shape, "Placeholder") for i in wanted
            ]
            found = gradients([results[i] for i in wanted], inner.inputs, dys) if wanted else []
            reached.extend(i for i, gradient in enumerate(found) if gradient is not None)
            return [found[i] for i in reached]

        func_graph_from_py_func(graph.name, backward, (), None, func_graph=graph)
        body = FunctionBody(
            inner, tuple(inner.inputs), (*results, *graph.captures), tuple(inner.control_outputs)
        )
        forward = GraphFunction(f"__forward_{inner.name}_{next(_numbers)}", body, self._attrs)
        pair = self._pairs[results] = _Pair(forward, ConcreteFunction(graph, captured=()), wanted, reached)
        return pair

    def is_called_by(self, op: Operation) -> bool:
        """Return whether an op calls this function, in its original form or with extra outputs for gradients.

        Args:
            op: the call.
        """
        called = op.attrs["f"].name
        return called == self.name or any(called == pair.forward.name for pair in self._pairs.values())

    def gradient_of(self, op: Operation, *grads: Any) -> Any:
        """Add the gradients of a call with respect to its arguments.

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
            _replace_forward(op, pair.forward, pair.forward.body.results[count:])
        dys = [
            zeros_like(op.outputs[i]) if grads[i] is None else convert_to_tensor(grads[i])
            for i in pair.wanted
        ]
        dxs: list[Any] = [None] * len(op.inputs)
        if pair.reached:
            call = pair.backward.add_call([*dys, *op.outputs[count:]])
            results = packed_tensors(pair.backward.structured_outputs, call)
            for i, gradient in zip(pair.reached, results, strict=True):
                dxs[i] = gradient
        return dxs


class _Pair(NamedTuple):
    """The function of a rewritten call, and the function of its gradient."""

    forward: GraphFunction
    """Also returns the values that ``backward`` needs."""
    backward: ConcreteFunction
    """Takes the gradients of the results and these values; returns the gradients of the arguments."""
    wanted: list[int]
    """The positions of the results whose gradients ``backward`` takes."""
    reached: list[int]
    """The positions of the arguments whose gradients ``backward`` returns."""


def _replace_forward(op: Operation, forward: GraphFunction, more: Sequence[Tensor]) -> None:
    """Replace a call's function with one that returns more tensors."""
    forward.add_to_graph(op.graph)
    set_attr(op, "f", FunctionRef(forward.name))
    set_attr(op, "Tout", (*op.attrs["Tout"], *(out.dtype.base_dtype for out in more)))
    add_outputs(op, [out.dtype.base_dtype for out in more], [TensorShape(out.shape) for out in more])
