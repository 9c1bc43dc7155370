"""Convert a placed graph to a schedule: steps, their order and devices, and the copies between devices.

Pruning keeps what the fetches need, up to the fed tensors. If a tensor is needed in another memory, one
copy is inserted for all consumers there::

    a (CPU:0) ──┬──> MatMul (GPU:0)          a ──> copy of a to GPU:0 ──┬──> MatMul
                └──> Tanh   (GPU:0)   ==>                               └──> Tanh      ──> copy to CPU:0 ──> fetch

A GPU has two memories: its own, and host memory for arguments that its kernels expect there (shapes, indices, strings).
Such an argument comes from the CPU without being copied to the GPU and back.

Source: tensorflow/core/graph/graph_partition.cc, graph/subgraph.cc and common_runtime/memory_types.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuplace.dtypes import resource
from gpuplace.graph.op_sets import (
    ALIASES_OF_VARIABLES,
    ALL_SWITCHES,
    CONDITIONAL_OPS,
    ENTERS,
    EXITS,
    MAY_BE_DEAD,
    MERGES,
    NEXT_ITERATIONS,
    RECEIVES,
    REFERENCE_VARIABLES,
)
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.signature import signature_of
from gpuplace.kernels.compute import traits_of
from gpuplace.kernels.registry import HostMemory, KernelRegistry
from gpuplace.runtime.plan.schedule.constant_folding import Folded, Folder
from gpuplace.runtime.plan.schedule.loop_frames import GOING_ON, LEAVING, Frame, Frames
from gpuplace.runtime.plan.schedule.pruning import pruned_with_loops
from gpuplace.runtime.plan.schedule.unused import used_operations


def retval_name(tensor: Tensor, position: int) -> str:
    """Return the name of the node that represents a fetch."""
    return f"_retval_{tensor.op.name}_{tensor.value_index}_{position}"


class Location(NamedTuple):
    """A memory."""

    device: str
    """Full name of the device."""
    on_host: bool
    """Whether it is host memory; always true on a CPU."""


class Slot:
    """A value of a step: a tensor at one location.

    Args:
        index: position in ``Schedule.slots``.
        tensor: the tensor.
        location: the memory.
        is_ref: whether the value is a variable's storage, not an array.
    """

    __slots__ = ("index", "tensor", "location", "is_ref", "is_handle", "constant")

    def __init__(self, index: int, tensor: Tensor, location: Location, is_ref: bool) -> None:
        self.index = index
        self.tensor = tensor
        self.location = location
        self.is_ref = is_ref
        self.is_handle = is_ref or tensor.dtype.is_handle
        """Whether the value is an object, not an array."""
        self.constant = ""
        """Name of its constant, if its operation was folded into constants with other names."""

    @property
    def name(self) -> str:
        """Name of the node and output, in the notation of node inputs."""
        if self.constant:
            return self.constant
        output = self.tensor.value_index
        return f"{self.tensor.op.name}:{output}" if output else self.tensor.op.name


@dataclass(slots=True, eq=False)
class Step:
    """A kernel to run or, if ``op`` is None, a copy of ``inputs[0]`` to ``outputs[0]``."""

    op: Operation | None
    """The operation; None for a copy."""
    device: str
    """Full name of the device; for a copy, the receiver."""
    inputs: tuple[Slot, ...]
    """Input values."""
    reads: tuple[bool, ...]
    """Which inputs are variable storage whose current value the kernel reads."""
    outputs: tuple[Slot, ...]
    """Output values."""
    folded: Folded | None = None
    """Value of the only output, if the operation is a constant in this plan."""
    op_type: str = field(init=False)
    """Op type: ``Const`` if it was folded; "" for a copy."""

    def __post_init__(self) -> None:
        self.op_type = "" if self.op is None else self.op.type if self.folded is None else "Const"

    @property
    def constant_value(self) -> Any:
        """The array of a ``Const`` step, in host memory."""
        assert self.op is not None
        return self.op.attrs["value"].array if self.folded is None else self.folded.value

    @property
    def operations(self) -> Sequence[Operation]:
        """The operation; empty for a copy."""
        return () if self.op is None else (self.op,)

    @property
    def control_inputs(self) -> Sequence[Operation]:
        """Operations that must run first."""
        if self.folded is not None:
            return self.folded.controls
        return [] if self.op is None else self.op.controls

    @property
    def may_come_dead(self) -> bool:
        """Whether this receives a tensor that may be in a branch that another task did not take."""
        return self.op is not None and self.op.type in RECEIVES and bool(self.op.attrs.get(MAY_BE_DEAD))

    @property
    def is_conditional(self) -> bool:
        """Whether branches begin or end with it."""
        return self.op_type in ALL_SWITCHES or self.op_type in MERGES or self.may_come_dead

    @property
    def is_copy(self) -> bool:
        """Whether it copies a tensor."""
        return self.op is None

    @property
    def name(self) -> str:
        """Name of the node, or of the node whose output is copied."""
        if self.folded is not None:
            return self.outputs[0].name
        return self.op.name if self.op is not None else self.inputs[0].tensor.op.name


@dataclass(slots=True, eq=False)
class Loop:
    """A range of steps that repeats; positions are those of ``Schedule.steps``."""

    name: str
    """Name of its frame."""
    start: int
    """Position of its first step; the steps from here run in every iteration."""
    leaving: int
    """Position of the first step that only the last iteration runs."""
    going_on: int
    """Position of the first step that all iterations but the last run."""
    end: int
    """Position after its last step."""
    predicate: Operation | None
    """The ``LoopCond`` that decides whether there is another iteration."""


@dataclass(slots=True, eq=False)
class Schedule:
    """All steps, in an order that respects every edge."""

    feeds: tuple[Slot, ...]
    """Values from the caller."""
    steps: tuple[Step, ...]
    """The steps."""
    fetches: tuple[Slot, ...]
    """Values for the caller, in host memory; a ``Slot.is_ref`` value is read at the end."""
    slots: tuple[Slot, ...]
    """All values."""
    operations: tuple[Operation, ...]
    """Operations that run, without copies."""
    loops: tuple[Loop, ...] = ()
    """The loops, outer ones before inner ones."""

    @property
    def is_straight(self) -> bool:
        """Whether every step runs once: there are neither loops nor branches."""
        return not self.loops and CONDITIONAL_OPS.isdisjoint([step.op_type for step in self.steps])

    @property
    def copies(self) -> tuple[Step, ...]:
        """Copies between devices, and between a device's two memories."""
        return tuple(step for step in self.steps if step.op is None)


