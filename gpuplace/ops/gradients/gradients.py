"""``tf.gradients``: add the operations that compute derivatives, by walking the graph backwards.

    x --> op --> y        an operation is processed once the gradients of all outputs that lead to a y are complete:
                          pending[op] counts the remaining uses of its outputs. Then its gradients are
    dx <- op' <- dy       summed (AddN), its gradient function adds operations under gradients/<op>_grad, and these
                          gradients go on to the producers of its inputs.

Source: tensorflow/python/ops/gradients_util.py, release 1.15 (order, names, messages).
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import resource, variant
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.convert import graph_for, name_scope
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import CONTROL_FLOW_OPS, SWITCHES
from gpuplace.graph.operation import Operation, Tensor, context_of
from gpuplace.graph.scopes import building_context
from gpuplace.graph.traced_graph import TracedGraph
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.flow import control
from gpuplace.ops.flow.context import is_exit, is_loop_switch
from gpuplace.ops.flow.loop_gradients import LoopGradients, zeros_of
from gpuplace.ops.gradients.dense_slices import as_indexed_slices_list
from gpuplace.ops.gradients.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from gpuplace.ops.gradients.registry import find_gradient, skipping
from gpuplace.ops.support import new
from gpuplace.ops.variables.resource_state import variable_shape, zeros_dtype
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.typing import TensorLike

__all__ = ["AggregationMethod", "UnconnectedGradients", "gradients"]

Gradient = Tensor | IndexedSlices

_TRAINABLE = frozenset("float16 float32 float64 complex64 complex128 resource variant bfloat16".split())


class AggregationMethod:
    """How to sum the gradients of a tensor with several uses; gpuplace always uses ``AddN``."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class UnconnectedGradients:
    """Result of ``gradients`` for an ``x`` on which no ``y`` depends."""

    NONE = "none"
    ZERO = "zero"


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = UnconnectedGradients.NONE,
) -> list[Any]:
    """Return the derivatives of the sum of ``ys`` with respect to each of ``xs``.

    >>> import gpuplace as tf
    >>> x = tf.constant(3.0)
    >>> float(tf.Session().run(tf.gradients(x * x, x)[0]))
    6.0

    Args:
        ys: a tensor, or a list of them.
        xs: a tensor or variable, or a list of them.
        grad_ys: a list with the gradient of each ``y``, in its type and shape, or None for ones.
        name: name scope of the new operations.
        colocate_gradients_with_ops: whether to place each gradient operation with its operation.
        gate_gradients: whether the gradients of one operation wait for each other.
        aggregation_method: see ``AggregationMethod``. None: its default.
        stop_gradients: tensors to treat as constants, or None.
        unconnected_gradients: ``"none"`` or ``"zero"``: the result for an ``x`` on which no ``y`` depends.

    Returns:
        A list of one tensor, ``IndexedSlices`` or None per ``x``, of its type and shape.

    Raises:
        LookupError: an operation on the way has no gradient.
        ValueError: lengths do not match, an option is invalid, or a gradient function returns the wrong shape.
        TypeError: a gradient has the wrong type, or ``ys`` is complex and ``grad_ys`` None.
    """
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected_gradients!r}; use 'none' or 'zero'"
        )
    ys, xs, stops = _as_list(ys), _as_list(xs), _as_list(stop_gradients)
    output_grads = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(output_grads) != len(ys):
        raise ValueError(f"Passed {len(output_grads)} grad_ys for {len(ys)} ys")
    values = [*ys, *stops, *xs, *[g for g in output_grads if g is not None]]
    with without_garbage_collection(), name_scope(name, "gradients", values):
        targets = [_target(x, f"x_{i}") for i, x in enumerate(xs)]
        tensors = [convert_to_tensor_or_indexed_slices(y, name=f"y_{i}") for i, y in enumerate(ys)]
        outputs = [y.values if isinstance(y, IndexedSlices) else y for y in tensors]
        targets = [_within(x, outputs) for x in targets]
        stop_tensors = [_target(x, f"stop_{i}") for i, x in enumerate(stops)]
        walk = _Walk(outputs, targets, stop_tensors, colocate_gradients_with_ops, gate_gradients)
        output_grads = [
            None if g is None else convert_to_tensor_or_indexed_slices(g, name=f"grad_y_{i}")
            for i, g in enumerate(output_grads)
        ]
        walk.start(_initial_gradients(output_grads, outputs, walk))
        walk.run()
        results = [walk.result(x) for x in targets]
    if unconnected_gradients == UnconnectedGradients.ZERO:
        return [_zeros_like(x) if item is None else item for x, item in zip(targets, results, strict=True)]
    return results


