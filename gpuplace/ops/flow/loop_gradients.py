"""Gradients of loops: a second loop of as many iterations, which gets the first loop's values from stacks.

::

    forward   i = 0..n-1:  y = f(x)      push x          n is counted (f_count)
    backward  n down to 1: pop x         dx = f'(x) dy   (b_count)

Values of an iteration that the gradient needs are pushed where they are computed and popped where they are used.
Gradients of loop variables are loop variables themselves; those of values from outside are accumulated (b_acc).
Second-order gradients of loops are not supported, as in TensorFlow.

Source: tensorflow/python/ops/control_flow_state.py and control_flow_ops.py (AddForwardLoopCounter,
AddBackpropLoopCounter, AddBackpropAccumulator), release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.op_sets import IDENTITY_OPS, SWITCHES
from gpuplace.graph.operation import Operation, Tensor, add_control, context_of, set_context, update_input
from gpuplace.graph.scopes import building_context
from gpuplace.ops.array import constant
from gpuplace.ops.flow.context import (
    colocated_switch,
    is_exit,
    is_loop_invariant,
    is_loop_switch,
    merge,
    output_context,
    switch,
    while_context_of,
)
from gpuplace.ops.flow.while_loops import WhileContext, enter, exit_loop, next_iteration
from gpuplace.ops.math import comparison, elementwise
from gpuplace.ops.support import new
from gpuplace.ops.variables.resource_state import variable_shape, zeros_dtype

_PASSING = SWITCHES | IDENTITY_OPS


@contextmanager
def inside(context: Any) -> Iterator[None]:
    """Build within a context inside the block; None changes nothing."""
    if context is None:
        yield
        return
    context.Enter()
    try:
        yield
    finally:
        context.Exit()


@contextmanager
def outside(context: Any) -> Iterator[None]:
    """Leave a context that is being built, inside the block."""
    context.Exit()
    try:
        yield
    finally:
        context.Enter()


def shape_of(tensor: Tensor) -> Tensor:
    """Return a tensor's shape from an operation even if it is static; for a handle, the shape of its variable."""
    if tensor.dtype.base_dtype.name == "resource":
        return variable_shape(tensor)
    return new("Shape", input=tensor)


def _invariant_enter(tensor: Tensor) -> Operation | None:
    """Return the operation that brings a loop-invariant value into the loop; None for other values."""
    op = tensor.op
    while op.type in _PASSING:
        op = op.inputs[0].op
    return op if is_loop_invariant(op) else None


