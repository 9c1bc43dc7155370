"""``tf.cond``: one of two functions, by the value of a tensor.

::

              +--0-- pivot for false: what the branch without inputs waits for
    pred -> Switch                                                                   x -> Switch(pred) -0-> Neg -+
              +--1-- pivot for true                                                             +-1-> Exp ------ Merge

Both functions are called once, when the graph is built; what they make is part of a ``CondContext``, so that only one
branch runs. What a branch takes from outside is there in either case.

Source: tensorflow/python/ops/control_flow_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.display import above
from gpuplace.dtypes import int64
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor, add_control, context_of, set_context, update_input
from gpuplace.ops import nest
from gpuplace.ops.array import reshaping
from gpuplace.ops.flow import control, control_flow_util
from gpuplace.ops.flow.context import ControlFlowContext, is_exit, merge, switch, switch_beside
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike

__all__ = ["cond"]


class CondContext(ControlFlowContext):
    """One branch of a conditional.

    Args:
        pred: the tensor that decides.
        pivot: its value in this branch.
        branch: 1 for true, 0 for false.
    """

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int) -> None:
        super().__init__("cond_text")
        self.pred = pred
        self.pivot = pivot
        self.branch = branch
        self._values.update((pred, pivot))
        self._external_values[pred] = pred
        set_context(pivot.op, self)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The branch as a ``CondContextDef``.

        Args:
            export_scope: a scope for the names to lack; None: none.

        Returns:
            The message; None if the branch is not in the scope.
        """
        return above("gpuplace.saving.protos", "branch_to_proto")(self, export_scope)

    @staticmethod
    def from_proto(context_def: Any, import_scope: str | None = None) -> Any:
        """The branch whose operations are in the default graph.

        Args:
            context_def: a ``CondContextDef``.
            import_scope: the scope that they are in; None: they have the names that the message says.

        Raises:
            KeyError: there is no such tensor.
        """
        return above("gpuplace.saving.protos", "branch_from_proto")(context_def, import_scope)

    @property
    def grad_state(self) -> Any:
        """As for any context."""
        loop = self.GetWhileContext()
        return None if loop is None else loop.grad_state

    def GetControlPivot(self) -> Tensor:  # noqa: N802
        """As for any context."""
        return self.pivot

    def IsCondContext(self) -> bool:  # noqa: N802
        """As for any context."""
        return True

    def _know(self, tensor: Tensor) -> None:
        context: ControlFlowContext | None = self
        while context is not None:
            context._values.add(tensor)
            context = context.outer_context

    def _from_around(self, val: Tensor) -> Tensor:
        """What stands for a value around this branch."""
        self._values.add(val)
        if self.outer_context is None:
            return val
        found = self.outer_context.AddValue(val)
        self._values.add(found)
        self._external_values[found] = found
        return found

    def AddValue(self, val: Tensor) -> Tensor:  # noqa: N802
        """As for any context."""
        if val in self._values:
            return self._external_values.get(val, val)
        found = self._from_around(val)
        with get_default_graph().control_dependencies(None):
            found = switch_beside(found, self.pred)[self.branch]
            if self.outer_context is not None:
                self.outer_context.AddInnerOp(found.op)
        found.op.graph.prevent_fetching(found.op)
        set_context(found.op, self)
        self._know(found)
        self._external_values[val] = found
        return found

    def add_op(self, op: Operation) -> None:
        """As for any context."""
        self._add_inside(op)

    def _add_inside(self, op: Operation) -> None:
        if not op.inputs:
            self._remove_external_control_edges(op)
            if not any(self.contains(context_of(one)) for one in op.control_inputs):
                add_control(op, self.pivot.op)
        else:
            for index, tensor in enumerate(op.inputs):
                if op.type == "Merge" and tensor.op.type == "NextIteration":
                    continue
                found = self.AddValue(tensor)
                if found is not tensor:
                    update_input(op, index, found)
            self._remove_external_control_edges(op)
            if op.type in op.graph.functions or op.type == "SymbolicGradient":
                add_control(op, self.pivot.op)
        for tensor in op.outputs:
            self._know(tensor)
        if self.outer_context is not None or not is_exit(op):
            op.graph.prevent_fetching(op)
        if self.outer_context is not None:
            self.outer_context.AddInnerOp(op)

    def _result(self, value: Any) -> Any:
        """What a branch gives, as a tensor that is there in this branch only."""
        if isinstance(value, Operation):
            return control.with_dependencies([value], self.pivot)
        tensor = convert_to_tensor(flow_of(value))
        if tensor in self._values:
            return self._external_values.get(tensor, tensor)
        found = switch_beside(self._from_around(tensor), self.pred)[self.branch]
        self._external_values[tensor] = found
        return found

    def build(self, function: Callable[[], Any], argument: str) -> tuple[Any, list[Tensor]]:
        """Calls the function of the branch; returns what it gives, and its tensors.

        Raises:
            ValueError: it gives nothing.
        """
        self.Enter()
        try:
            given = function()
            if given is None:
                raise ValueError(f"{argument} must have a return value.")
            tensors = [self._result(value) for value in nest.flatten(given, opens_slices=True)]
            self.ExitResult(tensors)
        finally:
            self.Exit()
        return given, tensors


def flow_of(value: Any) -> Any:
    """The tensor that stands for an array of tensors; other values as they are."""
    return value.flow if hasattr(value, "flow") and hasattr(value, "with_flow") else value