def symbolic_gradients(ys: Sequence[Tensor], xs: Sequence[Tensor], dys: Sequence[Tensor]) -> list[Any]:
    """Return derivatives in the body of a ``SymbolicGradient``, where integers have gradients too.

    The gradient of a cast is the cast back, also to and from integers. Bodies with loops or conditionals, whose
    counters are integers, are differentiated as by ``gradients``.

    Args:
        ys: results of the function.
        xs: its arguments.
        dys: the gradient of each result.

    Returns:
        A tensor, ``IndexedSlices`` or None for each argument.

    Source: tensorflow/core/graph/gradients.cc and tensorflow/core/ops/math_grad.cc, release 1.15.
    """
    if any(op.type in CONTROL_FLOW_OPS for op in ys[0].graph.get_operations()):
        return gradients(list(ys), list(xs), list(dys))
    with name_scope("gradients"):
        walk = _Walk(ys, xs, (), False, False, is_symbolic=True)
        walk.start(dys)
        walk.run()
        return [walk.result(x) for x in xs]


def _cast_back(op: Operation, grad: Tensor) -> Tensor:
    source = op.inputs[0].dtype.base_dtype
    return grad if grad.dtype == source else new("Cast", x=grad, DstT=source)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _target(x: TensorLike, name: str) -> Tensor:
    """Return the tensor whose gradient is that of ``x``: for a variable, its reference or handle."""
    if isinstance(x, ResourceVariable):
        return x.handle
    tensor = convert_to_tensor_or_indexed_slices(x, name=name, as_ref=True)
    return tensor.values if isinstance(tensor, IndexedSlices) else tensor


def _within(x: Tensor, ys: Sequence[Tensor]) -> Tensor:
    """Return the copy of a tensor in the function body of ``ys``, if there is one."""
    graph = ys[0].graph if ys else x.graph
    inner = graph.stand_in_for(x) if isinstance(graph, TracedGraph) and graph.by_value else None
    return x if inner is None else inner


class _Captures:
    """How functions that contain the ``ys`` capture tensors of outer graphs.

    Args:
        graph: the graph of the ``ys``.
        xs: tensors to use directly, even if they are captures of others.
    """

    def __init__(self, graph: Graph, xs: Sequence[Tensor]) -> None:
        self._xs = set(xs)
        self._users: dict[Tensor, list[Tensor]] = {}
        self._origins: dict[Tensor, Tensor] = {}
        while isinstance(graph, TracedGraph):
            for outer, inner in graph.captured.items() if not graph.by_value else ():
                self._users.setdefault(outer, []).append(inner)
                self._origins[inner] = outer
            graph = graph.outer

    def inputs(self, op: Operation) -> Sequence[Tensor]:
        """Return the inputs of an operation, with captures replaced by the captured tensors of outer graphs."""
        return [self._origin(tensor) for tensor in op.inputs] if self._origins else op.inputs

    def _origin(self, tensor: Tensor) -> Tensor:
        while tensor not in self._xs and tensor in self._origins:
            tensor = self._origins[tensor]
        return tensor

    def consumers(self, tensor: Tensor) -> list[Operation]:
        """Return the consumers of a tensor, including those within functions."""
        operations = tensor.consumers()
        for inner in self._users.get(tensor, ()):
            operations = [*operations, *self.consumers(inner)]
        return operations


