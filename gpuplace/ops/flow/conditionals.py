"""``tf.cond``: select one of two functions by the value of a tensor.

::

              +--0-- pivot for false, on which operations without inputs depend
    pred -> Switch                                                                   x -> Switch(pred) -0-> Neg -+
              +--1-- pivot for true                                                             +-1-> Exp ------ Merge

Both functions are called once, when the graph is built. Their operations belong to a ``CondContext``, so that only one
branch runs. Inputs of a branch from outside are computed in upper or lower case.

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
from gpuplace.ops.flow.context import ControlFlowContext, colocated_switch, is_exit, merge, switch
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike

__all__ = ["cond"]


class CondContext(ControlFlowContext):
    """One branch of a conditional.

    Args:
        pred: the predicate tensor.
        pivot: the predicate's value in this branch.
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
        """Return the branch as a ``CondContextDef``.

        Args:
            export_scope: a scope to strip from the names, or None.

        Returns:
            The message; None if the branch is not in the scope.
        """
        return above("gpuplace.saving.protos", "branch_to_proto")(self, export_scope)

    @staticmethod
    def from_proto(context_def: Any, import_scope: str | None = None) -> Any:
        """Return a branch whose operations are in the default graph.

        Args:
            context_def: a ``CondContextDef``.
            import_scope: the scope of these operations; None: they have the names in the message.

        Raises:
            KeyError: a tensor does not exist.
        """
        return above("gpuplace.saving.protos", "branch_from_proto")(context_def, import_scope)

    @property
    def grad_state(self) -> Any:
        """See ``ControlFlowContext``."""
        loop = self.GetWhileContext()
        return None if loop is None else loop.grad_state

    def GetControlPivot(self) -> Tensor:  # noqa: N802
        """See ``ControlFlowContext``."""
        return self.pivot

    def IsCondContext(self) -> bool:  # noqa: N802
        """See ``ControlFlowContext``."""
        return True

    def _add_known_value(self, tensor: Tensor) -> None:
        context: ControlFlowContext | None = self
        while context is not None:
            context._values.add(tensor)
            context = context.outer_context

    def _outer_substitute(self, val: Tensor) -> Tensor:
        """Return the substitute for a value in the contexts around this branch."""
        self._values.add(val)
        if self.outer_context is None:
            return val
        substitute = self.outer_context.AddValue(val)
        self._values.add(substitute)
        self._external_values[substitute] = substitute
        return substitute

    def AddValue(self, val: Tensor) -> Tensor:  # noqa: N802
        """See ``ControlFlowContext``."""
        if val in self._values:
            return self._external_values.get(val, val)
        substitute = self._outer_substitute(val)
        with get_default_graph().control_dependencies(None):
            substitute = colocated_switch(substitute, self.pred)[self.branch]
            if self.outer_context is not None:
                self.outer_context.AddInnerOp(substitute.op)
        substitute.op.graph.prevent_fetching(substitute.op)
        set_context(substitute.op, self)
        self._add_known_value(substitute)
        self._external_values[val] = substitute
        return substitute

    def add_op(self, op: Operation) -> None:
        """See ``ControlFlowContext``."""
        self._add_inside(op)

    def _add_inside(self, op: Operation) -> None:
        if not op.inputs:
            self._remove_external_control_edges(op)
            if not any(self.contains(context_of(item)) for item in op.control_inputs):
                add_control(op, self.pivot.op)
        else:
            for index, tensor in enumerate(op.inputs):
                if op.type == "Merge" and tensor.op.type == "NextIteration":
                    continue
                substitute = self.AddValue(tensor)
                if substitute is not tensor:
                    update_input(op, index, substitute)
            self._remove_external_control_edges(op)
            if op.type in op.graph.functions or op.type == "SymbolicGradient":
                add_control(op, self.pivot.op)
        for tensor in op.outputs:
            self._add_known_value(tensor)
        if self.outer_context is not None or not is_exit(op):
            op.graph.prevent_fetching(op)
        if self.outer_context is not None:
            self.outer_context.AddInnerOp(op)

    def _result(self, value: Any) -> Any:
        """Return a result of the branch as a tensor that is only live in this branch."""
        if isinstance(value, Operation):
            return control.with_dependencies([value], self.pivot)
        tensor = convert_to_tensor(flow_of(value))
        if tensor in self._values:
            return self._external_values.get(tensor, tensor)
        switched = colocated_switch(self._outer_substitute(tensor), self.pred)[self.branch]
        self._external_values[tensor] = switched
        return switched

    def build(self, function: Callable[[], Any], argument: str) -> tuple[Any, list[Tensor]]:
        """Call the branch's function; return its results, and their tensors.

        Raises:
            ValueError: the function returns nothing.
        """
        self.Enter()
        try:
            returned = function()
            if returned is None:
                raise ValueError(f"{argument} must have a return value.")
            tensors = [self._result(value) for value in nest.flatten(returned, opens_slices=True)]
            self.ExitResult(tensors)
        finally:
            self.Exit()
        return returned, tensors


def flow_of(value: Any) -> Any:
    """Return the flow of a tensor array; other values unchanged."""
    return value.flow if hasattr(value, "flow") and hasattr(value, "with_flow") else value