@dataclass(frozen=True, slots=True)
class PartitionOptions:
    """Options of a schedule."""

    device_of: Callable[[Operation], str]
    """Function that returns the full name of an operation's device."""
    device_types: dict[str, str]
    """Full device name to device type."""
    kernels: KernelRegistry
    """Registry that states which arguments are in host memory."""
    client: str
    """Full name of the device of feeds and fetches."""
    folder: Folder | None = None
    """Constant folding; None to fold nothing."""
    done: Collection[Operation] = ()
    """Operations that have run in an earlier part of the step."""
    drops_unused: bool = False
    """Whether unused gradients are left out, if everything is on the client's CPU and there are no loops."""

    def is_on_client(self, operations: Iterable[Operation]) -> bool:
        """Whether all operations are on the client's device, and it is a CPU."""
        is_cpu = self.device_types[self.client] == "CPU"
        return is_cpu and all(self.device_of(op) == self.client for op in operations)


_NONE_ON_HOST: HostMemory = (frozenset(), frozenset())


@dataclass
class _ScheduleBuilder:
    """Schedule under construction: its steps, slots and copies so far."""

    options: PartitionOptions
    slots: list[Slot] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    home: dict[Tensor, Slot] = field(default_factory=dict)
    copies: dict[tuple[Tensor, Location], Slot] = field(default_factory=dict)
    folded: Mapping[Operation, Sequence[Folded]] = field(default_factory=dict)
    late_inputs: dict[Tensor, list[tuple[Step, int, Location]]] = field(default_factory=dict)
    """Tensors that are computed later, with the steps that consume them in the next iteration of a loop."""
    changes: _Changes | None = None
    """Changes of reference variables, if there are any."""
    fetched: dict[Tensor, Slot] = field(default_factory=dict)
    """Slots from which the caller gets tensors that are computed inside loops."""
    places: dict[str, tuple[str, Location, Location]] = field(default_factory=dict)

    def place(self, device: str) -> tuple[str, Location, Location]:
        """Return the device's type, its own memory and host memory; on a CPU these are the same."""
        place_of_device = self.places.get(device)
        if place_of_device is None:
            host = Location(device, True)
            device_type = self.options.device_types[device]
            own = host if device_type == "CPU" else Location(device, False)
            place_of_device = self.places[device] = (device_type, own, host)
        return place_of_device

    def slot(self, tensor: Tensor, location: Location, is_ref: bool) -> Slot:
        slot = Slot(len(self.slots), tensor, location, is_ref)
        self.slots.append(slot)
        return slot

    def on_host(self, op: Operation, device_type: str) -> HostMemory:
        """Return the positions of inputs and outputs in host memory instead of the device's own; none on a CPU."""
        if device_type == "CPU" or op.op_def is None:
            return _NONE_ON_HOST
        return self.options.kernels.host_memory(op.op_def, op.attrs, device_type)

    def value_at(self, tensor: Tensor, location: Location) -> Slot:
        """Return the tensor at a location, adding a copy the first time it is needed there."""
        home = self.home[tensor]
        if home.location == location:
            return home
        copy = self.copies.get((tensor, location))
        if copy is None:
            # Between host memories nothing is copied, so later changes of a variable stay visible.
            stays = home.is_ref and self.changes is not None and home.location.on_host and location.on_host
            copy = self.copies[tensor, location] = self.slot(tensor, location, stays)
            self.steps.append(Step(None, location.device, (home,), (home.is_ref and not stays,), (copy,)))
        return copy

    def bring(self, tensor: Tensor, consumer: Operation, position: int) -> None:
        """Copy a tensor to where a later operation consumes it."""
        device = self.options.device_of(consumer)
        device_type = self.options.device_types[device]
        if not (self.home[tensor].is_ref or tensor.dtype.base_dtype is resource):
            is_cpu = device_type == "CPU"
            self.value_at(
                tensor, Location(device, is_cpu or position in self.on_host(consumer, device_type)[0])
            )

    def forget_copies(self, first: int) -> None:
        """Forget copies to slots from ``first`` on, because only a loop's last iteration makes them."""
        self.copies = {key: slot for key, slot in self.copies.items() if slot.index < first}

    def add(self, op: Operation) -> None:
        device, homes, slots = self.options.device_of(op), self.home, self.slots
        device_type, own, host = self.places.get(device) or self.place(device)
        inputs: list[Slot] = []
        reads: list[bool] = []
        late: list[tuple[int, Tensor, Location]] = []
        on_host = _NONE_ON_HOST if own is host else self.on_host(op, device_type)
        if op in self.folded:
            self.add_folded(op, self.folded[op], device, device_type == "CPU", on_host[1])
            return
        if op.inputs:
            hosted = on_host[0]
            for position, tensor in enumerate(op.inputs):
                home, location, is_read = homes.get(tensor), host if position in hosted else own, False
                if home is None:  # computed later in the loop
                    late.append((position, tensor, location))
                    slot = Slot(-1, tensor, location, False)
                elif home.is_handle and _keeps_handle(op, position, home):
                    slot = home
                else:
                    slot = home if home.location is location else self.value_at(tensor, location)
                    if slot.is_ref:
                        shows = position == 0 and self.changes is not None and self.changes.show_in(op)
                        is_read = not shows
                inputs.append(slot)
                reads.append(is_read)
        outputs: list[Slot] = []
        if op.outputs:
            hosted = on_host[1]
            is_alias, goes_on = op.type in ALIASES_OF_VARIABLES, op.type in NEXT_ITERATIONS
            for number, tensor in enumerate(op.outputs):
                location = host if number in hosted else own
                is_ref = tensor.dtype.is_ref_dtype
                if is_alias:
                    is_ref = inputs[0].is_ref and not reads[0]
                elif goes_on:
                    is_ref = is_ref and not reads[0]
                slot = Slot(len(slots), tensor, location, is_ref)
                slots.append(slot)
                outputs.append(slot)
                homes.setdefault(tensor, slot)  # a fed tensor keeps its fed value
        step = Step(op, device, tuple(inputs), tuple(reads), tuple(outputs))
        self.steps.append(step)
        for position, tensor, location in late:
            self.late_inputs.setdefault(tensor, []).append((step, position, location))
        if self.late_inputs:
            for tensor in op.outputs:
                for consumer, position, location in self.late_inputs.pop(tensor, ()):
                    self.connect_late_input(consumer, position, self.home[tensor], location)

    def connect_late_input(self, consumer: Step, position: int, home: Slot, location: Location) -> None:
        """Give an earlier step its missing input."""
        stays = home.is_ref or home.tensor.dtype.base_dtype is resource
        slot = home if stays else self.value_at(home.tensor, location)
        assert consumer.op is not None
        if home.is_ref and position not in _reference_inputs(consumer.op):
            consumer.reads = (*consumer.reads[:position], True, *consumer.reads[position + 1 :])
        consumer.inputs = (*consumer.inputs[:position], slot, *consumer.inputs[position + 1 :])

    def add_folded(
        self, op: Operation, constants: Sequence[Folded], device: str, is_cpu: bool, hosted: Set[int]
    ) -> None:
        """Add the constants that replace an operation, one for each used output."""
        for folded in constants:
            tensor = op.outputs[folded.output]
            slot = self.slot(tensor, Location(device, is_cpu or folded.output in hosted), False)
            slot.constant = folded.name
            self.home[tensor] = slot
            self.steps.append(Step(op, device, (), (), (slot,), folded))


