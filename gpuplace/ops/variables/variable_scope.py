"""``get_variable`` and variable scopes: sharing variables by name.

>>> with variable_scope("conv1"):
...     weights = get_variable("weights", shape=[3, 3, 1, 8])
>>> with variable_scope("conv1", reuse=True):
...     get_variable("weights") is weights
True
>>> weights.name
'conv1/weights:0'

A variable scope also opens a name scope of the same name, made unique; variables are named by the variable scope alone.

Source: tensorflow/python/ops/variable_scope.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from gpuplace.dtypes import as_dtype, float32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, graph_of
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.traced_graph import TracedGraph
from gpuplace.ops.variables.variable_store import ReuseMode, VariableStore
from gpuplace.ops.variables.variables import (
    SCOPE_KEY,
    VariableAggregation,
    VariableSynchronization,
    trainable_with,
)
from gpuplace.shapes import as_shape
from gpuplace.typing import DeviceLike, DTypeLike, Function, InitializerLike, ShapeLike, TensorLike

__all__ = [
    "AUTO_REUSE",
    "VariableScope",
    "create_partitioned_variables",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "no_regularizer",
    "variable_creator_scope",
    "variable_op_scope",
    "variable_scope",
]

AUTO_REUSE = ReuseMode.AUTO_REUSE
_STORE_KEY = ("__variable_store",)
Store = TypeVar("Store")
_INHERITED = (
    "initializer",
    "regularizer",
    "caching_device",
    "partitioner",
    "custom_getter",
    "dtype",
    "use_resource",
)


def no_regularizer(_: Any) -> None:
    """A regularizer that does nothing: ends one that would be inherited."""


class VariableScope:
    """What ``get_variable`` uses where its arguments leave something out; each argument is an attribute too.

    Args:
        reuse: False or None to make variables, True to share existing ones, ``AUTO_REUSE`` for both.
        name: prefix of the variables' names, without a slash at the end.
        initializer: default initializer; None: Glorot's uniform one.
        regularizer: default regularizer, a function from a variable to a loss.
        caching_device: where variables are read for their consumers, a device name or function.
        partitioner: default partitioner, a function from ``shape`` and ``dtype`` to the number of parts a dimension.
        custom_getter: the function through which variables are got.
        name_scope: the name scope that was opened with it; the attribute is ``original_name_scope``.
        dtype: default element type.
        use_resource: whether to make resource variables; None: as ``enable_resource_variables`` says.
        constraint: default constraint.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: InitializerLike | None = None,
        regularizer: Function | None = None,
        caching_device: DeviceLike = None,
        partitioner: Function | None = None,
        custom_getter: Function | None = None,
        name_scope: str = "",
        dtype: DTypeLike = float32,
        use_resource: bool | None = None,
        constraint: Function | None = None,
    ) -> None:
        self.name = name
        self.original_name_scope = name_scope
        self.reuse = reuse
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.partitioner = partitioner
        self.custom_getter = custom_getter
        self.dtype = dtype
        self.use_resource = use_resource
        self.constraint = constraint

    def reuse_variables(self) -> None:
        """Shares existing variables from now on."""
        self.reuse = True

    def set_initializer(self, initializer: InitializerLike) -> None:
        """Sets the default initializer.

        Args:
            initializer: a function from shape and dtype to a tensor, or None.
        """
        self.initializer = initializer

    def set_regularizer(self, regularizer: Function) -> None:
        """Sets the default regularizer.

        Args:
            regularizer: a function from a variable to a scalar loss, or None.
        """
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: DeviceLike) -> None:
        """Sets the default caching device.

        Args:
            caching_device: a device name or function, or None.
        """
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Function) -> None:
        """Sets the default partitioner.

        Args:
            partitioner: a function from ``shape`` and ``dtype`` to the number of parts a dimension, or None.
        """
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Function) -> None:
        """Sets the function through which variables are got.

        Args:
            custom_getter: a function that is called with ``getter`` and all arguments of ``get_variable``, or None.
        """
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the default element type.

        Args:
            dtype: the type.
        """
        self.dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Sets whether variables are resource variables.

        Args:
            use_resource: True or False; None: as ``enable_resource_variables`` says.
        """
        self.use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """The items of a collection whose names lie in this scope.

        Args:
            name: name of the collection, as in ``GraphKeys``.

        Returns:
            A list.
        """
        return get_default_graph().get_collection(name, self.name + "/" if self.name else "")

    def trainable_variables(self) -> list[Any]:
        """The trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """The global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Function | None = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: DeviceLike = None,
        partitioner: Function | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Function | None = None,
        constraint: Function | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """A variable of this scope from ``var_store``; see ``get_variable``.

        Args:
            var_store: the variables of a graph.
            name: its name within the scope.
            shape: its shape; needed to make one, unless ``initializer`` is a value.
            dtype: its element type; None: the scope's.
            initializer: an initializer, or a value; None: the scope's.
            regularizer: a function from the variable to a loss; None: the scope's.
            reuse: whether to share; None: as the scope says.
            trainable: collect it among the trainable variables; None: True.
            collections: list of names of collections; None: the global variables.
            caching_device: where to read it for its consumers; None: as the scope says.
            partitioner: into how many parts each dimension is cut; None: as the scope says.
            validate_shape: require a known shape of the initial value.
            use_resource: make a resource variable; None: as the scope says.
            custom_getter: a function to call instead; None: the scope's.
            constraint: applied by optimizers after an update; None: the scope's.
            synchronization: kept.
            aggregation: kept.

        Returns:
            The variable.

        Raises:
            ValueError: as for ``get_variable``, or ``initializer`` is a value of another type than ``dtype``.
        """

        def first(given: Any, default: Any) -> Any:
            return default if given is None else given

        with get_default_graph().name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                found = convert_to_tensor(initializer).dtype.base_dtype
                if found != as_dtype(dtype):
                    raise ValueError(
                        f"Initializer type '{found}' and explicit dtype '{as_dtype(dtype)}' don't match."
                    )
            return var_store.get_variable(
                f"{self.name}/{name}" if self.name else name,
                shape=shape,
                dtype=first(dtype, self.dtype),
                initializer=first(initializer, self.initializer),
                reuse=first(reuse, self.reuse),
                custom_getter=first(custom_getter, self.custom_getter),
                regularizer=first(regularizer, self.regularizer),
                trainable=trainable,
                collections=collections,
                caching_device=first(caching_device, self.caching_device),
                partitioner=first(partitioner, self.partitioner),
                validate_shape=validate_shape,
                use_resource=first(use_resource, self.use_resource),
                constraint=first(constraint, self.constraint),
                synchronization=synchronization,
                aggregation=aggregation,
            )


