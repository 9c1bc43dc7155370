"""``tf.GradientTape`` in a graph: derivatives through the operations added while the tape was recording.

    with tape:          recorded: [3, 7)          an operation is on the tape if it was added in an interval and has
        y = f(x)                                  as input a watched tensor, or an output of an operation on the tape
    tape.gradient(y, x)

The nodes are those of release 1.15: in no separate scope, starting with ``ones``, in the tape's order. An operation
whose output gradients are complete waits in a queue, which starts with the operations without consumers on the tape. A
gradient function skips the gradients of inputs that are not on the tape (`registry.skipped_inputs`).

Source: tensorflow/python/eager/backprop.py and tensorflow/c/eager/tape.h, release 1.15 (arguments, messages, order;
graphs recorded in release 1.15.5).
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import CONTROL_FLOW_OPS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import infer_shapes
from gpuplace.ops import nest
from gpuplace.ops.array.constant import ones, zeros, zeros_like
from gpuplace.ops.gradients.gradients import UnconnectedGradients, sum_of_slices
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import find_gradient, outputs_without_zeros, skipping
from gpuplace.ops.support import new
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.typing import TensorLike

__all__ = ["GradientTape"]

_log = logging.getLogger("tensorflow")

_BUCKETS = (3, 7, 17, 37, 79, 167, 337, 709, 1493, 3209, 6427, 12983, 26267, 53201, 107897)
"""The sizes to which the unordered map of operations on TensorFlow's tape grows."""


