"""``tf.gradients``: adds the operations that compute derivatives, by walking the graph backwards.

    x --> op --> y        an operation gets its turn when the gradients of all outputs that lead to a y are complete:
                          pending[op] counts the uses of its outputs that are still to come. Then its gradients are
    dx <- op' <- dy       summed (AddN), its gradient function adds operations under gradients/<op>_grad, and what that
                          returns is handed on to the producers of its inputs.

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
    """How the gradients of a tensor that is used several times are summed: always by ``AddN`` here."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class UnconnectedGradients:
    """What ``gradients`` gives for an ``x`` on which no ``y`` depends."""

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
    """Derivatives of the sum of ``ys`` with respect to each of ``xs``.

    >>> import gpuplace as tf
    >>> x = tf.constant(3.0)
    >>> float(tf.Session().run(tf.gradients(x * x, x)[0]))
    6.0

    Args:
        ys: a tensor, or a list of them.
        xs: a tensor or variable, or a list of them.
        grad_ys: a list with the gradient of each ``y``, in its type and shape; ones where None.
        name: name scope of what is added.
        colocate_gradients_with_ops: place each gradient operation with the operation it belongs to.
        gate_gradients: let the gradients of one operation wait for each other.
        aggregation_method: see ``AggregationMethod``. None: its default.
        stop_gradients: tensors that are treated as constants. None: none.
        unconnected_gradients: ``"none"`` or ``"zero"``: what an ``x`` gets on which no ``y`` depends.

    Returns:
        A list of one tensor, ``IndexedSlices`` or None per ``x``, of its type and shape.

    Raises:
        LookupError: an operation between has no gradient.
        ValueError: lengths do not fit, an option has another value, or a gradient function returns something of the
            wrong shape.
        TypeError: a gradient of the wrong type, or complex ``ys`` without ``grad_ys``.
    """
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    if unconnected_gradients not in (UnconnectedGradients.NONE, UnconnectedGradients.ZERO):
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected_gradients!r}; it is 'none' or 'zero'"
        )
    ys, xs, stops = _as_list(ys), _as_list(xs), _as_list(stop_gradients)
    given = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(given) != len(ys):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    values = [*ys, *stops, *xs, *[g for g in given if g is not None]]
    with without_garbage_collection(), name_scope(name, "gradients", values):
        targets = [_target(x, f"x_{i}") for i, x in enumerate(xs)]
        tensors = [convert_to_tensor_or_indexed_slices(y, name=f"y_{i}") for i, y in enumerate(ys)]
        outputs = [y.values if isinstance(y, IndexedSlices) else y for y in tensors]
        targets = [_within(x, outputs) for x in targets]
        stop_tensors = [_target(x, f"stop_{i}") for i, x in enumerate(stops)]
        walk = _Walk(outputs, targets, stop_tensors, colocate_gradients_with_ops, gate_gradients)
        given = [
            None if g is None else convert_to_tensor_or_indexed_slices(g, name=f"grad_y_{i}")
            for i, g in enumerate(given)
        ]
        walk.start(_initial_gradients(given, outputs, walk))
        walk.run()
        found = [walk.result(x) for x in targets]
    if unconnected_gradients == UnconnectedGradients.ZERO:
        return [_zeros_like(x) if one is None else one for x, one in zip(targets, found, strict=True)]
    return found