def with_flows(originals: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """Return tensors, as tensor arrays where the originals are."""
    return [
        original.with_flow(tensor) if hasattr(original, "with_flow") else tensor
        for original, tensor in zip(originals, tensors, strict=True)
    ]


def _with_equal_positions(
    structure: Any, ours: Sequence[Tensor], theirs: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the results of two branches; slice positions become int64 if they are int64 in either branch."""
    flags: list[bool] = []
    for value in nest.flatten(structure):
        count = len(nest.flatten(value, opens_slices=True))
        flags += [isinstance(value, IndexedSlices) and index == 1 for index in range(count)]
    pairs = []
    for is_position, first, second in zip(flags, ours, theirs, strict=True):
        if is_position and first.dtype.base_dtype is not second.dtype.base_dtype:
            first, second = (
                tensor if tensor.dtype.base_dtype is int64 else new("Cast", x=tensor, DstT=int64)
                for tensor in (first, second)
            )
        pairs.append((first, second))
    return [first for first, _ in pairs], [second for _, second in pairs]


def _only(result: Any) -> Any:
    return result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result


def _checked_functions(true_fn: Any, false_fn: Any, fn1: Any, fn2: Any) -> tuple[Any, Any]:
    for name, function, old_name, old in (
        ("true_fn", true_fn, "fn1", fn1),
        ("false_fn", false_fn, "fn2", fn2),
    ):
        if old is not None and function is not None:
            raise TypeError(f"cond(): {name} and {old_name} may not be set simultaneously.")
        if old is None and function is None:
            raise TypeError(f"cond(): {name} argument required")
    functions = (fn1 if fn1 is not None else true_fn), (fn2 if fn2 is not None else false_fn)
    for name, function in zip(("true_fn", "false_fn"), functions, strict=True):
        if not callable(function):
            raise TypeError(f"{name} must be callable.")
    return functions


def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """Return the result of ``true_fn`` if ``pred`` is true, otherwise that of ``false_fn``.

    >>> import gpuplace as tf
    >>> is_large = tf.constant(3) > 2
    >>> int(tf.Session().run(tf.cond(is_large, lambda: tf.constant(1), lambda: tf.constant(0))))
    1

    Args:
        pred: a scalar bool tensor.
        true_fn: a function without arguments that returns tensors, in any structure of lists, tuples and dicts; a
            returned operation becomes a tensor that is available when the operation is done.
        false_fn: a function that returns the same structure with the same dtypes; shapes may differ.
        strict: whether a list or tuple of one item stays one; otherwise the item is returned.
        name: name of the scope.
        fn1: deprecated name of ``true_fn``.
        fn2: deprecated name of ``false_fn``.

    Returns:
        The structure that the functions return. In a ``tf.function``, and after ``tf.enable_control_flow_v2``, it comes
        from one ``If`` node whose branches are functions, and ``strict``, ``fn1`` and ``fn2`` are ignored.

    Raises:
        TypeError: a function is missing, given twice or not callable, ``pred`` is a Python bool or a tensor of another
            dtype, or the structures have different types.
        ValueError: the structures or dtypes differ, or the functions return nothing.
    """
    if control_flow_util.EnableControlFlowV2(get_default_graph()):
        return control_flow_util.functional("cond")(pred, true_fn, false_fn, name)
    true_fn, false_fn = _checked_functions(true_fn, false_fn, fn1, fn2)
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("pred must not be a Python bool")
        if_false, if_true = switch(pred, pred)
        pivots = [reshaping.identity(if_true, name="switch_t"), reshaping.identity(if_false, name="switch_f")]
        decider = reshaping.identity(pred, name="pred_id")
        for tensor in (if_true, if_false, *pivots, decider):
            tensor.op.graph.prevent_fetching(tensor.op)
        context_true = CondContext(decider, pivots[0], 1)
        result_true, tensors_true = context_true.build(true_fn, "true_fn")
        context_false = CondContext(decider, pivots[1], 0)
        result_false, tensors_false = context_false.build(false_fn, "false_fn")
        if not strict:
            result_true, result_false = _only(result_true), _only(result_false)
        try:
            nest.assert_same_structure(result_true, result_false)
        except TypeError as error:
            raise TypeError(f"Incompatible return types of true_fn and false_fn: {error}") from None
        except ValueError as error:
            raise ValueError(f"Incompatible return values of true_fn and false_fn: {error}") from None
        if not tensors_true:
            raise ValueError("true_fn and false_fn must return at least one result.")
        tensors_true, tensors_false = _with_equal_positions(result_true, tensors_true, tensors_false)
        for first, second in zip(tensors_true, tensors_false, strict=True):
            if first.dtype.base_dtype is not second.dtype.base_dtype:
                raise ValueError(
                    f"Outputs of true_fn and false_fn must have the same type: {first.dtype.name}, {second.dtype.name}"
                )
        merged = [merge([b, a])[0] for a, b in zip(tensors_true, tensors_false, strict=True)]
        flat = nest.flatten(result_true, opens_slices=True)
        if context_true.outer_context is None:
            for context in (context_true, context_false):
                get_default_graph().add_to_collection(GraphKeys.COND_CONTEXT, context)
        result = nest.pack_sequence_as(result_true, with_flows(flat, merged), opens_slices=True)
        return result if strict else _only(result)


def smart_cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """``cond`` without extra operations if the predicate is static.

    Args:
        pred: a bool, or a scalar bool tensor.
        true_fn: as for ``cond``.
        false_fn: as for ``cond``.

    Returns:
        The result of one of the functions, or of ``cond`` if the predicate is not static.
    """
    if hasattr(pred, "_as_graph_element") or isinstance(pred, Tensor):
        value = constant_value(convert_to_tensor(pred))
        if value is None:
            return cond(pred, true_fn, false_fn)
        pred = bool(value)
    return true_fn() if pred else false_fn()