def _reference_inputs(op: Operation) -> frozenset[int] | set[int]:
    """Return the positions of the inputs that the op declares as references."""
    if op.op_def is None or not signature_of(op.op_def).has_references:
        return frozenset()
    ranges = op.op_def.input_ranges(op.attrs)
    return {position for arg in op.op_def.inputs if arg.is_ref for position in ranges[arg.name]}


def _keeps_handle(op: Operation, position: int, home: Slot) -> bool:
    """Whether an operation receives a handle unchanged: a resource, or a reference that it declares.

    It does not if it passes a variable's value on as a loop variable that did not start as a reference.
    """
    if home.tensor.dtype.base_dtype is resource:
        return True
    leaves = op.type in NEXT_ITERATIONS and _is_merged(op)
    return home.is_ref and not leaves and position in _reference_inputs(op)


def _is_merged(op: Operation) -> bool:
    """Whether an output of an operation is merged with another value, which is not a reference."""
    return any(consumer.type == "Merge" for tensor in op.outputs for consumer in tensor.consumers())


def _variables_of(tensor: Tensor) -> set[Operation]:
    """Return the reference variables whose memory a tensor may share."""
    if tensor.op.type in REFERENCE_VARIABLES:
        return {tensor.op}
    variables: set[Operation] = set()
    seen: set[Operation] = set()
    queue = [tensor.op]
    while queue:
        op = queue.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type in REFERENCE_VARIABLES:
            variables.add(op)
        elif op.type in ALIASES_OF_VARIABLES:
            queue.append(op.inputs[0].op)
        else:
            queue += [op.inputs[position].op for position in _reference_inputs(op)]
    return variables


