"""From a placed graph to a schedule: what runs, in which order, where, and what is copied in between.

Pruning keeps what the fetches need, up to the tensors that are fed. Wherever a tensor is needed in a memory that it is
not in, a copy is inserted, one for all consumers there::

    a (CPU:0) ──┬──> MatMul (GPU:0)          a ──> copy of a to GPU:0 ──┬──> MatMul
                └──> Tanh   (GPU:0)   ==>                               └──> Tanh      ──> copy to CPU:0 ──> fetch

A GPU has two memories: its own and host memory, where the arguments lie that its kernels want there (shapes, indices,
strings). Such an argument crosses from the CPU without being copied to the GPU and back.

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
    """Name of the node that stands for a fetch."""
    return f"_retval_{tensor.op.name}_{tensor.value_index}_{position}"


class Location(NamedTuple):
    """A memory."""

    device: str
    """Full name of the device."""
    on_host: bool
    """Whether it is host memory, as always on a CPU."""


class Slot:
    """A value of a step: a tensor at one location.

    Args:
        index: position in ``Schedule.slots``.
        tensor: what it is the value of.
        location: where it lies.
        is_ref: whether the value is a variable's storage and not an array.
    """

    __slots__ = ("index", "tensor", "location", "is_ref", "is_handle", "constant")

    def __init__(self, index: int, tensor: Tensor, location: Location, is_ref: bool) -> None:
        self.index = index
        self.tensor = tensor
        self.location = location
        self.is_ref = is_ref
        self.is_handle = is_ref or tensor.dtype.is_handle
        """Whether the value is an object, and no array."""
        self.constant = ""
        """Name of the constant that it is, where its operation was folded into constants of other names."""

    @property
    def name(self) -> str:
        """The node and output that give it, as inputs of nodes are written."""
        if self.constant:
            return self.constant
        output = self.tensor.value_index
        return f"{self.tensor.op.name}:{output}" if output else self.tensor.op.name


@dataclass(slots=True, eq=False)
class Step:
    """A kernel to run or, where ``op`` is None, a copy of ``inputs[0]`` to ``outputs[0]``."""

    op: Operation | None
    """What runs."""
    device: str
    """Full name of the device; for a copy the receiving one."""
    inputs: tuple[Slot, ...]
    """Values it takes."""
    reads: tuple[bool, ...]
    """Which inputs are storages of variables of which the kernel wants the current value."""
    outputs: tuple[Slot, ...]
    """Values it makes."""
    folded: Folded | None = None
    """The value of the one output, where the operation is a constant in this plan."""
    op_type: str = field(init=False)
    """Type of the operation: ``Const`` where it was folded; "" for a copy."""

    def __post_init__(self) -> None:
        self.op_type = "" if self.op is None else self.op.type if self.folded is None else "Const"

    @property
    def constant_value(self) -> Any:
        """The array, in host memory, of a step whose type is ``Const``."""
        assert self.op is not None
        return self.op.attrs["value"].array if self.folded is None else self.folded.value

    @property
    def operations(self) -> Sequence[Operation]:
        """What runs; nothing for a copy."""
        return () if self.op is None else (self.op,)

    @property
    def control_inputs(self) -> Sequence[Operation]:
        """Operations that have to run before."""
        if self.folded is not None:
            return self.folded.controls
        return [] if self.op is None else self.op._control_inputs

    @property
    def may_come_dead(self) -> bool:
        """Whether this receives a tensor that may be in a branch that was not taken, on another task."""
        return self.op is not None and self.op.type in RECEIVES and bool(self.op.attrs.get(MAY_BE_DEAD))

    @property
    def is_conditional(self) -> bool:
        """Whether branches begin or end with it."""
        return self.op_type in ALL_SWITCHES or self.op_type in MERGES or self.may_come_dead

    @property
    def is_copy(self) -> bool:
        """Whether this moves a tensor."""
        return self.op is None

    @property
    def name(self) -> str:
        """The node's name, or that of the node whose output is copied."""
        if self.folded is not None:
            return self.outputs[0].name
        return self.op.name if self.op is not None else self.inputs[0].tensor.op.name


@dataclass(slots=True, eq=False)
class Loop:
    """A run of steps that is done again and again; positions are those of ``Schedule.steps``."""

    name: str
    """Its frame's name."""
    start: int
    """Where what decides begins: what every iteration does."""
    leaving: int
    """Where begins what only the last iteration does."""
    going_on: int
    """Where begins what all but the last one do."""
    end: int
    """Behind its last step."""
    predicate: Operation | None
    """The ``LoopCond`` that says whether there is another iteration."""