def with_flows(originals: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """Tensors, as arrays of tensors where the originals are."""
    return [
        original.with_flow(tensor) if hasattr(original, "with_flow") else tensor
        for original, tensor in zip(originals, tensors, strict=True)
    ]


def _with_equal_positions(
    given: Any, ours: Sequence[Tensor], theirs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """What two branches give, the positions of slices as int64 where they are int32 in one and int64 in the other."""
    flags: list[bool] = []
    for value in nest.flatten(given):
        count = len(nest.flatten(value, opens_slices=True))
        flags += [isinstance(value, IndexedSlices) and index == 1 for index in range(count)]
    pairs = []
    for is_position, one, other in zip(flags, ours, theirs, strict=True):
        if is_position and one.dtype.base_dtype is not other.dtype.base_dtype:
            one, other = (
                tensor if tensor.dtype.base_dtype is int64 else new("Cast", x=tensor, DstT=int64)
                for tensor in (one, other)
            )
        pairs.append((one, other))
    return [one for one, _ in pairs], [other for _, other in pairs]


def _only(given: Any) -> Any:
    return given[0] if isinstance(given, (list, tuple)) and len(given) == 1 else given


def _checked_functions(true_fn: Any, false_fn: Any, fn1: Any, fn2: Any) -> tuple[Any, Any]:
    for name, function, old_name, old in (
        ("true_fn", true_fn, "fn1", fn1),
        ("false_fn", false_fn, "fn2", fn2),
    ):
        if old is not None and function is not None:
            raise TypeError(f"cond(): {name} and {old_name} may not be set simultaneously.")
        if old is None and function is None:
            raise TypeError(f"cond(): {name} argument required")
    found = (fn1 if fn1 is not None else true_fn), (fn2 if fn2 is not None else false_fn)
    for name, function in zip(("true_fn", "false_fn"), found, strict=True):
        if not callable(function):
            raise TypeError(f"{name} must be callable.")
    return found


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """What ``true_fn`` gives where ``pred`` is true, else what ``false_fn`` gives.

    >>> import gpuplace as tf
    >>> is_large = tf.constant(3) > 2
    >>> int(tf.Session().run(tf.cond(is_large, lambda: tf.constant(1), lambda: tf.constant(0))))
    1

    Args:
        pred: a scalar bool tensor.
        true_fn: takes nothing and gives tensors, in any structure of lists, tuples and dicts; operations count as
            tensors that are there when they are done.
        false_fn: gives the same structure, of the same dtypes; shapes may differ.
        strict: whether a list or tuple of one stays one; otherwise its item is returned.
        name: name of the scope.
        fn1: deprecated name of ``true_fn``; one of the two is given.
        fn2: deprecated name of ``false_fn``; one of the two is given.

    Returns:
        The structure that the functions give, with tensors that are there whichever of them ran. In a ``tf.function``,
        and after ``tf.enable_control_flow_v2``, it is made of one node ``If``, whose branches are functions, and
        ``strict``, ``fn1`` and ``fn2`` do not count.

    Raises:
        TypeError: a function is missing, given twice or cannot be called, ``pred`` is a Python bool or a tensor of
            another dtype, or structures of different types.
        ValueError: different structures or types of tensors, or nothing is returned.
    """
    if control_flow_util.EnableControlFlowV2(get_default_graph()):
        return control_flow_util.functional("cond")(pred, true_fn, false_fn, name)
    true_fn, false_fn = _checked_functions(true_fn, false_fn, fn1, fn2)
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("pred must not be a Python bool")
        other, taken = switch(pred, pred)
        pivots = [reshaping.identity(taken, name="switch_t"), reshaping.identity(other, name="switch_f")]
        decider = reshaping.identity(pred, name="pred_id")
        for tensor in (taken, other, *pivots, decider):
            tensor.op.graph.prevent_fetching(tensor.op)
        context_true = CondContext(decider, pivots[0], 1)
        given_true, tensors_true = context_true.build(true_fn, "true_fn")
        context_false = CondContext(decider, pivots[1], 0)
        given_false, tensors_false = context_false.build(false_fn, "false_fn")
        if not strict:
            given_true, given_false = _only(given_true), _only(given_false)
        try:
            nest.assert_same_structure(given_true, given_false)
        except TypeError as error:
            raise TypeError(f"Incompatible return types of true_fn and false_fn: {error}") from None
        except ValueError as error:
            raise ValueError(f"Incompatible return values of true_fn and false_fn: {error}") from None
        if not tensors_true:
            raise ValueError("true_fn and false_fn must return at least one result.")
        tensors_true, tensors_false = _with_equal_positions(given_true, tensors_true, tensors_false)
        for one, other_one in zip(tensors_true, tensors_false, strict=True):
            if one.dtype.base_dtype is not other_one.dtype.base_dtype:
                raise ValueError(
                    f"Outputs of true_fn and false_fn must have the same type: {one.dtype.name}, {other_one.dtype.name}"
                )
        merged = [merge([b, a])[0] for a, b in zip(tensors_true, tensors_false, strict=True)]
        flat = nest.flatten(given_true, opens_slices=True)
        if context_true.outer_context is None:
            for context in (context_true, context_false):
                get_default_graph().add_to_collection(GraphKeys.COND_CONTEXT, context)
        result = nest.pack_sequence_as(given_true, with_flows(flat, merged), opens_slices=True)
        return result if strict else _only(result)


def smart_cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """``cond``, without operations of its own where the value is known when the graph is built.

    Args:
        pred: a bool, or a scalar bool tensor.
        true_fn: as for ``cond``.
        false_fn: as for ``cond``.

    Returns:
        What one of the functions gives; for a tensor whose value is not known, as ``cond``.
    """
    if hasattr(pred, "_as_graph_element") or isinstance(pred, Tensor):
        value = constant_value(convert_to_tensor(pred))
        if value is None:
            return cond(pred, true_fn, false_fn)
        pred = bool(value)
    return true_fn() if pred else false_fn()
