"""Resource variables: ``tf.Variable(..., use_resource=True)``.

    v/Initializer/initial_value --> v/Assign (AssignVariableOp)
                                       |
    v (VarHandleOp) -------------------+--> v/IsInitialized/VarIsInitializedOp, v/Read/ReadVariableOp

Each use reads the variable again, so a read after a control dependency on an assignment sees the new value.

Source: tensorflow/python/ops/resource_variable_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gpuplace.dtypes import DType
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, graph_for, name_scope
from gpuplace.graph.graph import Graph, name_from_scope_name
from gpuplace.graph.operation import CLASS_ATTR, Operation, Tensor
from gpuplace.graph.scopes import attr_scope
from gpuplace.ops.array import reshaping
from gpuplace.ops.variables.initialized_value import guarded_initial_value
from gpuplace.ops.variables.resource_state import (
    assign_add_variable_op,
    assign_sub_variable_op,
    assign_variable_op,
    read_variable_op,
    resource_gather,
    resource_gather_nd,
    resource_scatter,
    var_handle_op,
    var_is_initialized_op,
)
from gpuplace.ops.variables.variables import Variable, check_outside_of_control_flow, variable_classes
from gpuplace.shapes import TensorShape
from gpuplace.typing import TensorLike, VariableLike

__all__ = ["ResourceVariable", "is_resource_variable"]


class ResourceVariable(Variable):
    """A resource variable, ``tf.Variable(..., use_resource=True)``; see ``Variable`` for the arguments.

    Args:
        initial_value: a tensor, something convertible to one, or a function without arguments that returns either.
        trainable: whether to add the variable to the trainable variables; None: True.
        collections: list of collection names; None: the global variables.
        validate_shape: stored without effect; a partial shape is allowed here.
        caching_device: device on which to cache the value for consumers; None: the variable's own.
        name: its name, made unique; None: ``Variable``.
        variable_def: a ``VariableDef`` of a variable whose operations are in the graph; None: add them.
        dtype: the dtype; None: the initial value's.
        expected_shape: ignored, as in TensorFlow.
        import_scope: the scope of the operations in ``variable_def``, or None.
        constraint: a function that optimizers apply to the value after an update.
        use_resource: ignored.
        synchronization: stored in the variable.
        aggregation: stored in the variable.
        shape: the shape, possibly partial; None: the initial value's.

    Raises:
        ValueError: there is no initial value, it does not match ``shape``, ``collections`` is not a list, or both
            ``variable_def`` and an initial value are given.
        TypeError: the initial value cannot be of type ``dtype``.
    """

    _handle: Tensor
    _dtype: DType
    _shape: TensorShape
    _graph_element: Tensor
    _cached_value: Tensor | None

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
        with attr_scope(graph, {CLASS_ATTR: (f"loc:@{name}".encode(),)}):
            with graph.name_scope("Initializer"), graph.device(None):
                value = initial_value() if callable(initial_value) else initial_value
                self._initial_value = convert_to_tensor(value, dtype, name="initial_value")
                check_outside_of_control_flow(name, self._initial_value)
            if shape is not None and not self._initial_value.shape.is_compatible_with(shape):
                raise ValueError(
                    f"The initial value's shape ({self._initial_value.shape}) is not compatible with the explicitly "
                    f"supplied `shape` argument ({shape})."
                )
            self._shape = shape if shape is not None else self._initial_value.shape
            self._dtype = self._initial_value.dtype.base_dtype
            self._handle = var_handle_op(self._dtype, self._shape, shared_name=name, name=scope)
        with graph.name_scope("IsInitialized"):
            var_is_initialized_op(self._handle)
        device = self._handle.device
        with graph.name_scope("Assign") as assign_scope:
            with graph.colocate_with(None, ignore_existing=True), graph.device(device):
                guarded = guarded_initial_value(name, self._initial_value)
                self._initializer_op = assign_variable_op(self._handle, guarded, name=assign_scope)
        with graph.name_scope("Read"):
            with graph.device(device):
                self._graph_element = read_variable_op(self._handle, self._dtype)
            self._cached_value = None
            if self._caching_device is not None:
                with graph.colocate_with(None, ignore_existing=True), graph.device(self._caching_device):
                    self._cached_value = reshaping.identity(self._graph_element)

    @property
    def name(self) -> str:
        """``"<operation>:0"``."""
        return self._handle.name

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape, possibly partial."""
        return self._shape

    @property
    def op(self) -> Operation:
        """The ``VarHandleOp`` operation."""
        return self._handle.op

    @property
    def handle(self) -> Tensor:
        """The handle for resource ops."""
        return self._handle

    def _take_tensors(self, variable: Tensor, snapshot: Tensor | None) -> None:
        op = variable.op
        self._handle = variable
        self._dtype = op.attrs["dtype"]
        self._shape = op.attrs["shape"]
        if snapshot is None:
            snapshot = op.graph.get_tensor_by_name(f"{op.name}/Read/ReadVariableOp:0")
        self._cached_value = None if snapshot.op.type == "ReadVariableOp" else snapshot
        while snapshot.op.type != "ReadVariableOp":
            snapshot = snapshot.op.inputs[0]
        self._graph_element = snapshot

    def _snapshot_tensor(self) -> Tensor:
        return self._graph_element if self._cached_value is None else self._cached_value

    @property
    def create(self) -> Operation:
        """The operation that assigns the initial value."""
        return self._initializer_op

    def _as_graph_element(self) -> Tensor:
        return self._graph_element

    def _ref(self) -> Tensor:
        return self.read_value().op.inputs[0]

    def _read(self) -> Tensor:
        return read_variable_op(self._handle, self._dtype)

    def value(self) -> Tensor:
        """Return the current value, read on the device that the variable requested."""
        if self._cached_value is not None:
            return self._cached_value
        graph = graph_for(self)
        with graph.as_default(), graph.colocate_with(None, ignore_existing=True), graph.device(self.device):
            return self._read()

    def read_value(self) -> Tensor:
        """Return the current value, read by a separate operation under the current control dependencies.

        Returns:
            A tensor of the variable's type and shape.
        """
        with name_scope("Read"), graph_for(self).device(self._handle.device):
            value = self._read()
        return reshaping.identity(value)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the rows ``indices``, without reading the rest.

        Args:
            indices: row indices, int32 or int64, of any shape.
            name: name scope, and name of the operation; None: ``Gather``.

        Returns:
            A tensor of the variable's type and the shape ``indices.shape + variable.shape[1:]``.

        Raises:
            TypeError: ``indices`` has an unsupported dtype.
            InvalidArgumentError: at run time, a row index is out of range.
        """
        with name_scope("Gather" if name is None else name) as scope:
            value = resource_gather(self._handle, indices, dtype=self._dtype, name=scope)
        return reshaping.identity(value)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the slices at index vectors, without reading the rest.

        Args:
            indices: ``[..., depth]``, int32 or int64: an index for each of the first ``depth`` dimensions.
            name: name scope, and name of the operation; None: ``GatherNd``.

        Returns:
            A tensor of the variable's type and the shape ``indices.shape[:-1] + variable.shape[depth:]``.

        Raises:
            TypeError: ``indices`` has an unsupported dtype.
            InvalidArgumentError: at run time, an index is out of range.
        """
        with name_scope("GatherNd" if name is None else name) as scope:
            value = resource_gather_nd(self._handle, indices, dtype=self._dtype, name=scope)
        return reshaping.identity(value)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return whether the variable has a value.

        Args:
            name: name of the operation.

        Returns:
            A bool scalar.
        """
        return var_is_initialized_op(self._handle, name)

    def assign(
        self,
        value: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> _UnreadVariable:
        """Assign a new value.

        Args:
            value: a tensor of the variable's type and shape.
            use_locking: ignored; assignments are always atomic.
            name: name of the operation.
            read_value: whether to return a readable variable instead of the operation.

        Returns:
            A variable whose reads wait for the assignment, or the operation without ``read_value``.

        Raises:
            ValueError: ``value`` has another dtype or shape.
        """
        with graph_for(self).as_default():
            tensor = convert_to_tensor(value, self._dtype)
            self._shape.assert_is_compatible_with(tensor.shape)
            return self._after(assign_variable_op(self._handle, tensor, name=name), read_value)

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> _UnreadVariable:
        """Add ``delta``.

        Args:
            delta: a tensor of numbers of the variable's type and shape.
            use_locking: ignored; assignments are always atomic.
            name: name of the operation.
            read_value: whether to return a readable variable instead of the operation.

        Returns:
            A variable whose reads wait for the assignment, or the operation without ``read_value``.

        Raises:
            ValueError: ``delta`` has another dtype or shape.
        """
        with graph_for(self).as_default():
            tensor = convert_to_tensor(delta, self._dtype)
            return self._after(assign_add_variable_op(self._handle, tensor, name=name), read_value)

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> _UnreadVariable:
        """Subtract ``delta``.

        Args:
            delta: a tensor of numbers of the variable's type and shape.
            use_locking: ignored; assignments are always atomic.
            name: name of the operation.
            read_value: whether to return a readable variable instead of the operation.

        Returns:
            A variable whose reads wait for the assignment, or the operation without ``read_value``.

        Raises:
            ValueError: ``delta`` has another dtype or shape.
        """
        with graph_for(self).as_default():
            tensor = convert_to_tensor(delta, self._dtype)
            return self._after(assign_sub_variable_op(self._handle, tensor, name=name), read_value)

    def _scatter(
        self,
        method: str,
        indices: TensorLike,
        updates: TensorLike,
        name: str | None = None,
        use_locking: bool = False,
    ) -> _UnreadVariable:
        with graph_for(self).as_default():
            values = convert_to_tensor(updates, self._dtype)
            return self._after(resource_scatter(method, self._handle, indices, values, name), True)

    def _assign_slice(self, bounds: dict[str, Any], value: Any, name: str) -> _UnreadVariable:
        with graph_for(self).as_default():
            tensor = convert_to_tensor(value, self._dtype)
            op = apply_op("ResourceStridedSliceAssign", name, ref=self._handle, value=tensor, **bounds)
            return self._after(op, True)

    def _after(self, op: Operation, read_value: bool) -> Any:
        return _UnreadVariable(self, op) if read_value else op

    def __iadd__(self, other: object) -> NoReturn:
        raise RuntimeError(
            "Variable += value not supported. Use variable.assign_add(value) to modify the variable value and "
            "variable = variable + value to get a new Tensor object."
        )

    def __isub__(self, other: object) -> NoReturn:
        raise RuntimeError(
            "Variable -= value not supported. Use variable.assign_sub(value) to modify the variable value and "
            "variable = variable - value to get a new Tensor object."
        )


class _UnreadVariable(ResourceVariable):
    """A variable after an assignment; its reads wait for the assignment."""

    def __init__(self, variable: ResourceVariable, parent: Operation) -> None:
        self.__dict__.update(variable.__dict__)
        self._parent_op = parent
        self._cached_value = None
        if not parent.graph.building_function:  # so that a session can find it
            self._graph_element = self._read()

    @property
    def name(self) -> str:
        """The name of the assignment operation."""
        return self._parent_op.name

    @property
    def op(self) -> Operation:
        """The assignment operation."""
        return self._parent_op

    def value(self) -> Tensor:
        """Return the value after the assignment."""
        return self._read()

    def read_value(self) -> Tensor:
        """Return the value after the assignment."""
        return self._read()

    def _read(self) -> Tensor:
        graph = self._parent_op.graph
        with graph.as_default(), graph.control_dependencies([self._parent_op]):
            return read_variable_op(self._handle, self._dtype)


variable_classes["resource"] = ResourceVariable


def is_resource_variable(variable: VariableLike) -> bool:
    """Return whether a variable is a resource variable.

    Args:
        variable: any object.

    Returns:
        A Python bool.
    """
    return isinstance(variable, ResourceVariable)