class GradientTape:
    """Record the operations added to the graph in a ``with`` block, to differentiate them afterwards.

    >>> import gpuplace as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> float(tf.Session().run(tape.gradient(y, x)))
    6.0

    Args:
        persistent: whether ``gradient`` can be called more than once.
        watch_accessed_variables: whether to watch the trainable resource variables that are read while recording.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._recording = False
        self._used = False
        self._clear()

    def _clear(self) -> None:
        self._watched: dict[Tensor, int] = {}
        self._intervals: list[list[int]] = []

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        self._recording = True
        self._intervals.append([len(get_default_graph()), -1])

    def _stop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._recording = False
        self._intervals[-1][1] = len(get_default_graph())

    def watch(self, tensor: TensorLike) -> None:
        """Watch tensors, to allow gradients with respect to them.

        Args:
            tensor: a tensor or resource variable, or a structure of them.

        Raises:
            ValueError: an item is neither a tensor nor a resource variable.
        """
        for item in nest.flatten(tensor):
            handle = _handle_or_self(item)
            if not _is_trainable(item.dtype):
                _log.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    item.dtype.base_dtype,
                )
            self._watched.setdefault(handle, len(get_default_graph()))

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Stop recording inside the block: its operations are constants to the tape.

        Raises:
            ValueError: the tape is not recording.
        """
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Clear the recorded operations and watched tensors, within the tape's block.

        Raises:
            ValueError: the tape is not recording.
        """
        self._stop()
        self._clear()
        self._start()

    def watched_variables(self) -> tuple[ResourceVariable, ...]:
        """Return the watched variables in the order in which they were made."""
        graph = get_default_graph()
        handles = set(self._watched)
        if self._watch_accessed_variables:
            handles.update(
                tensor
                for op in self._in_intervals()
                for tensor in op.inputs
                if tensor.dtype.name == "resource"
            )
        by_handle = {
            variable.handle: variable
            for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
            for variable in graph.get_collection(key)
            if isinstance(variable, ResourceVariable)
        }
        return tuple(
            variable
            for handle, variable in by_handle.items()
            if handle in handles and (variable.trainable or handle in self._watched)
        )

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = UnconnectedGradients.NONE,
    ) -> Any:
        """Return the derivatives of the sum of the targets through the recorded operations.

        Args:
            target: a tensor or variable, or a structure of them.
            sources: tensors or resource variables, or a structure of them.
            output_gradients: the gradient of each target, or None for ones.
            unconnected_gradients: ``"none"`` or ``"zero"``: the result for a source on which no target depends.

        Returns:
            A tensor, ``IndexedSlices`` or None for each source, in the structure of the sources.

        Raises:
            RuntimeError: it is a second call, and the tape is not persistent.
            ValueError: a source is neither a tensor nor a resource variable.
            NotImplementedError: there are conditionals or loops on the way.
            LookupError: an operation on the way has no gradient.
        """
        if self._used and not self._persistent:
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        self._used = True
        if self._recording and not self._persistent:
            self._stop()
        elif self._recording:
            _log.warning(
                "Calling GradientTape.gradient on a persistent tape inside its context is significantly less "
                "efficient than calling it outside the context (it causes the gradient ops to be recorded on the tape, "
                "leading to increased CPU and memory usage). Only call GradientTape.gradient inside the context if you "
                "actually want to trace the gradient in order to compute higher order derivatives.",
            )
        targets = [self._target(item) for item in nest.flatten(target)]
        dys = None if output_gradients is None else nest.flatten(output_gradients)
        flat = nest.flatten(sources)
        handles = [_handle_or_self(item) for item in flat]
        for item in flat:
            _warn_of_type(item, "source")
        pairs = [(item, i) for i, item in enumerate(targets) if _is_trainable(item.dtype)]
        results = self._differentiate(
            [item for item, _ in pairs], handles, None if dys is None else [dys[i] for _, i in pairs]
        )
        if unconnected_gradients == UnconnectedGradients.ZERO:
            results = [
                _zeros_of(item) if slope is None else slope for item, slope in zip(flat, results, strict=True)
            ]
        return nest.pack_sequence_as(sources, results)

    def _target(self, value: Any) -> Tensor:
        """Return a target as a tensor; reading a variable for it is recorded."""
        _warn_of_type(value, "target")
        if not isinstance(value, ResourceVariable):
            return value.values if isinstance(value, IndexedSlices) else value
        if self._recording:
            return convert_to_tensor(value)
        with self:
            return convert_to_tensor(value)

    def _in_intervals(self) -> Iterator[Operation]:
        """Return the operations added while the tape was recording."""
        operations = get_default_graph().get_operations()
        for start, end in self._intervals:
            yield from operations[start : end if end >= 0 else None]

    def _on_tape(self) -> tuple[dict[Operation, int], set[Tensor]]:
        """Return the operations on the tape with their numbers, and all tensors on the tape."""
        since = dict(self._watched)
        if self._watch_accessed_variables:
            since.update((variable.handle, 0) for variable in self.watched_variables())
        tensors: set[Tensor] = set(since)
        numbers: dict[Operation, int] = {}
        for op in self._in_intervals():
            if any(
                item in tensors and since.get(item, 0) <= op.index and _is_trainable(item.dtype)
                for item in op.inputs
            ):
                numbers[op] = len(numbers)
                tensors.update(op.outputs)
        return numbers, tensors

    def _differentiate(self, targets: list[Tensor], sources: list[Tensor], output_grads: Any) -> list[Any]:
        numbers, tensors = self._on_tape()
        between, uses = _between(targets, numbers)
        _check_no_flow(between)
        missing = Counter(tensor.op for tensor in uses if tensor.op in numbers)
        gradients: dict[Tensor, list[Any]] = {}
        for target, gradient in zip(targets, output_grads or [None] * len(targets), strict=True):
            if gradient is not None:
                gradients.setdefault(target, []).append(convert_to_tensor(gradient))
            elif target.op in numbers or (target in sources and target in tensors):
                gradients.setdefault(target, []).append(ones(_shape_of(target), target.dtype.base_dtype))
        first = [op for op in between if op not in missing]
        if len(first) > 1:
            first = [op for op in reversed(_iteration_order(between, numbers)) if op in first]
        queue = deque(first)
        while queue:
            op = queue.popleft()
            slopes = [_sum(gradients, output, output in sources) for output in op.outputs]
            skipped = {i for i, item in enumerate(op.inputs) if item not in tensors and item not in sources}
            for tensor, gradient in zip(op.inputs, _back_through(op, slopes, skipped), strict=True):
                if gradient is not None:
                    gradients.setdefault(tensor, []).append(gradient)
                uses[tensor] -= 1
                if not uses[tensor] and tensor.op in numbers:
                    missing[tensor.op] -= 1
                    if not missing[tensor.op]:
                        queue.append(tensor.op)
        return [_sum(gradients, source, True) for source in sources]


def _between(
    targets: list[Tensor], numbers: dict[Operation, int]
) -> tuple[dict[Operation, None], Counter[Tensor]]:
    """Return the operations on the tape that lead to the targets, and the number of their uses of each tensor."""
    between: dict[Operation, None] = {}
    uses: Counter[Tensor] = Counter()
    stack = list(targets)
    while stack:
        op = stack.pop().op
        if op not in numbers or op in between:
            continue
        between[op] = None
        for tensor in op.inputs:
            uses[tensor] += 1
            if uses[tensor] == 1:
                stack.append(tensor)
    return between, uses


def _iteration_order(between: dict[Operation, None], numbers: dict[Operation, int]) -> list[Operation]:
    """Return the order in which TensorFlow's tape iterates over its operations; initial operations start from its end.

    The tape keeps them by number in an unordered map of the GNU C++ library, which is one linked list. A new entry
    becomes its first if the entry's bucket (number modulo buckets) is empty, otherwise the first in the bucket. When
    the map grows, it inserts all entries again in this way, in their current order.
    """
    sizes = iter(_BUCKETS)
    buckets = 1
    order: list[Operation] = []

    def insert(op: Operation) -> None:
        bucket = numbers[op] % buckets
        at = next((i for i, other in enumerate(order) if numbers[other] % buckets == bucket), 0)
        order.insert(at, op)

    for count, op in enumerate(between, 1):
        if count == 1 or count >= buckets:
            buckets = next(sizes)
            before, order = order, []
            for other in before:
                insert(other)
        insert(op)
    return order


def _sum(gradients: dict[Tensor, list[Any]], tensor: Tensor, is_kept: bool) -> Any:
    """Return the sum of a tensor's gradients, None without any; if ``is_kept``, it replaces them."""
    summands = gradients.pop(tensor, [])
    if not summands:
        return None
    if len(summands) == 1:
        total = summands[0]
    elif all(isinstance(item, Tensor) for item in summands):
        total = new("AddN", inputs=summands)
    else:
        total = sum_of_slices(summands)
    if is_kept:
        gradients[tensor] = [total]
    return total


