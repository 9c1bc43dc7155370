"""Liveness: producers and consumers of a schedule's values, last uses, and shared memory.

An alias is a second name for a value, so its step needs no line. The value that it refers to is its root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpuplace.dtypes import resource, variant
from gpuplace.graph.operation import Tensor
from gpuplace.kernels.compute import traits_of
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot, Step


@dataclass(slots=True, eq=False)
class Liveness:
    """The uses of every value of a schedule."""

    end: int
    """Number of steps, which is the last use of fetched values."""
    producers: dict[Slot, Step] = field(default_factory=dict)
    """Value to the step that computes it."""
    readers: dict[Slot, list[Step]] = field(default_factory=dict)
    """Value to the steps that consume it."""
    last_use: dict[Slot, int] = field(default_factory=dict)
    """Value to the position of the last step that consumes it or an alias; -1 if a loop keeps it to its end."""
    roots: dict[Slot, Slot] = field(default_factory=dict)
    """Alias to its root."""

    def is_alias(self, step: Step) -> bool:
        """Whether the step's output is its input under another name."""
        return bool(self.roots) and len(step.outputs) == 1 and step.outputs[0] in self.roots

    def is_for_one(self, slot: Slot, reader: Step) -> bool:
        """Whether a step is the only consumer of a value."""
        return self.last_use[slot] < self.end and all(consumer is reader for consumer in self.readers[slot])

    def may_be_kept(self, slot: Slot) -> bool:
        """Whether the value, or another one that shares its memory, may be in use after the step."""
        seen, todo = {slot}, [slot]
        while todo:
            for step in self.readers.get(todo.pop(), ()):
                if makes_new_memory(step):
                    continue
                if _may_keep_inputs(step):
                    return True
                todo += [output for output in step.outputs if output not in seen]
                seen.update(step.outputs)
        return False


def find_liveness(schedule: Schedule, may_be_alias: Callable[[Step], bool]) -> Liveness:
    """Return the uses of a schedule's values.

    Args:
        schedule: schedule of a plan.
        may_be_alias: whether a step's output may be its input under another name. It is not an alias if the output is
            carried into the next iteration of a loop, in which case its consumer comes first.
    """
    liveness = Liveness(len(schedule.steps))
    producers, readers, last_use, roots = (
        liveness.producers,
        liveness.readers,
        liveness.last_use,
        liveness.roots,
    )
    for number, step in enumerate(schedule.steps):
        for slot in step.outputs:
            producers[slot] = step
        if may_be_alias(step) and step.outputs[0] not in readers:
            source = step.inputs[0]
            roots[step.outputs[0]] = roots.get(source, source)
        for slot in step.inputs:
            root = roots.get(slot, slot)
            last_use[slot] = last_use[root] = number
            readers.setdefault(slot, []).append(step)
    for slot in schedule.fetches:
        last_use[slot] = last_use[roots.get(slot, slot)] = liveness.end
    return liveness


def is_host_copy(step: Step) -> bool:
    """Whether nothing has to be copied: both ends are in host memory, or the value represents a dataset."""
    source, target = step.inputs[0], step.outputs[0]
    return (source.location.on_host and target.location.on_host) or source.tensor.dtype.base_dtype is variant


def makes_new_memory(step: Step) -> bool:
    """Whether the step's results neither share memory with its inputs nor keep them."""
    return traits_of(step.op_type).fresh if step.op is not None else not is_host_copy(step)


def _may_keep_inputs(step: Step) -> bool:
    """Whether a kernel may keep its inputs after the step; a stateless one cannot."""
    op = step.op
    if op is None:
        return False
    if op.op_def is None or op.op_def.is_stateful:
        return True
    return any(slot.is_ref or slot.tensor.dtype.base_dtype is resource for slot in step.inputs)


REUSED_BYTES = 1 << 14
"""Arrays that are known to be smaller than this are not overwritten, because a new one costs no more."""


def is_known_small(tensor: Tensor) -> bool:
    """Whether a tensor is known to be too small to be overwritten."""
    elements = tensor.shape.num_elements()
    return elements is not None and elements * tensor.dtype.size < REUSED_BYTES


def has_room_for_result(tensor: Tensor, inputs: Sequence[Tensor], result: Tensor) -> bool:
    """Whether an elementwise result is certain to have the shape and type of an input that is worth overwriting.

    >>> import gpuplace as tf
    >>> x, bias = tf.placeholder(tf.float32, [None, 4096]), tf.placeholder(tf.float32, [4096])
    >>> total = x + bias
    >>> [has_room_for_result(tensor, [x, bias], total) for tensor in (x, bias)]
    [True, False]
    """
    sizes = tensor.shape.sizes
    if not sizes or tensor.dtype.base_dtype is not result.dtype.base_dtype:
        return False
    if is_known_small(tensor):
        return False
    for other in inputs:
        theirs = other.shape.sizes
        if other is tensor:
            continue
        if theirs is None or len(theirs) > len(sizes):
            return False
        aligned = zip(theirs[::-1], sizes[::-1], strict=False)
        if any(size != 1 and (size is None or size != mine) for size, mine in aligned):
            return False
    return True