def is_trainable(tensor: Tensor) -> bool:
    """Return whether gradients flow through a tensor of this type."""
    return tensor.dtype.base_dtype.name in _TRAINABLE


def _is_number(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype.is_integer or is_trainable(tensor)


def _initial_gradients(output_grads: Sequence[Any], ys: Sequence[Tensor], walk: _Walk) -> list[Gradient]:
    initial: list[Gradient] = []
    for i, (gradient, y) in enumerate(zip(output_grads, ys, strict=True)):
        with walk.near(y.op):
            if gradient is None:
                if y.dtype.is_complex:
                    raise TypeError(
                        f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype.base_dtype!r})"
                    )
                shape = reshaping.shape(y)
                one = constant.constant(1, dtype=y.dtype.base_dtype, name=f"grad_ys_{i}")
                initial.append(constant.fill(shape, one))
                continue
            _check_output_gradient(gradient, y)
            initial.append(_identity(gradient, f"grad_ys_{i}"))
    return initial


def _identity(gradient: Gradient, name: str) -> Gradient:
    if not isinstance(gradient, IndexedSlices):
        return reshaping.identity(gradient, name=name)
    shape = gradient.dense_shape
    return IndexedSlices(
        reshaping.identity(gradient.values, name=f"{name}_values"),
        reshaping.identity(gradient.indices, name=f"{name}_indices"),
        None if shape is None else reshaping.identity(shape, name=f"{name}_shape"),
    )


def _check_output_gradient(gradient: Gradient, y: Tensor) -> None:
    expected, got = y.dtype.base_dtype, gradient.dtype.base_dtype
    start = f"Gradient type {got.name} generated for"
    if expected.is_floating or expected.is_integer:
        if not (got.is_floating or got.is_integer):
            raise TypeError(
                f"{start} real or integer-valued tensor {y} with type {expected.name} must be real or integer"
            )
    elif expected.is_complex:
        if not got.is_complex:
            raise TypeError(f"{start} complex-valued tensor {y} with type {expected.name} must be real")
    elif expected is resource:  # a variable's handle, whose gradient is numeric
        if got is resource:
            raise TypeError(f"Input gradient {gradient} for resource tensor {y} should not be a resource")
    elif expected is variant:
        if got is not variant:
            raise TypeError(f"{start} variant tensor {y} with type {expected.name} must be variant")
    else:
        raise TypeError(f"Tensor {y} with type {expected.name} must be numeric to obtain a default gradient")


