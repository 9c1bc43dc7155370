"""``tf.Variable`` as in TensorFlow 1.15's graph mode: a reference variable by default.

    v = tf.Variable([1.0, 2.0], name="v")           v/initial_value --> v/Assign
                                                                            |
                                                    v (VariableV2) ---------+--> v/read --> consumers of v

``use_resource=True`` makes a ``ResourceVariable`` (``resource_variables``) instead. A variable can be used
in place of a tensor.

Source: tensorflow/python/ops/variables.py, release 1.15.
"""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from gpuplace.display import above
from gpuplace.dtypes import DType
from gpuplace.graph.convert import (
    convert_to_tensor,
    get_default_graph,
    name_scope,
    register_tensor_conversion_function,
)
from gpuplace.graph.graph import Graph, name_from_scope_name
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import CLASS_ATTR, Operation, Reference, Tensor, context_of
from gpuplace.graph.scopes import OuterDevices, attr_scope
from gpuplace.graph.stacks import get_default_session
from gpuplace.graph.traced_graph import init_scope, lifted
from gpuplace.ops.array import reshaping, slicing
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.support import new
from gpuplace.ops.tracking.base import VARIABLE_VALUE_KEY, Trackable
from gpuplace.ops.variables import state
from gpuplace.ops.variables.initialized_value import guarded_initial_value, value_if_initialized
from gpuplace.ops.variables.scatter import METHODS
from gpuplace.process import PROCESS
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, as_shape
from gpuplace.typing import Array, DeviceLike, DTypeLike, InitializerLike, ShapeLike, TensorLike

__all__ = [
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "disable_resource_variables",
    "enable_resource_variables",
    "resource_variables_enabled",
]


class VariableSynchronization(enum.Enum):
    """When copies of a variable on several devices are synchronized; only stored, to match TensorFlow's signatures."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How copies of a variable on several devices are aggregated; only stored, to match TensorFlow's signatures."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3


SCOPE_KEY = ("__varscope",)
"""Collection in which a graph keeps its variable scope; see ``variable_scope``."""

variable_classes: dict[str, type[Variable]] = {}
"""Implementations of ``Variable``: ``"ref"`` and ``"resource"``."""


def slice_info_of(variable: Variable) -> SaveSliceInfo | None:
    """Return the slice of a partitioned variable that a variable is; None for a whole variable.

    Args:
        variable: the variable.
    """
    return variable._save_slice_info


def set_slice_info(variable: Variable, save_slice_info: SaveSliceInfo | None) -> None:
    """Set the slice of a partitioned variable that a variable is, for savers.

    Args:
        variable: the variable.
        save_slice_info: the slice.
    """
    variable._save_slice_info = save_slice_info


def enable_resource_variables() -> None:
    """Make variables resource variables by default."""
    PROCESS.resource_variables = True


def disable_resource_variables() -> None:
    """Make variables reference variables by default."""
    PROCESS.resource_variables = False


def resource_variables_enabled() -> bool:
    """Return whether variables are resource variables by default."""
    return PROCESS.resource_variables


class SaveSliceInfo:
    """The slice of a whole variable that a variable holds.

    >>> SaveSliceInfo("w", [4, 6], [2, 0], [2, 6]).spec
    '4 6 2,2:0,6'

    Args:
        full_name: name of the whole variable.
        full_shape: sizes of the whole variable.
        var_offset: start of the slice.
        var_shape: sizes of the slice.
        save_slice_info_def: a ``SaveSliceInfoDef`` in place of these arguments; None: use them.
        import_scope: a scope to prepend to the name in that message, or None.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            scope = f"{import_scope.removesuffix('/')}/" if import_scope else ""
            full_name = scope + save_slice_info_def.full_name
            full_shape = save_slice_info_def.full_shape
            var_offset = save_slice_info_def.var_offset
            var_shape = save_slice_info_def.var_shape
        self.full_name = full_name or ""
        self.full_shape = list(full_shape or ())
        self.var_offset = list(var_offset or ())
        self.var_shape = list(var_shape or ())

    @property
    def spec(self) -> str:
        """The full shape and the slice, in the format of checkpoint ops."""
        sizes = " ".join(map(str, self.full_shape))
        extents = ":".join(f"{start},{length}" for start, length in zip(self.var_offset, self.var_shape))
        return f"{sizes} {extents}"

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the slice as a ``SaveSliceInfoDef``.

        Args:
            export_scope: a scope to strip from the name, or None.

        Returns:
            The message; None if the whole variable is not in the scope.
        """
        return above("gpuplace.saving.protos", "slice_info_to_proto")(self, export_scope)


def trainable_with(synchronization: VariableSynchronization, trainable: bool | None) -> bool:
    """Return whether a variable is trainable.

    Args:
        synchronization: variables synchronized on reads are not trainable, unless ``trainable`` is True.
        trainable: the requested value; None: depends on ``synchronization``.

    Raises:
        ValueError: the synchronization is unknown.
    """
    if not isinstance(synchronization, VariableSynchronization):
        raise ValueError(f"Invalid variable synchronization mode: {synchronization}.")
    return synchronization is not VariableSynchronization.ON_READ if trainable is None else bool(trainable)


def _without_parent(make: Callable[..., Any], *args: Any, trackable_parent: Any = None, **kwargs: Any) -> Any:
    """Make a variable without ``trackable_parent``, which only creators use."""
    return make(*args, **kwargs)


class _VariableType(type):
    """Metaclass of ``Variable``: makes variables through the creators of ``variable_creator_scope``."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        creators = get_default_graph().scopes.of_thread.variable_creators
        make: Callable[..., Any] = super().__call__
        if cls is not Variable or not creators:
            return make(*args, **kwargs)
        bound = inspect.signature(cls.__init__).bind(None, *args, **kwargs)
        bound.apply_defaults()
        del bound.arguments["self"]
        make = functools.partial(_without_parent, make)
        for _, creator in creators:
            make = functools.partial(creator, make)
        return make(**bound.arguments)


