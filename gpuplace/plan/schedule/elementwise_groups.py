"""Groups of elementwise steps that a GPU computes in one kernel.

A kernel of a large array takes as long as it takes to read and write it, one of a small array as long as it takes to
launch. Steps that follow each other element by element need one launch, and what lies between them never goes through
memory::

    a ─> Mul ─┬─> Add ─> Tanh ─┐           a ─┐
    b ────────┤   ^            ├─> Mul     b ─┼─> [Mul Add Tanh Mul] ─> y       1 launch for 4,
              └───┼────────────┘           c ─┘                                4 arrays in memory for 11
    c ────────────┘

So every group pays that would take two launches or more, also a single step (``Sigmoid`` takes 4, ``Erf`` more than
100), and the larger the better, up to ``MAX_CALLS`` and ``MAX_ARRAYS``: the compiler's time grows with the one, the
space for a kernel's arguments ends with the other.

A step joins the group of one of its inputs, if

- it is on the same GPU, of an op and types that ``recording`` can write down, with all of its values in the GPU's
  memory, and of a shape that may be the group's: one element of the result for one of the group's;
- it does not come after a ``Switch``, and touches no variable;
- nothing outside lies on a way from the group to the step (the group is *convex*), so that the group can run at once.
  Ways follow data, control edges and the order of the uses of each variable (``lanes.dependencies``).

The search goes once through the schedule and keeps, as bits, which groups lie before each step and each group.

What others need of a group's values are its outputs; a group of the schedule is one ``FusedStep`` there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpuplace.graph.op_sets import ALL_SWITCHES, MERGES
from gpuplace.graph.operation import Operation
from gpuplace.graph.ready_order import ready_order
from gpuplace.kernels.compute import bind, find_compute, traits_of
from gpuplace.numerics.fused.cuda_text import TYPE_NAMES
from gpuplace.numerics.fused.recording import NotRecorded, Recorder
from gpuplace.plan.schedule.lanes import dependencies
from gpuplace.plan.schedule.partition import Schedule, Slot, Step

MAX_CALLS = 256
"""Functions in one kernel."""
MAX_ARRAYS = 32
"""Arrays that one kernel takes and makes: their descriptions have to fit into its 4 KiB of arguments."""


@dataclass(slots=True, eq=False)
class FusedStep(Step):
    """Steps that are computed together; ``op`` is the last one's."""

    steps: tuple[Step, ...] = ()
    """The steps, in their order."""
    launches: dict[Any, Any] = field(default_factory=dict)
    """Shapes of the inputs to what is called with them; None if the steps run one by one."""

    @property
    def operations(self) -> Sequence[Operation]:
        """What runs."""
        return [step.op for step in self.steps if step.op is not None]

    @property
    def control_inputs(self) -> Sequence[Operation]:
        """Operations that have to run before."""
        return [control for step in self.steps for control in step.control_inputs]


_known_calls: dict[tuple[Any, ...], int | None] = {}


def calls_of(op: Operation) -> int | None:
    """How many functions an op calls by element; None if it cannot be written down."""
    dtypes = [tensor.dtype.base_dtype for tensor in (*op.inputs, *op.outputs)]
    key = (op.type, *dtypes)
    if key not in _known_calls:
        _known_calls[key] = _recorded_calls(op)
    return _known_calls[key]


def _recorded_calls(op: Operation) -> int | None:
    if find_compute(op.type, "GPU") is None:
        return None
    recorder = Recorder()
    try:
        given = []
        for position, tensor in enumerate(op.inputs):
            is_bias = op.type == "BiasAdd" and position == 1
            dtype = tensor.dtype.base_dtype.numpy_dtype
            given.append(recorder.given(f"x{position}", dtype, (2,) if is_bias else (2, 2)))
        made = bind(op.type, "GPU", recorder, op, None)(*given)
    except NotRecorded:
        return None
    calls = sum(not line.startswith("volatile") for line in recorder.lines)
    return max(1, calls) if made.dtype == op.outputs[0].dtype.base_dtype.numpy_dtype else None


def fused(schedule: Schedule, backends: Mapping[str, Any]) -> Schedule:
    """The schedule with a ``FusedStep`` in place of every group that pays.

    Args:
        schedule: what a plan does.
        backends: full device name to the device.
    """
    search = _Search(schedule, backends)
    groups = [group for group in search.groups() if group.calls > 1]
    return replace(schedule, steps=search.contracted(groups)) if groups else schedule


@dataclass(eq=False)
class _Group:
    """A group in the making."""

    bit: int
    """Stands for it in sets of groups."""
    device: str
    sizes: Any
    """Shape of its values, as far as it is known."""
    numbers: list[int] = field(default_factory=list)
    """Numbers of its steps."""
    calls: int = 0
    above: int = 0
    """The groups that lie before it."""


