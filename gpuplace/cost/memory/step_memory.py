"""Predicted memory: the answers of simulated GPUs' allocators to all requests of a step.

The peak is the allocator's ``peak_bytes_in_use``. If a request does not fit, the step is replayed on a memory without
a limit, to find how much is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from gpuplace.cost.memory.requests import UNBOUNDED, MemoryRecord, replay
from gpuplace.cost.memory.step_requests import StepDryRun, StepRequests
from gpuplace.cost.memory.variables import variable_bytes
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.device.parsed_name import short_name
from gpuplace.errors import OpError
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.op_sets import CONSTANT_OPS
from gpuplace.model.subject.step_part import StepPart
from gpuplace.release import acting_as
from gpuplace.runtime.plan.schedule.constant_folding import FoldingOptions
from gpuplace.typing import ConfigProto
from gpuplace.why.placement import Placement

_MOST = 5
_MOST_KNOWN = 4
"""Number of placements whose requests are cached."""


@dataclass(frozen=True, slots=True)
class AliveTensor:
    """A tensor in a GPU's memory at the peak."""

    name: str
    """The node that computed it, or the variable."""
    op: str
    """Op type; ``"variable"`` for the value of a variable."""
    scope: str
    """Name scope."""
    nbytes: int
    """Bytes of its chunk."""


@dataclass
class DeviceUse:
    """Memory of one GPU in a step."""

    device: str
    """Full name."""
    limit: int
    """Bytes that its allocator may use."""
    record: MemoryRecord
    """Allocations and deallocations since the session began."""
    called: Callable[[str, bool], tuple[str, str]]
    """Function from a node, and whether it ran before the step, to the name and op type of the owner of its bytes."""
    short: int = 0
    """Missing bytes; 0 if the step fits."""
    failed_at: str = ""
    """Node whose tensor does not fit."""
    requested: int = 0
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
        """Peak bytes in use during the step."""
        return self.record.allocator.stats().peak_bytes_in_use

    @property
    def peak(self) -> int:
        """Peak bytes in use since the session began."""
        return max(self.step_peak, self.record.peak_before)

    @property
    def fragmentation(self) -> float:
        """Fraction of the free memory outside of its largest piece, at the end of the step."""
        return self.record.allocator.fragmentation()

    @cached_property
    def peak_position(self) -> int:
        """Position of the first peak in the record; -1 without allocations."""
        in_use = self.record.in_use
        return in_use.index(max(in_use)) if in_use else -1

    @property
    def at(self) -> str:
        """Node that allocated at the peak."""
        return self.record.labels[self.peak_position] if len(self.record) else ""

    @cached_property
    def alive(self) -> tuple[AliveTensor, ...]:
        """Tensors in use at the peak, the largest first."""
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
        tensors = []
        for label, size, is_kept in alive.values():
            name, op_type = self.called(label, is_kept)
            tensors.append(AliveTensor(name, op_type, name.rpartition("/")[0], size))
        tensors.sort(key=lambda tensor: (-tensor.nbytes, tensor.name))
        return tuple(tensors)

    @cached_property
    def timeline(self) -> tuple[tuple[str, int], ...]:
        """Node and bytes in use, at each allocation and release of the step (``""`` for a release)."""
        record = self.record
        return tuple(zip(record.labels[record.begin :], record.in_use[record.begin :], strict=True))


class MemoryCost(NamedTuple):
    """Memory of a device in a step."""

    device: str
    """Full name."""
    limit: int
    """Bytes that its allocator may use; 0 without a limit."""
    peak: int | None
    """Peak bytes in use, variables included; None if unknown."""
    variables: int
    """Declared bytes of the graph's variables."""
    at: str
    """Node that ran at the peak."""
    fits: bool | None
    """Whether the step fits; None if unknown."""
    fragmentation: float | None
    """Fraction of the free memory outside of its largest piece at the end, 0 to 1; None if the peak is unknown."""
    constants: int | None
    """Bytes of constants in use at the peak; None if the peak is unknown."""