@dataclass(slots=True, eq=False)
class Schedule:
    """All of a step, in an order that respects every edge."""

    feeds: tuple[Slot, ...]
    """Values the caller gives."""
    steps: tuple[Step, ...]
    """What is done."""
    fetches: tuple[Slot, ...]
    """Values the caller gets, in host memory; a ``Slot.is_ref`` one is read at the end."""
    slots: tuple[Slot, ...]
    """All values."""
    operations: tuple[Operation, ...]
    """What runs, without copies."""
    loops: tuple[Loop, ...] = ()
    """The loops, an outer one before those inside."""

    @property
    def is_straight(self) -> bool:
        """Whether every step runs, once: there are neither loops nor branches."""
        return not self.loops and CONDITIONAL_OPS.isdisjoint([step.op_type for step in self.steps])

    @property
    def copies(self) -> tuple[Step, ...]:
        """The copies, between devices and between a device's two memories."""
        return tuple(step for step in self.steps if step.op is None)


@dataclass(frozen=True, slots=True)
class PartitionOptions:
    """What a schedule is made with."""

    device_of: Callable[[Operation], str]
    """Assigned device of an operation, by full name."""
    device_types: dict[str, str]
    """Full name of a device to its type."""
    kernels: KernelRegistry
    """Says which arguments are in host memory."""
    client: str
    """Full name of the device where feeds come from and fetches go to."""
    folder: Folder | None = None
    """Folds constants; nothing is folded without it."""
    done: Collection[Operation] = ()
    """What has run already, in an earlier part of the step."""
    drops_unused: bool = False
    """Whether gradients that nobody takes are left out, where all is on the client's CPU and there are no loops."""

    def is_on_client(self, operations: Iterable[Operation]) -> bool:
        """Whether all of some operations are on the client's device, and that is a CPU."""
        is_cpu = self.device_types[self.client] == "CPU"
        return is_cpu and all(self.device_of(op) == self.client for op in operations)


_NONE_ON_HOST: HostMemory = (frozenset(), frozenset())


@dataclass
class _Maker:
    """A schedule in the making."""

    options: PartitionOptions
    slots: list[Slot] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    home: dict[Tensor, Slot] = field(default_factory=dict)
    copies: dict[tuple[Tensor, Location], Slot] = field(default_factory=dict)
    folded: Mapping[Operation, Sequence[Folded]] = field(default_factory=dict)
    later: dict[Tensor, list[tuple[Step, int, Location]]] = field(default_factory=dict)
    """For tensors that are not made yet, what will take them in the next iteration of a loop."""
    changes: _Changes | None = None
    """The changes of reference variables, where there are any."""
    fetched: dict[Tensor, Slot] = field(default_factory=dict)
    """Where the caller gets tensors from that are made inside loops."""
    places: dict[str, tuple[str, Location, Location]] = field(default_factory=dict)

    def place(self, device: str) -> tuple[str, Location, Location]:
        """The device's type, its own memory and host memory; on a CPU these are one and the same."""
        found = self.places.get(device)
        if found is None:
            host = Location(device, True)
            device_type = self.options.device_types[device]
            own = host if device_type == "CPU" else Location(device, False)
            found = self.places[device] = (device_type, own, host)
        return found

    def slot(self, tensor: Tensor, location: Location, is_ref: bool) -> Slot:
        made = Slot(len(self.slots), tensor, location, is_ref)
        self.slots.append(made)
        return made

    def on_host(self, op: Operation, device_type: str) -> HostMemory:
        """Positions of the inputs and outputs that are in host memory and not in the device's own; none on a CPU."""
        if device_type == "CPU" or op.op_def is None:
            return _NONE_ON_HOST
        return self.options.kernels.host_memory(op.op_def, op.attrs, device_type)

    def value_at(self, tensor: Tensor, location: Location) -> Slot:
        """The tensor at a location; the first time it is needed there, a copy is added."""
        home = self.home[tensor]
        if home.location == location:
            return home
        copy = self.copies.get((tensor, location))
        if copy is None:
            # between host memories nothing is copied, and what changes goes on to show
            stays = home.is_ref and self.changes is not None and home.location.on_host and location.on_host
            copy = self.copies[tensor, location] = self.slot(tensor, location, stays)
            self.steps.append(Step(None, location.device, (home,), (home.is_ref and not stays,), (copy,)))
        return copy

    def bring(self, tensor: Tensor, taker: Operation, position: int) -> None:
        """Copies a tensor to where an operation that is added later takes it."""
        device = self.options.device_of(taker)
        device_type = self.options.device_types[device]
        if not (self.home[tensor].is_ref or tensor.dtype.base_dtype is resource):
            is_cpu = device_type == "CPU"
            self.value_at(
                tensor,
                Location(device, is_cpu or position in self.on_host(taker, device_type)[0]),
            )

    def forget_copies(self, first: int) -> None:
        """Lets copies be made again whose slots begin at ``first``: those that only a loop's last iteration makes."""
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
                if home is None:  # made later in the loop
                    late.append((position, tensor, location))
                    slot = Slot(-1, tensor, location, False)
                elif home.is_handle and _takes_handle(op, position, home):
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
                homes.setdefault(tensor, slot)  # a fed tensor keeps the value that was fed
        step = Step(op, device, tuple(inputs), tuple(reads), tuple(outputs))
        self.steps.append(step)
        for position, tensor, location in late:
            self.later.setdefault(tensor, []).append((step, position, location))
        if self.later:
            for tensor in op.outputs:
                for taker, position, location in self.later.pop(tensor, ()):
                    self.close(taker, position, self.home[tensor], location)

    def close(self, taker: Step, position: int, home: Slot, location: Location) -> None:
        """Gives a step that was added before the input that was missing."""
        stays = home.is_ref or home.tensor.dtype.base_dtype is resource
        slot = home if stays else self.value_at(home.tensor, location)
        assert taker.op is not None
        if home.is_ref and position not in _reference_inputs(taker.op):
            taker.reads = (*taker.reads[:position], True, *taker.reads[position + 1 :])
        taker.inputs = (*taker.inputs[:position], slot, *taker.inputs[position + 1 :])

    def add_folded(
        self, op: Operation, constants: Sequence[Folded], device: str, is_cpu: bool, hosted: Set[int]
    ) -> None:
        """Adds the constants that stand for an operation, one for each output that is used."""
        for folded in constants:
            tensor = op.outputs[folded.output]
            slot = self.slot(tensor, Location(device, is_cpu or folded.output in hosted), False)
            slot.constant = folded.name
            self.home[tensor] = slot
            self.steps.append(Step(op, device, (), (), (slot,), folded))