def symbolic_gradients(ys: Sequence[Tensor], xs: Sequence[Tensor], given: Sequence[Tensor]) -> list[Any]:
    """Derivatives as ``SymbolicGradient`` takes them from a function's body: integers have gradients too.

    The gradient of a cast is the cast back, also to and from integers. Bodies with loops or conditionals, whose
    counters are integers, are differentiated as by ``gradients``.

    Args:
        ys: results of the function.
        xs: its arguments.
        given: the gradient of each result.

    Returns:
        A tensor, ``IndexedSlices`` or None for each argument.

    Source: tensorflow/core/graph/gradients.cc and tensorflow/core/ops/math_grad.cc, release 1.15.
    """
    if any(op.type in CONTROL_FLOW_OPS for op in ys[0].graph.get_operations()):
        return gradients(list(ys), list(xs), list(given))
    with name_scope("gradients"):
        walk = _Walk(ys, xs, (), False, False, is_symbolic=True)
        walk.start(given)
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
    """The tensor whose gradient stands for ``x``: the reference or handle of a variable."""
    if isinstance(x, ResourceVariable):
        return x.handle
    found = convert_to_tensor_or_indexed_slices(x, name=name, as_ref=True)
    return found.values if isinstance(found, IndexedSlices) else found


def _within(x: Tensor, ys: Sequence[Tensor]) -> Tensor:
    """The copy of a tensor in the body of the function that ``ys`` are of, where that has copies."""
    graph = ys[0].graph if ys else x.graph
    found = graph.stand_in_for(x) if isinstance(graph, TracedGraph) and graph.by_value else None
    return x if found is None else found