class LoopGradient:
    """The gradient of a loop.

    Args:
        forward: the loop.
        outer: the gradient of the outer loop, or None.
    """

    def __init__(self, forward: WhileContext, outer: LoopGradient | None) -> None:
        self.outer = outer
        self.forward_context = forward
        self.values: dict[Tensor, Tensor] = {}
        """Value of the forward loop -> its substitute in the gradient."""
        self.merges: dict[Operation, Tensor] = {}
        """Switch of a loop variable -> the merge of its gradient."""
        self.exits = list(forward.loop_exits)
        self.pending_exits = len(forward.loop_exits)
        self.deferred_exits: list[Tensor] = []
        self.unused_exits: list[Tensor] = []
        self._forward_sync: Operation | None = None
        self._grad_sync: Operation | None = None
        around = forward.outer_context if outer is None else outer.forward_context
        with inside(around):
            count, self.forward_index = _add_forward_counter(forward, outer)
        if outer is None:
            with inside(around):
                self.grad_context = self._new_context()
                self.grad_index = _add_backward_counter(self.grad_context, count, None)
            return
        outer.forward_context.AddName(count)
        history = outer.AddForwardAccumulator(count)
        with inside(outer.grad_context):
            self.grad_context = self._new_context()
            real_count = outer.AddBackpropAccumulatedValue(history, count)
            self.grad_index = _add_backward_counter(self.grad_context, real_count, outer)

    def _new_context(self) -> WhileContext:
        forward = self.forward_context
        return WhileContext(
            forward.maximum_iterations,
            forward.parallel_iterations,
            forward.back_prop,
            forward.swap_memory,
            forward.name,
            self,
        )

    @property
    def forward_sync(self) -> Operation:
        """The operation that the forward loop's next iteration waits for: pushes inside branches."""
        if self._forward_sync is None:
            with get_default_graph().control_dependencies(None):
                self._forward_sync = apply_op("ControlTrigger", "f_sync")
            set_context(self._forward_sync, self.forward_context)
            add_control(self.forward_index.op, self._forward_sync)
        return self._forward_sync

    @property
    def grad_sync(self) -> Operation:
        """The operation that the gradient's next iteration waits for: all pops."""
        if self._grad_sync is None:
            with get_default_graph().control_dependencies(None):
                self._grad_sync = apply_op("ControlTrigger", "b_sync")
            set_context(self._grad_sync, self.grad_context)
            add_control(self.grad_index.op, self._grad_sync)
            if self.grad_context.outer_context is not None:
                self.grad_context.outer_context.AddInnerOp(self._grad_sync)
        return self._grad_sync

    # Stacks

    def AddForwardAccumulator(self, value: Tensor, dead_branch: bool = False) -> Tensor:  # noqa: N802
        """Push a value of the forward loop in every iteration; return the stack's handle.

        Args:
            value: the value.
            dead_branch: whether the value is live in the branch opposite to its conditional's.
        """
        graph = self.forward_index.graph
        current = building_context(graph)
        forward = self.forward_context
        with graph.control_dependencies(None):
            with inside(current), graph.colocate_with(value.op):
                size = constant.constant(-1, "int32")
                stack = new("StackV2", "f_acc", max_size=size, elem_type=value.dtype.base_dtype)
            handle = forward.AddValue(stack)

            def push() -> Operation:
                return apply_op("StackPushV2", handle=handle, elem=value, swap_memory=forward.swap_memory)

            context = output_context(value.op)
            if context is forward:
                with inside(forward):
                    pushed = push()
                add_control(self.forward_index.op, pushed)
            else:
                if not context.IsCondContext():
                    raise TypeError(f"value_ctxt is not a CondContext: {context}")
                with inside(context.outer_context if dead_branch else context):
                    pushed = push()
                if dead_branch:
                    set_context(pushed, context)
                add_control(self.forward_sync, pushed)
            add_control(pushed, self.forward_index.op.inputs[0].op)
        return stack

    def AddBackpropAccumulatedValue(  # noqa: N802
        self, history: Tensor, value: Tensor, dead_branch: bool = False
    ) -> Tensor:
        """Pop in every iteration of the gradient; return the value pushed in the forward iteration.

        Args:
            history: the result of ``AddForwardAccumulator``.
            value: the value that was pushed.
            dead_branch: as for ``AddForwardAccumulator``.
        """
        around, branch = context_of(history.op), None
        context = context_of(value.op)
        while context is not None and context is not around:
            if context.IsCondContext():
                branch = context
                break
            context = context.outer_context
        with get_default_graph().control_dependencies(None), inside(self.grad_context):
            if branch is not None:
                state: LoopGradient | None = self
                pred: Tensor | None = None
                while pred is None and state is not None:
                    pred, state = state.values.get(branch.pred), state.outer
                side = 1 - branch.branch if dead_branch else branch.branch
                history = colocated_switch(history, branch.pred if pred is None else pred)[side]
            popped = new("StackPopV2", handle=history, elem_type=value.dtype.base_dtype)
            popped.set_shape(value.shape)
        if self.grad_context.parallel_iterations > 1:
            add_control(self.grad_sync, popped.op)
        return popped

    def GetRealValue(self, value: Tensor) -> Tensor:  # noqa: N802
        """Return the gradient's substitute for a value of the forward loop."""
        substitute = self.values.get(value)
        if substitute is not None:
            return substitute
        real: Tensor | None = None
        current, state = value, self
        while real is None:
            invariant = _invariant_enter(current)
            if invariant is not None:
                current = invariant.inputs[0]
                if state.outer is None:
                    real = self.grad_context.AddValue(current)
                else:
                    state = state.outer
            elif current.op.type == "Const":
                content = constant_value(current)
                assert content is not None
                real = constant.constant(content, dtype=current.dtype)
            else:
                with outside(self.grad_context):
                    history = state.AddForwardAccumulator(current)
                real = state.AddBackpropAccumulatedValue(history, current)
                if state is not self:
                    real = self.grad_context.AddValue(real)
        self.values[value] = real
        return real

    def pred_of(self, pred: Tensor) -> Tensor:
        """Return the value that a conditional's predicate had in the forward loop, for use in the gradient loop."""
        substitute = self.values.get(pred)
        if substitute is None:
            with outside(self.grad_context):
                history = self.AddForwardAccumulator(pred)
            substitute = self.values[pred] = self.AddBackpropAccumulatedValue(history, pred)
        return substitute


