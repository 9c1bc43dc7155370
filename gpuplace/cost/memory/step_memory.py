"""Memory predicted: what the allocators of simulated GPUs answer to all that a step asks of them.

The peak is what the allocator's ``peak_bytes_in_use`` shows then. What does not fit is asked of a memory without a
limit, to say by how much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from gpuplace.cost.memory.requests import UNBOUNDED, MemoryRecord, answered
from gpuplace.cost.memory.step_requests import Asked, StepToAsk
from gpuplace.cost.memory.variables import variable_bytes
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.device.parsed_name import short_name
from gpuplace.errors import OpError
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.op_sets import CONSTANT_OPS
from gpuplace.model.subject.step_part import StepPart
from gpuplace.release import acting_as
from gpuplace.runtime.plan.schedule.constant_folding import FoldingOptions
from gpuplace.why.placement import Placement

_MOST = 5
_MOST_KNOWN = 4
"""Placements whose requests are kept."""


@dataclass(frozen=True, slots=True)
class AliveTensor:
    """What was in a GPU's memory at the peak."""

    name: str
    """The node that made it, or the variable."""
    op: str
    """Op type; ``"variable"`` for what a variable keeps."""
    scope: str
    """Name scope."""
    nbytes: int
    """Bytes of its chunk."""


@dataclass
class DeviceUse:
    """The memory of one GPU in a step."""

    device: str
    """Full name."""
    limit: int
    """Bytes that its allocator may hand out."""
    record: MemoryRecord
    """What came and went since the session began."""
    called: Callable[[str, bool], tuple[str, str]]
    """Node, and whether it ran before the step -> name and op type of what keeps its bytes."""
    short: int = 0
    """Bytes that are missing; 0 where it fits."""
    failed_at: str = ""
    """Node whose tensor does not fit."""
    wanted: int = 0
    """Bytes of that tensor."""

    @property
    def before(self) -> int:
        """Bytes in use before the step: variables, and constants of their initial values."""
        return self.record.variables

    @cached_property
    def constants(self) -> int:
        """Bytes of constants in use at the peak."""
        return sum(tensor.nbytes for tensor in self.alive if tensor.op in CONSTANT_OPS)

    @cached_property
    def step_peak(self) -> int:
        """Most bytes in use while the step ran."""
        return self.record.allocator.stats().peak_bytes_in_use

    @property
    def peak(self) -> int:
        """Most bytes in use since the session began."""
        return max(self.step_peak, self.record.peak_before)

    @property
    def fragmentation(self) -> float:
        """Part of the free memory that is not in its largest piece, at the end of the step."""
        return self.record.allocator.fragmentation()

    @cached_property
    def peak_position(self) -> int:
        """Position in the record where most bytes are in use for the first time; -1 where there never are any."""
        in_use = self.record.in_use
        return in_use.index(max(in_use)) if in_use else -1

    @property
    def at(self) -> str:
        """What was being allocated at the peak."""
        return self.record.labels[self.peak_position] if len(self.record) else ""

    @cached_property
    def alive(self) -> tuple[AliveTensor, ...]:
        """What was in use at the peak, the largest first."""
        alive: dict[int, tuple[str, int, bool]] = {}
        before, count = 0, self.peak_position + 1
        record = self.record
        for number, (label, address, in_use) in enumerate(
            zip(record.labels[:count], record.addresses, record.in_use, strict=False)
        ):
            if in_use > before:
                alive[address] = label, in_use - before, number < record.begin
            else:
                alive.pop(address, None)
            before = in_use
        found = []
        for label, size, is_kept in alive.values():
            name, op_type = self.called(label, is_kept)
            found.append(AliveTensor(name, op_type, name.rpartition("/")[0], size))
        found.sort(key=lambda tensor: (-tensor.nbytes, tensor.name))
        return tuple(found)

    @cached_property
    def timeline(self) -> tuple[tuple[str, int], ...]:
        """Node and bytes in use, at each allocation and release of the step (``""`` for a release)."""
        record = self.record
        return tuple(zip(record.labels[record.begin :], record.in_use[record.begin :], strict=True))


class MemoryCost(NamedTuple):
    """The memory of a device in a step."""

    device: str
    """Full name."""
    limit: int
    """Bytes that its allocator may hand out; 0: no limit."""
    peak: int | None
    """Most bytes in use, variables included; None where that is not known."""
    variables: int
    """Bytes of the graph's variables, as they are declared."""
    at: str
    """Node that was being run at the peak."""
    fits: bool | None
    """Whether it fits; None where that is not known."""
    fragmentation: float | None
    """Part of the free memory that is not in its largest piece, at the end, 0 to 1; None where the peak is."""
    constants: int | None
    """Bytes of constants in use at the peak; None where the peak is."""