@dataclass(frozen=True, eq=False)
class StepMemory:
    """Memory of all devices in a step."""

    devices: tuple[DeviceUse, ...]
    """The GPUs; empty if their memory is unknown."""
    hosts: Mapping[str, int]
    """Full name of each other device to the peak bytes of its tensors, variables included."""
    variables: Mapping[str, int] = field(default_factory=dict)
    """Full name of a device to the declared bytes of the graph's variables there."""
    assumed: tuple[str, ...] = field(default=())
    """Assumptions, one sentence each."""
    unknown: str = ""
    """Why the memory of GPUs is unknown, or ``""``."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Full name of each GPU with unknown memory to the bytes that its allocator may use."""

    @property
    def peaks(self) -> dict[str, int | None]:
        """Full device name to peak bytes in use; None if unknown."""
        return {**self.hosts, **dict.fromkeys(self.limits), **{use.device: use.peak for use in self.devices}}

    @property
    def fits(self) -> bool | None:
        """Whether the step fits on all GPUs; None if unknown, see `unknown`."""
        if any(use.short for use in self.devices):
            return False
        return None if self.unknown else True

    def of(self, device: str) -> DeviceUse:
        """Return the memory of a GPU.

        Args:
            device: full name, or ``GPU:0``.

        Raises:
            KeyError: There is no such GPU, or its memory is unknown.
        """
        for use in self.devices:
            if device in (use.device, short_name(use.device)):
                return use
        if any(device in (name, short_name(name)) for name in self.limits):
            raise KeyError(f"the memory use of {device} is unknown: {self.unknown}")
        raise KeyError(
            f"there is no GPU {device!r}; the GPUs are {', '.join(use.device for use in self.devices) or 'none'}"
        )

    def rows(self) -> list[MemoryCost]:
        """Return a row for each device."""
        variables = self.variables
        rows = [
            MemoryCost(name, 0, nbytes, variables.get(name, 0), "", True, 0.0, 0)
            for name, nbytes in self.hosts.items()
        ]
        for name, limit in self.limits.items():
            rows.append(MemoryCost(name, limit, None, variables.get(name, 0), "", None, None, None))
        for use in self.devices:
            at, fits, nbytes = use.at, not use.short, variables.get(use.device, 0)
            rows.append(
                MemoryCost(
                    use.device, use.limit, use.peak, nbytes, at, fits, use.fragmentation, use.constants
                )
            )
        return rows

    def sentences(self) -> list[str]:
        """Return the memory of the devices as sentences."""
        from gpuplace.cost.sentences import size_text

        lines = []
        for use in self.devices:
            label = short_name(use.device)
            if use.short:
                largest = ", ".join(
                    f"{tensor.name} ({size_text(tensor.nbytes)})" for tensor in use.alive[:_MOST]
                )
                lines.append(
                    f"The step does not fit on {label}: {use.failed_at} needs {size_text(use.requested)}, and "
                    f"{size_text(use.short)} are missing. The step needs {size_text(use.peak)} of "
                    f"{size_text(use.limit)}; the largest tensors alive at the peak are {largest}."
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
            lines.append(f"It is unknown whether the step fits on {labels}: {self.unknown}")
        return [*lines, *self.assumed]

    def by(self, device: str, what: str = "op") -> dict[str, int]:
        """Return the bytes in use at the peak by op type, scope or name, largest first.

        Args:
            device: full name, or ``GPU:0``.
            what: ``"op"``, ``"scope"`` or ``"name"``.

        Raises:
            KeyError: There is no such GPU.
            ValueError: ``what`` has another value.
        """
        if what not in ("op", "scope", "name"):
            raise ValueError(f"what must be 'op', 'scope' or 'name', not {what!r}")
        nbytes: Counter[str] = Counter()
        for tensor in self.of(device).alive:
            nbytes[getattr(tensor, what)] += tensor.nbytes
        return dict(nbytes.most_common())

    @classmethod
    def predict(
        cls,
        placement: Placement,
        part: StepPart,
        shapes: StepShapes,
        config: ConfigProto,
        hosts: Mapping[str, int],
        fed_arrays: Mapping[str, Any] | None = None,
        cache: dict[Hashable, StepRequests | str] | None = None,
    ) -> StepMemory:
        """Predict the memory of a step.

        Args:
            placement: the placed whole graph.
            part: the nodes that run.
            shapes: their shapes.
            config: the ``ConfigProto``.
            hosts: peak bytes of the devices that are not GPUs, as in the class.
            fed_arrays: arrays that are fed, by node name; feeds with only a shape are zeros.
            cache: cache of the step's requests by placement, or of the reason why they are unknown; extended.
        """
        limits = memory_limits(placement)
        variables = variable_bytes(placement)
        others = _of_unknown_size(placement)
        hosts = {name: nbytes for name, nbytes in hosts.items() if name not in others}
        if others:
            unknown = "The hardware and its memory size are unknown."
            return cls((), hosts, variables, unknown=unknown, limits=dict.fromkeys(others, 0))
        if not limits:
            return cls((), hosts, variables)
        cache = {} if cache is None else cache
        key = _requests_key(placement, limits, config)
        requests = cache.pop(key, None)
        if requests is None:
            try:
                with without_garbage_collection(), acting_as(placement.release):
                    requests = StepDryRun(placement, part, shapes, config, fed_arrays or {}).requests(limits)
            except (OpError, RecursionError) as error:
                requests = _reason(error)
        cache[key] = requests
        while len(cache) > _MOST_KNOWN:
            del cache[next(iter(cache))]
        if isinstance(requests, str):
            sizes = {name: limit for name, (_, limit) in limits.items()}
            return cls((), hosts, variables, unknown=requests, limits=sizes)
        uses = tuple(_uses(requests, placement, limits))
        # The known requests fit; the unknown ones may not.
        if requests.unknown and not any(use.short for use in uses):
            sizes = {name: limit for name, (_, limit) in limits.items()}
            return cls((), hosts, variables, requests.assumed, requests.unknown, sizes)
        return cls(uses, hosts, variables, requests.assumed)


def _reason(error: OpError | RecursionError) -> str:
    """Return the first cause of an error in one line, with its operation."""
    if isinstance(error, RecursionError):
        return "functions call themselves"
    cause: BaseException = error
    while isinstance(cause.__cause__, OpError):
        cause = cause.__cause__
    text = " ".join(str(getattr(cause, "message", cause)).split())
    return text if error.op is None else f"{text}, at '{error.op.name}'"


def _requests_key(placement: Placement, limits: Mapping[str, Any], config: ConfigProto) -> Hashable:
    """Return everything that a step's requests depend on, except for its graph, shapes and feeds."""
    names, devices = tuple(placement.device_set.names), placement.devices.tobytes()
    return names, devices, tuple(limits), placement.release, FoldingOptions.of(config)


def _uses(
    step_requests: StepRequests, placement: Placement, limits: Mapping[str, tuple[int, int]]
) -> list[DeviceUse]:
    """Return the memory of each GPU; if the step does not fit, from a replay without limits."""
    devices, release = placement.device_set, placement.release
    growth = devices.origin.settings.allow_growth
    records, failure = replay(step_requests.requests, devices, limits, growth, release)
    if failure is None:
        return [
            DeviceUse(name, limits[name][1], record, step_requests.called) for name, record in records.items()
        ]
    boundless = dict.fromkeys(limits, (UNBOUNDED, UNBOUNDED))
    records, _ = replay(step_requests.requests, devices, boundless, growth, release)
    uses = []
    for name, record in records.items():
        use = DeviceUse(name, limits[name][1], record, step_requests.called)
        use.short = max(use.peak - use.limit, 0)
        use.failed_at = use.at
        if name == failure.device:
            use.failed_at, use.requested = failure.label, failure.nbytes
            use.short = use.short or failure.nbytes
        elif use.short:
            use.requested = use.alive[0].nbytes if use.alive else 0
        uses.append(use)
    return uses


def fullest(peaks: Mapping[str, int | None]) -> float | None:
    """Return the largest peak of any device, or None if a peak is unknown.

    Args:
        peaks: as `StepMemory.peaks`.
    """
    known = [float(peak) for peak in peaks.values() if peak is not None]
    return max(known, default=0.0) if len(known) == len(peaks) else None


def _of_unknown_size(placement: Placement) -> list[str]:
    """Return the full names of the devices whose own memory has an unknown size."""
    return [
        device.name
        for device in placement.device_set
        if device.device_type != "CPU"
        and not device.device_type.startswith("XLA_")
        and device.physical_id is None
    ]


def memory_limits(placement: Placement) -> dict[str, tuple[int, int]]:
    """Return the initially free bytes of each GPU's memory, and the bytes that its allocator may use, by full
    name.

    Args:
        placement: placement on the machine.
    """
    machine = getattr(placement.device_set.origin, "machine", None)
    if machine is None:
        return {}
    settings = placement.device_set.origin.settings
    is_over = settings.per_process_gpu_memory_fraction > 1 or settings.use_unified_memory
    limits = {}
    for device in placement.device_set:
        if device.physical_id is not None:
            free = machine.gpus[device.physical_id].free_bytes
            limits[device.name] = (max(free, device.memory_limit) if is_over else free, device.memory_limit)
    return limits