class _Walk:
    """One backward walk."""

    def __init__(
        self,
        ys: Sequence[Tensor],
        xs: Sequence[Tensor],
        stops: Sequence[Tensor],
        colocate: bool,
        gate: bool,
        is_symbolic: bool = False,
    ) -> None:
        self.ys, self.xs = ys, xs
        self.colocate, self.gate = colocate, gate
        self.is_symbolic = is_symbolic
        self.has_gradient = _is_number if is_symbolic else is_trainable
        self.graph: Graph = graph_for(ys[0] if ys else xs[0])
        self.captures = _Captures(ys[0].graph if ys else xs[0].graph, xs)
        self.grads: dict[Operation, list[Any]] = {}
        """For each operation and output, a list of gradients, or their sum once it is computed."""
        to_ops = _unique(y.op for y in ys)
        self.from_ops = _unique(x.op for x in xs)
        self.to_ops = to_ops
        self.stops = stops
        self.pending: dict[Operation, int] = {}
        self.loops: LoopGradients | None = None
        """The gradients of loops, if there are any."""
        self.stop_ops: set[Operation] = set()
        self.queue: deque[Operation] = deque()

    def near(self, op: Operation | None, ignore_existing: bool = False) -> Any:
        """Return a scope that colocates new operations with ``op`` if requested."""
        if not self.colocate:
            return contextlib.nullcontext()
        return self.graph.colocate_with(op, ignore_existing)

    def start(self, initial: Sequence[Gradient]) -> None:
        """Set the gradients of the ``ys``."""
        between, reached = _between(self.to_ops, self.from_ops, self.captures, self.has_gradient)
        self._begin_loops(between)
        self.pending = _count_pending(between, self.captures)
        for y, gradient in zip(self.ys, initial, strict=True):
            self._add(y, gradient)
        for op in self.to_ops:
            if self.pending.get(op, 0) == 0 and op in reached:
                self.queue.append(op)
        if self.loops is not None:
            for left in self.loops.unused_exits(self.pending, list(self.queue)):
                self._add_zeros_for_exit(left)
                if is_trainable(left):
                    self.queue.append(left.op)
        self.stop_ops = {
            op
            for op in self.from_ops
            if not any(self.pending.get(tensor.op, 0) > 0 for tensor in self.captures.inputs(op))
        } | {tensor.op for tensor in self.stops}

    def _begin_loops(self, between: dict[Operation, None]) -> None:
        """Add a loop for each loop on the way."""
        for op in list(between):
            if is_exit(op):
                self.loops = self.loops or LoopGradients()
                with self.near(op):
                    self.loops.add(op, between)

    def _add_zeros_for_exit(self, left: Tensor) -> None:
        assert self.loops is not None
        if is_trainable(left):
            self._add(left, self.loops.zeros_for_exit(left))

    def _inside(self, op: Operation, before: bool) -> Any:
        """Return a block whose operations belong to the gradient of the loop of ``op``."""
        return contextlib.nullcontext() if self.loops is None else self.loops.inside_of(op, before)

    def run(self) -> None:
        """Process operations until none is ready."""
        while self.queue:
            op = self.queue.popleft()
            with self.near(op):
                with self._inside(op, before=True):
                    out = self._summed(op)
                with self._inside(op, before=False):
                    self._process(op, out)
            self._update_pending(op)  # it adds zeros for unused exits, which belong to other operations
        if self.loops is not None:
            self.loops.finish()

    def _process(self, op: Operation, out: list[Any]) -> None:
        """Add the gradients of the inputs from those of the outputs."""
        self._check_not_through_loop_variable(op)
        input_grads: Sequence[Any] = (None,) * len(op.inputs)
        if op not in self.stop_ops and any(gradient is not None for gradient in out):
            function = _cast_back if self.is_symbolic and op.type == "Cast" else find_gradient(op)
            if function is not None:
                with self._skipping(op):
                    input_grads = self._differentiate(op, function, out)
        for tensor, gradient in zip(self.captures.inputs(op), input_grads, strict=True):
            if gradient is not None:
                self._pass_gradient(op, tensor, gradient)

    def _skipping(self, op: Operation) -> Any:
        """Return a block that skips gradients leading to no ``x``, such as the logarithm in an integer power."""
        if not self.is_symbolic:
            return contextlib.nullcontext()
        return skipping(op, {i for i, tensor in enumerate(op.inputs) if tensor.op not in self.pending})

    def _check_not_through_loop_variable(self, op: Operation) -> None:
        """Raise ValueError if the walk leaves an iteration of a loop through a loop variable."""
        context = context_of(op)
        if op.type not in SWITCHES or context is None or not context.IsWhileContext():
            return
        if context is not building_context(self.graph):
            return
        seen: set[Operation] = set()
        queue = deque([op])
        while queue:
            current = queue.popleft()
            if current in self.from_ops:
                raise ValueError(
                    f"Cannot compute gradient inside while loop with respect to op '{current.name}'. We do not support"
                    " taking the gradient wrt or through the initial value of a loop variable. Gradients can be"
                    " computed through loop invariants or wrt the input parameters to the loop body."
                )
            if current not in seen:
                seen.add(current)
                queue.extend(tensor.op for tensor in self.captures.inputs(current))

    def _update_pending(self, op: Operation) -> None:
        """Count down the uses of the inputs; operations without remaining uses become ready."""
        for tensor in self.captures.inputs(op):
            source = tensor.op
            if source not in self.pending:
                continue
            self.pending[source] -= 1
            left = self.pending[source]
            if left == 0 or (self.loops is not None and left > 0 and is_loop_switch(source)):
                if self.loops is not None and is_exit(source):
                    self._defer_exit(self.loops, tensor)
                else:
                    self.queue.append(source)

    def _defer_exit(self, loops: LoopGradients, left: Tensor) -> None:
        """Wait until all results of a loop have gradients; then all of them are ready."""
        state = loops.state_of(left.op, before=False)
        assert state is not None
        state.deferred_exits.append(left)
        state.pending_exits -= 1
        if state.pending_exits:
            return
        used = [item for item in state.deferred_exits if any(self.grads.get(item.op, [[]]))]
        state.unused_exits.extend(item for item in state.deferred_exits if item not in used)
        self.queue.extend(item.op for item in used)
        for item in state.unused_exits:
            if used:
                self._add_zeros_for_exit(item)
            self.queue.append(item.op)

    def _differentiate(self, op: Operation, function: Any, out: list[Any]) -> list[Any]:
        """Call the gradient function of ``op``, with zeros for outputs without a gradient."""
        for i, gradient in enumerate(out):
            if gradient is None and self.has_gradient(op.outputs[i]):
                out[i] = zeros_of(op, i) if self.loops is None else self.loops.zeros(op, i)
        with self.graph.name_scope(op.name + "_grad"):
            input_grads = function(op, *out)
            input_grads = list(input_grads) if isinstance(input_grads, (list, tuple)) else [input_grads]
            if len(input_grads) != len(op.inputs):
                raise ValueError(
                    f"Num gradients {len(input_grads)} generated for op {op.name} (type {op.type}) do not match num "
                    f"inputs {len(op.inputs)}"
                )
            _check_types(op, input_grads)
            if self.gate and sum(gradient is not None for gradient in input_grads) > 1:
                with self.graph.device(None), self.graph.colocate_with(None, ignore_existing=True):
                    input_grads = control.tuple(input_grads)
        return input_grads

    def _pass_gradient(self, op: Operation, tensor: Tensor, gradient: Gradient) -> None:
        if isinstance(gradient, Tensor) and tensor.dtype.name != "resource":
            try:
                gradient.set_shape(tensor.shape)
            except ValueError:
                position = list(self.captures.inputs(op)).index(tensor)
                raise ValueError(
                    "Incompatible shapes between op input and calculated input gradient.  Forward operation: "
                    f"{op.name}.  Input index: {position}. Original input shape: {tensor.shape}.  "
                    f"Calculated input gradient shape: {gradient.shape}"
                ) from None
        self._add(tensor, gradient)

    def _add(self, tensor: Tensor, gradient: Gradient) -> None:
        slots = self.grads.setdefault(tensor.op, [[] for _ in tensor.op.outputs])
        if isinstance(slots[tensor.value_index], list):
            slots[tensor.value_index].append(gradient)
        else:  # a loop's switch, which is processed twice
            slots[tensor.value_index] = gradient

    def _summed(self, op: Operation) -> list[Any]:
        """Return the gradient of each output: one tensor, slices or None; keep them for ``result``."""
        slots = self.grads.get(op)
        if slots is None:
            return [None] * len(op.outputs)
        for i, gradients_of_one in enumerate(slots):
            if not isinstance(gradients_of_one, list):
                continue
            if not gradients_of_one:
                slots[i] = None
            elif len(gradients_of_one) == 1:
                slots[i] = gradients_of_one[0]
            elif all(isinstance(gradient, Tensor) for gradient in gradients_of_one):
                slots[i] = self._add_n(gradients_of_one)
            else:
                slots[i] = sum_of_slices(gradients_of_one)
        return slots

    def _add_n(self, summands: Sequence[Tensor]) -> Tensor:
        """Sum on each device, then across devices."""
        by_device: dict[str, list[Tensor]] = {}
        for tensor in summands:
            by_device.setdefault(tensor.device, []).append(tensor)
        sums = []
        for device in sorted(by_device):
            tensors = by_device[device]
            with self.graph.colocate_with(tensors[0].op, ignore_existing=True):
                sums.append(_add_n(tensors))
        return _add_n(sums)

    def result(self, x: Tensor) -> Any:
        """Return the gradient of ``x``; None if nothing depends on it."""
        slots = self.grads.get(x.op)
        gradient = None if slots is None else slots[x.value_index]
        if isinstance(gradient, list):  # x.op was not processed: no path to a y leads through it
            gradient = None if not gradient else gradient[0] if len(gradient) == 1 else self._add_n(gradient)
        return gradient