class _ScopeStore(threading.local):
    """The current variable scope of a graph in one thread, and how often each name was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.variable_scope = VariableScope(False)
        self.counts: dict[str, int] = {}
        self._below: dict[str, set[str]] = {}
        """Name of a scope to all names that were ever opened below it."""

    def count(self, name: str) -> None:
        """Notes that a scope is opened."""
        self.counts[name] = self.counts.get(name, 0) + 1
        at = name.find("/")
        while at >= 0:
            self._below.setdefault(name[:at], set()).add(name)
            at = name.find("/", at + 1)

    def unique(self, prefix: str) -> str:
        """``prefix``, or ``prefix_1``, ``prefix_2``, ... where the current scope has such a scope open already."""
        outer = self.variable_scope.name
        name = f"{outer}/{prefix}" if outer else prefix
        if not self.counts.get(name):
            return prefix
        index = 1
        while self.counts.get(f"{name}_{index}"):
            index += 1
        return f"{prefix}_{index}"

    def close_below(self, name: str) -> None:
        """Makes the names below a scope that ends available again."""
        for known in self._below.get(name, ()):
            self.counts[known] = 0


def _store(key: tuple[str], make: type[Store]) -> Store:
    """What the default graph keeps under a key; made at the first call."""
    graph = get_default_graph()
    stores: list[Store] = graph.get_collection_ref(key)
    if not stores and isinstance(graph, TracedGraph):  # functions share that of the graph around them
        with graph.outer.as_default():
            stores.append(_store(key, make))
    if not stores:
        stores.append(make())
    return stores[0]


def _scope_store() -> _ScopeStore:
    return _store(SCOPE_KEY, _ScopeStore)


def _get_default_variable_store() -> VariableStore:
    """What keeps the variables of the default graph that ``get_variable`` makes."""
    return _store(_STORE_KEY, VariableStore)


def variables_by_name() -> dict[str, Any]:
    """The variables of the default graph that ``get_variable`` made, by their full name."""
    return _get_default_variable_store().variables


def get_variable_scope() -> VariableScope:
    """The current variable scope of the default graph, a ``VariableScope``."""
    return _scope_store().variable_scope


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Function | None = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: DeviceLike = None,
    partitioner: Function | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Function | None = None,
    constraint: Function | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """An existing variable of the current variable scope, or a new one.

    Args:
        name: its name within the scope.
        shape: its shape; needed to make one, unless ``initializer`` is a value.
        dtype: its element type; None: the scope's, float32 without one.
        initializer: a function from shape and dtype to a tensor, or a value; None: the scope's, and without one
            Glorot's uniform one, for integers, bools and strings zeros.
        regularizer: a function from the variable to a scalar loss, collected among the regularization losses.
        trainable: collect it among the trainable variables; None: True.
        collections: list of names of collections; None: the global variables.
        caching_device: where to read it for its consumers, a device name or function.
        partitioner: a function from ``shape`` and ``dtype`` to the number of parts a dimension, such as
            ``fixed_size_partitioner``; the variable is then stored as several; None: as the scope says.
        validate_shape: require a known shape of the initial value.
        use_resource: make a resource variable; None: as the scope says.
        custom_getter: a function that is called with ``getter`` and all arguments instead.
        constraint: a function from the value to a value, applied by optimizers after an update.
        synchronization: kept.
        aggregation: kept.

    Returns:
        The variable, a ``Variable`` of either class; with a partitioner a ``PartitionedVariable``, which has the parts.

    Raises:
        ValueError: it exists and the scope does not share variables; it does not exist and the scope only shares; shape
            or type differ from the existing one's; there is no known shape to make one of; a shape is given beside a
            value; or the partitioner's answer does not fit the shape.
    """
    return get_variable_scope().get_variable(
        _get_default_variable_store(),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: InitializerLike | None,
    dtype: DTypeLike = float32,
    trainable: bool | None = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """The parts of a partitioned variable: ``get_variable`` with a partitioner in a scope of its own.

    >>> [part.name for part in create_partitioned_variables([4, 3], [2, 1], None, name="table")]
    ['table/part_0:0', 'table/part_1:0']

    Args:
        shape: the sizes of the whole.
        slicing: the number of parts a dimension, one at most above 1.
        initializer: a function from shape and dtype to a tensor, or the value of the whole; None: the scope's.
        dtype: element type.
        trainable: collect the parts among the trainable variables; None: True.
        collections: list of names of collections; None: the global variables.
        name: the scope; None: ``PartitionedVariable``, made unique.
        reuse: whether to share; None: as the outer scope says.

    Returns:
        A list of variables.

    Raises:
        ValueError: ``slicing`` does not fit ``shape``, which needs a dimension at least; or as for ``get_variable``.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: "
            f"shape: {shape}, slicing: {slicing}"
        )
    if not shape:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")
    with (
        variable_scope(name, "PartitionedVariable", reuse=reuse) as scope,
        get_default_graph().name_scope(None),
    ):
        return list(
            _get_default_variable_store().get_partitioned(
                scope.name,
                as_shape(shape),
                scope.initializer if initializer is None else initializer,
                lambda **_: slicing,
                dtype=as_dtype(dtype),
                reuse=scope.reuse,
                regularizer=scope.regularizer,
                trainable=trainable_with(VariableSynchronization.AUTO, trainable),
                collections=collections,
                caching_device=scope.caching_device,
                use_resource=scope.use_resource,
                constraint=scope.constraint,
            )
        )