# Counters


def add_ring(
    context: WhileContext,
    first: Tensor,
    step: Callable[[Tensor], Tensor],
    name: str,
    merge_name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Add a loop variable to a loop that is being built; return its exit and its next value."""
    context.AddName(first)
    entered = enter(first, context, name=name)
    context.loop_enters.append(entered)
    merged = merge([entered, entered], name=merge_name)[0]
    leaving, continuing = switch(merged, context.pivot)
    going_on = next_iteration(step(continuing))
    update_input(merged.op, 1, going_on)
    left = exit_loop(leaving, name=name)
    context.loop_exits.append(left)
    context.ExitResult([left])
    return left, going_on


def _add_forward_counter(forward: WhileContext, outer: LoopGradient | None) -> tuple[Tensor, Tensor]:
    """Count the iterations of the forward loop; return their number and the index."""
    zero = constant.constant(0, name="f_count")
    if outer is not None:
        add_control(zero.op, outer.forward_index.op.inputs[0].op)
    with inside(forward):
        return add_ring(forward, zero, lambda index: elementwise.add(index, 1), "f_count")


def _add_backward_counter(context: WhileContext, count: Tensor, outer: LoopGradient | None) -> Tensor:
    """Count the gradient's iterations down; return the index."""
    one = constant.constant(1, name="b_count")
    with inside(context):
        context.AddName(count)
        entered = enter(count, context, name="b_count")
        context.loop_enters.append(entered)
        merged = merge([entered, entered])[0]
        context._pivot_for_pred = merged
        context.pivot = new("LoopCond", "b_count", input=comparison.greater_equal(merged, one))
        leaving, continuing = switch(merged, context.pivot)
        index = elementwise.subtract(continuing, one)
        context._pivot_for_body = index
        going_on = next_iteration(index)
        update_input(merged.op, 1, going_on)
        zero = exit_loop(leaving, name="b_count")
        context.loop_exits.append(zero)
        if outer is not None:
            add_control(outer.grad_sync, zero.op)
        context.ExitResult([zero])
    return going_on


# All loops of one call of ``gradients``


class LoopGradients:
    """The gradients of the loops on a walk through a graph."""

    def __init__(self) -> None:
        self._by_context: dict[Any, LoopGradient] = {}

    def add(self, op: Operation, between: dict[Operation, None]) -> None:
        """Add the gradient of the loop that ``op`` leads out of; all exits of the loop then belong to ``between``.

        Raises:
            ValueError: the loop was imported and is unknown.
        """
        forward = while_context_of(op)
        if forward is None:
            raise ValueError(
                "Failed to call gradients on a while loop withoutproperly serializing graph via MetaGraphDef"
            )
        if forward in self._by_context:
            return
        state = self._by_context[forward] = LoopGradient(forward, self._around(forward))
        between.update(dict.fromkeys(left.op for left in state.exits if left.op not in between))

    def _around(self, forward: Any) -> LoopGradient | None:
        outer = forward.outer_context
        loop = None if outer is None else outer.GetWhileContext()
        return None if loop is None else self._by_context.get(loop)

    def state_of(self, op: Operation, before: bool) -> LoopGradient | None:
        """Return the gradient of an operation's loop; ``before`` an exit is passed, that of the loop around it."""
        context = while_context_of(op)
        if before and is_exit(op):
            context = context.outer_context
            context = None if context is None else context.GetWhileContext()
        return None if context is None else self._by_context.get(context)

    def inside_of(self, op: Operation, before: bool) -> Any:
        """Return a block in which to build an operation's gradients."""
        state = self.state_of(op, before)
        return inside(None if state is None else state.grad_context)

    def unused_exits(self, pending: dict[Operation, int], to_ops: Sequence[Operation]) -> list[Tensor]:
        """Return the exits of loops without an exit that awaits gradients; mark their enters as pending."""
        unused: list[Tensor] = []
        for state in self._by_context.values():
            for left in state.exits:
                if not pending.get(left.op, 0):
                    state.pending_exits -= 1
                    if left.op not in to_ops:
                        state.unused_exits.append(left)
                    if not state.pending_exits:
                        unused.extend(state.unused_exits)
            for entered in state.forward_context.loop_enters:
                if not pending.get(entered.op, 0):
                    pending[entered.op] = 1
        return unused

    def zeros_for_exit(self, left: Tensor) -> Tensor:
        """Return zeros for the gradient of an unused loop result."""
        forward = context_of(left.op)
        outer, is_known = self._around(forward), left.shape.is_fully_defined()
        if outer is None:
            if is_known:
                return constant.zeros(left.shape.as_list(), left.dtype)
            return new("ZerosLike", "zeros_like", x=left)
        if is_known:
            with inside(outer.grad_context):
                return constant.zeros(left.shape.as_list(), left.dtype)
        with inside(forward.outer_context):
            shape = shape_of(left)
        history = outer.AddForwardAccumulator(shape)
        with inside(outer.grad_context):
            return constant.zeros(outer.AddBackpropAccumulatedValue(history, shape), left.dtype)

    def zeros(self, op: Operation, index: int) -> Tensor | None:
        """Return zeros for an output without a gradient; None for a loop's switch."""
        if is_loop_switch(op):
            return None
        loop = while_context_of(op)
        state = None if loop is None else self._by_context.get(loop)
        if state is None:
            return zeros_of(op, index)
        return _zeros_in_loop(state, op, op.outputs[index])

    def finish(self) -> None:
        """Close the gradient loops that are still open."""
        for state in self._by_context.values():
            for merged in state.merges.values():
                entered, other = merged.op.inputs
                if entered is other:
                    update_input(merged.op, 1, _zero_next(state, entered))


def _zero_next(state: LoopGradient, entered: Tensor) -> Tensor:
    context = state.grad_context
    if entered.shape.is_fully_defined():
        with inside(context):
            zeros = constant.constant(0, dtype=entered.dtype, shape=entered.shape.as_list())
            return next_iteration(zeros)
    with inside(context.outer_context):
        zeros = constant.zeros(shape_of(entered.op.inputs[0]))
    with inside(context):
        return next_iteration(zeros)


def _zeros_in_loop(state: LoopGradient, op: Operation, value: Tensor) -> Tensor:
    is_dead = op.type in SWITCHES
    context = context_of(op)
    if value.shape.is_fully_defined():
        zeros = constant.constant(0, shape=value.shape.as_list(), dtype=value.dtype)
        if is_dead:
            return colocated_switch(zeros, state.values[context.pred])[1 - context.branch]
        return zeros
    if is_dead:
        with inside(context.outer_context):
            value = colocated_switch(op.inputs[0], context.pred)[1 - context.branch]
            shape = shape_of(value)
        set_context(value.op, context)
        set_context(shape.op, context)
    else:
        with inside(context):
            shape = shape_of(value)
    with outside(state.grad_context):
        history = state.AddForwardAccumulator(shape, is_dead)
    return constant.zeros(state.AddBackpropAccumulatedValue(history, shape, is_dead), value.dtype)


def zeros_of(op: Operation, index: int) -> Tensor:
    """Return zeros for an output of an operation outside loops."""
    value = op.outputs[index]
    context = context_of(op)
    if op.type not in SWITCHES or context is None:
        if value.dtype.base_dtype.name == "resource":
            return constant.zeros(new("VariableShape", input=value), zeros_dtype(value))
        return new("ZerosLike", "zeros_like", x=value)
    return zeros_of_switch(op, value, context)


def zeros_of_switch(op: Operation, value: Tensor, context: Any) -> Tensor:
    """Return zeros for the branch of a conditional that does not use a value, made in that branch."""
    graph = op.graph
    other = switch(op.inputs[0], context.pred)[1 - context.branch]
    pivot = new("Identity", input=other)
    if value.dtype.base_dtype.name == "resource":
        with graph.control_dependencies([pivot]):
            return constant.zeros(new("VariableShape", input=other), zeros_dtype(value))
    shape = shape_of(other)
    with graph.control_dependencies([pivot]):
        return constant.zeros(shape, value.dtype.base_dtype)
