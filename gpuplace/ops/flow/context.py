"""Control flow contexts: the branch or loop body that is being built, and the way values enter it.

While a context is entered, every new operation belongs to it (``Graph._add_to_context``). Inputs from outside are
replaced by the output of a ``Switch`` or an ``Enter``, one for each value and context::

    x ──> Mul            x ──> Enter ──> Mul        in a loop
                 ==>
                         x ──> Switch ──1──> Mul    in the branch for true

The names of public methods are TensorFlow's.

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
    """Return whether an operation leads into a loop."""
    return op.type in ENTERS


def is_exit(op: Operation) -> bool:
    """Return whether an operation leads out of a loop."""
    return op.type in EXITS


def is_loop_invariant(op: Operation) -> bool:
    """Return whether an operation brings a value into all iterations of a loop."""
    return is_enter(op) and bool(op.attrs["is_constant"])


def switch(data: TensorLike, pred: Any, name: str | None = None) -> Any:
    """Return the outputs for false and true of a ``Switch``.

    Args:
        data: the tensor to pass on, of any dtype and shape.
        pred: a scalar bool.
        name: name of the operation.

    Returns:
        Two tensors with the dtype and shape of ``data``, only one of them live: for false, for true.
    """
    with name_scope(name, "Switch", [data, pred]) as scope:
        tensor = convert_to_tensor(data, name="data", as_ref=True)
        return apply_op("Switch", scope, data=tensor, pred=convert_to_tensor(pred, name="pred")).outputs


def colocated_switch(data: TensorLike, pred: Tensor, name: str = "Switch") -> Any:
    """Return the outputs of a ``Switch`` that is placed with its data; for a reference, of a ``RefSwitch``.

    Args:
        data: the tensor to pass on, of any dtype and shape.
        pred: a scalar bool.
        name: name of the operation.

    Returns:
        Two tensors with the dtype and shape of ``data``, only one of them live: for false, for true.
    """
    tensor = convert_to_tensor(data, name="data")
    with get_default_graph().colocate_with(tensor.op, ignore_existing=True):
        if tensor.dtype.is_ref_dtype:
            return apply_op("RefSwitch", name, data=tensor, pred=pred).outputs
        return switch(tensor, pred, name)


def merge(inputs: list[Any], name: str | None = None) -> Any:
    """Return the live input, and its index.

    Args:
        inputs: tensors of one dtype, only one of them live.
        name: name of the operation.

    Returns:
        A tensor of their dtype, and an int32 scalar.
    """
    with name_scope(name, "Merge", inputs) as scope:
        tensors = [convert_to_tensor(item, as_ref=True) for item in inputs]
        are_refs = all(tensor.dtype.is_ref_dtype for tensor in tensors)
        return apply_op("RefMerge" if are_refs else "Merge", scope, inputs=tensors).outputs


class ControlFlowContext:
    """A conditional branch or a loop.

    Attributes:
        name: unique in the graph.
        outer_context: the context around it, or None.
    """

    def __init__(self, name: str) -> None:
        graph = get_default_graph()
        self.name = graph.unique_name(name)
        self.outer_context: ControlFlowContext | None = building_context(graph)
        self._nested_contexts: list[ControlFlowContext] = []
        if self.outer_context is not None:
            self.outer_context._nested_contexts.append(self)
        self._values: set[Tensor] = set()
        """Values known inside."""
        self._external_values: dict[Tensor, Tensor] = {}
        """Value outside -> its substitute inside."""
        self._before: list[ControlFlowContext | None] = []

    def Enter(self) -> None:  # noqa: N802 - TensorFlow's name, as are the following
        """Start building the context."""
        graph = get_default_graph()
        self._before.append(building_context(graph))
        set_building_context(graph, self)

    def Exit(self) -> None:  # noqa: N802
        """Stop building the context."""
        set_building_context(get_default_graph(), self._before.pop())

    def AddName(self, tensor: Tensor) -> None:  # noqa: N802
        """Make a value known inside."""
        self._values.add(tensor)

    def AddValue(self, val: Tensor) -> Tensor:  # noqa: N802
        """Return the substitute for a value inside; bring it in through the outer contexts if it is not known yet."""
        raise NotImplementedError

    def add_op(self, op: Operation) -> None:
        """Record a new operation, and replace its inputs from outside with their substitutes."""
        raise NotImplementedError

    def AddInnerOp(self, op: Operation) -> None:  # noqa: N802
        """Record an operation made in a nested context."""
        if self.outer_context is not None:
            self.outer_context.AddInnerOp(op)

    def ExitResult(self, result: Iterable[Tensor]) -> None:  # noqa: N802
        """Make results known to the outer context."""
        if self.outer_context is not None:
            for tensor in result:
                self.outer_context.AddName(tensor)

    def GetWhileContext(self) -> Any:  # noqa: N802
        """Return the innermost loop that this context is or belongs to; None without one."""
        return None if self.outer_context is None else self.outer_context.GetWhileContext()

    def GetControlPivot(self) -> Tensor | None:  # noqa: N802
        """Return the tensor on which operations without inputs depend."""
        return None

    def IsWhileContext(self) -> bool:  # noqa: N802
        """Return whether the context is a loop."""
        return False

    def IsCondContext(self) -> bool:  # noqa: N802
        """Return whether the context is a branch."""
        return False

    @property
    def grad_state(self) -> Any:
        """The gradient state of the context's loop."""
        return None

    def contains(self, inner: ControlFlowContext | None) -> bool:
        """Return whether a context is this one or nested in it."""
        while inner is not None and inner is not self:
            inner = inner.outer_context
        return inner is self

    def __str__(self) -> str:
        return self.name

    def _remove_external_control_edges(self, op: Operation) -> tuple[list[Operation], list[Operation]]:
        """Remove the control edges from outside the loop; return the remaining and the removed ones."""
        loop = self.GetWhileContext()
        controls = op.control_inputs
        if loop is None:
            return controls, []
        inside = [item for item in controls if _output_loop(item) is loop]
        outside = [item for item in controls if item not in inside]
        if outside:
            drop_controls(op)
            add_controls(op, inside)
        return inside, outside

    def check_use(self, source: Operation, op: Operation) -> None:
        """Check that ``op`` may use an output of ``source``, an operation of this context.

        Raises:
            ValueError: ``source`` is in a loop that ``op`` is not in.
        """
        context, source_context = context_of(op), output_context(source)
        if source_context is None or context is source_context:
            return
        loop, source_loop = _loop_of(context), _loop_of(source_context)
        if loop is None:
            if source_loop is None or is_enter(op) or op.type in SWITCHES:
                return
            why = f"because '{source.name}' is in a while loop."
        else:
            if source_loop is None or source_loop.contains(loop) or _may_use(loop, source_loop):
                return
            why = "because they are in different while loops."
        raise ValueError(
            f"Cannot use '{source.name}' as input to '{op.name}' {why} See info log for more details."
        )


