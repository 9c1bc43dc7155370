"""Trace Python functions of elements to library functions of the graph.

The function is called once, with placeholders. Its stateful operations run at every call, in their order, even if no
result needs them.

Source: StructuredFunctionWrapper in tensorflow/python/data/ops/dataset_ops.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from gpuplace.display import above
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.traced_graph import FunctionBody, TracedGraph
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.tf1.data import structure
from gpuplace.tf1.functions.auto_control_deps import AutomaticControlDependencies
from gpuplace.tf1.functions.func_graph import FuncGraph
from gpuplace.typing import DTypeLike


class Traced(NamedTuple):
    """A traced Python function."""

    ref: FunctionRef
    """Reference to the library function."""
    captured: tuple[Tensor, ...]
    """The captured tensors, passed in addition to the arguments."""
    spec: Any
    """Spec of the result."""
    body: FunctionBody
    """The traced graph."""

    def is_scalar_of(self, dtype: DTypeLike) -> bool:
        """Return whether it returns one tensor of that dtype that may be a scalar."""
        return isinstance(self.spec, TensorSpec) and self.spec.is_compatible_with(TensorSpec([], dtype))


def _name_of(function: Callable[..., Any]) -> str:
    if isinstance(function, functools.partial):
        return "partial"
    return str(getattr(function, "__name__", None) or type(function).__name__)


def trace(function: Callable[..., Any], transformation: str, spec: Any) -> Traced:
    """Add a function of one element to the default graph's library.

    Args:
        function: takes an element, with the components of a tuple as separate arguments. Returns an element.
        transformation: the caller, for names and errors: ``Dataset.map()``.
        spec: spec of the element.

    Raises:
        TypeError: the function returns something that is not an element.
        Exception: an exception of the function.
    """
    name = f"{transformation[:-2].replace('.', '_')}_{_name_of(function)}"
    graph = FuncGraph(name)
    graph.adds_control_dependencies = True
    with graph.as_default(), AutomaticControlDependencies() as added:
        placeholders = []
        for number, type_and_shape in enumerate(
            zip(structure.flat_types(spec), structure.flat_shapes(spec), strict=True)
        ):
            placeholders.append(graph.add_arg(*type_and_shape, f"args_{number}"))
        element = structure.from_tensors(spec, placeholders)
        result = function(*element) if type(element) is tuple else function(element)
        if isinstance(result, list):
            result = tuple(result)
        try:
            returned = structure.spec_of_value(result)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Unsupported return value from function passed to {transformation}: {result}."
            ) from error
        tensors = [graph.capture(tensor) for tensor in structure.to_tensors(result)]
        results = [added.mark_as_return(tensor) for tensor in tensors]
    name = f"__inference_{name}_{len(graph.functions)}"
    targets = [op for op in graph.get_operations() if op in added.ops_which_must_run]
    body = graph.body(results, targets)
    above("gpuplace.graphdef.function_def", "add_function")(get_default_graph(), name, body)
    return Traced(FunctionRef(name), graph.captures, returned, body)


def trace_alone(
    function: Callable[[], Tensor], name: str, description: str, copied: Collection[Operation]
) -> FunctionRef:
    """Add a function without arguments to the library, with copies of all nodes of the graph that it uses.

    Args:
        function: returns a tensor.
        name: prefix of its name in the library.
        description: its description.
        copied: the stateful operations that may be copied.

    Raises:
        ValueError: it uses a placeholder, or another stateful operation.
    """
    outer = get_default_graph()
    graph = TracedGraph(outer, by_value=True, copied=copied)
    with graph.as_default():
        result = graph.capture(function())
    full_name = f"{name}_{len(outer.functions)}"
    add = above("gpuplace.graphdef.function_def", "add_function")
    add(outer, full_name, graph.body([result], []), description, {"_disable_call_shape_inference": True})
    return FunctionRef(full_name)