@dataclass(frozen=True, eq=False)
class StepMemory:
    """The memory of all devices in a step."""

    devices: tuple[DeviceUse, ...]
    """The GPUs; none where their memory is not known."""
    hosts: Mapping[str, int]
    """Full name of each other device -> most bytes of its tensors of the step, variables included."""
    variables: Mapping[str, int] = field(default_factory=dict)
    """Full name of a device to the bytes of the graph's variables there, as they are declared."""
    assumed: tuple[str, ...] = field(default=())
    """What had to be assumed."""
    unknown: str = ""
    """Why the memory of GPUs is not known; ``""`` where it is."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Full name of each GPU whose memory is not known -> bytes that its allocator may hand out."""

    @property
    def peaks(self) -> dict[str, int | None]:
        """Full name -> most bytes in use; None where that is not known."""
        return {**self.hosts, **dict.fromkeys(self.limits), **{use.device: use.peak for use in self.devices}}

    @property
    def fits(self) -> bool | None:
        """Whether all GPUs have room; None where that is not known, see `unknown`."""
        if any(use.short for use in self.devices):
            return False
        return None if self.unknown else True

    def of(self, device: str) -> DeviceUse:
        """The use of a GPU's memory.

        Args:
            device: full name, or ``GPU:0``.

        Raises:
            KeyError: no such GPU.
        """
        for use in self.devices:
            if device in (use.device, short_name(use.device)):
                return use
        if any(device in (name, short_name(name)) for name in self.limits):
            raise KeyError(f"the memory of {device} is not known: {self.unknown}")
        raise KeyError(
            f"no GPU {device!r}; there is {', '.join(use.device for use in self.devices) or 'none'}"
        )

    def rows(self) -> list[MemoryCost]:
        """Return a row for each device."""
        kept = self.variables
        found = [
            MemoryCost(name, 0, nbytes, kept.get(name, 0), "", True, 0.0, 0)
            for name, nbytes in self.hosts.items()
        ]
        for name, limit in self.limits.items():
            found.append(MemoryCost(name, limit, None, kept.get(name, 0), "", None, None, None))
        for use in self.devices:
            at, fits, nbytes = use.at, not use.short, kept.get(use.device, 0)
            found.append(
                MemoryCost(
                    use.device, use.limit, use.peak, nbytes, at, fits, use.fragmentation, use.constants
                )
            )
        return found

    def sentences(self) -> list[str]:
        """What there is to say of the memory."""
        from gpuplace.cost.sentences import size_text

        lines = []
        for use in self.devices:
            label = short_name(use.device)
            if use.short:
                largest = ", ".join(
                    f"{tensor.name} ({size_text(tensor.nbytes)})" for tensor in use.alive[:_MOST]
                )
                lines.append(
                    f"It does not fit on {label}: {size_text(use.short)} short at {use.failed_at}, which wants "
                    f"{size_text(use.wanted)}; all together needs {size_text(use.peak)} of {size_text(use.limit)}, "
                    f"because {largest} are alive at a time."
                )
            elif use.peak:
                kept = [
                    f"{size_text(nbytes)} {what}"
                    for nbytes, what in (
                        (self.variables.get(use.device, 0), "variables"),
                        (use.constants, "constants"),
                    )
                    if nbytes
                ]
                lines.append(
                    f"{label} uses at most {size_text(use.peak)} of {size_text(use.limit)}, at {use.at}"
                    + (f", with {' and '.join(kept)}." if kept else ".")
                )
        if self.unknown:
            labels = ", ".join(map(short_name, self.limits))
            lines.append(f"Whether the step fits on {labels} is not known: {self.unknown}")
        return [*lines, *self.assumed]

    def by(self, device: str, what: str = "op") -> dict[str, int]:
        """Bytes that were in use at the peak, the most first.

        Args:
            device: full name, or ``GPU:0``.
            what: by ``"op"`` type, ``"scope"`` or ``"name"``.

        Raises:
            KeyError: no such GPU.
            ValueError: another ``what``.
        """
        if what not in ("op", "scope", "name"):
            raise ValueError(f"memory is counted by 'op', 'scope' or 'name', not {what!r}")
        found: Counter[str] = Counter()
        for tensor in self.of(device).alive:
            found[getattr(tensor, what)] += tensor.nbytes
        return dict(found.most_common())

    @classmethod
    def predict(
        cls,
        placement: Placement,
        part: StepPart,
        shapes: StepShapes,
        config: Any,
        hosts: Mapping[str, int],
        given: Mapping[str, Any] | None = None,
        known: dict[Hashable, Asked | str] | None = None,
    ) -> StepMemory:
        """The memory of a step.

        Args:
            placement: the whole graph, placed.
            part: what runs.
            shapes: of what runs.
            config: the ``ConfigProto``.
            hosts: as of the class.
            given: arrays that are fed, by name of the node; where there are shapes only, zeros are fed.
            known: what this step, placed so or so, has asked for, or why that is not known; more is put there.
        """
        limits = memory_limits(placement)
        variables = variable_bytes(placement)
        others = _of_unknown_size(placement)
        hosts = {name: nbytes for name, nbytes in hosts.items() if name not in others}
        if others:
            said = "The hardware is not known, nor how much memory there is."
            return cls((), hosts, variables, unknown=said, limits=dict.fromkeys(others, 0))
        if not limits:
            return cls((), hosts, variables)
        known = {} if known is None else known
        key = _what_decides(placement, limits, config)
        asked = known.pop(key, None)
        if asked is None:
            try:
                with without_garbage_collection(), acting_as(placement.release):
                    asked = StepToAsk(placement, part, shapes, config, given or {}).asked(limits)
            except (OpError, RecursionError) as error:
                asked = _reason(error)
        known[key] = asked
        while len(known) > _MOST_KNOWN:
            del known[next(iter(known))]
        if isinstance(asked, str):
            sizes = {name: limit for name, (_, limit) in limits.items()}
            return cls((), hosts, variables, unknown=asked, limits=sizes)
        uses = tuple(_uses(asked, placement, limits))
        if asked.unknown and not any(use.short for use in uses):  # what they take at least fits
            sizes = {name: limit for name, (_, limit) in limits.items()}
            return cls((), hosts, variables, asked.assumed, asked.unknown, sizes)
        return cls(uses, hosts, variables, asked.assumed)


