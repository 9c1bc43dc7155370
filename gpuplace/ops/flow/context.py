"""What is being built: a branch of a conditional or the body of a loop, and how values come into it.

While a context is entered, every operation that is made belongs to it (``Graph._add_to_context``). Inputs from outside
are then replaced by what brings them in, a ``Switch`` or an ``Enter``, one for each value and context::

    x ──> Mul            x ──> Enter ──> Mul        in a loop
                 ==>
                         x ──> Switch ──1──> Mul    in the branch for true

Names of methods that programs call are TensorFlow's.

Source: tensorflow/python/ops/control_flow_ops.py and control_flow_util.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.op_sets import ENTERS, EXITS, SWITCHES
from gpuplace.graph.operation import Operation, Tensor, add_controls, context_of, drop_controls
from gpuplace.graph.scopes import building_context, set_building_context
from gpuplace.typing import TensorLike


def is_enter(op: Operation) -> bool:
    """Whether an operation leads into a loop."""
    return op.type in ENTERS


def is_exit(op: Operation) -> bool:
    """Whether an operation leads out of a loop."""
    return op.type in EXITS


def is_loop_invariant(op: Operation) -> bool:
    """Whether an operation brings a value into all iterations of a loop."""
    return is_enter(op) and bool(op.attrs["is_constant"])


def switch(data: TensorLike, pred: Any, name: str | None = None) -> Any:
    """The outputs for false and true of a ``Switch``.

    Args:
        data: what is passed on, of any dtype and shape.
        pred: a scalar bool.
        name: name of the operation.

    Returns:
        Two tensors of the dtype and shape of ``data``, of which one is there: for false, for true.
    """
    with name_scope(name, "Switch", [data, pred]) as scope:
        tensor = convert_to_tensor(data, name="data", as_ref=True)
        return apply_op("Switch", scope, data=tensor, pred=convert_to_tensor(pred, name="pred")).outputs


def switch_beside(data: TensorLike, pred: Tensor, name: str = "Switch") -> Any:
    """The outputs of a ``Switch`` that is placed with its data; of a ``RefSwitch`` for a reference.

    Args:
        data: what is passed on, of any dtype and shape.
        pred: a scalar bool.
        name: name of the operation.

    Returns:
        Two tensors of the dtype and shape of ``data``, of which one is there: for false, for true.
    """
    tensor = convert_to_tensor(data, name="data")
    with get_default_graph().colocate_with(tensor.op, ignore_existing=True):
        if tensor.dtype.is_ref_dtype:
            return apply_op("RefSwitch", name, data=tensor, pred=pred).outputs
        return switch(tensor, pred, name)


def merge(inputs: list[Any], name: str | None = None) -> Any:
    """The value that is there, and its position among the inputs.

    Args:
        inputs: tensors of one dtype, of which one is there.
        name: name of the operation.

    Returns:
        A tensor of their dtype, and an int32 scalar.
    """
    with name_scope(name, "Merge", inputs) as scope:
        tensors = [convert_to_tensor(one, as_ref=True) for one in inputs]
        are_refs = all(tensor.dtype.is_ref_dtype for tensor in tensors)
        return apply_op("RefMerge" if are_refs else "Merge", scope, inputs=tensors).outputs


class ControlFlowContext:
    """A branch or a loop.

    Attributes:
        name: unique in the graph.
        outer_context: the one around it, or None.
    """

    def __init__(self, name: str) -> None:
        graph = get_default_graph()
        self.name = graph.unique_name(name)
        self.outer_context: ControlFlowContext | None = building_context(graph)
        self._nested_contexts: list[ControlFlowContext] = []
        if self.outer_context is not None:
            self.outer_context._nested_contexts.append(self)
        self._values: set[Tensor] = set()
        """Values that are known inside."""
        self._external_values: dict[Tensor, Tensor] = {}
        """Value outside -> what stands for it inside."""
        self._before: list[ControlFlowContext | None] = []

    def Enter(self) -> None:  # noqa: N802 - TensorFlow's name, as are the following
        """Begins to build it."""
        graph = get_default_graph()
        self._before.append(building_context(graph))
        set_building_context(graph, self)

    def Exit(self) -> None:  # noqa: N802
        """Stops to build it."""
        set_building_context(get_default_graph(), self._before.pop())

    def AddName(self, tensor: Tensor) -> None:  # noqa: N802
        """Makes a value known inside."""
        self._values.add(tensor)

    def AddValue(self, val: Tensor) -> Tensor:  # noqa: N802
        """What stands for a value inside; brought in, through the contexts around it, where it is not there yet."""
        raise NotImplementedError

    def add_op(self, op: Operation) -> None:
        """Notes an operation made inside, and gives it the inputs that stand for those from outside."""
        raise NotImplementedError

    def AddInnerOp(self, op: Operation) -> None:  # noqa: N802
        """Notes an operation made in a context inside."""
        if self.outer_context is not None:
            self.outer_context.AddInnerOp(op)

    def ExitResult(self, result: Iterable[Tensor]) -> None:  # noqa: N802
        """Makes results known to the context outside."""
        if self.outer_context is not None:
            for tensor in result:
                self.outer_context.AddName(tensor)

    def GetWhileContext(self) -> Any:  # noqa: N802
        """The innermost loop that this is, or is in; None without one."""
        return None if self.outer_context is None else self.outer_context.GetWhileContext()

    def GetControlPivot(self) -> Tensor | None:  # noqa: N802
        """What operations without inputs wait for."""
        return None

    def IsWhileContext(self) -> bool:  # noqa: N802
        """Whether it is a loop."""
        return False

    def IsCondContext(self) -> bool:  # noqa: N802
        """Whether it is a branch."""
        return False

    @property
    def grad_state(self) -> Any:
        """The state of the gradients of the loop that this is in."""
        return None

    def contains(self, inner: ControlFlowContext | None) -> bool:
        """Whether a context is this one or inside of it."""
        while inner is not None and inner is not self:
            inner = inner.outer_context
        return inner is self

    def __str__(self) -> str:
        return self.name

    def _remove_external_control_edges(self, op: Operation) -> tuple[list[Operation], list[Operation]]:
        """Takes the control edges away that come from outside of the loop; returns those left and those taken."""
        loop = self.GetWhileContext()
        controls = op.control_inputs
        if loop is None:
            return controls, []
        inside = [one for one in controls if _loop_behind(one) is loop]
        outside = [one for one in controls if one not in inside]
        if outside:
            drop_controls(op)
            add_controls(op, inside)
        return inside, outside

    def check_use(self, source: Operation, op: Operation) -> None:
        """Checks that ``op`` may take what ``source``, an operation of this context, gives.

        Raises:
            ValueError: it is in a loop that ``op`` is not in.
        """
        context, taken = context_of(op), context_behind(source)
        if taken is None or context is taken:
            return
        loop, taken_loop = _loop_of(context), _loop_of(taken)
        if loop is None:
            if taken_loop is None or is_enter(op) or op.type in SWITCHES:
                return
            why = f"because '{source.name}' is in a while loop."
        else:
            if taken_loop is None or taken_loop.contains(loop) or _may_use(loop, taken_loop):
                return
            why = "because they are in different while loops."
        raise ValueError(
            f"Cannot use '{source.name}' as input to '{op.name}' {why} See info log for more details."
        )


def _may_use(loop: Any, taken: Any) -> bool:
    """Whether gradients allow it: a loop of gradients takes what its loop made, by way of stacks."""
    state = loop.grad_state
    if state is not None:
        forward = state.forward_context
        if taken.contains(forward) or forward is taken.outer_context:
            return True
    state = taken.grad_state
    if state is None:
        return False
    outer = state.forward_context.grad_state
    return state.forward_context is loop or (outer is not None and outer.forward_context is loop)


def context_behind(op: Operation) -> Any:
    """The context of what an operation gives: for ``Exit`` the one around the loop."""
    context = context_of(op)
    return context.outer_context if context is not None and is_exit(op) else context


def _loop_of(context: Any) -> Any:
    return None if context is None else context.GetWhileContext()


def _loop_behind(op: Operation) -> Any:
    return _loop_of(context_behind(op))


def while_context_of(op: Operation) -> Any:
    """The loop that an operation is in, or None."""
    return _loop_of(context_of(op))


def is_cond_switch(op: Operation) -> bool:
    """Whether a ``Switch`` belongs to a conditional, and not to a loop."""
    for output in op.outputs:
        for consumer in output.consumers():
            context = context_of(consumer)
            if is_enter(consumer) and context is not None:
                context = context.outer_context
            if context is None or not context.IsCondContext():
                return False
    return True


def is_loop_switch(op: Operation) -> bool:
    """Whether an operation is the ``Switch`` of a loop variable."""
    context = context_of(op)
    return op.type in SWITCHES and context is not None and context.IsWhileContext() and not is_cond_switch(op)
