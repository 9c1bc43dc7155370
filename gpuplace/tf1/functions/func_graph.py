"""The graph of a Python function, ``tensorflow.python.framework.func_graph``.

Source: tensorflow/python/framework/func_graph.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.traced_graph import FunctionBody, TracedGraph
from gpuplace.ops import nest
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.ops.variables.variable_scope import get_variable_scope
from gpuplace.tf1.functions.auto_control_deps import AutomaticControlDependencies


class FuncGraph(TracedGraph):
    """The graph of a function's body; what it uses of the graph around it becomes an argument.

    Args:
        name: the function's name.
        collections: those that it begins with; None: as the graph around it has them.
        capture_by_value: copy what is used of that graph.
    """

    is_func_graph = True

    def __init__(self, name: str, collections: Any = None, capture_by_value: bool | None = False) -> None:
        super().__init__(get_default_graph(), by_value=bool(capture_by_value))
        self.seed = None if capture_by_value else self.outer.seed  # that of a `Defun` is None
        if collections is not None:
            self._collections = collections
        self.scopes.stacks().colocations = list(self.outer.scopes.stacks().colocations)
        self.name = name
        self.outputs: list[Tensor] = []
        """Its results, in a list."""
        self.structured_outputs: Any = None
        """The same in their form."""
        self.structured_input_signature: Any = None
        """What it takes by position, and by name."""
        self.control_outputs: list[Operation] = []
        """What runs besides."""
        self.adds_control_dependencies = False
        """Whether stateful operations in it run in the order of the program."""

    @property
    def outer_graph(self) -> Any:
        """The graph around it."""
        return self.outer

    @property
    def inputs(self) -> list[Tensor]:
        """Its arguments, and after them what stands for tensors of the graph around it."""
        return list(dict.fromkeys([*self.args, *(() if self.by_value else self.captured.values())]))

    @property
    def external_captures(self) -> list[Tensor]:
        """The tensors of the graph around it."""
        return list(self.captures)

    @property
    def internal_captures(self) -> list[Tensor]:
        """What stands for them here."""
        return list(self.captured.values())

    @property
    def variables(self) -> list[Any]:
        """The variables that it uses."""
        used = {tensor.op for tensor in self._all_captures()}
        known = [*self.get_collection("variables"), *self.get_collection("local_variables")]
        return [one for one in dict.fromkeys(known) if one.op in used]

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of them that are trained."""
        return [one for one in self.variables if one.trainable]

    def _all_captures(self) -> list[Tensor]:
        found, graph = list(self.captures), self.outer
        while isinstance(graph, TracedGraph):
            found += [outer for outer, inner in graph.captured.items() if inner in found]
            graph = graph.outer
        return found

    def function_body(self) -> FunctionBody:
        """The function that was built."""
        return FunctionBody(self, tuple(self.inputs), tuple(self.outputs), tuple(self.control_outputs))