def _reference_inputs(op: Operation) -> frozenset[int] | set[int]:
    """Positions of the inputs that the op wants as references."""
    if op.op_def is None or not signature_of(op.op_def).has_references:
        return frozenset()
    ranges = op.op_def.input_ranges(op.attrs)
    return {position for arg in op.op_def.inputs if arg.is_ref for position in ranges[arg.name]}


def _takes_handle(op: Operation, position: int, home: Slot) -> bool:
    """Whether an operation takes a handle as it is: a resource, or the reference that it wants.

    It does not where it hands a variable's value on as a loop variable that began as no reference.
    """
    if home.tensor.dtype.base_dtype is resource:
        return True
    leaves = op.type in NEXT_ITERATIONS and _is_merged(op)
    return home.is_ref and not leaves and position in _reference_inputs(op)


def _is_merged(op: Operation) -> bool:
    """Whether what an operation hands on meets another value, which is no reference."""
    return any(taker.type == "Merge" for tensor in op.outputs for taker in tensor.consumers())


def _variables_of(tensor: Tensor) -> set[Operation]:
    """The reference variables whose memory a tensor may be."""
    if tensor.op.type in REFERENCE_VARIABLES:
        return {tensor.op}
    found: set[Operation] = set()
    seen: set[Operation] = set()
    queue = [tensor.op]
    while queue:
        op = queue.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type in REFERENCE_VARIABLES:
            found.add(op)
        elif op.type in ALIASES_OF_VARIABLES:
            queue.append(op.inputs[0].op)
        else:
            queue += [op.inputs[position].op for position in _reference_inputs(op)]
    return found


class _Changes:
    """The operations of a step that may change reference variables, and where what was read shows the change.

    TensorFlow's reading ops hand on the variable's own memory. That is followed where something takes it after a
    change; elsewhere a value that was read is as good, and cheaper.

    Args:
        operations: what runs, in its order.
        in_loops: whether there are loops, in which the order says little.
    """

    def __init__(self, operations: Sequence[Operation], in_loops: bool) -> None:
        self._in_loops = in_loops
        self._changed: dict[Operation, list[int]] = {}
        """Positions of what changes a variable."""
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
        """Whether what an operation hands on has to be the variable's own memory."""
        if op.type not in ALIASES_OF_VARIABLES or _is_merged(op):
            return False
        changed = [at for variable in _variables_of(op.inputs[0]) for at in self._changed.get(variable, ())]
        if self._in_loops or not changed:
            return bool(changed)
        here = self._position[op]
        later = [at for at in changed if at > here]
        return bool(later) and self._last_taken(op) > min(later)

    def _last_taken(self, op: Operation) -> int:
        """The position of the last operation that takes the value, also by way of others that hand it on."""
        last = -1
        for tensor in op.outputs:
            for taker in tensor.consumers():
                at = self._position.get(taker, -1)
                if at > last:
                    last = at
                if at >= 0 and taker.type in ALIASES_OF_VARIABLES:
                    last = max(last, self._last_taken(taker))
        return last