class _Captures:
    """How functions that the ``ys`` are in use tensors of the graphs around them.

    Args:
        graph: that of the ``ys``.
        xs: tensors that are looked at as they are, also where they stand for others.
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
        """The inputs of an operation; of the graphs around it where it takes what stands for such tensors."""
        return [self._origin(tensor) for tensor in op.inputs] if self._origins else op.inputs

    def _origin(self, tensor: Tensor) -> Tensor:
        while tensor not in self._xs and tensor in self._origins:
            tensor = self._origins[tensor]
        return tensor

    def consumers(self, tensor: Tensor) -> list[Operation]:
        """What takes a tensor, also within functions."""
        found = tensor.consumers()
        for inner in self._users.get(tensor, ()):
            found = [*found, *self.consumers(inner)]
        return found


def is_trainable(tensor: Tensor) -> bool:
    """Whether gradients flow through a tensor of this type."""
    return tensor.dtype.base_dtype.name in _TRAINABLE


def _is_number(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype.is_integer or is_trainable(tensor)


def _initial_gradients(given: Sequence[Any], ys: Sequence[Tensor], walk: _Walk) -> list[Gradient]:
    found: list[Gradient] = []
    for i, (gradient, y) in enumerate(zip(given, ys, strict=True)):
        with walk.near(y.op):
            if gradient is None:
                if y.dtype.is_complex:
                    raise TypeError(
                        f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype.base_dtype!r})"
                    )
                shape = reshaping.shape(y)
                one = constant.constant(1, dtype=y.dtype.base_dtype, name=f"grad_ys_{i}")
                found.append(constant.fill(shape, one))
                continue
            _check_given(gradient, y)
            found.append(_identity(gradient, f"grad_ys_{i}"))
    return found


def _identity(gradient: Gradient, name: str) -> Gradient:
    if not isinstance(gradient, IndexedSlices):
        return reshaping.identity(gradient, name=name)
    shape = gradient.dense_shape
    return IndexedSlices(
        reshaping.identity(gradient.values, name=f"{name}_values"),
        reshaping.identity(gradient.indices, name=f"{name}_indices"),
        None if shape is None else reshaping.identity(shape, name=f"{name}_shape"),
    )


def _check_given(gradient: Gradient, y: Tensor) -> None:
    wanted, got = y.dtype.base_dtype, gradient.dtype.base_dtype
    start = f"Gradient type {got.name} generated for"
    if wanted.is_floating or wanted.is_integer:
        if not (got.is_floating or got.is_integer):
            raise TypeError(
                f"{start} real or integer-valued tensor {y} with type {wanted.name} must be real or integer"
            )
    elif wanted.is_complex:
        if not got.is_complex:
            raise TypeError(f"{start} complex-valued tensor {y} with type {wanted.name} must be real")
    elif wanted is resource:  # the handle of a variable, whose gradient is a number
        if got is resource:
            raise TypeError(f"Input gradient {gradient} for resource tensor {y} should not be a resource")
    elif wanted is variant:
        if got is not variant:
            raise TypeError(f"{start} variant tensor {y} with type {wanted.name} must be variant")
    else:
        raise TypeError(f"Tensor {y} with type {wanted.name} must be numeric to obtain a default gradient")


class _Walk:
    """One walk backwards."""

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
        """Per operation and output: a list of gradients, or their sum once that is made."""
        to_ops = _unique(y.op for y in ys)
        self.from_ops = _unique(x.op for x in xs)
        self.to_ops = to_ops
        self.stops = stops
        self.pending: dict[Operation, int] = {}
        self.loops: LoopGradients | None = None
        """The gradients of loops, where there are any."""
        self.stop_ops: set[Operation] = set()
        self.queue: deque[Operation] = deque()

    def near(self, op: Operation | None, ignore_existing: bool = False) -> Any:
        """A scope in which what is added is placed with ``op``, where that was asked for."""
        if not self.colocate:
            return contextlib.nullcontext()
        return self.graph.colocate_with(op, ignore_existing)

    def start(self, initial: Sequence[Gradient]) -> None:
        """Gives the ``ys`` their gradients."""
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
        """Adds a loop for every loop that gradients go through."""
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
        """A block in which what is added belongs to the gradient of the loop that ``op`` is in."""
        return contextlib.nullcontext() if self.loops is None else self.loops.inside_of(op, before)

    def run(self) -> None:
        """Works until no operation is ready."""
        while self.queue:
            op = self.queue.popleft()
            with self.near(op):
                with self._inside(op, before=True):
                    out = self._summed(op)
                with self._inside(op, before=False):
                    self._go_through(op, out)
            self._update_pending(op)  # what it adds, zeros for unused exits, belongs to other operations
        if self.loops is not None:
            self.loops.finish()

    def _go_through(self, op: Operation, out: list[Any]) -> None:
        """Adds the gradients of the inputs, for those of the outputs."""
        self._check_not_through_loop_variable(op)
        found: Sequence[Any] = (None,) * len(op.inputs)
        if op not in self.stop_ops and any(gradient is not None for gradient in out):
            function = _cast_back if self.is_symbolic and op.type == "Cast" else find_gradient(op)
            if function is not None:
                with self._skipping(op):
                    found = self._differentiate(op, function, out)
        for tensor, gradient in zip(self.captures.inputs(op), found, strict=True):
            if gradient is not None:
                self._hand_on(op, tensor, gradient)

    def _skipping(self, op: Operation) -> Any:
        """A block that leaves out what leads to no ``x``: of an integer power, the logarithm, which integers lack."""
        if not self.is_symbolic:
            return contextlib.nullcontext()
        return skipping(op, {i for i, tensor in enumerate(op.inputs) if tensor.op not in self.pending})

    def _check_not_through_loop_variable(self, op: Operation) -> None:
        """ValueError where the walk leaves, within a loop's body, the iteration by the way that its variables come."""
        context = context_of(op)
        if op.type not in SWITCHES or context is None or not context.IsWhileContext():
            return
        if context is not building_context(self.graph):
            return
        seen: set[Operation] = set()
        queue = deque([op])
        while queue:
            found = queue.popleft()
            if found in self.from_ops:
                raise ValueError(
                    f"Cannot compute gradient inside while loop with respect to op '{found.name}'. We do not support"
                    " taking the gradient wrt or through the initial value of a loop variable. Gradients can be"
                    " computed through loop invariants or wrt the input parameters to the loop body."
                )
            if found not in seen:
                seen.add(found)
                queue.extend(tensor.op for tensor in self.captures.inputs(found))

    def _update_pending(self, op: Operation) -> None:
        """Counts the uses of the inputs down; those of which the last one is done are ready."""
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
        """Waits until all that a loop gives has its gradients; then all of it is ready."""
        state = loops.state_of(left.op, before=False)
        assert state is not None
        state.deferred_exits.append(left)
        state.pending_exits -= 1
        if state.pending_exits:
            return
        used = [one for one in state.deferred_exits if any(self.grads.get(one.op, [[]]))]
        state.unused_exits.extend(one for one in state.deferred_exits if one not in used)
        self.queue.extend(one.op for one in used)
        for one in state.unused_exits:
            if used:
                self._add_zeros_for_exit(one)
            self.queue.append(one.op)

    def _differentiate(self, op: Operation, function: Any, out: list[Any]) -> list[Any]:
        """Calls the gradient function of ``op``, with zeros for outputs without a gradient."""
        for i, gradient in enumerate(out):
            if gradient is None and self.has_gradient(op.outputs[i]):
                out[i] = zeros_of(op, i) if self.loops is None else self.loops.zeros(op, i)
        with self.graph.name_scope(op.name + "_grad"):
            found = function(op, *out)
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            if len(found) != len(op.inputs):
                raise ValueError(
                    f"Num gradients {len(found)} generated for op {op.name} (type {op.type}) do not match num inputs "
                    f"{len(op.inputs)}"
                )
            _check_types(op, found)
            if self.gate and sum(gradient is not None for gradient in found) > 1:
                with self.graph.device(None), self.graph.colocate_with(None, ignore_existing=True):
                    found = control.tuple(found)
        return found

    def _hand_on(self, op: Operation, tensor: Tensor, gradient: Gradient) -> None:
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
        else:  # of a loop's switch, which has its turn twice
            slots[tensor.value_index] = gradient

    def _summed(self, op: Operation) -> list[Any]:
        """The gradients of the outputs, each one tensor, slices or None; kept for ``result``."""
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
        """Sums per device, then over the devices."""
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
        """The gradient of ``x``; None where nothing depends on it."""
        slots = self.grads.get(x.op)
        found = None if slots is None else slots[x.value_index]
        if isinstance(found, list):  # x.op itself had no turn: nothing before a y leads through it
            found = None if not found else found[0] if len(found) == 1 else self._add_n(found)
        return found