def get_local_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Function | None = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: DeviceLike = None,
    partitioner: Function | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Function | None = None,
    constraint: Function | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """``get_variable`` for a local variable, which is never trainable.

    Args:
        name: its name within the scope.
        shape: its shape; needed to make one, unless ``initializer`` is a value.
        dtype: its element type; None: the scope's.
        initializer: as for ``get_variable``.
        regularizer: as for ``get_variable``.
        trainable: ignored.
        collections: list of names of collections; the local variables come on top.
        caching_device: as for ``get_variable``.
        partitioner: as for ``get_variable``.
        validate_shape: as for ``get_variable``.
        use_resource: as for ``get_variable``.
        custom_getter: as for ``get_variable``.
        constraint: as for ``get_variable``.
        synchronization: as for ``get_variable``.
        aggregation: as for ``get_variable``.

    Returns:
        The variable.

    Raises:
        ValueError: as for ``get_variable``.
    """
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: TensorLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Function | None = None,
    caching_device: DeviceLike = None,
    partitioner: Function | None = None,
    custom_getter: Function | None = None,
    reuse: Any = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Function | None = None,
    auxiliary_name_scope: bool = True,
) -> Any:
    """Opens a variable scope, and a name scope with it.

    Args:
        name_or_scope: its name, or a scope to enter again, or None to use ``default_name``.
        default_name: the name, made unique among open scopes, where ``name_or_scope`` is None.
        values: tensors that have to be of one graph; None: the default graph counts.
        initializer: default initializer of the variables inside; None: the outer scope's, as for all defaults that
            follow.
        regularizer: default regularizer.
        caching_device: default caching device.
        partitioner: default partitioner, a function from ``shape`` and ``dtype`` to the number of parts a dimension.
        custom_getter: default custom getter; wraps the outer scope's.
        reuse: True to share existing variables, ``AUTO_REUSE`` to share or make them; None or False inherits.
        dtype: default element type.
        use_resource: make resource variables.
        constraint: default constraint, which is not inherited.
        auxiliary_name_scope: open the name scope too.

    Returns:
        A context manager that gives the ``VariableScope``.

    Raises:
        ValueError: only ``default_name`` is given together with ``reuse``.
        TypeError: neither name is given, or ``name_or_scope`` is neither a name nor a scope.
    """
    if default_name is None and name_or_scope is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
        raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
    if not isinstance(auxiliary_name_scope, bool):
        raise TypeError(
            f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}"
        )
    if name_or_scope is None and reuse:
        raise ValueError("reuse=True cannot be used without a name_or_scope")
    settings = {
        "initializer": initializer,
        "regularizer": regularizer,
        "caching_device": caching_device,
        "partitioner": partitioner,
        "custom_getter": custom_getter,
        "dtype": dtype,
        "use_resource": use_resource,
    }
    return _opened(
        name_or_scope, default_name, values, reuse or None, constraint, settings, auxiliary_name_scope
    )


