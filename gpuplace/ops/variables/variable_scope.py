"""``get_variable`` and variable scopes: sharing variables by name.

>>> with variable_scope("conv1"):
...     weights = get_variable("weights", shape=[3, 3, 1, 8])
>>> with variable_scope("conv1", reuse=True):
...     get_variable("weights") is weights
True
>>> weights.name
'conv1/weights:0'

A variable scope also opens a name scope of the same name, made unique; variables are named after the variable scope
only.

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


def no_regularizer(_: object) -> None:
    """A regularizer that does nothing, to override an inherited one."""


class VariableScope:
    """Defaults for the arguments of ``get_variable``; each argument is also an attribute.

    Args:
        reuse: False or None to make variables, True to share existing ones, ``AUTO_REUSE`` for either.
        name: prefix of the variables' names, without a trailing slash.
        initializer: default initializer; None: Glorot uniform.
        regularizer: default regularizer, a function from a variable to a loss.
        caching_device: default device, a name or function, on which variables are cached for consumers.
        partitioner: default partitioner, a function from ``shape`` and ``dtype`` to the number of parts per dimension.
        custom_getter: a function to call instead of the default getter.
        name_scope: the name scope opened with the variable scope; the attribute is ``original_name_scope``.
        dtype: default dtype.
        use_resource: whether to make resource variables; None: the global default, see ``enable_resource_variables``.
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
        """Share existing variables from now on."""
        self.reuse = True

    def set_initializer(self, initializer: InitializerLike) -> None:
        """Set the default initializer.

        Args:
            initializer: a function from shape and dtype to a tensor, or None.
        """
        self.initializer = initializer

    def set_regularizer(self, regularizer: Function) -> None:
        """Set the default regularizer.

        Args:
            regularizer: a function from a variable to a scalar loss, or None.
        """
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: DeviceLike) -> None:
        """Set the default caching device.

        Args:
            caching_device: a device name or function, or None.
        """
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Function) -> None:
        """Set the default partitioner.

        Args:
            partitioner: a function from ``shape`` and ``dtype`` to the number of parts in each dimension, or None.
        """
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Function) -> None:
        """Set a function to call instead of the default getter.

        Args:
            custom_getter: a function of ``getter`` and all arguments of ``get_variable``, or None.
        """
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Set the default dtype.

        Args:
            dtype: the dtype.
        """
        self.dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Set whether variables are resource variables.

        Args:
            use_resource: True or False; None: the global default, see ``enable_resource_variables``.
        """
        self.use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """Return the items of a collection whose names are in this scope.

        Args:
            name: name of the collection, as in ``GraphKeys``.

        Returns:
            A list.
        """
        return get_default_graph().get_collection(name, self.name + "/" if self.name else "")

    def trainable_variables(self) -> list[Any]:
        """Return the trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Return the global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Return the local variables of this scope."""
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
        """Return a variable of this scope from ``var_store``; see ``get_variable``.

        Args:
            var_store: the graph's variables.
            name: its name within the scope.
            shape: its shape; required for a new variable, unless ``initializer`` is a value.
            dtype: its dtype; None: the scope's.
            initializer: an initializer, or a value; None: the scope's.
            regularizer: a function from the variable to a loss; None: the scope's.
            reuse: whether to share existing variables; None: the scope's setting.
            trainable: whether to add the variable to the trainable variables; None: True.
            collections: list of collection names; None: the global variables.
            caching_device: device on which to cache the value for consumers; None: the scope's.
            partitioner: a function that returns the number of parts in each dimension; None: the scope's.
            validate_shape: whether the initial value must have a static shape.
            use_resource: whether to make a resource variable; None: the scope's setting.
            custom_getter: a function to call instead of the default getter; None: the scope's.
            constraint: a function that optimizers apply to the value after an update; None: the scope's.
            synchronization: stored in the variable.
            aggregation: stored in the variable.

        Returns:
            The variable.

        Raises:
            ValueError: as for ``get_variable``, or ``initializer`` is a value of another dtype than ``dtype``.
        """

        def first(value: object, default: object) -> Any:
            return default if value is None else value

        with get_default_graph().name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                value_type = convert_to_tensor(initializer).dtype.base_dtype
                if value_type != as_dtype(dtype):
                    raise ValueError(
                        f"Initializer type '{value_type}' and explicit dtype '{as_dtype(dtype)}' don't match."
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
    """The current variable scope of a graph in one thread, and how often each scope name was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.variable_scope = VariableScope(False)
        self.counts: dict[str, int] = {}
        self._below: dict[str, set[str]] = {}
        """Name of a scope -> all names ever opened below it."""

    def count(self, name: str) -> None:
        """Count a scope that is opened."""
        self.counts[name] = self.counts.get(name, 0) + 1
        at = name.find("/")
        while at >= 0:
            self._below.setdefault(name[:at], set()).add(name)
            at = name.find("/", at + 1)

    def unique(self, prefix: str) -> str:
        """Return ``prefix``, or ``prefix_1``, ``prefix_2``, ... if the current scope has such a scope open."""
        outer = self.variable_scope.name
        name = f"{outer}/{prefix}" if outer else prefix
        if not self.counts.get(name):
            return prefix
        index = 1
        while self.counts.get(f"{name}_{index}"):
            index += 1
        return f"{prefix}_{index}"

    def close_below(self, name: str) -> None:
        """Release the names below a scope that ends."""
        for scope in self._below.get(name, ()):
            self.counts[scope] = 0


def _store(key: tuple[str], make: type[Store]) -> Store:
    """Return the object that the default graph keeps under a key; make it at the first call."""
    graph = get_default_graph()
    stores: list[Store] = graph.get_collection_ref(key)
    if not stores and isinstance(graph, TracedGraph):  # functions share the outer graph's
        with graph.outer.as_default():
            stores.append(_store(key, make))
    if not stores:
        stores.append(make())
    return stores[0]


def _scope_store() -> _ScopeStore:
    return _store(SCOPE_KEY, _ScopeStore)


def _get_default_variable_store() -> VariableStore:
    """Return the default graph's store of variables made by ``get_variable``."""
    return _store(_STORE_KEY, VariableStore)


def variables_by_name() -> dict[str, Any]:
    """Return the default graph's variables made by ``get_variable``, by full name."""
    return _get_default_variable_store().variables


def get_variable_scope() -> VariableScope:
    """Return the current variable scope of the default graph."""
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
    """Return an existing variable of the current variable scope, or a new one.

    Args:
        name: its name within the scope.
        shape: its shape; required for a new variable, unless ``initializer`` is a value.
        dtype: its dtype; None: the scope's, by default float32.
        initializer: a function from shape and dtype to a tensor, or a value; None: the scope's, by default Glorot
            uniform, or zeros for integers, bools and strings.
        regularizer: a function from the variable to a scalar loss, which is added to the regularization losses.
        trainable: whether to add the variable to the trainable variables; None: True.
        collections: list of collection names; None: the global variables.
        caching_device: device on which to cache the value for consumers, a name or function.
        partitioner: a function from ``shape`` and ``dtype`` to the number of parts in each dimension, such as
            ``fixed_size_partitioner``; the variable is then stored in parts. None: the scope's.
        validate_shape: whether the initial value must have a static shape.
        use_resource: whether to make a resource variable; None: the scope's setting.
        custom_getter: a function of ``getter`` and all arguments to call instead of the default getter.
        constraint: a function that optimizers apply to the value after an update.
        synchronization: stored in the variable.
        aggregation: stored in the variable.

    Returns:
        A reference or resource ``Variable``; with a partitioner, a ``PartitionedVariable`` with the parts.

    Raises:
        ValueError: the variable exists and the scope does not share; it does not exist and the scope only shares; its
            shape or dtype differs from the existing one's; a new variable has no static shape; both a shape and an
            initial value are given; or the partitioner's result does not match the shape.
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
    """Return the parts of a partitioned variable: ``get_variable`` with a partitioner in a separate scope.

    >>> [part.name for part in create_partitioned_variables([4, 3], [2, 1], None, name="table")]
    ['table/part_0:0', 'table/part_1:0']

    Args:
        shape: the sizes of the whole variable.
        slicing: the number of parts in each dimension, at most one of them above 1.
        initializer: a function from shape and dtype to a tensor, or the whole value; None: the scope's.
        dtype: the dtype.
        trainable: whether to add the parts to the trainable variables; None: True.
        collections: list of collection names; None: the global variables.
        name: the scope; None: ``PartitionedVariable``, made unique.
        reuse: whether to share existing variables; None: the outer scope's setting.

    Returns:
        A list of variables.

    Raises:
        ValueError: ``slicing`` does not match ``shape``, the shape has no dimensions, or as for ``get_variable``.
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
        shape: its shape; required for a new variable, unless ``initializer`` is a value.
        dtype: its dtype; None: the scope's.
        initializer: as for ``get_variable``.
        regularizer: as for ``get_variable``.
        trainable: ignored.
        collections: list of collection names, in addition to the local variables.
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
    """Open a variable scope and a name scope.

    Args:
        name_or_scope: a name, a scope to reopen, or None to use ``default_name``.
        default_name: the name, made unique among open scopes, if ``name_or_scope`` is None.
        values: tensors that must be in one graph; None: use the default graph.
        initializer: default initializer of the variables inside; None: inherit from the outer scope, as for all
            defaults below.
        regularizer: default regularizer.
        caching_device: default caching device.
        partitioner: default partitioner, a function from ``shape`` and ``dtype`` to the number of parts per dimension.
        custom_getter: default custom getter; wraps the outer scope's.
        reuse: True to share existing variables, ``AUTO_REUSE`` to share or make them; None or False: inherit.
        dtype: default dtype.
        use_resource: whether to make resource variables.
        constraint: default constraint, which is not inherited.
        auxiliary_name_scope: whether to open the name scope.

    Returns:
        A context manager that returns the ``VariableScope``.

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
        requested = (
            name_or_scope.name.split("/")[-1]
            if is_scope
            else (default_name if name_or_scope is None else name_or_scope)
        )
        opened: str | None = None
        if auxiliary_name_scope:
            if requested:
                opened = stack.enter_context(graph.name_scope(requested))
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
    """Open a variable scope without a name scope."""
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
    """Return a getter that calls ``inner`` with ``outer`` around the original getter as its ``getter``."""

    @functools.wraps(inner)
    def getter(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return getter


def variable_op_scope(
    values: TensorLike, name_or_scope: Any, default_name: str | None = None, **kwargs: Any
) -> Any:
    """Older form of ``variable_scope``, with ``values`` first.

    Args:
        values: tensors that must be in one graph.
        name_or_scope: as for ``variable_scope``.
        default_name: as for ``variable_scope``.
        **kwargs: its other arguments.

    Returns:
        A context manager that returns the ``VariableScope``.

    Raises:
        ValueError: as for ``variable_scope``.
        TypeError: as for ``variable_scope``.
    """
    return variable_scope(name_or_scope, default_name=default_name, values=values, **kwargs)


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Function, priority: int = 100) -> Iterator[None]:
    """Make variables in the ``with`` block through a function, including those of ``get_variable``.

    >>> def untrained(next_creator, **kwargs):
    ...     return next_creator(**{**kwargs, "trainable": False})
    >>> with variable_creator_scope(untrained):
    ...     get_variable("frozen", [2]).trainable
    False

    Args:
        variable_creator: a function of ``next_creator`` and, by keyword, all arguments of ``Variable``; it returns a
            variable, usually from ``next_creator(**kwargs)``.
        priority: creators with a higher priority are called first; of equal ones, the innermost.

    Raises:
        RuntimeError: the block ends before a creator scope opened within it.
    """
    graph = get_default_graph()
    outer = graph.scopes.of_thread.variable_creators
    inner = tuple(sorted([*outer, (priority, variable_creator)], key=lambda item: item[0]))
    graph.scopes.of_thread.variable_creators = inner
    try:
        yield
    finally:
        if graph.scopes.of_thread.variable_creators is not inner:
            raise RuntimeError("Exiting variable_creator_scope without proper nesting.")
        graph.scopes.of_thread.variable_creators = outer