def _unique(ops: Iterable[Operation]) -> list[Operation]:
    return list(dict.fromkeys(ops))


def _between(
    to_ops: Sequence[Operation],
    from_ops: Sequence[Operation],
    captures: _Captures,
    has_gradient: Callable[[Tensor], bool],
) -> tuple[dict[Operation, None], set[Operation]]:
    """The operations between ``from_ops`` and ``to_ops``, in the order in which they are found; and the ``to_ops``
    that are reached.
    """
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
    """How many uses of each operation's outputs there are among these operations."""
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


def _check_types(op: Operation, found: Sequence[Any]) -> None:
    for tensor, gradient in zip(op.inputs, found, strict=True):
        if gradient is None:
            continue
        wanted, got = tensor.dtype.base_dtype, gradient.dtype.base_dtype
        if (wanted.is_floating or wanted.is_complex) and got != wanted:
            raise TypeError(
                f"Gradient type {got!r} generated for tensor {tensor} with type {wanted!r} must be {wanted!r}"
            )


def _add_n(tensors: Sequence[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else new("AddN", inputs=list(tensors))


def sum_of_slices(gradients_of_one: Sequence[Gradient]) -> Gradient:
    """The sum of gradients of which some are slices: slices, by concatenation, where all are."""
    if any(isinstance(gradient, Tensor) for gradient in gradients_of_one):
        return new("AddN", inputs=list(gradients_of_one))
    slices = as_indexed_slices_list(list(gradients_of_one))
    values = joining.concat([part.values for part in slices], 0)
    return IndexedSlices(values, joining.concat([part.indices for part in slices], 0), slices[0].dense_shape)
