"""Control dependencies that make stateful operations run in program order.

    v.assign_add(1.0)        AssignAddVariableOp ┄┄> ReadVariableOp ──> Mul ──> Identity
    return v * x                     └┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄^

Operations that use the same resource wait for each other; stateful operations run even if no result needs them.

Source: tensorflow/python/framework/auto_control_deps.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import RANDOM_OPS
from gpuplace.graph.operation import Operation, Tensor, add_control, context_of, set_context
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.flow.context import merge
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.sparse.sparse_tensor import SparseTensor


def op_is_stateful(op: Operation) -> bool:
    """Return whether an operation has to run in order: a stateful one, except for random number ops.

    Args:
        op: the operation.
    """
    return op.op_def is not None and op.op_def.is_stateful and op.type not in RANDOM_OPS


class AutomaticControlDependencies:
    """A block that adds control dependencies to its operations when it ends."""

    def __init__(self) -> None:
        self._returned: list[Tensor] = []
        self._graph: Graph = get_default_graph()
        self._first = 0
        self._last_user: dict[Tensor | None, Operation] = {}
        self._merges: dict[Tensor, Operation] = {}
        self._must_run: dict[Operation, None] = {}
        self.ops_which_must_run: set[Operation] = set()
        """After the block: the operations that always run."""

    def mark_as_return(self, tensor: Any) -> Any:
        """Return a copy of a tensor that waits for all operations that must run.

        Args:
            tensor: a tensor, sparse tensor, ``IndexedSlices`` or tensor array.
        """
        if isinstance(tensor, IndexedSlices):
            values, indices = self._mark(tensor.values), self._mark(tensor.indices)
            return IndexedSlices(values, indices, dense_shape=tensor.dense_shape)
        if isinstance(tensor, SparseTensor):
            values, indices = self._mark(tensor.values), self._mark(tensor.indices)
            return SparseTensor(indices, values, tensor.dense_shape)
        if hasattr(tensor, "with_flow"):
            return tensor.with_flow(self._mark(tensor.flow))
        return self._mark(tensor)

    def _mark(self, tensor: Tensor) -> Tensor:
        copy = identity(tensor)
        self._returned.append(copy)
        return copy

    def __enter__(self) -> AutomaticControlDependencies:
        self._graph = get_default_graph()
        self._first = len(self._graph)
        return self

    def __exit__(self, error: Any, *rest: object) -> None:
        if error is not None:
            return
        if self._graph is not get_default_graph():
            raise RuntimeError("Graph changed while trying to add control dependencies.")
        for op in self._graph.get_operations()[self._first :]:
            if not _is_in_loop(op):
                self._order(op)
        self.ops_which_must_run.update(self._must_run)
        for tensor in self._returned:
            _wait(tensor.op, list(self._must_run))

    def _order(self, op: Operation) -> None:
        """Make an operation wait for earlier ones."""
        is_stateful = op_is_stateful(op)
        if is_stateful or op.type in self._graph.functions:
            self._must_run[op] = None
        if op.type == "Switch" and op.inputs[0].dtype.name == "resource":
            return
        if op.type == "Merge":
            self._close(op)
            return
        before: list[Operation] = []
        resources = list(dict.fromkeys(tensor for tensor in op.inputs if tensor.dtype.name == "resource"))
        for resource in resources:
            if resource.op.type == "Switch":
                self._through_switch(resource.op)
            if resource in self._last_user:
                before.append(self._last_user[resource])
            if resource in self._merges:
                add_control(self._merges[resource], op)
            self._last_user[resource] = op
        if is_stateful and not resources and context_of(op) is None:
            if None in self._last_user:
                before.append(self._last_user[None])
            self._last_user[None] = op
        _wait(op, before)

    def _close(self, op: Operation) -> None:
        """Make the ``Merge`` of a conditional wait for the operations in it that must run."""
        for required in self._must_run:
            if required is not op:
                add_control(op, required)
            for tensor in required.inputs:
                if tensor in self._last_user:
                    self._last_user[tensor] = op
        self._must_run = {op: None}

    def _through_switch(self, switch: Operation) -> None:
        """Free a resource that a branch uses when its own ``Merge`` has run."""
        resource = switch.inputs[0]
        if resource.dtype.name == "resource" and resource.op.type == "Switch":
            self._through_switch(resource.op)
        if switch.outputs[0] in self._merges:
            return
        joined = merge(list(switch.outputs), name="artificial_merge")[0].op
        context = context_of(switch)
        set_context(joined, None if context is None else context.outer_context)
        self._must_run[joined] = None
        if resource in self._last_user:
            add_control(switch, self._last_user[resource])
        self._last_user[resource] = joined
        if resource in self._merges:
            add_control(self._merges[resource], joined)
        for output in switch.outputs:
            self._merges[output] = joined


def _is_in_loop(op: Operation) -> bool:
    context = context_of(op)
    return context is not None and context.GetWhileContext() is not None


def _wait(op: Operation, before: list[Operation]) -> None:
    """Make an operation wait for others of its branch."""
    context = context_of(op)
    for user in before:
        if user is not op and user not in op.control_inputs and context_of(user) is context:
            add_control(op, user)
