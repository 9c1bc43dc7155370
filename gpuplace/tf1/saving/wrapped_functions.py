"""``tf.wrap_function``: a function in TensorFlow 1 style, traced once, from which parts can be pruned.

    graph of the function:   x ──> mul ──> add ──> y          prune(x, "mul:0")  ──>  a function x ──> mul
                             v (variable) ──┘

Only the nodes that its results need run, as in a session; a ``tf.function`` runs all stateful nodes.

Source: tensorflow/python/eager/wrap_function.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.graph import name_from_scope_name
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.graphdef.export import node_def, version_def
from gpuplace.graphdef.importer import import_graph_def
from gpuplace.graphdef.messages import GraphDef
from gpuplace.ops import nest
from gpuplace.ops.variables.variable_scope import variable_creator_scope
from gpuplace.tf1.functions.concrete import ConcreteFunction
from gpuplace.tf1.functions.func_graph import FuncGraph, func_graph_from_py_func
from gpuplace.typing import TensorLike

__all__ = ["wrap_function"]


class VariableHolder:
    """The variables that a function creates.

    Args:
        fn: the function to call through the holder, or None.
        share_variables: whether variables with the same name are shared.
    """

    def __init__(self, fn: Callable[..., Any] | None = None, share_variables: bool = False) -> None:
        self._fn = fn
        self._share_variables = share_variables
        self._variables_by_name: dict[str, Any] = {}

    @property
    def variables(self) -> list[Any]:
        """The variables."""
        return list(self._variables_by_name.values())

    def variable_creator_scope(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Create and store a variable, as an argument of ``tf.variable_creator_scope``.

        Args:
            next_creator: creates the variable.
            **kwargs: the arguments.
        """
        keys = kwargs.pop("collections", None) or [GraphKeys.GLOBAL_VARIABLES]
        with name_scope(kwargs.get("name"), "Variable") as scope:
            name = name_from_scope_name(scope)
            variable = self._variables_by_name.get(name) if self._share_variables else None
            if variable is None:
                variable = self._variables_by_name[name] = next_creator(**{**kwargs, "name": scope})
        graph = get_default_graph()
        for key in dict.fromkeys([*keys, *((GraphKeys.TRAINABLE_VARIABLES,) if variable.trainable else ())]):
            graph.add_to_collection(key, variable)
        return variable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Args:
            *args: its arguments.
            **kwargs: its keyword arguments.
        """
        assert self._fn is not None
        return self.call_with_variable_creator_scope(self._fn)(*args, **kwargs)

    def call_with_variable_creator_scope(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose variables are stored here.

        Args:
            fn: the function.
        """

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with variable_creator_scope(self.variable_creator_scope):
                return fn(*args, **kwargs)

        return wrapped


