"""``tf.while_loop``: repeat a body while a condition holds.

Condition and body are called once, when the graph is built. Each loop variable becomes a cycle::

    x ─> Enter ─> Merge ─> Switch ─0─> Exit
                    ^        1
                    |        v
             NextIteration <─ body

The condition's value decides for all variables (``LoopCond``). Values from outside enter the body through an ``Enter``
that is available in every iteration.

Source: tensorflow/python/ops/control_flow_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.display import above
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import METADATA_OPS
from gpuplace.graph.operation import Operation, Tensor, add_controls, context_of, set_context, update_input
from gpuplace.graph.scopes import building_context, control_inputs_for
from gpuplace.ops import nest
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.flow import control_flow_util
from gpuplace.ops.flow.conditionals import flow_of, with_flows
from gpuplace.ops.flow.context import (
    ControlFlowContext,
    colocated_switch,
    is_exit,
    is_loop_invariant,
    merge,
    output_context,
    while_context_of,
)
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.shapes import TensorShape
from gpuplace.typing import TensorLike

__all__ = ["while_loop"]


def enter(
    data: Tensor,
    context: WhileContext,
    is_constant: bool = False,
    use_input_shape: bool = True,
    name: str | None = None,
) -> Tensor:
    """Bring a value into a loop."""
    entered = new(
        "RefEnter" if data.dtype.is_ref_dtype else "Enter",
        name,
        data=data,
        frame_name=context.name,
        is_constant=is_constant,
        parallel_iterations=context.parallel_iterations,
    )
    if use_input_shape:
        entered.set_shape(data.shape)
    return entered


def exit_loop(data: Tensor, name: str | None = None) -> Tensor:
    """Bring a value out of a loop."""
    return new("RefExit" if data.dtype.is_ref_dtype else "Exit", name, data=data)


def next_iteration(data: Tensor) -> Tensor:
    """Bring a value into the next iteration."""
    return new("RefNextIteration" if data.dtype.is_ref_dtype else "NextIteration", data=data)


class WhileContext(ControlFlowContext):
    """A loop.

    Args:
        maximum_iterations: a tensor, or None.
        parallel_iterations: number of iterations that TensorFlow may run in parallel.
        back_prop: whether to support gradients.
        swap_memory: whether TensorFlow may move values for gradients from a GPU to host memory.
        name: the context's name.
        grad_state: state of the gradients that this loop computes.
    """

    def __init__(
        self,
        maximum_iterations: Tensor | None = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str = "while_context",
        grad_state: Any = None,
    ) -> None:
        if not isinstance(parallel_iterations, int) or parallel_iterations <= 0:
            raise ValueError(f"`parallel_iterations` must be a positive integer: {parallel_iterations}")
        super().__init__(name)
        self.maximum_iterations = maximum_iterations
        self.parallel_iterations = parallel_iterations
        self.back_prop = back_prop
        self.swap_memory = swap_memory
        self._grad_state = grad_state
        self._pivot_for_pred: Tensor | None = None
        self._pivot_for_body: Tensor | None = None
        self.pivot: Any = None
        self.loop_enters: list[Tensor] = []
        self.loop_exits: list[Tensor] = []

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the loop as a ``WhileContextDef``.

        Args:
            export_scope: a scope to strip from the names, or None.

        Returns:
            The message; None if the loop is not in the scope.
        """
        return above("gpuplace.saving.protos", "loop_to_proto")(self, export_scope)

    @staticmethod
    def from_proto(context_def: Any, import_scope: str | None = None) -> Any:
        """Return a loop whose operations are in the default graph.

        Args:
            context_def: a ``WhileContextDef``.
            import_scope: the scope of these operations; None: they have the names in the message.

        Raises:
            KeyError: a tensor does not exist.
        """
        return above("gpuplace.saving.protos", "loop_from_proto")(context_def, import_scope)

    @property
    def grad_state(self) -> Any:
        """The state of the gradients that this loop computes, or None."""
        return self._grad_state

    def GetWhileContext(self) -> WhileContext:  # noqa: N802 - TensorFlow's name, as are the following
        """See ``ControlFlowContext``."""
        return self

    def GetControlPivot(self) -> Tensor | None:  # noqa: N802
        """See ``ControlFlowContext``."""
        return self._pivot_for_body if self._pivot_for_body is not None else self._pivot_for_pred

    def IsWhileContext(self) -> bool:  # noqa: N802
        """See ``ControlFlowContext``."""
        return True

    # Values from outside

    def AddValue(self, val: Tensor) -> Tensor:  # noqa: N802
        """See ``ControlFlowContext``."""
        if val in self._values or context_of(val.op) is self:
            return self._external_values.get(val, val)
        self._values.add(val)
        graph = get_default_graph()
        substitute = self._from_forward_loop(val)
        if substitute is not None:
            self._external_values[val] = substitute
            return substitute
        result = val if self.outer_context is None else self.outer_context.AddValue(val)
        with graph.control_dependencies(None):
            entered = enter(result, self, is_constant=True)
            graph.prevent_feeding(entered)
            if self.outer_context is not None:
                self.outer_context.AddInnerOp(entered.op)
        self._fix_controls([entered])
        self._values.add(entered)
        self._external_values[val] = entered
        return entered

    def _from_forward_loop(self, val: Tensor) -> Tensor | None:
        """Return the substitute for a value of the forward loop."""
        context = building_context(get_default_graph())
        loop = None if context is None else context.GetWhileContext()
        if loop is None or loop.grad_state is None:
            return None
        forward = while_context_of(val.op)
        if is_exit(val.op):
            forward = forward.outer_context
            forward = None if forward is None else forward.GetWhileContext()
        if forward is not loop.grad_state.forward_context:
            return None
        return loop.grad_state.GetRealValue(val)

    def _fix_controls(self, entered: Sequence[Tensor]) -> None:
        """Move the enter operations into this loop, with the outer control edges."""
        graph = get_default_graph()
        around = self.outer_context
        loop_around = None if around is None else around.GetWhileContext()
        for tensor in entered:
            entered_ops = []
            for op in control_inputs_for(graph.scopes.stacks().controls, [tensor.op.inputs[0]]):
                context, input_context = around, output_context(op)
                while context is not input_context and context is not None and context is not loop_around:
                    context = context.outer_context
                if context is input_context:
                    entered_ops.append(op)
            set_context(tensor.op, self)
            add_controls(tensor.op, entered_ops)
            for scope in graph.scopes.stacks().controls:
                scope.add_op(tensor.op)

    # Operations inside

    def add_op(self, op: Operation) -> None:
        """See ``ControlFlowContext``."""
        if op.type in METADATA_OPS:  # metadata of a forward loop's value is better computed there
            context = building_context(get_default_graph())
            loop = None if context is None else context.GetWhileContext()
            if loop is not None and loop.grad_state is not None:
                if while_context_of(op.inputs[0].op) is loop.grad_state.forward_context:
                    there = context_of(op.inputs[0].op)
                    set_context(op, there)
                    there._add_inside(op)
                    return
        self._add_inside(op)

    def _add_inside(self, op: Operation) -> None:
        graph = op.graph
        if not op.inputs:
            inside, outside = self._remove_external_control_edges(op)
            if not inside:
                self._wait_for_pivot(op)
        else:
            for index, tensor in enumerate(op.inputs):
                substitute = self.AddValue(tensor)
                if substitute is not tensor:
                    update_input(op, index, substitute)
            _, outside = self._remove_external_control_edges(op)
            if not op.control_inputs and all(is_loop_invariant(tensor.op) for tensor in op.inputs):
                self._wait_for_pivot(op)
        self._values.update(op.outputs)
        if outside:
            with graph.control_dependencies(None):
                self.Enter()
                waiting = [reshaping.identity(item.outputs[0]).op for item in outside if item.outputs]
                self.Exit()
            add_controls(op, waiting)
        if self.outer_context is not None or not is_exit(op):
            graph.prevent_fetching(op)
            for tensor in op.outputs:
                graph.prevent_feeding(tensor)
        if self.outer_context is not None:
            self.outer_context.AddInnerOp(op)

    def _wait_for_pivot(self, op: Operation) -> None:
        pivot = self.GetControlPivot()
        assert pivot is not None
        add_controls(op, [pivot.op])

    # Building

    def build(
        self,
        pred: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Any,
        shape_invariants: Any,
        return_same_structure: bool,
    ) -> Any:
        """Add the loop; return its results."""
        flat = nest.flatten(loop_vars, opens_slices=True)
        tensors = [convert_to_tensor(flow_of(value)) for value in flat]
        invariants = [None] * len(nest.flatten(loop_vars))
        shapes = shapes_of_parts(
            nest.flatten(loop_vars),
            invariants if shape_invariants is None else nest.flatten(shape_invariants),
            tensors,
        )
        self.Enter()
        try:
            results, exits = self._build(pred, body, loop_vars, tensors, shapes)
        finally:
            self.Exit()
        packed = nest.pack_sequence_as(
            results, with_flows(nest.flatten(results, opens_slices=True), exits), opens_slices=True
        )
        return packed if return_same_structure or len(exits) != 1 else packed[0]

    def _build(
        self,
        pred: Callable[..., Any],
        body: Callable[..., Any],
        loop_vars: Any,
        tensors: list[Tensor],
        shapes: list[Any],
    ) -> tuple[Any, list[Tensor]]:
        flat = nest.flatten(loop_vars, opens_slices=True)
        entered = self._enter_variables(tensors, shapes)
        merged = [merge([first, first])[0] for first in entered]
        self._pivot_for_pred = merged[0]
        packed = nest.pack_sequence_as(loop_vars, with_flows(flat, merged), opens_slices=True)
        condition = convert_to_tensor(pred(*packed))
        self.pivot = new("LoopCond", input=condition)
        switched = [colocated_switch(first, self.pivot) for first in merged]
        inside = [new("RefIdentity" if t.dtype.is_ref_dtype else "Identity", input=t) for _, t in switched]
        self._pivot_for_body = inside[0]
        packed = nest.pack_sequence_as(loop_vars, with_flows(flat, inside), opens_slices=True)
        returned = body(*packed)
        if not nest.is_nested(returned):
            returned = [returned]
        nest.assert_same_structure(list(packed), list(returned))
        values = [flow_of(value) for value in nest.flatten(returned, opens_slices=True)]
        results = [convert_to_tensor(value) for value in values]
        if len(merged) != len(results):
            raise ValueError(
                f"Number of inputs and outputs of body must match loop_vars: {len(merged)}, {len(results)}"
            )
        for first, result in zip(merged, results, strict=True):
            going_on = next_iteration(result)
            _check_shape_is_kept(first, going_on)
            update_input(first.op, 1, going_on)
        exits = [exit_loop(second) for second, _ in switched]
        self.loop_exits = exits
        self.ExitResult(exits)
        return returned, exits

    def _enter_variables(self, tensors: list[Tensor], shapes: list[Any]) -> list[Tensor]:
        graph, around = get_default_graph(), self.outer_context
        self._values = set(tensors)
        if around is not None:
            tensors = [around.AddValue(tensor) for tensor in tensors]
        with graph.control_dependencies(None):
            entered = [enter(tensor, self, use_input_shape=False) for tensor in tensors]
            for tensor in entered:
                graph.prevent_feeding(tensor)
                if around is not None:
                    around.AddInnerOp(tensor.op)
        pivot = None
        while around is not None and pivot is None:
            pivot, around = around.GetControlPivot(), around.outer_context
        if pivot is not None:
            for tensor in entered:
                if is_loop_invariant(tensor.op.inputs[0].op):
                    add_controls(tensor.op, [pivot.op])
        _set_shapes(tensors, entered, shapes)
        self._fix_controls(entered)
        self._values = set(entered)
        self.loop_enters = entered
        return entered


