"""The graph of a Python function, ``tensorflow.python.framework.func_graph``.

Source: tensorflow/python/framework/func_graph.py, release 1.15 (names, messages).
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
    """The graph of a function's body; tensors of the surrounding graph that it uses become arguments.

    Args:
        name: the function's name.
        collections: its initial collections; None: those of the surrounding graph.
        capture_by_value: whether to copy operations of that graph.
    """

    is_func_graph = True

    def __init__(self, name: str, collections: Any = None, capture_by_value: bool | None = False) -> None:
        super().__init__(get_default_graph(), by_value=bool(capture_by_value))
        self.seed = None if capture_by_value else self.outer.seed  # the seed of a `Defun` is None
        if collections is not None:
            self._collections = collections
        self.scopes.stacks().colocations = list(self.outer.scopes.stacks().colocations)
        self.name = name
        self.outputs: list[Tensor] = []
        """The results, as a list."""
        self.structured_outputs: Any = None
        """The results in their structure."""
        self.structured_input_signature: Any = None
        """The positional arguments and the keyword arguments."""
        self.control_outputs: list[Operation] = []
        """Further operations that run."""
        self.adds_control_dependencies = False
        """Whether its stateful operations run in program order."""

    @property
    def outer_graph(self) -> Any:
        """The surrounding graph."""
        return self.outer

    @property
    def inputs(self) -> list[Tensor]:
        """The arguments, then the placeholders of captured tensors."""
        return list(dict.fromkeys([*self.args, *(() if self.by_value else self.captured.values())]))

    @property
    def external_captures(self) -> list[Tensor]:
        """The captured tensors of the surrounding graph."""
        return list(self.captures)

    @property
    def internal_captures(self) -> list[Tensor]:
        """The placeholders of captured tensors."""
        return list(self.captured.values())

    @property
    def variables(self) -> list[Any]:
        """The variables that the function uses."""
        used = {tensor.op for tensor in self._all_captures()}
        variables = [*self.get_collection("variables"), *self.get_collection("local_variables")]
        return [item for item in dict.fromkeys(variables) if item.op in used]

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables that the function uses."""
        return [variable for variable in self.variables if variable.trainable]

    def _all_captures(self) -> list[Tensor]:
        captured, graph = list(self.captures), self.outer
        while isinstance(graph, TracedGraph):
            captured += [outer for outer, inner in graph.captured.items() if inner in captured]
            graph = graph.outer
        return captured

    def function_body(self) -> FunctionBody:
        """Return the traced function."""
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
    """Build the graph of a Python function.

    Args:
        name: the function's name.
        python_func: takes tensors and other values.
        args: its arguments; a ``TensorSpec`` or tensor among them becomes a placeholder.
        kwargs: its keyword arguments.
        signature: specs for ``args``.
        func_graph: the graph; None: a new one.
        autograph: ignored: Python's own control flow is not converted.
        autograph_options: ignored.
        add_control_dependencies: whether stateful operations run, in program order.
        arg_names: names of the placeholders.
        op_return_value: the tensor to return for an operation that the function returns; None: raise an error.
        collections: the initial collections of the graph; None: those of the surrounding graph.
        capture_by_value: whether to copy operations of that graph.
        override_flat_arg_shapes: the shape of each flat argument, None if it is not a tensor; None: their own shapes.

    Raises:
        TypeError: the function returns something that is not a tensor.
        ValueError: both a signature and shapes of arguments are given.
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
        arguments = _placeholders(graph, list(args if signature is None else signature), arg_names, shapes)
        named = {key: _placeholders(graph, [by_name[key]], [key], shapes)[0] for key in sorted(by_name)}
        graph.structured_input_signature = (tuple(_specs(arguments)), _specs(named))

        def converted(value: Any) -> Any:
            if value is None:
                return None
            if isinstance(value, Operation) and op_return_value is not None:
                with graph.control_dependencies([value]):
                    value = identity(op_return_value)
            found = _tensor(value, python_func)
            return found if added is None else added.mark_as_return(found)

        returned = python_func(*arguments, **named)
        graph.structured_outputs = nest.map_structure(converted, returned)
        graph.outputs = [graph.capture(item) for item in flat_tensors(graph.structured_outputs)]
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
    """Return the tensors of a structure, with the parts of sparse tensors and slices; None is left out.

    Args:
        structure: the structure.
    """
    leaves = nest.flatten(structure, opens_slices=True)
    return [leaf.flow if hasattr(leaf, "with_flow") else leaf for leaf in leaves if leaf is not None]


def packed_tensors(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """Return tensors in the given structure.

    Args:
        structure: the structure.
        tensors: replacements for `flat_tensors` of it.
    """
    left = iter(tensors)
    leaves: list[Any] = []
    for leaf in nest.flatten(structure, opens_slices=True):
        if leaf is None:
            leaves.append(None)
        else:
            leaves.append(leaf.with_flow(next(left)) if hasattr(leaf, "with_flow") else next(left))
    return nest.pack_sequence_as(structure, leaves, opens_slices=True)


def _placeholders(graph: FuncGraph, values: list[Any], names: Sequence[str] | None, shapes: Any) -> list[Any]:
    """Return the values with tensors replaced by placeholders."""
    placeholders = []
    for number, value in enumerate(values):
        name = names[number] if names is not None and number < len(names) else "Placeholder"
        leaves: list[Any] = []
        for leaf in nest.flatten(value):
            shape = next(shapes, None)
            if isinstance(leaf, TensorSpec):
                leaves.append(
                    graph.add_arg(leaf.dtype, leaf.shape if shape is None else shape, leaf.name or name)
                )
            elif isinstance(leaf, Tensor):
                dtype = leaf.dtype.base_dtype
                leaves.append(graph.add_arg(dtype, leaf.shape if shape is None else shape, name))
            else:
                leaves.append(leaf)
        placeholders.append(nest.pack_sequence_as(value, leaves))
    return placeholders


def _specs(structure: Any) -> Any:
    return nest.map_structure(
        lambda item: TensorSpec(item.shape, item.dtype, item.op.name) if isinstance(item, Tensor) else item,
        structure,
    )