def _may_use(loop: Any, source_loop: Any) -> bool:
    """Return whether gradients allow the use: a gradient loop uses its forward loop's values, through stacks."""
    state = loop.grad_state
    if state is not None:
        forward = state.forward_context
        if source_loop.contains(forward) or forward is source_loop.outer_context:
            return True
    state = source_loop.grad_state
    if state is None:
        return False
    outer = state.forward_context.grad_state
    return state.forward_context is loop or (outer is not None and outer.forward_context is loop)


def output_context(op: Operation) -> Any:
    """Return the context of an operation's outputs: for ``Exit``, the one around the loop."""
    context = context_of(op)
    return context.outer_context if context is not None and is_exit(op) else context


def _loop_of(context: Any) -> Any:
    return None if context is None else context.GetWhileContext()


def _output_loop(op: Operation) -> Any:
    return _loop_of(output_context(op))


def while_context_of(op: Operation) -> Any:
    """Return the loop that an operation is in, or None."""
    return _loop_of(context_of(op))


def is_cond_switch(op: Operation) -> bool:
    """Return whether a ``Switch`` belongs to a conditional, and not to a loop."""
    for output in op.outputs:
        for consumer in output.consumers():
            context = context_of(consumer)
            if is_enter(consumer) and context is not None:
                context = context.outer_context
            if context is None or not context.IsCondContext():
                return False
    return True


def is_loop_switch(op: Operation) -> bool:
    """Return whether an operation is the ``Switch`` of a loop variable."""
    context = context_of(op)
    return op.type in SWITCHES and context is not None and context.IsWhileContext() and not is_cond_switch(op)