def func_graph_from_py_func(
    name: str,
    python_func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any] | None,
    signature: Sequence[Any] | None = None,
    func_graph: FuncGraph | None = None,
    autograph: bool = False,
    autograph_options: Any = None,
    add_control_dependencies: bool = True,
    arg_names: Sequence[str] | None = None,
    op_return_value: Tensor | None = None,
    collections: Any = None,
    capture_by_value: bool | None = None,
    override_flat_arg_shapes: Any = None,
) -> FuncGraph:
    """The graph of what a Python function adds.

    Args:
        name: the function's name.
        python_func: takes tensors, and what else it is given.
        args: its arguments; a ``TensorSpec`` or tensor among them gives a placeholder.
        kwargs: its arguments by name.
        signature: specs for ``args``.
        func_graph: the graph; None: a new one.
        autograph: ignored: Python's own control flow is not translated.
        autograph_options: ignored.
        add_control_dependencies: let stateful operations run, in their order.
        arg_names: names of the placeholders.
        op_return_value: the tensor that stands for an operation that the function returns; None: that is refused.
        collections: those that the graph begins with; None: as the graph around it has them.
        capture_by_value: copy what is used of that graph.
        override_flat_arg_shapes: the shape of each flat argument, None where it is no tensor; None: their own.

    Raises:
        TypeError: it returns something that is no tensor.
        ValueError: a signature beside shapes of arguments.
    """
    if signature is not None and override_flat_arg_shapes is not None:
        raise ValueError(
            f"Passed both signature and override_flat_arg_shapes: {signature} and {override_flat_arg_shapes}."
        )
    graph = func_graph or FuncGraph(name, collections, capture_by_value)
    manager = AutomaticControlDependencies() if add_control_dependencies else contextlib.nullcontext()
    graph.adds_control_dependencies = add_control_dependencies
    by_name = {} if signature is not None else dict(kwargs or {})
    shapes = iter(override_flat_arg_shapes or ())
    with graph.as_default(), manager as added, _resource_variables():
        given = _placeholders(graph, list(args if signature is None else signature), arg_names, shapes)
        named = {key: _placeholders(graph, [by_name[key]], [key], shapes)[0] for key in sorted(by_name)}
        graph.structured_input_signature = (tuple(_specs(given)), _specs(named))

        def converted(value: Any) -> Any:
            if value is None:
                return None
            if isinstance(value, Operation) and op_return_value is not None:
                with graph.control_dependencies([value]):
                    value = identity(op_return_value)
            found = _tensor(value, python_func)
            return found if added is None else added.mark_as_return(found)

        made = python_func(*given, **named)
        graph.structured_outputs = nest.map_structure(converted, made)
        graph.outputs = [graph.capture(one) for one in flat_tensors(graph.structured_outputs)]
    if isinstance(added, AutomaticControlDependencies):
        graph.control_outputs = [op for op in graph.get_operations() if op in added.ops_which_must_run]
    return graph


@contextlib.contextmanager
def _resource_variables() -> Any:
    scope = get_variable_scope()
    before = scope.use_resource
    scope.set_use_resource(True)
    try:
        yield
    finally:
        scope.set_use_resource(before)


def _tensor(value: Any, function: Any) -> Any:
    if isinstance(value, (IndexedSlices, SparseTensor)) or hasattr(value, "with_flow"):
        return value
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            "To be compatible with tf.contrib.eager.defun, Python functions must return zero or more Tensors; in"
            f" compilation of {function}, found return value of type {type(value)}, which is not a Tensor."
        ) from None


def flat_tensors(structure: Any) -> list[Tensor]:
    """The tensors of a structure, of sparse ones and of slices each part; None is left out.

    Args:
        structure: the structure.
    """
    leaves = nest.flatten(structure, opens_slices=True)
    return [one.flow if hasattr(one, "with_flow") else one for one in leaves if one is not None]


def packed_tensors(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """A structure like another one, of other tensors.

    Args:
        structure: the structure.
        tensors: what stands for `flat_tensors` of it.
    """
    left = iter(tensors)
    leaves: list[Any] = []
    for one in nest.flatten(structure, opens_slices=True):
        if one is None:
            leaves.append(None)
        else:
            leaves.append(one.with_flow(next(left)) if hasattr(one, "with_flow") else next(left))
    return nest.pack_sequence_as(structure, leaves, opens_slices=True)


def _placeholders(graph: FuncGraph, values: list[Any], names: Sequence[str] | None, shapes: Any) -> list[Any]:
    """The values with a placeholder for each tensor."""
    made = []
    for number, value in enumerate(values):
        name = names[number] if names is not None and number < len(names) else "Placeholder"
        leaves: list[Any] = []
        for one in nest.flatten(value):
            shape = next(shapes, None)
            if isinstance(one, TensorSpec):
                leaves.append(
                    graph.add_arg(one.dtype, one.shape if shape is None else shape, one.name or name)
                )
            elif isinstance(one, Tensor):
                dtype = one.dtype.base_dtype
                leaves.append(graph.add_arg(dtype, one.shape if shape is None else shape, name))
            else:
                leaves.append(one)
        made.append(nest.pack_sequence_as(value, leaves))
    return made


def _specs(structure: Any) -> Any:
    return nest.map_structure(
        lambda one: TensorSpec(one.shape, one.dtype, one.op.name) if isinstance(one, Tensor) else one,
        structure,
    )