def _unique(ops: Iterable[Operation]) -> list[Operation]:
    return list(dict.fromkeys(ops))


def _between(
    to_ops: Sequence[Operation],
    from_ops: Sequence[Operation],
    captures: _Captures,
    has_gradient: Callable[[Tensor], bool],
) -> tuple[dict[Operation, None], set[Operation]]:
    """Return the operations between ``from_ops`` and ``to_ops`` in search order, and the reached ``to_ops``."""
    reached: set[Operation] = set()
    queue = deque(from_ops)
    while queue:
        op = queue.popleft()
        if op not in reached:
            reached.add(op)
            for output in op.outputs:
                if has_gradient(output):
                    queue.extend(captures.consumers(output))
    goals = {op for op in to_ops if op in reached}
    between: dict[Operation, None] = {}
    queue = deque(to_ops)
    while queue:
        op = queue.popleft()
        if op in reached:
            between[op] = None
            reached.remove(op)
            queue.extend(tensor.op for tensor in captures.inputs(op))
    return between, goals


def _count_pending(between: Mapping[Operation, None], captures: _Captures) -> dict[Operation, int]:
    """Count the uses of each operation's outputs among these operations."""
    pending = dict.fromkeys(between, 0)
    for op in between:
        for tensor in captures.inputs(op):
            if tensor.op in between:
                pending[tensor.op] += 1
    return pending


