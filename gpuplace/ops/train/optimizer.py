"""The base class of all optimizers: gradients, slots, and the operation that applies one step.

    loss --> gradients/... --> <name>/update_<variable>/Apply... --> <name>  (counts up the global step, if given)

A slot is a variable that an optimizer keeps for a trained one, such as its momentum: ``<variable>/<name>``, placed
with the variable.

Source: tensorflow/python/training/optimizer.py and slot_creator.py, release 1.15 (names, structure, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import as_dtype
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.distribute.contexts import Context, beside, current, scaled_loss
from gpuplace.ops.flow import control
from gpuplace.ops.gradients.gradients import gradients
from gpuplace.ops.gradients.indexed_slices import (
    IndexedSlices,
    convert_to_tensor_or_indexed_slices,
    unsorted_segment_sum,
)
from gpuplace.ops.math import cast
from gpuplace.ops.nest import flatten
from gpuplace.ops.tracking.base import CheckpointPosition, Trackable, TrackableReference
from gpuplace.ops.train.slots import create_slot, create_slot_with_initializer, create_zeros_slot
from gpuplace.ops.variables.initialization import trainable_variables
from gpuplace.ops.variables.resource_state import assign_add_variable_op
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variables.state import assign_add
from gpuplace.ops.variables.variables import Variable
from gpuplace.shapes import TensorShape
from gpuplace.typing import DTypeLike, TensorLike, VariableLike

Gradient = Tensor | IndexedSlices
GradsAndVars = Sequence[tuple[Gradient | None, Any]]


class Optimizer(Trackable):
    """Base class of optimizers, which update variables to reduce a loss.

    A subclass makes its slots in ``_create_slots`` and its hyperparameter tensors in ``_prepare``. It updates one
    variable in ``_apply_dense``, ``_apply_sparse``, ``_resource_apply_dense`` and ``_resource_apply_sparse``.

    Args:
        use_locking: stored in the graph without effect.
        name: name scope of the update, and suffix of the slots' names.

    Raises:
        ValueError: the name is empty.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[tuple[Graph, str], Any]] = {}
        self._non_slots: dict[tuple[str, Graph], Any] = {}
        self._deferred_slot_restorations: dict[tuple[str, tuple[Graph, str]], list[CheckpointPosition]] = {}

    def get_name(self) -> str:
        """Return the optimizer's name."""
        return self._name

    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        global_step: VariableLike | None = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """Return an operation that computes and applies gradients in one step to reduce ``loss``.

        Args:
            loss: the loss, a floating tensor, or a function that returns one.
            global_step: a variable to increment, an integer scalar, or None.
            var_list: a variable or a list of variables to update; None: the trainable variables.
            gate_gradients: the gradients that wait for each other: none (``GATE_NONE``), those of one op (``GATE_OP``),
                or all (``GATE_GRAPH``).
            aggregation_method: see ``tf.gradients``.
            colocate_gradients_with_ops: whether to place gradients with their operations.
            name: name of the operation; None: the optimizer's.
            grad_loss: gradient of ``loss``, of its dtype and shape; None: ones.

        Returns:
            The operation; with a ``global_step``, the one that increments it.

        Raises:
            ValueError: there is no variable, no variable has a gradient, a variable or the loss is not floating, or
                ``gate_gradients`` is unknown.
        """
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                f"between variables {[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Gradient | None, Any]]:
        """Return the gradient of ``loss`` for each variable.

        Args:
            loss: the loss, a floating tensor, or a function that returns one.
            var_list: a variable or a list of variables; None: the trainable variables, or for a function those that
                it uses.
            gate_gradients: the gradients that wait for each other: none (``GATE_NONE``), those of one op (``GATE_OP``),
                or all (``GATE_GRAPH``).
            aggregation_method: see ``tf.gradients``.
            colocate_gradients_with_ops: whether to place gradients with their operations.
            grad_loss: gradient of ``loss``, of its dtype and shape; None: ones.

        Returns:
            Pairs of a gradient (a tensor, ``IndexedSlices`` or None) and its variable.

        Raises:
            ValueError: there is no variable, a variable or the loss is not floating, or ``gate_gradients`` is unknown.
            NotImplementedError: an item of ``var_list`` is neither a variable nor a tensor.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  "
                f"Not {gate_gradients}"
            )
        if callable(loss):
            loss = loss()
            if var_list is None:
                var_list = _trainable_dependencies(loss)
        loss = scaled_loss(loss)
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if var_list is None:
            variables = trainable_variables()
        else:
            variables = flatten(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        grads = gradients(
            loss,
            [_target(variable) for variable in variables],
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = control.tuple(grads)
        pairs = list(zip(grads, variables, strict=True))
        self._assert_valid_dtypes([variable for grad, variable in pairs if grad is not None])
        return pairs

    def apply_gradients(
        self, grads_and_vars: GradsAndVars, global_step: VariableLike | None = None, name: str | None = None
    ) -> Operation:
        """Return an operation that applies gradients to the variables and increments ``global_step``, if given.

        Args:
            grads_and_vars: pairs of a gradient (a tensor, ``IndexedSlices`` or None, with the variable's type and
                shape) and a variable; a variable whose gradient is None does not change.
            global_step: a variable, an integer scalar, or None.
            name: name of the operation; None: the optimizer's.

        Returns:
            The operation; with a ``global_step``, the one that increments it.

        Raises:
            TypeError: a gradient is not a tensor, slices or None, or has another dtype.
            ValueError: there is no variable, no variable has a gradient, or a gradient has another shape.
            NotImplementedError: an item is a tensor instead of a variable.
            RuntimeError: a variable with a constraint has ``IndexedSlices`` as gradient.
        """
        context = current()
        if context is not None and context.copy is None:
            return self._apply_for_replicas(context, grads_and_vars, global_step, name)
        pairs = [(None if g is None else _converted(g), v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        variables = [variable for grad, variable in pairs if grad is not None]
        if not variables:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        graph = get_default_graph()
        with without_garbage_collection(), graph.control_dependencies(None):
            self._create_slots(variables)
        with without_garbage_collection(), name_scope(name, self._name) as scope:
            self._prepare()
            updates = []
            for grad, variable in pairs:
                if grad is None:
                    continue
                with graph.name_scope(f"update_{variable.op.name}"), graph.colocate_with(variable.op):
                    updates.append(self._update_one(grad, variable))
            applied: Any
            if global_step is None:
                applied = self._finish(updates, scope)
            else:
                with graph.control_dependencies([self._finish(updates, "update")]):
                    with graph.colocate_with(global_step.op):
                        applied = _count(global_step, scope)
            operation: Operation = applied.op if isinstance(applied, Tensor) else applied
            collected = graph.get_collection_ref(GraphKeys.TRAIN_OP)
            if operation not in collected:
                collected.append(operation)
            return operation

    def _apply_for_replicas(
        self, context: Context, grads_and_vars: Any, global_step: Any, name: str | None
    ) -> Any:
        """``apply_gradients`` in a replica of a strategy: the gradients of all replicas update all copies."""
        if context.replica is None:
            raise RuntimeError(
                "Use `_distributed_apply()` instead of `apply_gradients()` in a cross-replica context."
            )
        pairs = [(grad, variable) for grad, variable in grads_and_vars if grad is not None]
        if not pairs:
            raise ValueError(
                f"No gradients provided for any variable: {[v.name for _, v in grads_and_vars]}."
            )
        return context.replica.merge_call(self._distributed_apply, (pairs, global_step, name))

    def _distributed_apply(
        self,
        distribution: Any,
        grads_and_vars: Any,
        global_step: TensorLike | None = None,
        name: str | None = None,
    ) -> Any:
        """Update all copies of variables by the combined gradients of the replicas.

        Args:
            distribution: the strategy.
            grads_and_vars: pairs of a gradient with a component for each replica, and a variable of the strategy.
            global_step: a variable to increment, or None.
            name: name of the operation; None: the optimizer's.
        """
        extended, graph = distribution.extended, get_default_graph()
        variables = [variable for _, variable in grads_and_vars]
        reduced = extended.batch_reduce_to("SUM", list(grads_and_vars))
        with without_garbage_collection(), graph.control_dependencies(None):
            self._create_slots(variables)

        def update(copy: Any, grad: TensorLike) -> Any:
            with graph.name_scope(f"update_{copy.op.name}"):
                return self._update_one(_converted(grad), copy)

        with without_garbage_collection(), name_scope(name, self._name) as scope:
            self._prepare()
            updates = [
                operation
                for grad, variable in zip(reduced, variables, strict=True)
                for operation in extended.update(variable, update, args=(grad,), group=False)
            ]
            devices = extended.non_slot_devices(variables)
            finished = extended.update_non_slot(devices, lambda: self._finish(updates, "update"), group=False)
            if global_step is None:
                applied = distribution.group(finished, name=scope)
            else:
                with graph.control_dependencies(finished):
                    applied = extended.update(global_step, assign_add, args=(1,), kwargs={"name": scope})
            collected = graph.get_collection_ref(GraphKeys.TRAIN_OP)
            if applied not in collected:
                collected.append(applied)
            return applied

    def _update_one(self, grad: Gradient, variable: Any) -> Operation | Tensor:
        """Return the operation that updates one variable and then applies its constraint."""
        if isinstance(variable, Tensor):
            raise NotImplementedError("Trying to update a Tensor ", variable)
        sparse, resource = isinstance(grad, IndexedSlices), isinstance(variable, ResourceVariable)
        update: Any
        if isinstance(grad, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            if resource:
                return self._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices)
            return self._apply_sparse_duplicate_indices(grad, variable)
        assert not sparse
        update = (self._resource_apply_dense if resource else self._apply_dense)(grad, variable)
        if variable.constraint is None:
            return update
        with variable.graph.control_dependencies([update]):
            # Read a reference variable again: the output of its ``read`` predates the update.
            current = variable if resource else variable.read_value()
            return variable.assign(variable.constraint(current))

    def variables(self) -> list[Any]:
        """Return the slots and other variables that the optimizer made in the default graph, by name."""
        graph = get_default_graph()
        created = [variable for (_, of), variable in self._non_slots.items() if of is graph]
        for slots in self._slots.values():
            created += [variable for (of, _), variable in slots.items() if of is graph]
        return sorted(created, key=lambda variable: variable.name)

    def get_slot_names(self) -> list[str]:
        """Return the names of its slots."""
        return sorted(self._slots)

    def get_slot(self, var: Any, name: str) -> Any:
        """Return the slot of that name for a variable.

        Args:
            var: the variable.
            name: one of ``get_slot_names``, such as ``"momentum"``.

        Returns:
            A variable, or None.
        """
        return self._slots.get(name, {}).get(_key(var))

    # Helpers for subclasses

    def _slot_dict(self, slot_name: str) -> dict[tuple[Graph, str], Any]:
        return self._slots.setdefault(slot_name, {})

    def _zeros_slot(self, var: VariableLike, slot_name: str, op_name: str) -> Any:
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            self._keep_slot(var, slot_name, create_zeros_slot(var, op_name))
        return slots[_key(var)]

    def _get_or_make_slot(self, var: VariableLike, val: Tensor, slot_name: str, op_name: str) -> Any:
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            self._keep_slot(var, slot_name, create_slot(var, val, op_name))
        return slots[_key(var)]

    def _get_or_make_slot_with_initializer(
        self,
        var: VariableLike,
        initializer: Any,
        shape: TensorShape,
        dtype: DTypeLike,
        slot_name: str,
        op_name: str,
    ) -> Any:
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            slot = create_slot_with_initializer(var, initializer, shape, dtype, op_name)
            self._keep_slot(var, slot_name, slot)
        return slots[_key(var)]

    def _keep_slot(self, var: Any, slot_name: str, slot: Any) -> None:
        """Record a slot, and restore values from checkpoints that wait for it, the latest restore first."""
        self._slot_dict(slot_name)[_key(var)] = slot
        waiting = self._deferred_slot_restorations.pop((slot_name, _key(var)), [])
        for position in sorted(waiting, key=lambda item: item.restore_uid, reverse=True):
            position.restore(slot)

    # Object-based checkpoints: slots by variable, other variables by name, for the default graph only

    def _create_or_restore_slot_variable(
        self, slot_variable_position: CheckpointPosition, slot_name: str, variable: VariableLike
    ) -> None:
        slot = self.get_slot(variable, slot_name)
        if slot is not None:
            slot_variable_position.restore(slot)
        else:
            key = (slot_name, _key(variable))
            self._deferred_slot_restorations.setdefault(key, []).append(slot_variable_position)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        graph = get_default_graph()
        dependencies = [
            TrackableReference(name, variable)
            for (name, of), variable in sorted(self._non_slots.items(), key=lambda item: item[0][0])
            if of is graph
        ]
        return [*super()._checkpoint_dependencies, *dependencies]

    def _lookup_dependency(self, name: str) -> Any:
        tracked = super()._lookup_dependency(name)
        return self._get_non_slot_variable(name, graph=get_default_graph()) if tracked is None else tracked

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        key = (name, colocate_with.graph)
        if key not in self._non_slots:
            with beside(colocate_with):
                self._non_slots[key] = Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=isinstance(colocate_with, ResourceVariable),
                )
            self._handle_deferred_dependencies(name, self._non_slots[key])
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Any:
        return self._non_slots.get((name, graph or get_default_graph()))

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _valid_dtypes(self) -> Collection[str]:
        return ["float32", "float64", "float16", "bfloat16"]

    def _assert_valid_dtypes(self, tensors: Sequence[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = as_dtype(tensor.dtype).base_dtype
            if dtype.name not in valid:
                raise ValueError(
                    f"Invalid type {dtype!r} for {tensor.name}, expected: {[as_dtype(name) for name in valid]}."
                )

    # Methods for subclasses to override

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Make the slots of the variables."""

    def _prepare(self) -> None:
        """Make the tensors of the hyperparameters."""

    def _apply_dense(self, grad: Tensor, var: VariableLike) -> Any:
        raise NotImplementedError

    def _resource_apply_dense(self, grad: Tensor, var: Any) -> Any:
        raise NotImplementedError

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        raise NotImplementedError

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        raise NotImplementedError

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Operation:
        values, indices = _without_duplicates(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, var: Any, indices: Tensor) -> Operation:
        values, unique = _without_duplicates(grad, indices)
        return self._resource_apply_sparse(values, var, unique)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        return control.group(*update_ops, name=name_scope)