@contextlib.contextmanager
def _opened(
    name_or_scope: Any,
    default_name: str | None,
    values: Any,
    reuse: Any,
    constraint: Any,
    settings: dict[str, Any],
    auxiliary_name_scope: bool,
) -> Iterator[VariableScope]:
    graph = graph_of(values or ())
    with contextlib.ExitStack() as stack:
        stack.enter_context(graph.as_default())
        is_scope = isinstance(name_or_scope, VariableScope)
        wanted = (
            name_or_scope.name.split("/")[-1]
            if is_scope
            else (default_name if name_or_scope is None else name_or_scope)
        )
        opened: str | None = None
        if auxiliary_name_scope:
            if wanted:
                opened = stack.enter_context(graph.name_scope(wanted))
        else:
            opened = (graph.get_name_scope() + "/") if graph.get_name_scope() else ""
        store = _scope_store()
        if is_scope:
            original = name_or_scope.original_name_scope
        elif opened is None:
            original = name_or_scope
        else:
            original = opened
        name = store.unique(str(default_name)) if name_or_scope is None else name_or_scope
        yield stack.enter_context(_pure(store, name, original, reuse, constraint, settings))


@contextlib.contextmanager
def _pure(
    store: _ScopeStore,
    name_or_scope: Any,
    name_scope: str,
    reuse: Any,
    constraint: Any,
    settings: dict[str, Any],
) -> Iterator[VariableScope]:
    """A variable scope without a name scope."""
    outer = store.variable_scope
    is_scope = isinstance(name_or_scope, VariableScope)
    base = name_or_scope if is_scope else outer
    if is_scope:
        name = base.name
    else:
        name = f"{outer.name}/{name_or_scope}" if outer.name else name_or_scope
    scope = VariableScope(reuse or base.reuse, name, name_scope=name_scope, constraint=constraint)
    for key in _INHERITED:
        value = settings[key]
        if key == "custom_getter" and value is not None and base.custom_getter is not None:
            value = _nested_getter(value, base.custom_getter)
        setattr(scope, key, getattr(base, key) if value is None else value)
    counts = None
    store.count(name)
    if is_scope:
        counts = dict(store.counts)
    store.variable_scope = scope
    try:
        yield scope
        if store.variable_scope is not scope:
            raise RuntimeError("Improper nesting of variable_scope.")
    finally:
        if counts is not None:
            store.counts = counts
        else:
            store.close_below(name)
        store.variable_scope = outer