def _zeros_like(tensor: Tensor) -> Tensor:
    if tensor.dtype.base_dtype.name == "resource":
        return constant.zeros(variable_shape(tensor), zeros_dtype(tensor))
    return constant.zeros_like(tensor)


def _check_types(op: Operation, input_grads: Sequence[Any]) -> None:
    for tensor, gradient in zip(op.inputs, input_grads, strict=True):
        if gradient is None:
            continue
        expected, got = tensor.dtype.base_dtype, gradient.dtype.base_dtype
        if (expected.is_floating or expected.is_complex) and got != expected:
            raise TypeError(
                f"Gradient type {got!r} generated for tensor {tensor} with type {expected!r} must be {expected!r}"
            )


def _add_n(tensors: Sequence[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else new("AddN", inputs=list(tensors))


def sum_of_slices(gradients_of_one: Sequence[Gradient]) -> Gradient:
    """Sum gradients some of which are slices; if all are, return their concatenation."""
    if any(isinstance(gradient, Tensor) for gradient in gradients_of_one):
        return new("AddN", inputs=list(gradients_of_one))
    slices = as_indexed_slices_list(list(gradients_of_one))
    values = joining.concat([part.values for part in slices], 0)
    return IndexedSlices(values, joining.concat([part.indices for part in slices], 0), slices[0].dense_shape)
