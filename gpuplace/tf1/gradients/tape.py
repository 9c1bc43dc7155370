"""``tf.GradientTape`` in a graph: derivatives through the operations that were added while the tape was recording.

    with tape:          recorded: [3, 7)          a walk back from the target stops at every operation outside the
        y = f(x)                                  intervals; a source counts if it is watched, or made of what is
    tape.gradient(y, x)                           watched by recorded operations

The walk is that of ``tf.gradients``, whose scopes and names the added operations have (release 1.15 adds them without a
scope and begins with ``ones``).

Source: tensorflow/python/eager/backprop.py, release 1.15 (arguments, messages; what it gives in a graph was asked).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import CONTROL_FLOW_OPS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import nest
from gpuplace.ops.array.constant import zeros, zeros_like
from gpuplace.ops.gradients.gradients import UnconnectedGradients, gradients
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.variables.resource_variables import ResourceVariable

__all__ = ["GradientTape"]

_log = logging.getLogger("tensorflow")


class GradientTape:
    """Records what is added to the graph in a ``with`` block, to differentiate it afterwards.

    >>> import gpuplace as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> float(tf.Session().run(tape.gradient(y, x)))
    6.0

    Args:
        persistent: let ``gradient`` be called more than once.
        watch_accessed_variables: watch the trainable resource variables that are read while it records.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._recording = False
        self._used = False
        self._clear()

    def _clear(self) -> None:
        self._watched: list[Tensor] = []
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

    def watch(self, tensor: Any) -> None:
        """Lets gradients with respect to tensors be asked for.

        Args:
            tensor: a tensor or resource variable, or a structure of them.

        Raises:
            ValueError: something else is among them.
        """
        for one in nest.flatten(tensor):
            handle = _handle_or_self(one)
            if not _is_trainable(one.dtype):
                _log.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    one.dtype.base_dtype,
                )
            self._watched.append(handle)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A block whose operations are constants to the tape.

        Raises:
            ValueError: the tape is not recording.
        """
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Forgets what was recorded and watched, within the tape's block.

        Raises:
            ValueError: the tape is not recording.
        """
        self._stop()
        self._clear()
        self._start()

    def watched_variables(self) -> tuple[ResourceVariable, ...]:
        """The variables that are watched, in the order in which they were made."""
        graph = get_default_graph()
        handles = {id(tensor) for tensor in self._watched}
        if self._watch_accessed_variables:
            handles.update(
                id(tensor)
                for op in graph.get_operations()
                if self._is_recorded(op)
                for tensor in op.inputs
                if tensor.dtype.name == "resource"
            )
        known = {
            id(variable.handle): variable
            for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
            for variable in graph.get_collection(key)
            if isinstance(variable, ResourceVariable)
        }
        explicit = {id(tensor) for tensor in self._watched}
        return tuple(
            variable
            for handle, variable in known.items()
            if handle in handles and (variable.trainable or handle in explicit)
        )

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = UnconnectedGradients.NONE,
    ) -> Any:
        """Derivatives of the sum of the targets, through what was recorded.

        Args:
            target: a tensor or variable, or a structure of them.
            sources: tensors or resource variables, or a structure of them.
            output_gradients: the gradient of each target; None, or where None: ones.
            unconnected_gradients: ``"none"`` or ``"zero"``: what a source gets on which no target depends.

        Returns:
            A tensor, ``IndexedSlices`` or None for every source, in the structure of the sources.

        Raises:
            RuntimeError: a second call, and the tape is not persistent.
            ValueError: a source is neither a tensor nor a resource variable.
            NotImplementedError: conditionals or loops are between.
            LookupError: an operation between has no gradient.
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
        targets = [self._target(one) for one in nest.flatten(target)]
        given = None if output_gradients is None else nest.flatten(output_gradients)
        flat = nest.flatten(sources)
        handles = [_handle_or_self(one) for one in flat]
        for one in flat:
            _warn_of_type(one, "source")
        pairs = [(one, i) for i, one in enumerate(targets) if _is_trainable(one.dtype)]
        found = self._differentiate(
            [one for one, _ in pairs], handles, None if given is None else [given[i] for _, i in pairs]
        )
        if unconnected_gradients == UnconnectedGradients.ZERO:
            found = [
                _zeros_of(one) if slope is None else slope for one, slope in zip(flat, found, strict=True)
            ]
        return nest.pack_sequence_as(sources, found)

    def _target(self, value: Any) -> Tensor:
        """A target as a tensor; a variable is read for it, which is recorded."""
        _warn_of_type(value, "target")
        if not isinstance(value, ResourceVariable):
            return value.values if isinstance(value, IndexedSlices) else value
        if self._recording:
            return convert_to_tensor(value)
        with self:
            return convert_to_tensor(value)

    def _is_recorded(self, op: Operation) -> bool:
        return any(op.index >= start and (end < 0 or op.index < end) for start, end in self._intervals)

    def _differentiate(self, targets: list[Tensor], sources: list[Tensor], given: Any) -> list[Any]:
        stops, reached = self._walk(targets)
        roots = set(map(id, self._watched))
        if self._watch_accessed_variables:
            roots.update(id(variable.handle) for variable in self.watched_variables())
        asked = [one for one in sources if id(one) in reached and self._is_on_tape(one, roots)]
        if not asked or not targets:
            return [None] * len(sources)
        _check_no_flow(reached)
        slopes = dict(
            zip(map(id, asked), gradients(targets, asked, given, stop_gradients=stops), strict=True)
        )
        return [slopes.get(id(one)) for one in sources]

    def _walk(self, targets: Sequence[Tensor]) -> tuple[list[Tensor], dict[int, Tensor]]:
        """The tensors at which the recorded part begins, and all that the targets are made of in it."""
        stops: list[Tensor] = []
        reached: dict[int, Tensor] = {}
        waiting = list(targets)
        while waiting:
            tensor = waiting.pop()
            if id(tensor) in reached:
                continue
            reached[id(tensor)] = tensor
            if self._is_recorded(tensor.op):
                waiting.extend(tensor.op.inputs)
            else:
                stops.append(tensor)
        return stops, reached

    def _is_on_tape(self, tensor: Tensor, roots: set[int]) -> bool:
        """Whether a tensor is watched, or recorded operations made it of what is."""
        waiting, seen = [tensor], set()
        while waiting:
            one = waiting.pop()
            if id(one) in roots:
                return True
            if one.op not in seen and self._is_recorded(one.op):
                seen.add(one.op)
                waiting.extend(one.op.inputs)
        return False


def _check_no_flow(reached: dict[int, Tensor]) -> None:
    if any(tensor.op.type in CONTROL_FLOW_OPS for tensor in reached.values()):
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