def _back_through(op: Operation, slopes: list[Any], skipped: set[int]) -> list[Any]:
    """Return the gradients of an operation's inputs from those of its outputs, with zeros for missing ones."""
    nothing: list[Any] = [None] * len(op.inputs)
    if all(slope is None for slope in slopes):
        return nothing
    for i, output in enumerate(op.outputs):
        if slopes[i] is None and i not in outputs_without_zeros(op.type) and _has_zeros(output):
            slopes[i] = zeros(_shape_of(output), output.dtype.base_dtype)
    function = find_gradient(op)
    if function is None:
        return nothing
    with skipping(op, skipped):
        input_grads = function(op, *slopes)
    return list(input_grads) if isinstance(input_grads, (list, tuple)) else [input_grads]


def _has_zeros(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype.name not in ("variant", "string", "resource")


def _shape_of(tensor: Tensor) -> Any:
    """Return the shape of a tensor: sizes if static, otherwise a tensor.

    The tape keeps the shape from the op's shape function; a later `set_shape` does not count.
    """
    shape = infer_shapes(tensor.op, len(tensor.op.outputs))[tensor.value_index]
    return shape if shape.is_fully_defined() else new("Shape", input=tensor)


def _check_no_flow(ops: dict[Operation, None]) -> None:
    if any(op.type in CONTROL_FLOW_OPS for op in ops):
        raise NotImplementedError(
            "tf.GradientTape.gradients() does not support graph control flow operations like tf.cond or tf.while at "
            "this time. Use tf.gradients() instead. If you need this feature, please file a feature request at "
            "https://github.com/tensorflow/tensorflow/issues/new"
        )


def _is_trainable(dtype: Any) -> bool:
    base = dtype.base_dtype
    return bool(base.is_floating or base.is_complex or base.is_handle)


def _handle_or_self(value: Any) -> Tensor:
    if isinstance(value, ResourceVariable):
        return value.handle
    if not isinstance(value, Tensor):
        raise ValueError(f"Passed in object of type {type(value)}, not tf.Tensor")
    return value


def _warn_of_type(value: Any, role: str) -> None:
    if not _is_trainable(value.dtype):
        _log.warning(
            "The dtype of the %s tensor must be floating (e.g. tf.float32) when calling GradientTape.gradient, got %r",
            role,
            value.dtype.base_dtype,
        )


def _zeros_of(source: Any) -> Tensor:
    if isinstance(source, ResourceVariable):
        return zeros(source.shape, source.dtype.base_dtype)
    return zeros_like(source)