class _Search:
    """One pass over a schedule.

    Args:
        schedule: what a plan does.
        backends: full device name to the device.
    """

    def __init__(self, schedule: Schedule, backends: Mapping[str, Any]) -> None:
        self._steps = schedule.steps
        self._backends = backends
        self._fetched = set(schedule.fetches)
        self._producers = {slot: number for number, step in enumerate(self._steps) for slot in step.outputs}
        self._readers: dict[Slot, list[int]] = {}
        for number, step in enumerate(self._steps):
            for slot in step.inputs:
                self._readers.setdefault(slot, []).append(number)
        self.sources = [sorted(before) for before in dependencies(schedule)]
        """Number of a step to those of the steps that have to run before."""
        self._group_of: dict[int, _Group] = {}
        self._groups: list[_Group] = []
        self._before: list[int] = []

    def groups(self) -> list[_Group]:
        """All groups, also those of one step."""
        guarded = self._guarded()
        for number, step in enumerate(self._steps):
            before = 0
            for source in self.sources[number]:
                before |= self._up_to(source)
            self._before.append(before)
            if number not in guarded and self._is_wanted(step):
                self._place(number, step)
        return [group for group in self._groups if group.numbers]

    def _guarded(self) -> set[int]:
        """Steps that may not run: those after a ``Switch``."""
        found: set[int] = set()
        for number, step in enumerate(self._steps):
            if step.op_type in ALL_SWITCHES or step.op_type in MERGES:
                found.add(number)
            elif any(source in found for source in self.sources[number]):
                found.add(number)
        return found

    def _is_wanted(self, step: Step) -> bool:
        op = step.op
        if (
            op is None
            or not self._backends[step.device].owns_arrays
            or not traits_of(step.op_type).elementwise
        ):
            return False
        slots = (*step.inputs, *step.outputs)
        return (
            not any(step.reads)
            and not any(slot.is_ref or slot.location.on_host for slot in slots)
            and all(slot.tensor.dtype.base_dtype.numpy_dtype in TYPE_NAMES for slot in slots)
            and calls_of(op) is not None
        )

    # Which groups lie before

    def _up_to(self, number: int) -> int:
        """The groups that a step is in or behind, without those behind which they are."""
        group = self._group_of.get(number)
        return self._before[number] if group is None else group.bit

    def _closed(self, bits: int) -> int:
        """A set of groups with all that lie before them."""
        found = bits
        while bits:
            lowest = bits & -bits
            found |= self._groups[lowest.bit_length() - 1].above
            bits ^= lowest
        return found

    def _outside(self, numbers: Iterable[int], groups: Sequence[_Group]) -> int:
        """The groups that lie before what steps take from outside of some groups."""
        found = 0
        for number in numbers:
            for source in self.sources[number]:
                if self._group_of.get(source) not in groups:
                    found |= self._up_to(source)
        return self._closed(found)

    def _raise(self, group: _Group, above: int) -> None:
        """Notes more groups that lie before one, and so before those behind it."""
        above &= ~group.above
        if above:
            for other in self._groups:
                if other is group or other.above & group.bit:
                    other.above |= above

    # Placing a step

    def _place(self, number: int, step: Step) -> None:
        assert step.op is not None
        sizes, calls = step.outputs[0].tensor.shape.sizes, calls_of(step.op) or 1
        home: _Group | None = None
        for source in reversed(self.sources[number]):
            group = self._group_of.get(source)
            if group is None or group is home or group.device != step.device or group.sizes != sizes:
                continue
            if home is None:
                above = self._outside([number], [group])
                if not above & group.bit and self._has_room(group, [number], calls):
                    home = group
                    self._add(home, [number], calls, above)
            else:
                self._merge(home, group)
        if home is None:
            above = self._closed(self._before[number])
            home = _Group(1 << len(self._groups), step.device, sizes, [number], calls, above)
            self._groups.append(home)
            self._group_of[number] = home

    def _add(self, group: _Group, numbers: Sequence[int], calls: int, above: int) -> None:
        self._group_of.update(dict.fromkeys(numbers, group))
        group.numbers.extend(numbers)
        group.calls += calls
        self._raise(group, above)

    def _merge(self, group: _Group, other: _Group) -> None:
        """Makes two groups one, if nothing outside lies between."""
        both = group.bit | other.bit
        outside = self._outside([*group.numbers, *other.numbers], [group, other])
        if outside & both or not self._has_room(group, other.numbers, other.calls):
            return
        self._add(group, other.numbers, other.calls, outside)
        group.numbers.sort()
        other.numbers = []  # who is behind the other one is behind this one
        self._raise(other, outside | group.bit)

    def _has_room(self, group: _Group, numbers: Sequence[int], calls: int) -> bool:
        if group.calls + calls > MAX_CALLS:
            return False
        inputs, outputs = self._boundary([*group.numbers, *numbers])
        return len(inputs) + len(outputs) <= MAX_ARRAYS

    # The schedule with groups

    def contracted(self, groups: Sequence[_Group]) -> tuple[Step, ...]:
        """The steps with groups as single ones, in the order of old, a group where its last step stood or behind."""
        steps: dict[int, Step] = dict(enumerate(self._steps))
        home = {number: number for number in steps}
        for group in groups:
            last = group.numbers[-1]
            home.update(dict.fromkeys(group.numbers, last))
            for number in group.numbers[:-1]:
                del steps[number]
            steps[last] = self._fused_step(group)
        before: dict[int, set[int]] = {number: set() for number in steps}
        for number, sources in enumerate(self.sources):
            before[home[number]].update([home[source] for source in sources])
        for number, found in before.items():
            found.discard(number)
        ordered = ready_order(sorted(steps), before.__getitem__)
        assert len(ordered) == len(steps), "groups are convex"
        return tuple([steps[number] for number in ordered])

    def _fused_step(self, group: _Group) -> FusedStep:
        steps = tuple([self._steps[number] for number in group.numbers])
        inputs, outputs = self._boundary(group.numbers)
        return FusedStep(steps[-1].op, group.device, inputs, (False,) * len(inputs), outputs, steps=steps)

    def _boundary(self, numbers: Iterable[int]) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
        """What steps take from outside, and which of their values are taken there; all, where none is."""
        inside = set(numbers)
        inputs: dict[Slot, None] = {}
        outputs: list[Slot] = []
        for number in sorted(inside):
            step = self._steps[number]
            inputs.update((slot, None) for slot in step.inputs if self._producers.get(slot) not in inside)
            outputs.extend(
                slot
                for slot in step.outputs
                if slot in self._fetched or not inside.issuperset(self._readers.get(slot, ()))
            )
        return tuple(inputs), tuple(outputs) or step.outputs
