"""Accumulators, which collect gradients from several steps, and barriers, which join components of elements.

Source: tensorflow/core/kernels/conditional_accumulator_base.cc, conditional_accumulator.h,
sparse_conditional_accumulator.h and barrier_ops.cc, release 1.15 (what waits for what, sentences).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace import tf_logging
from gpuplace.dtypes import DType
from gpuplace.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from gpuplace.kernels.cancellation import Cancellation
from gpuplace.kernels.staging import Element, Monitor
from gpuplace.shapes import TensorShape, brackets

SparseGradient = tuple[Any, Any, Any]
"""Indices, rows and shape."""


def _check_same(found: Any, declared: Any, what: str, facts: dict[str, str]) -> None:
    if type(found) is not type(declared):
        raise InvalidArgumentError.of(
            f"Shared {what} '{found.name}' is a {type(found).__name__} and not a {type(declared).__name__}"
        )
    for field, said in facts.items():
        texts = [_text(getattr(one, field)) for one in (found, declared)]
        if texts[0] != texts[1]:
            raise InvalidArgumentError.of(
                f"Shared {what} '{found.name}' has {said} {texts[0]} but requested {said} were {texts[1]}"
            )


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return brackets(value) if isinstance(value, TensorShape) else str(value.name)


class Accumulator:
    """A sum of gradients, with their number and their step.

    Args:
        name: name for error messages.
        dtype: type of the gradients.
        shape: shape of the gradients.
        reduction: ``"MEAN"`` or ``"SUM"``: the value that `take` returns.
    """

    def __init__(self, name: str, dtype: DType, shape: TensorShape, reduction: str) -> None:
        self.name, self.dtype, self.shape, self.reduction = name, dtype, shape, reduction
        self._monitor = Monitor()
        self._count = 0
        self._step = 0
        self._sum: Any = None

    def check_same(self, declared: Accumulator) -> None:
        """Raise InvalidArgumentError if an op that shares this accumulator declares another one."""
        _check_same(self, declared, "accumulator", {"dtype": "type", "shape": "shape"})

    @property
    def count(self) -> int:
        """Number of collected gradients."""
        with self._monitor.lock:
            return self._count

    def set_step(self, step: int) -> None:
        """Set the first step whose gradients are accepted."""
        with self._monitor.lock:
            if step < self._step:
                tf_logging.warning(
                    "Attempt to set current_global_step_ to smaller value: current_global_step_ = %d >="
                    " new_global_step = %d.",
                    self._step,
                    step,
                )
            self._step = step

    def apply(self, gradient: Any, local_step: int) -> None:
        """Add a gradient, unless it belongs to an earlier step.

        Args:
            gradient: gradient to add.
            local_step: step that computed the gradient.

        Raises:
            InvalidArgumentError: the shape does not match.
        """
        with self._monitor.lock:
            if local_step < self._step:
                return
            self._check(gradient)
            self._sum = self._first(gradient) if not self._count else self._added(gradient)
            self._count += 1
            self._monitor.changed()

    def take(self, required: int, cancellation: Cancellation) -> Any:
        """Take out the mean or sum after the required number of gradients; then the next step begins.

        Args:
            required: number of gradients to wait for.
            cancellation: ends the wait with the session.

        Raises:
            InvalidArgumentError: ``required`` is not positive.
            CancelledError: the wait was cancelled.
        """
        if required <= 0:
            raise InvalidArgumentError.of(f"Argument num_required must be positive, but was {required}")
        results: list[Any] = []

        def take() -> bool:
            if self._count < required:
                return False
            results.append(self._result())
            self._count, self._sum = 0, None
            self._step += 1
            return True

        self._monitor.when(take, cancellation, "take")
        return results[0]

    # Overridden for sparse gradients

    def _check(self, gradient: Any) -> None:
        accepted = self.shape if not self._count else self.shape.merge_with(self._sum.shape)
        if not accepted.is_compatible_with(TensorShape.of(gradient.shape)):
            raise InvalidArgumentError.of(
                f"Shape mismatch: expected {brackets(accepted)}, got {brackets(gradient.shape)}"
            )

    def _first(self, gradient: Any) -> Any:
        return np.array(gradient)

    def _added(self, gradient: Any) -> Any:
        self._sum += gradient
        return self._sum

    def _result(self) -> Any:
        if self.reduction == "SUM":
            return self._sum
        return (self._sum / np.asarray(self._count, self._sum.dtype)).astype(self._sum.dtype)


class SparseAccumulator(Accumulator):
    """An accumulator of sparse gradients; each row is divided by the number of its additions."""

    def _check(self, gradient: SparseGradient) -> None:
        indices, values, shape = gradient
        wanted = self.shape.sizes or ()
        if len(shape):
            if len(wanted) > len(shape):
                raise InvalidArgumentError.of(
                    f"Shape mismatch: expected shape rank at least {len(wanted)}, got {len(shape)}"
                )
            for axis, size in enumerate(wanted):
                if size is not None and size != shape[axis]:
                    raise InvalidArgumentError.of(
                        f"Shape mismatch: expected shape dim {axis} to be {size}, got {shape[axis]}"
                    )
        if wanted and wanted[0] is not None:
            for row, index in enumerate(indices.tolist()):
                if index >= wanted[0]:
                    raise InvalidArgumentError.of(
                        f"Shape mismatch: index of slice {row} exceeded limits of shape; index is {index} exceeded"
                        f" {wanted[0]}"
                    )
        row_sizes = self._sum[1].shape[1:] if self._count else wanted[1:]
        rank = 1 + len(row_sizes) if self._count or wanted else values.ndim
        if rank > values.ndim or (self._count and rank != values.ndim):
            raise InvalidArgumentError.of(
                f"Shape mismatch: expected values rank {'' if self._count else 'at least '}{rank}, got {values.ndim}"
            )
        for axis, size in enumerate(row_sizes, 1):
            if size is not None and size != values.shape[axis]:
                raise InvalidArgumentError.of(
                    f"Shape mismatch: expected values dim {axis} to be {size}, got {values.shape[axis]}"
                )

    def _first(self, gradient: SparseGradient) -> Any:
        indices, values, _ = gradient
        return indices.copy(), values.copy(), np.ones(len(indices), np.int64)

    def _added(self, gradient: SparseGradient) -> Any:
        """Merge the sorted rows of two sparse gradients."""
        held, values, counts = self._sum
        coming, rows, _ = gradient
        pairs = []
        left, right = 0, 0
        while left < len(held) or right < len(coming):
            if right == len(coming) or (left < len(held) and held[left] < coming[right]):
                pairs.append((left, -1))
                left += 1
            elif left == len(held) or held[left] > coming[right]:
                pairs.append((-1, right))
                right += 1
            else:
                pairs.append((left, right))
                left, right = left + 1, right + 1
        merged = [held[a] if a >= 0 else coming[b] for a, b in pairs]
        sums = np.empty((len(pairs), *values.shape[1:]), values.dtype)
        for place, (a, b) in enumerate(pairs):
            sums[place] = values[a] + rows[b] if a >= 0 and b >= 0 else values[a] if a >= 0 else rows[b]
        numbers = [(counts[a] if a >= 0 else 0) + (b >= 0) for a, b in pairs]
        return np.asarray(merged, np.int64), sums, np.asarray(numbers, np.int64)

    def _result(self) -> SparseGradient:
        indices, values, counts = self._sum
        if self.reduction == "MEAN":
            times = counts.reshape(-1, *(1,) * (values.ndim - 1)).astype(values.dtype)
            values = (values / times).astype(values.dtype)
        first = (self.shape.sizes or (None,))[0]
        return indices, values, np.asarray([-1 if first is None else first, *values.shape[1:]], np.int64)


class Barrier:
    """Elements by key, whose components arrive one by one; complete ones are ordered by their first component.

    Args:
        name: name for error messages.
        dtypes: types of the components.
        shapes: shapes of the components; empty: any shapes.
    """

    def __init__(self, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        self.name, self.dtypes, self.shapes = name, tuple(dtypes), tuple(shapes)
        self._monitor = Monitor()
        self._incomplete: dict[bytes, tuple[int, list[Any]]] = {}
        self._ready: list[tuple[int, int, bytes, Element]] = []
        self._index = -(2**63)
        self._number = 0
        self._is_closed = self._cancels = False

    def check_same(self, declared: Barrier) -> None:
        """Raise InvalidArgumentError if an op that shares this barrier declares another one."""
        _check_same(self, declared, "barrier", {"dtypes": "component types", "shapes": "component shapes"})

    @property
    def ready_size(self) -> int:
        """The number of complete elements."""
        with self._monitor.lock:
            return len(self._ready)

    @property
    def incomplete_size(self) -> int:
        """The number of incomplete elements."""
        with self._monitor.lock:
            return len(self._incomplete)

    def insert_many(self, component: int, keys: Sequence[bytes], values: Any) -> None:
        """Set a component of elements.

        Args:
            component: number of the component.
            keys: keys of the elements.
            values: a value for each key.

        Raises:
            InvalidArgumentError: a key already has the component, the component does not exist, or a shape does not
                match.
            CancelledError: the barrier is closed, and the key is new or incomplete elements were dropped.
        """
        if component >= len(self.dtypes):
            raise InvalidArgumentError.of(
                f"The component ID is out of range {component} > num_components (= {len(self.dtypes)})"
            )
        if len(keys) and not values.size:
            raise InvalidArgumentError.of(
                f"Tensors with no elements are not supported {self.name}: received shape {brackets(values.shape)}"
            )
        if values.shape[:1] != (len(keys),):
            raise InvalidArgumentError.of(
                f"keys and values must have the same number of rows; got {len(keys)} and {brackets(values.shape)}"
            )
        if self.shapes and not self.shapes[component].is_compatible_with(TensorShape.of(values.shape[1:])):
            raise InvalidArgumentError.of(
                f"Shape mismatch in tuple component {component}. Expected {brackets(self.shapes[component])}, got"
                f" {brackets(values.shape[1:])}"
            )
        with self._monitor.lock:
            left = len(self._incomplete)
            if self._is_closed and (self._cancels or (len(keys) and not left)):
                raise CancelledError.of(
                    f"Barrier {self.name} is closed.  Pending enqueues cancelled: {int(self._cancels)}.  Number of new"
                    f" insertions: {len(keys)}.  Number of incomplete keys: {left}."
                )
            try:
                self._insert(component, keys, values)
            finally:
                self._monitor.changed()

    def _insert(self, component: int, keys: Sequence[bytes], values: Any) -> None:
        has_new = False
        for number, (key, value) in enumerate(zip(keys, values, strict=True)):
            if key not in self._incomplete:
                if self._is_closed:
                    raise CancelledError.of(
                        f"Barrier {self.name} is closed, but attempted to insert a brand new key: {key.decode()}. "
                        f" Pending enqueues cancelled: {int(self._cancels)}.  Insertion index: {number}.  Number of"
                        f" incomplete keys: {len(self._incomplete)}."
                    )
                self._incomplete[key] = self._index, [None] * len(self.dtypes)
                has_new = True
            index, parts = self._incomplete[key]
            if parts[component] is not None:
                raise InvalidArgumentError.of(
                    f"Key {key.decode()} already has a value for component {component} in barrier {self.name}"
                )
            parts[component] = np.array(value, values.dtype)
            if all(part is not None for part in parts):
                heapq.heappush(self._ready, (index, self._number, key, tuple(parts)))
                self._number += 1
                del self._incomplete[key]
        self._index += has_new

    def take_many(self, count: int, may_be_fewer: bool, cancellation: Cancellation) -> list[Any]:
        """Take out complete elements, after waiting for enough of them.

        Args:
            count: number of elements.
            may_be_fewer: accept fewer elements from a closed barrier.
            cancellation: ends the wait with the session.

        Returns:
            Their numbers, keys, and an array for each component.

        Raises:
            OutOfRangeError: the barrier is closed and has too few elements.
            CancelledError: the wait was cancelled.
        """
        elements: list[Any] = []

        def take() -> bool:
            wanted, there = count, len(self._ready)
            if self._is_closed:
                if may_be_fewer:
                    wanted = min(count, there)
                else:
                    there += len(self._incomplete)
                if there < max(wanted, 1):
                    raise OutOfRangeError.of(
                        f"Barrier '{self.name}' is closed and has insufficient elements (requested {wanted}, total"
                        f" size {there})"
                    )
            if len(self._ready) < wanted:
                return False
            elements.extend(heapq.heappop(self._ready) for _ in range(wanted))
            return True

        self._monitor.when(take, cancellation, "take")
        columns = [
            self._column(component, [element[component] for *_, element in elements])
            for component in range(len(self.dtypes))
        ]
        keys = np.empty(len(elements), object)
        keys[:] = [key for _, _, key, _ in elements]
        return [np.asarray([index for index, *_ in elements], np.int64), keys, *columns]

    def _column(self, component: int, values: list[Any]) -> Any:
        if values:
            return np.stack(values)
        sizes = self.shapes[component].sizes if self.shapes else ()
        return np.empty((0, *(size or 0 for size in sizes or ())), self.dtypes[component].as_numpy_dtype)

    def close(self, cancel_pending_enqueues: bool) -> None:
        """Accept no new keys.

        Args:
            cancel_pending_enqueues: whether to drop incomplete elements.

        Raises:
            CancelledError: it was already closed with incomplete elements dropped, or this call does not drop them.
        """
        with self._monitor.lock:
            if self._is_closed and (self._cancels or not cancel_pending_enqueues):
                raise CancelledError.of(f"Barrier '{self.name}' is already closed.")
            self._is_closed, self._cancels = True, cancel_pending_enqueues
            if cancel_pending_enqueues:
                self._incomplete.clear()
            self._monitor.changed()