class _Changes:
    """Operations of a step that may change reference variables, and where a read must show the change.

    TensorFlow's read ops return the variable's own memory. This is reproduced if a consumer runs after a change;
    otherwise a copied value is equivalent, and cheaper.

    Args:
        operations: operations in their order.
        in_loops: whether there are loops, in which the order is not conclusive.
    """

    def __init__(self, operations: Sequence[Operation], in_loops: bool) -> None:
        self._in_loops = in_loops
        self._changed: dict[Operation, list[int]] = {}
        """Positions of the operations that change each variable."""
        for number, op in enumerate(operations):
            if op.op_def is None or not signature_of(op.op_def).has_references:
                continue
            if op.type in ALIASES_OF_VARIABLES or traits_of(op.type).reads_only:
                continue
            for position in _reference_inputs(op):
                for variable in _variables_of(op.inputs[position]):
                    self._changed.setdefault(variable, []).append(number)
        self._position = {op: number for number, op in enumerate(operations)} if self._changed else {}

    def __bool__(self) -> bool:
        return bool(self._changed)

    def show_in(self, op: Operation) -> bool:
        """Whether an operation must return the variable's own memory."""
        if op.type not in ALIASES_OF_VARIABLES or _is_merged(op):
            return False
        changed = [at for variable in _variables_of(op.inputs[0]) for at in self._changed.get(variable, ())]
        if self._in_loops or not changed:
            return bool(changed)
        here = self._position[op]
        late_inputs = [at for at in changed if at > here]
        return bool(late_inputs) and self._last_consumer(op) > min(late_inputs)

    def _last_consumer(self, op: Operation) -> int:
        """Return the position of the last consumer of the value, also through other aliases."""
        last = -1
        for tensor in op.outputs:
            for consumer in tensor.consumers():
                at = self._position.get(consumer, -1)
                if at > last:
                    last = at
                if at >= 0 and consumer.type in ALIASES_OF_VARIABLES:
                    last = max(last, self._last_consumer(consumer))
        return last