class WrappedFunction(ConcreteFunction):
    """A function from which parts can be pruned.

    Args:
        fn_graph: its graph.
        variable_holder: its variables.
        attrs: attributes of the function in the library.
        signature: the signature it was traced with.
    """

    def __init__(
        self, fn_graph: FuncGraph, variable_holder: VariableHolder, attrs: Any = None, signature: Any = None
    ) -> None:
        super().__init__(fn_graph, attrs)
        self._variable_holder = variable_holder
        self._signature = signature

    @property
    def variables(self) -> list[Any]:
        """The variables that it created."""
        return self._variable_holder.variables

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable ones of these variables."""
        return [variable for variable in self.variables if variable.trainable]

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> WrappedFunction:
        """Return a function of a part of this function's graph.

        Args:
            feeds: its arguments: tensors of this graph, or their names.
            fetches: its results: tensors and operations in any structure, or their names.
            name: its name; None for ``"pruned"``.
            input_signature: specs for its arguments.

        Raises:
            ValueError: an element is not a tensor, or is in another graph.
        """
        graph = self.graph
        feed_tensors = [graph.as_graph_element(one) for one in nest.flatten(feeds, opens_slices=True)]
        if not all(isinstance(one, Tensor) for one in feed_tensors):
            raise ValueError("Feeds must be tensors.")
        feed_tensors = [one for one in feed_tensors if one not in graph.internal_captures]
        nested = nest.map_structure(
            lambda one: one if nest.items(one, opens_slices=True) else self._element(one), fetches
        )
        flat = nest.flatten(nested, opens_slices=True)
        pruned, copies = _copy_between(graph, feed_tensors, flat, name or "pruned")
        pruned.structured_outputs = nest.pack_sequence_as(
            nested, [copies.get(one) if isinstance(one, Tensor) else None for one in flat], opens_slices=True
        )
        pruned.structured_input_signature = input_signature
        return WrappedFunction(pruned, self._variable_holder)

    def _element(self, fetch: Any) -> Any:
        if isinstance(fetch, (Tensor, Operation)) and fetch.graph is not self.graph:
            raise ValueError(
                "Can only prune function whose feeds and fetches are from this graph"
                f" ({self.graph}). Input {fetch} is from graph {fetch.graph}"
            )
        return self.graph.as_graph_element(fetch)


def _copy_between(
    graph: FuncGraph, feeds: Sequence[Tensor], fetches: Sequence[Any], name: str
) -> tuple[FuncGraph, dict[Tensor, Tensor]]:
    """Return a copy of the graph between tensors of a function, and the copies of the fetched tensors."""
    sources = {tensor.op: tensor for tensor in (*feeds, *graph.internal_captures)}
    needed: set[Operation] = set(sources)
    pending = [fetch.op if isinstance(fetch, Tensor) else fetch for fetch in fetches]
    while pending:
        op = pending.pop()
        if op not in needed:
            needed.add(op)
            pending += [*(tensor.op for tensor in op.inputs), *op.control_inputs]
    message = GraphDef(versions=version_def(graph))
    for op in graph.get_operations():
        if op in sources:
            node = message.node.add(name=op.name, op="Placeholder")
            encode_attr(sources[op].dtype.base_dtype, node.attr["dtype"])
            encode_attr(sources[op].shape, node.attr["shape"])
        elif op in needed:
            node_def(op, message.node.add())
    with graph.outer_graph.as_default():
        copy = FuncGraph(name, collections={})
    with copy.as_default():
        import_graph_def(message, name="")
    copy.args = [copy.get_tensor_by_name(tensor.name) for tensor in feeds]
    copy.captured = {outer: copy.get_tensor_by_name(inner.name) for outer, inner in graph.captured.items()}
    copies = {one: copy.get_tensor_by_name(one.name) for one in fetches if isinstance(one, Tensor)}
    copy.outputs = [copies[one] for one in fetches if isinstance(one, Tensor)]
    copy.control_outputs = [
        copy.get_operation_by_name(one.name) for one in fetches if isinstance(one, Operation)
    ]
    return copy, copies


class WrappedGraph:
    """A graph in which several functions are traced; they share variables and collections.

    Args:
        variable_holder: stores the variables; None for a new holder, which shares them by name.
        name: name of the graph.
        collections: initial collections, or None.
    """

    def __init__(
        self,
        variable_holder: VariableHolder | None = None,
        name: str = "wrapped_function_graph",
        collections: Any = None,
    ) -> None:
        self._variable_holder = variable_holder or VariableHolder(share_variables=True)
        self.graph = FuncGraph(name, collections={} if collections is None else collections)
        self._functions: dict[str, WrappedFunction] = {}

    @property
    def functions(self) -> dict[str, WrappedFunction]:
        """The functions, by their names."""
        return self._functions

    @property
    def variables(self) -> list[Any]:
        """The variables that they created."""
        return self._variable_holder.variables

    def wrap_function(
        self, fn: Callable[..., Any], signature: Any, name: str | None = None
    ) -> WrappedFunction:
        """Trace a function in this graph.

        Args:
            fn: the function; it returns tensors and operations in any structure.
            signature: a ``TensorSpec`` for each tensor argument; other arguments unchanged.
            name: its name; None for the Python function's.
        """
        returned: list[Any] = []

        def without_operations(*args: Any) -> Any:
            returned.append(self._variable_holder.call_with_variable_creator_scope(fn)(*args))
            return nest.map_structure(lambda one: None if isinstance(one, Operation) else one, returned[0])

        before = len(self.graph.args)
        func_graph_from_py_func(
            name or fn.__name__,
            without_operations,
            (),
            None,
            signature=signature,
            add_control_dependencies=False,
            func_graph=self.graph,
        )
        arguments = self.graph.args[before:]
        flat = nest.flatten(self.graph.structured_outputs, opens_slices=True)
        ops = nest.flatten(returned[0], opens_slices=True)
        fetches = nest.pack_sequence_as(
            returned[0],
            [op if isinstance(op, Operation) else one for one, op in zip(flat, ops, strict=True)],
            opens_slices=True,
        )
        whole = WrappedFunction(self.graph, self._variable_holder)
        pruned = whole.prune(arguments, fetches, name or fn.__name__, self.graph.structured_input_signature)
        self._functions[name or fn.__name__] = pruned
        return pruned


def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> WrappedFunction:
    """Return a function in TensorFlow 1 style: traced once, and only the nodes that its results need run.

    >>> import gpuplace as tf
    >>> double = wrap_function(lambda x: x * 2.0, [tf.TensorSpec([], tf.float32)])
    >>> float(tf.Session().run(double(tf.constant(4.0))))
    8.0

    Args:
        fn: takes tensors and other values; it may create variables.
        signature: a ``TensorSpec`` for each tensor argument; other arguments unchanged.
        name: part of its name in the library, or None.

    Returns:
        The function, which takes tensors; its method ``prune`` extracts parts.

    Raises:
        TypeError: ``fn`` returns a value that is not a tensor.
    """
    holder = VariableHolder(fn)
    graph = func_graph_from_py_func(
        "wrapped_function" if name is None else f"wrapped_function_{name}",
        holder,
        (),
        None,
        signature=signature,
        add_control_dependencies=False,
        collections={},
    )
    return WrappedFunction(graph, holder, signature=signature)


def function_from_graph_def(graph_def: Any, inputs: TensorLike, outputs: Any) -> WrappedFunction:
    """Return a function of the nodes of a graph.

    Args:
        graph_def: the ``GraphDef``.
        inputs: names of its argument tensors, in any structure.
        outputs: names of its result tensors.
    """

    def imported() -> None:
        import_graph_def(graph_def, name="")

    wrapped = wrap_function(imported, [])
    return wrapped.prune(
        nest.map_structure(wrapped.graph.as_graph_element, inputs),
        nest.map_structure(wrapped.graph.as_graph_element, outputs),
    )