class Variable(Trackable, metaclass=_VariableType):
    """A tensor that keeps its value between steps.

    >>> import gpuplace as tf
    >>> count = tf.Variable(0, name="count")
    >>> with tf.Session() as session:
    ...     session.run(count.initializer)
    ...     int(session.run(count.assign_add(2)))
    2

    Args:
        initial_value: a tensor, something convertible to one, or a function without arguments that returns either.
        trainable: whether to add the variable to the trainable variables; None: True.
        collections: list of collection names; None: the global variables.
        validate_shape: whether the initial value must have a static shape, which the variable keeps.
        caching_device: device on which to cache the value for consumers, a name or function; None: the variable's own.
        name: its name, made unique; None: ``Variable``.
        variable_def: a ``VariableDef`` of a variable whose operations are in the graph; None: add them.
        dtype: the dtype; None: the initial value's.
        expected_shape: ignored, as in TensorFlow.
        import_scope: the scope of the operations in ``variable_def``, or None.
        constraint: a function that optimizers apply to the value after an update.
        use_resource: whether to make a resource variable; None: the variable scope's setting, or the global default.
        synchronization: stored in the variable.
        aggregation: stored in the variable.
        shape: the shape; None: the initial value's.

    Raises:
        ValueError: there is no initial value, its shape is not static despite ``validate_shape`` or does not match
            ``shape``, ``collections`` is not a list, or both ``variable_def`` and an initial value are given.
        TypeError: the initial value cannot be of type ``dtype``.
    """

    __array_priority__ = 100

    def __new__(cls, *args: Any, use_resource: bool | None = None, **kwargs: Any) -> Variable:
        """Choose the class; if ``use_resource`` is None, the variable scope decides."""
        if cls is not Variable:
            return super().__new__(cls)
        if len(args) > 11 and use_resource is None:
            use_resource = args[11]
        variable_def = args[6] if len(args) > 6 else kwargs.get("variable_def")
        if variable_def is not None:
            use_resource = getattr(variable_def, "is_resource", False)
        if use_resource is None:
            scopes = get_default_graph().get_collection(SCOPE_KEY)
            use_resource = scopes[0].variable_scope.use_resource if scopes else None
        if use_resource is None:
            use_resource = PROCESS.resource_variables
        return super().__new__(variable_classes["resource" if use_resource else "ref"])

    def __init__(
        self,
        initial_value: InitializerLike | None = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: DeviceLike = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            above("gpuplace.saving.protos", "fill_variable")(self, variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. "
                f"Got {collections} of type {type(collections)}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._trainable = trainable_with(synchronization, trainable)
        self._constraint = constraint
        self._synchronization = synchronization
        self._aggregation = aggregation
        self._caching_device = caching_device
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        if get_default_graph().building_function:  # the variable belongs to the outer graph
            with init_scope():
                self._make(collections, name, initial_value, dtype, shape, validate_shape)
        else:
            self._make(collections, name, initial_value, dtype, shape, validate_shape)

    def _make(
        self,
        collections: Any,
        name: str | None,
        initial_value: Any,
        dtype: Any,
        shape: ShapeLike,
        validate_shape: bool,
    ) -> None:
        graph = get_default_graph()
        if isinstance(initial_value, Tensor) and initial_value.graph is not graph:
            # it belongs to the function that makes the variable
            initial_value = functools.partial(lifted, initial_value)
        with OuterDevices(graph), graph.control_dependencies(None):
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                declared = None if shape is None else as_shape(shape)
                self._build(graph, scope, initial_value, dtype, declared, validate_shape)
        graph.add_to_collections(list(collections), self)

    def _build(
        self,
        graph: Graph,
        scope: str,
        initial_value: Any,
        dtype: Any,
        shape: TensorShape | None,
        validate_shape: bool,
    ) -> None:
        """Add the variable's operations."""
        raise NotImplementedError

    def _take(
        self,
        variable: Tensor,
        *,
        initializer: Operation,
        initial_value: Tensor | None,
        snapshot: Tensor | None,
        trainable: bool,
        synchronization: VariableSynchronization,
        aggregation: VariableAggregation,
        slice_info: SaveSliceInfo | None,
    ) -> None:
        """Set the attributes from existing operations of the graph."""
        self._initializer_op = initializer
        self._initial_value = initial_value
        self._trainable = trainable
        self._synchronization = synchronization
        self._aggregation = aggregation
        self._constraint = None
        self._caching_device = None
        self._save_slice_info = slice_info
        self._take_tensors(variable, snapshot)

    def _take_tensors(self, variable: Tensor, snapshot: Tensor | None) -> None:
        """Set the variable's tensor and the tensor that its consumers read."""
        raise NotImplementedError

    def _snapshot_tensor(self) -> Tensor:
        """Return the tensor that consumers read."""
        raise NotImplementedError

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the variable as a ``VariableDef``, which names its operations.

        Args:
            export_scope: a scope to strip from the names, or None.

        Returns:
            The message; None if the variable is not in the scope.
        """
        return above("gpuplace.saving.protos", "variable_to_proto")(self, export_scope)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
        """Return a variable whose operations are in the default graph.

        Args:
            variable_def: a ``VariableDef``.
            import_scope: the scope of these operations; None: they have the names in the message.

        Raises:
            KeyError: an operation does not exist.
        """
        return above("gpuplace.saving.protos", "variable_from_proto")(variable_def, import_scope)

    _save_slice_info: SaveSliceInfo | None = None

    _set_save_slice_info = set_slice_info
    _get_save_slice_info = slice_info_of

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE_KEY: self}

    # Properties that subclasses set

    _initial_value: Tensor | None
    _initializer_op: Operation

    @property
    def name(self) -> str:
        """``"<operation>:0"``."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The dtype; a reference type for a reference variable."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """The static shape, possibly partial."""
        raise NotImplementedError

    @property
    def op(self) -> Operation:
        """The variable's operation."""
        raise NotImplementedError

    @property
    def graph(self) -> Graph:
        """The variable's graph."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The requested device."""
        return self.op.device

    def get_shape(self) -> TensorShape:
        """Return the static shape, possibly partial."""
        return self.shape

    @property
    def initializer(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Tensor | None:
        """The initial value; None if the variable's message does not name it."""
        return self._initial_value

    @property
    def trainable(self) -> bool:
        """Whether optimizers update the variable by default."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """The function that optimizers apply after an update, or None."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """The constructor's ``synchronization``."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """The constructor's ``aggregation``."""
        return self._aggregation

    @property
    def _shared_name(self) -> str:
        return self.name[: self.name.index(":")]

    def value(self) -> Tensor:
        """Return the current value, as consumers read it."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """Return the current value, read by a separate operation."""
        raise NotImplementedError

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return whether the variable has a value.

        Args:
            name: name of the operation.

        Returns:
            A bool scalar.
        """
        return state.is_variable_initialized(self, name)

    def experimental_ref(self) -> Reference:
        """Return a hashable reference to the variable, for sets and dictionary keys."""
        return Reference(self)

    def initialized_value(self) -> Tensor:
        """Return the value, or the initial value if uninitialized; for use in other variables' initial values."""
        with self.graph.as_default(), self.graph.control_dependencies(None):
            return value_if_initialized(self)

    def eval(self, session: Any = None) -> Array:
        """Return the value in a session.

        Args:
            session: the session; None: the default session.

        Returns:
            A NumPy array, or scalar, of the variable's type.

        Raises:
            ValueError: there is no default session.
            FailedPreconditionError: the variable has no value there.
        """
        return self._as_graph_element().eval(session=session)

    def load(self, value: TensorLike, session: Any = None) -> None:
        """Set the value in a session, without adding to the graph.

        Args:
            value: an array of the variable's type and shape.
            session: the session; None: the default session.

        Raises:
            ValueError: there is no default session, or ``value`` has another shape.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def count_up_to(self, limit: int) -> Tensor:
        """Add one, unless the variable has reached ``limit``.

        Args:
            limit: the largest value, a Python integer.

        Returns:
            The previous value, a scalar of the variable's type.

        Raises:
            TypeError: the variable is not int32 or int64.
            OutOfRangeError: at run time, the value has reached ``limit``.
        """
        return state.count_up_to(self, limit)

    def _ref(self) -> Tensor:
        """Return the reference or the handle."""
        raise NotImplementedError

    def _as_graph_element(self) -> Tensor:
        raise NotImplementedError

    def _scatter(
        self, method: str, indices: TensorLike, updates: TensorLike, name: str | None, use_locking: bool
    ) -> Any:
        raise NotImplementedError

    def _assign_slice(self, bounds: dict[str, Any], value: Any, name: str) -> Any:
        """Assign a value to the slice with the inputs and masks ``bounds``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("'Variable' object is not iterable.")

    def __bool__(self) -> bool:
        return bool(self.value())

    def __array__(self, dtype: DTypeLike | None = None, copy: Any = None) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic variable ({self.name}) to a numpy array: run it in a session."
        )


Variable.SaveSliceInfo = SaveSliceInfo  # type: ignore[attr-defined]


def _operator(name: str) -> Callable[..., Any]:
    def run(self: Variable, *args: Any) -> Tensor:
        return getattr(Tensor, name)(self.value(), *args)

    run.__name__ = name
    run.__doc__ = f"``{name}`` of the value."
    return run


for _name in Tensor.OVERLOADABLE_OPERATORS:
    setattr(Variable, _name, _operator(_name))


def _part(self: Variable, key: object) -> Tensor:
    """Return a slice of the value, with an ``assign`` method for that slice of the variable."""
    part: Tensor = slicing.slice_of(self.value(), key, self)
    return part


setattr(Variable, "__getitem__", _part)  # noqa: B010 - an assignment would be no method to a type checker


def _scatter_method(method: str) -> Callable[..., Any]:
    def scatter(self: Variable, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        return self._scatter(method, sparse_delta.indices, sparse_delta.values, name, use_locking)

    scatter.__name__ = f"scatter_{method}"
    scatter.__doc__ = f"""Scatter slices into the variable: ``tf.scatter_{method}``.

    Args:
        sparse_delta: ``IndexedSlices`` whose values have the variable's type.
        use_locking: stored in the graph of a reference variable; updates are always atomic here.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: ``sparse_delta`` is not IndexedSlices.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a row index is out of range.
    """
    return scatter


for _method in METHODS:
    setattr(Variable, f"scatter_{_method}", _scatter_method(_method))


def check_outside_of_control_flow(name: str, initial_value: Tensor) -> None:
    """Raise ValueError for an initial value from inside a branch or loop, which an initializer cannot run."""
    if context_of(initial_value.op) is not None:
        raise ValueError(
            f"Initializer for variable {name} is from inside a control-flow construct, such as a loop or conditional."
            " When creating a variable inside a loop or conditional, use a lambda as the initializer."
        )


class RefVariable(Variable):
    """A reference variable."""

    _variable: Tensor
    _snapshot: Tensor

    def _build(
        self,
        graph: Graph,
        scope: str,
        initial_value: Any,
        dtype: Any,
        shape: TensorShape | None,
        validate_shape: bool,
    ) -> None:
        name = name_from_scope_name(scope)

        def declare() -> None:
            static_shape = shape if shape is not None else value.shape
            static_shape = static_shape if validate_shape or shape is not None else UNKNOWN_SHAPE
            self._variable = state.variable_op_v2(static_shape, value.dtype.base_dtype, name=scope)

        if callable(initial_value):
            with attr_scope(graph, {CLASS_ATTR: (f"loc:@{name}".encode(),)}):
                with graph.name_scope("Initializer"), graph.device(None):
                    value = convert_to_tensor(initial_value(), dtype, name="initial_value")
                declare()
        else:
            value = convert_to_tensor(initial_value, dtype, name="initial_value")
            check_outside_of_control_flow(name, value)
            declare()
        self._initial_value = value
        if validate_shape and not value.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value}")
        guarded = guarded_initial_value(name, value)
        self._initializer_op = state.assign(self._variable, guarded, validate_shape=validate_shape).op
        cache = self._caching_device
        with graph.colocate_with(self._variable.op) if cache is None else graph.device(cache):
            self._snapshot = reshaping.identity(self._variable, name="read")

    @property
    def name(self) -> str:
        """``"<operation>:0"``."""
        return self._variable.name

    @property
    def dtype(self) -> DType:
        """The dtype, a reference type."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape, possibly partial."""
        return self._variable.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Refine the static shape.

        Args:
            shape: a ``TensorShape``, or a list of sizes with None for unknown ones.

        Raises:
            ValueError: the shape is incompatible.
        """
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    @property
    def op(self) -> Operation:
        """The ``VariableV2`` operation."""
        return self._variable.op

    def _take_tensors(self, variable: Tensor, snapshot: Tensor | None) -> None:
        self._variable = variable
        self._snapshot = variable if snapshot is None else snapshot

    def _snapshot_tensor(self) -> Tensor:
        return self._snapshot

    def value(self) -> Tensor:
        """Return the ``read`` operation's output."""
        return self._snapshot

    def _ref(self) -> Tensor:
        """Return the reference."""
        return self._variable

    def read_value(self) -> Tensor:
        """Return the current value, read by a separate operation."""
        return reshaping.identity(self._variable, name="read")

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Tensor:
        """Assign a new value.

        Args:
            value: a tensor of the variable's type and shape.
            use_locking: stored in the graph without effect; assignments are always atomic.
            name: name of the operation.
            read_value: whether to return a reference instead of the operation.

        Returns:
            A reference to the updated variable, or the operation without ``read_value``.

        Raises:
            TypeError: ``value`` has an unsupported dtype.
            ValueError: ``value`` has another shape.
        """
        result = state.assign(self._variable, value, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add ``delta``.

        Args:
            delta: a tensor of numbers of the variable's type and shape.
            use_locking: stored in the graph without effect; assignments are always atomic.
            name: name of the operation.
            read_value: whether to return a reference instead of the operation.

        Returns:
            A reference to the updated variable, or the operation without ``read_value``.

        Raises:
            TypeError: ``delta`` has an unsupported dtype.
            ValueError: ``delta`` has another shape.
        """
        result = state.assign_add(self._variable, delta, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Tensor:
        """Subtract ``delta``.

        Args:
            delta: a tensor of numbers of the variable's type and shape.
            use_locking: stored in the graph without effect; assignments are always atomic.
            name: name of the operation.
            read_value: whether to return a reference instead of the operation.

        Returns:
            A reference to the updated variable, or the operation without ``read_value``.

        Raises:
            TypeError: ``delta`` has an unsupported dtype.
            ValueError: ``delta`` has another shape.
        """
        result = state.assign_sub(self._variable, delta, use_locking=use_locking, name=name)
        return result if read_value else result.op

    def _assign_slice(self, bounds: dict[str, Any], value: Any, name: str) -> Tensor:
        return new("StridedSliceAssign", name, ref=self._variable, value=value, **bounds)

    def _scatter(
        self, method: str, indices: TensorLike, updates: TensorLike, name: str | None, use_locking: bool
    ) -> Tensor:
        return state._scatter(self._variable, indices, updates, use_locking, name, method=method)


variable_classes["ref"] = RefVariable


def _to_tensor(
    variable: Variable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    if as_ref:
        return variable._ref()
    return variable.value()


register_tensor_conversion_function(Variable, _to_tensor)