_SCALAR_INPUTS = {
    "decay": "rho",
    "l1_regularization_strength": "l1",
    "l2_regularization_strength": "l2",
    "learning_rate_power": "lr_power",
}
"""Hyperparameter -> the kernels' input, where the names differ."""


class KernelOptimizer(Optimizer):
    """An optimizer whose update is one op, with variants for dense, sparse, reference and resource variables.

    A subclass defines the op's name without prefix in ``_op`` and its slots in ``_kernel_slots``, which start at zero
    unless it makes them. It passes hyperparameters to the constructor and returns attributes from ``_attrs``.
    """

    _op: str
    """The part of the kernel's name after ``Apply``."""
    _rate_input = "lr"
    """The kernel's input for the learning rate."""
    _kernel_slots: Mapping[str, str] = {}
    """The kernel's inputs for slots -> the slots."""

    def __init__(self, use_locking: bool, name: str, **hyperparameters: Any) -> None:
        super().__init__(use_locking, name)
        self._settings = hyperparameters
        """Hyperparameters by name: numbers, tensors, or functions that return one."""
        self._tensors: dict[str, Any] = {}
        """The hyperparameters as tensors, while updates are built."""

    def _prepare(self) -> None:
        values = {name: self._call_if_callable(value) for name, value in self._settings.items()}
        self._tensors = {name: convert_to_tensor(value, name=name) for name, value in values.items()}

    def _scalars(self) -> dict[str, Tensor]:
        """Return the kernel's scalar inputs by name."""
        inputs = {**_SCALAR_INPUTS, "learning_rate": self._rate_input}
        return {inputs.get(name, name): tensor for name, tensor in self._tensors.items()}

    def _attrs(self) -> dict[str, Any]:
        """Return the op's attributes."""
        return {}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for variable in var_list:
            for slot_name in self._kernel_slots.values():
                self._zeros_slot(variable, slot_name, self._name)

    def _other_inputs(self, var: Any) -> dict[str, Any]:
        """Return inputs by name that are neither slots nor hyperparameters of the variable's type."""
        return {}

    def _apply(self, prefix: str, var: Any, grad: Tensor, indices: Tensor | None) -> Operation:
        resource = prefix.startswith("Resource")
        dtype = grad.dtype.base_dtype if resource else var.dtype.base_dtype
        own_slots = {name: self.get_slot(var, slot_name) for name, slot_name in self._kernel_slots.items()}
        slots: dict[str, Any] = {name: slot.handle if resource else slot for name, slot in own_slots.items()}
        scalars: dict[str, Any] = {name: cast_to(value, dtype) for name, value in self._scalars().items()}
        is_delta = indices is None and self._op.endswith("GradientDescent")
        gradient: dict[str, Any] = {"delta" if is_delta else "grad": grad}
        positions: dict[str, Any] = {} if indices is None else {"indices": indices}
        return apply_op(
            f"{prefix}Apply{self._op}",
            var=var.handle if resource else var,
            **slots,
            **scalars,
            **self._other_inputs(var),
            **gradient,
            **positions,
            **self._attrs(),
            use_locking=self._use_locking,
        )

    def _apply_dense(self, grad: Tensor, var: VariableLike) -> Operation:
        return self._apply("", var, grad, None)

    def _resource_apply_dense(self, grad: Tensor, var: Any) -> Operation:
        return self._apply("Resource", var, grad, None)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        return self._apply("Sparse", var, grad.values, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Operation:
        return self._apply("ResourceSparse", var, grad, indices)


def cast_to(value: Any, dtype: DTypeLike) -> ResourceVariable | Tensor:
    """Return ``value`` with another dtype; a resource variable of that dtype is returned unchanged."""
    if isinstance(value, ResourceVariable) and value.dtype is dtype:
        return value
    return cast.cast(value, dtype)


def _key(var: Any) -> tuple[Graph, str]:
    whole = getattr(var, "_distributed", var)  # all copies of a variable share a slot
    op = getattr(whole, "primary", whole).op
    return op.graph, op.name


def _trainable_dependencies(loss: Tensor) -> list[Any]:
    """Return the trainable variables that a tensor depends on."""
    seen: set[Operation] = set()
    queue = [loss.op]
    while queue:
        op = queue.pop()
        if op not in seen:
            seen.add(op)
            queue.extend(tensor.op for tensor in op.inputs)
    return [variable for variable in trainable_variables() if variable.op in seen]


def _target(variable: VariableLike) -> Tensor:
    if isinstance(variable, ResourceVariable):
        return variable.handle
    if isinstance(variable, Variable):
        return convert_to_tensor(variable, as_ref=True)
    if isinstance(variable, Tensor):
        return variable
    raise NotImplementedError("Trying to optimize unsupported type ", variable)


def _converted(grad: Any) -> Gradient:
    try:
        return convert_to_tensor_or_indexed_slices(grad)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
        ) from None


def _without_duplicates(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows summed per position, and the distinct positions."""
    unique, positions = apply_op("Unique", x=indices).outputs
    shape = apply_op("Shape", input=unique).outputs[0]
    with name_scope(None, "strided_slice") as scope:
        count = apply_op(
            "StridedSlice",
            scope,
            input=shape,
            begin=convert_to_tensor([0], name="stack"),
            end=convert_to_tensor([1], name="stack_1"),
            strides=convert_to_tensor([1], name="stack_2"),
            shrink_axis_mask=1,
        ).outputs[0]
    return unsorted_segment_sum(values, positions, count), unique


def _count(global_step: Any, name: str) -> Any:
    if isinstance(global_step, ResourceVariable):
        one = convert_to_tensor(1, global_step.dtype)
        return assign_add_variable_op(global_step.handle, one, name=name)
    return assign_add(global_step, 1, name=name)