def make_schedule(
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Sequence[Tensor],
    options: PartitionOptions,
) -> Schedule:
    """The schedule for a signature.

    Raises:
        InvalidArgumentError: the operations form a cycle, or a loop is not sound.
        InternalError: loops of one name are in different loops.
    """
    maker = _Maker(options)
    client = Location(options.client, True)
    for tensor in feeds:
        maker.home[tensor] = maker.slot(tensor, client, False)
    given = tuple(maker.slots)
    fed = set(feeds)
    pruned, frames = pruned_with_loops(fetches, targets, dict.fromkeys(feeds), options.done)
    operations: Sequence[Operation] = pruned
    if options.drops_unused and frames is None and options.is_on_client(pruned):
        operations = used_operations(pruned, fetches, targets, fed)
    if options.folder is not None:
        operations, maker.folded = options.folder.fold(operations, fetches, targets, fed)
    maker.changes = _Changes(operations, in_loops=frames is not None) or None
    loops: tuple[Loop, ...] = ()
    if frames is None:
        for op in operations:
            maker.add(op)
    else:
        loops = _add_with_loops(maker, operations, frames, set(fetches), client)
    for tensor in fetches:
        if tensor not in maker.fetched:
            home = maker.home[tensor]
            is_resource = tensor.dtype.base_dtype is resource
            maker.fetched[tensor] = home if is_resource else maker.value_at(tensor, client)
    wanted = [maker.fetched[tensor] for tensor in fetches]
    return Schedule(given, tuple(maker.steps), tuple(wanted), tuple(maker.slots), tuple(operations), loops)


def _add_with_loops(
    maker: _Maker,
    operations: Sequence[Operation],
    frames: Frames,
    fetches: Collection[Tensor],
    client: Location,
) -> tuple[Loop, ...]:
    """Adds operations, and says where the loops are."""
    found: list[Loop] = []
    open_loops: list[tuple[Frame, Loop]] = []
    slots_before: dict[Loop, int] = {}
    takers: dict[Tensor, list[tuple[Operation, int]]] = {}
    for op in operations:
        for position, tensor in enumerate(op.inputs if op.type in MERGES else ()):
            takers.setdefault(tensor, []).append((op, position))

    def begin_part(loop: Loop, part: int) -> None:
        here = len(maker.steps)
        if part >= LEAVING and loop.leaving < 0:
            loop.leaving = here
            slots_before[loop] = len(maker.slots)
        if part >= GOING_ON and loop.going_on < 0:
            loop.going_on = here
            maker.forget_copies(slots_before[loop])

    def end_loop() -> None:
        _, loop = open_loops.pop()
        begin_part(loop, GOING_ON)
        loop.end = len(maker.steps)
        if open_loops:  # what the loop gives is inside another one
            fetch(step.op for step in maker.steps[loop.start :] if step.op_type in EXITS)

    def fetch(made: Iterable[Operation | None]) -> None:
        for op in made:
            for tensor in () if op is None else op.outputs:
                if (
                    tensor in fetches
                    and tensor not in maker.fetched
                    and tensor.dtype.base_dtype is not resource
                ):
                    maker.fetched[tensor] = maker.value_at(tensor, client)

    for op in operations:
        path = frames.path(op)
        common = 0
        for (frame, _), wanted in zip(open_loops, path, strict=False):
            if frame is not wanted:
                break
            common += 1
        while len(open_loops) > common:
            end_loop()
        entered: list[Operation | Frame] = [*path[common:], op]
        for item in entered:
            if open_loops:
                begin_part(open_loops[-1][1], frames.parts[item])
            if isinstance(item, Frame):
                loop = Loop(item.name, len(maker.steps), -1, -1, -1, item.predicate)
                open_loops.append((item, loop))
                found.append(loop)
        maker.add(op)
        if op.type in ENTERS and not op.attrs["is_constant"]:
            for merge, position in takers.get(op.outputs[0], ()):
                maker.bring(op.outputs[0], merge, position)
        if open_loops and op.type not in EXITS:
            fetch([op])
    while open_loops:
        end_loop()
    return tuple(found)