def _fits(shape: TensorShape, invariant: TensorShape) -> bool:
    """Return whether a shape is at least as specific as another."""
    ours, theirs = shape.sizes, invariant.sizes
    if theirs is None:
        return True
    if ours is None or len(ours) != len(theirs):
        return False
    return all(second is None or first == second for first, second in zip(ours, theirs, strict=True))


def shapes_of_parts(values: Sequence[Any], shapes: Sequence[Any], tensors: Sequence[Tensor]) -> list[Any]:
    """Return the shape invariants of loop variables, one for each tensor.

    Slices have those of rows, positions and dense shape. A sparse tensor of rank ``r``, whose invariant is ``[r]``, has
    any number of positions and values, and ``[r]``.

    Args:
        values: the variables.
        shapes: the requested invariant of each; None: the initial shape.
        tensors: the variables' tensors.

    Raises:
        TypeError: the spec of a dense tensor is used for another value.
        ValueError: a shape does not match a sparse tensor.
    """
    invariants: list[Any] = []
    for value, requested in zip(values, shapes, strict=True):
        shape = requested
        if isinstance(requested, TensorSpec):
            if isinstance(value, (SparseTensor, IndexedSlices)):
                raise TypeError(f"shape invariant {requested!r} describes a dense tensor, not {value!r}")
            shape = requested.shape
        if isinstance(value, SparseTensor) and (shape is None or isinstance(shape, TensorShape)):
            rank = value.get_shape().ndims
            if shape is not None:
                if shape.ndims not in (1, None):
                    raise ValueError("Expected a shape with 1 dimension")
                rank = None if shape.ndims is None else shape[0].value
            invariants += [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]
            continue
        if shape is None:
            count = len(nest.flatten(value, opens_slices=True))
            invariants += [tensor.shape for tensor in tensors[len(invariants) : len(invariants) + count]]
            continue
        if not isinstance(value, IndexedSlices) or not isinstance(shape, TensorShape):
            invariants.append(shape)
            continue
        rows = None if shape.ndims is None else shape[0].value
        invariants += [shape, TensorShape([rows])]
        if value.dense_shape is not None:
            invariants.append(TensorShape([shape.ndims]))
    return invariants