def _reason(error: OpError | RecursionError) -> str:
    """What was wrong at first, in a line, and where."""
    if isinstance(error, RecursionError):
        return "functions call themselves"
    cause: BaseException = error
    while isinstance(cause.__cause__, OpError):
        cause = cause.__cause__
    said = " ".join(str(getattr(cause, "message", cause)).split())
    return said if error.op is None else f"{said}, at '{error.op.name}'"


def _what_decides(placement: Placement, limits: Mapping[str, Any], config: Any) -> Hashable:
    """All that a step's requests hang on, besides its graph, shapes and feeds."""
    names, devices = tuple(placement.device_set.names), placement.devices.tobytes()
    return names, devices, tuple(limits), placement.release, FoldingOptions.of(config)


def _uses(asked: Asked, placement: Placement, limits: Mapping[str, tuple[int, int]]) -> list[DeviceUse]:
    """The use of each GPU's memory; of all that the step wants where it does not fit."""
    devices, release = placement.device_set, placement.release
    growth = devices.origin.settings.allow_growth
    records, failure = answered(asked.requests, devices, limits, growth, release)
    if failure is None:
        return [DeviceUse(name, limits[name][1], record, asked.called) for name, record in records.items()]
    boundless = dict.fromkeys(limits, (UNBOUNDED, UNBOUNDED))
    records, _ = answered(asked.requests, devices, boundless, growth, release)
    uses = []
    for name, record in records.items():
        use = DeviceUse(name, limits[name][1], record, asked.called)
        use.short = max(use.peak - use.limit, 0)
        use.failed_at = use.at
        if name == failure.device:
            use.failed_at, use.wanted = failure.label, failure.nbytes
            use.short = use.short or failure.nbytes
        elif use.short:
            use.wanted = use.alive[0].nbytes if use.alive else 0
        uses.append(use)
    return uses


def fullest(peaks: Mapping[str, int | None]) -> float | None:
    """The peak of the device that uses most bytes; None where that of a device is not known.

    Args:
        peaks: as of `StepMemory.peaks`.
    """
    known = [float(peak) for peak in peaks.values() if peak is not None]
    return max(known, default=0.0) if len(known) == len(peaks) else None


def _of_unknown_size(placement: Placement) -> list[str]:
    """Full names of the devices with memory of their own of which nobody knows how much."""
    return [
        device.name
        for device in placement.device_set
        if device.device_type != "CPU"
        and not device.device_type.startswith("XLA_")
        and device.physical_id is None
    ]


def memory_limits(placement: Placement) -> dict[str, tuple[int, int]]:
    """Full name of each GPU -> bytes of its memory that are free at first, and that its allocator may hand out.

    Args:
        placement: on the machine.
    """
    machine = getattr(placement.device_set.origin, "machine", None)
    if machine is None:
        return {}
    settings = placement.device_set.origin.settings
    is_over = settings.per_process_gpu_memory_fraction > 1 or settings.use_unified_memory
    found = {}
    for device in placement.device_set:
        if device.physical_id is not None:
            free = machine.gpus[device.physical_id].free_bytes
            found[device.name] = (max(free, device.memory_limit) if is_over else free, device.memory_limit)
    return found