def make_schedule(
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Sequence[Tensor],
    options: PartitionOptions,
) -> Schedule:
    """Return the schedule of a signature.

    Raises:
        InvalidArgumentError: The operations form a cycle, or a loop is invalid.
        InternalError: Loops of one name have different parents.
    """
    builder = _ScheduleBuilder(options)
    client = Location(options.client, True)
    for tensor in feeds:
        builder.home[tensor] = builder.slot(tensor, client, False)
    feed_slots = tuple(builder.slots)
    fed = set(feeds)
    pruned, frames = pruned_with_loops(fetches, targets, dict.fromkeys(feeds), options.done)
    operations: Sequence[Operation] = pruned
    if options.drops_unused and frames is None and options.is_on_client(pruned):
        operations = used_operations(pruned, fetches, targets, fed)
    if options.folder is not None:
        operations, builder.folded = options.folder.fold(operations, fetches, targets, fed)
    builder.changes = _Changes(operations, in_loops=frames is not None) or None
    loops: tuple[Loop, ...] = ()
    if frames is None:
        for op in operations:
            builder.add(op)
    else:
        loops = _add_with_loops(builder, operations, frames, set(fetches), client)
    for tensor in fetches:
        if tensor not in builder.fetched:
            home = builder.home[tensor]
            is_resource = tensor.dtype.base_dtype is resource
            builder.fetched[tensor] = home if is_resource else builder.value_at(tensor, client)
    fetch_slots = [builder.fetched[tensor] for tensor in fetches]
    return Schedule(
        feed_slots, tuple(builder.steps), tuple(fetch_slots), tuple(builder.slots), tuple(operations), loops
    )


def _add_with_loops(
    builder: _ScheduleBuilder,
    operations: Sequence[Operation],
    frames: Frames,
    fetches: Collection[Tensor],
    client: Location,
) -> tuple[Loop, ...]:
    """Add operations, and return the loops."""
    loops: list[Loop] = []
    open_loops: list[tuple[Frame, Loop]] = []
    slots_before: dict[Loop, int] = {}
    consumers_of: dict[Tensor, list[tuple[Operation, int]]] = {}
    for op in operations:
        for position, tensor in enumerate(op.inputs if op.type in MERGES else ()):
            consumers_of.setdefault(tensor, []).append((op, position))

    def begin_part(loop: Loop, part: int) -> None:
        here = len(builder.steps)
        if part >= LEAVING and loop.leaving < 0:
            loop.leaving = here
            slots_before[loop] = len(builder.slots)
        if part >= GOING_ON and loop.going_on < 0:
            loop.going_on = here
            builder.forget_copies(slots_before[loop])

    def end_loop() -> None:
        _, loop = open_loops.pop()
        begin_part(loop, GOING_ON)
        loop.end = len(builder.steps)
        if open_loops:  # the results of an inner loop are computed in every iteration of the outer one
            fetch(step.op for step in builder.steps[loop.start :] if step.op_type in EXITS)

    def fetch(operations: Iterable[Operation | None]) -> None:
        for op in operations:
            for tensor in () if op is None else op.outputs:
                if (
                    tensor in fetches
                    and tensor not in builder.fetched
                    and tensor.dtype.base_dtype is not resource
                ):
                    builder.fetched[tensor] = builder.value_at(tensor, client)

    for op in operations:
        path = frames.path(op)
        common = 0
        for (frame, _), path_frame in zip(open_loops, path, strict=False):
            if frame is not path_frame:
                break
            common += 1
        while len(open_loops) > common:
            end_loop()
        entered: list[Operation | Frame] = [*path[common:], op]
        for item in entered:
            if open_loops:
                begin_part(open_loops[-1][1], frames.parts[item])
            if isinstance(item, Frame):
                loop = Loop(item.name, len(builder.steps), -1, -1, -1, item.predicate)
                open_loops.append((item, loop))
                loops.append(loop)
        builder.add(op)
        if op.type in ENTERS and not op.attrs["is_constant"]:
            for merge, position in consumers_of.get(op.outputs[0], ()):
                builder.bring(op.outputs[0], merge, position)
        if open_loops and op.type not in EXITS:
            fetch([op])
    while open_loops:
        end_loop()
    return tuple(loops)