def _set_shapes(tensors: Sequence[Tensor], entered: Sequence[Tensor], shapes: Sequence[Any]) -> None:
    if not all(isinstance(shape, TensorShape) for shape in shapes):
        raise ValueError("`shapes` must be a (possibly nested) list of shapes.")
    for tensor, inside, shape in zip(tensors, entered, shapes, strict=True):
        if not _fits(tensor.shape, shape):
            raise ValueError(
                f"The shape invariant specified for {tensor.name} is not compatible with the initial shape of the loop"
                f" variable. It enters the loop with shape {tensor.shape}, but the specified shape invariant is"
                f" {shape}."
            )
        inside.set_shape(shape)


def _check_shape_is_kept(merged: Tensor, going_on: Tensor) -> None:
    before = merged.op.inputs[0].op.inputs[0]
    if not _fits(going_on.shape, merged.shape):
        raise _changed(before, before.shape, going_on.shape)


def shape_is_kept(before: Tensor, invariant: TensorShape, after: TensorShape) -> None:
    """Raise ValueError if a loop variable violates its shape invariant.

    Args:
        before: the initial value.
        invariant: the shape invariant.
        after: the shape after an iteration.
    """
    if not _fits(after, invariant):
        raise _changed(before, invariant, after)


def _changed(before: Tensor, invariant: TensorShape, after: TensorShape) -> ValueError:
    return ValueError(
        f"Input tensor '{before.name}' enters the loop with shape {invariant}, but has shape {after}"
        " after one iteration. To allow the shape to vary across iterations, use the `shape_invariants` argument"
        " of tf.while_loop to specify a less-specific shape."
    )


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeat ``body`` while ``cond`` holds.

    >>> import gpuplace as tf
    >>> i, total = tf.while_loop(lambda i, total: i < 4, lambda i, total: (i + 1, total + i), (0, 0))
    >>> int(tf.Session().run(total))
    6

    Args:
        cond: a function of the loop variables that returns a scalar bool.
        body: a function of the loop variables that returns the next ones, with the same structure and dtypes.
        loop_vars: the initial values: a list, tuple or dict of tensors and ``TensorArray`` objects, at any depth.
        shape_invariants: the ``TensorShape`` (or ``TensorSpec``) that each variable keeps, in the same structure;
            ``[r]`` for a sparse tensor of rank ``r``. None: the initial shapes.
        parallel_iterations: stored in the nodes, 1 or more; here iterations run one after the other.
        back_prop: whether to support gradients.
        swap_memory: accepted without effect; stacks for gradients stay on their device.
        name: name of the scope.
        maximum_iterations: maximum number of iterations, an integer scalar; None: no limit.
        return_same_structure: whether a list or tuple of one variable stays one; otherwise the variable is returned.

    Returns:
        The loop variables after the last iteration, in the structure of ``loop_vars``. In a ``tf.function``, and after
        ``tf.enable_control_flow_v2``, the loop is one ``While`` node, whose condition and body are functions.

    Raises:
        TypeError: a function is not callable, ``parallel_iterations`` is below 1, or structures have other types.
        ValueError: there are no variables, their number or shapes change, or the limit is not a scalar.
        InvalidArgumentError: at run time, ``body`` returns another dtype.
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if control_flow_util.EnableControlFlowV2(get_default_graph()):
        return control_flow_util.functional("while_loop")(
            cond,
            body,
            loop_vars,
            shape_invariants,
            parallel_iterations,
            maximum_iterations,
            name,
            return_same_structure,
            back_prop,
        )
    with name_scope(name, "while", [flow_of(value) for value in nest.flatten(loop_vars)]):
        if not loop_vars:
            raise ValueError("No loop variables provided")
        limit = None
        condition, step = cond, body
        if maximum_iterations is not None:
            limit = convert_to_tensor(maximum_iterations, name="maximum_iterations")
            if limit.shape.ndims != 0:
                raise ValueError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")
            counter = constant.constant(0, dtype=limit.dtype, name="iteration_counter")
            condition, step, loop_vars = _limited(
                cond, body, loop_vars, counter, limit, return_same_structure
            )
        if shape_invariants is not None:
            if limit is not None:
                shape_invariants = (TensorShape([]), shape_invariants)
            nest.assert_same_structure(loop_vars, shape_invariants)
        context = WhileContext(limit, parallel_iterations, back_prop, swap_memory)
        if context.outer_context is None:
            get_default_graph().add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        result = context.build(condition, step, loop_vars, shape_invariants, return_same_structure)
        return result if limit is None else result[1]


def _limited(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    counter: Tensor,
    limit: Tensor,
    keeps_structure: bool,
) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """Return the loop with a counter for its iterations."""
    is_alone = len(loop_vars) == 1 and not keeps_structure

    def arguments(values: TensorLike) -> Any:
        return (values,) if is_alone else values

    def condition(count: Tensor, values: TensorLike) -> Tensor:
        return apply_op("LogicalAnd", x=count < limit, y=cond(*arguments(values))).outputs[0]

    def step(count: Tensor, values: TensorLike) -> Any:
        return count + 1, body(*arguments(values))

    return condition, step, (counter, loop_vars[0] if is_alone else loop_vars)