def _nested_getter(inner: Callable[..., Any], outer: Callable[..., Any]) -> Callable[..., Any]:
    """A getter that calls ``inner``, whose ``getter`` is ``outer`` around the true one."""

    @functools.wraps(inner)
    def getter(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return getter


def variable_op_scope(
    values: TensorLike, name_or_scope: Any, default_name: str | None = None, **kwargs: Any
) -> Any:
    """The old form of ``variable_scope``, with ``values`` first.

    Args:
        values: tensors that have to be of one graph.
        name_or_scope: as for ``variable_scope``.
        default_name: as for ``variable_scope``.
        **kwargs: its other arguments.

    Returns:
        A context manager that gives the ``VariableScope``.

    Raises:
        ValueError: as for ``variable_scope``.
        TypeError: as for ``variable_scope``.
    """
    return variable_scope(name_or_scope, default_name=default_name, values=values, **kwargs)


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Function, priority: int = 100) -> Iterator[None]:
    """Makes the variables of the ``with`` block through a function, those of ``get_variable`` too.

    >>> def untrained(next_creator, **kwargs):
    ...     return next_creator(**{**kwargs, "trainable": False})
    >>> with variable_creator_scope(untrained):
    ...     get_variable("frozen", [2]).trainable
    False

    Args:
        variable_creator: called with ``next_creator`` and, by keyword, all arguments of ``Variable``; returns the
            variable, which ``next_creator(**kwargs)`` makes.
        priority: creators with a higher one are called first; of equal ones, the innermost.

    Raises:
        RuntimeError: the block ends while one that began within it has not.
    """
    graph = get_default_graph()
    outer = graph.scopes.of_thread.variable_creators
    inner = tuple(sorted([*outer, (priority, variable_creator)], key=lambda one: one[0]))
    graph.scopes.of_thread.variable_creators = inner
    try:
        yield
    finally:
        if graph.scopes.of_thread.variable_creators is not inner:
            raise RuntimeError("Exiting variable_creator_scope without proper nesting.")
        graph.scopes.of_thread.variable_creators = outer
