"""Steps of many small kernels on one real GPU, captured as a CUDA graph and launched as a whole: an experiment.

A small kernel takes longer to launch than to run. After a plan has run a few times with feeds of the same shapes,
what it does on the GPU is captured; from then on a step is: copy the feeds into the graph's inputs, launch, copy
the fetches out::

    schedule    feed -> copy ─┐                                ┌─ copy -> fetch
                              ├─> kernel ─> kernel ─> ... ─────┤
    captured    constants ────┘    (one launch for all)        └─ copy -> fetch

It is captured on a stream of its own, so that what other threads queue meanwhile stays out of it, and launched on the
GPU's own, from which its memory comes.

What cannot be captured runs kernel by kernel as before: steps that change state or draw random numbers,
conditionals, values that go back to the host in between, fed values that kernels want in host memory, and kernels
of libraries that do not allow it (CuPy refuses cuBLAS while capturing). Variables may be read; when one has been
given another array the step is captured again.

All memory that a graph uses stays its own, taken from CuPy's pool and under its limit, so a graph whose kernels
take more than ``MAX_BYTES`` is not kept. It is an experiment, ``graphs`` (``gpu_experiments``).

Source: CUDA's programming guide, "CUDA graphs"; CuPy's ``Stream.begin_capture`` (what may not be captured).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuplace.backends.cupy_backend import CupyBackend
from gpuplace.dtypes import resource
from gpuplace.errors import InternalError, OpError
from gpuplace.graph.op_sets import CONTROL_FLOW_OPS, VARIABLE_OPS
from gpuplace.numerics.float_state import enter, leave
from gpuplace.plan.codegen.functions import PlanCode
from gpuplace.plan.fused_elementwise import FailedStep
from gpuplace.plan.gpu_plan import PlanOnGPU
from gpuplace.plan.schedule.partition import Schedule, Slot, Step

MIN_KERNELS = 16
"""Steps with fewer kernels gain nothing."""
RUNS_BEFORE = 2
"""Runs with the same shapes before a capture: in them kernels are compiled and libraries set up."""
MAX_BYTES = 256 << 20
"""The most memory that the kernels of a graph may take."""
MAX_GRAPHS = 4
"""Shapes of feeds that a plan keeps graphs for."""
MAX_CAPTURES = 16
"""As often is a plan captured; one whose variables get new arrays all the time is better left alone."""

_READERS = VARIABLE_OPS | {"ReadVariableOp"}
"""Stateful ops that change nothing."""


@dataclass(slots=True)
class DevicePart:
    """What of a schedule a graph can do."""

    device: str
    """Full name of the GPU."""
    schedule: Schedule
    """The kernels, fed with arrays on the GPU; it fetches those, then the storages of variables."""
    feeds: tuple[int, ...]
    """For each of its first inputs the position of the feed that is copied to it."""
    constants: tuple[Any, ...]
    """For the inputs after them, the constants that are copied to them, in host memory."""
    variables: int
    """How many storages of variables stand behind the fetched values."""


def device_part(schedule: Schedule, backends: Mapping[str, Any]) -> DevicePart | None:
    """The part of a schedule that can be captured; None if a launch cannot replace it.

    Args:
        schedule: what a plan does.
        backends: full device name to the device.
    """
    kernels = [step for step in schedule.steps if step.op is not None and step.op_type != "Const"]
    devices = {step.device for step in kernels}
    if len(devices) != 1 or len(kernels) < MIN_KERNELS:
        return None
    (device,) = devices
    if not isinstance(backends[device], CupyBackend) or not all(map(_is_pure, kernels)):
        return None
    fed = {slot: position for position, slot in enumerate(schedule.feeds)}
    constant = {slot: step for step in schedule.steps if step.op_type == "Const" for slot in step.outputs}
    inputs: dict[Slot, int] = {}
    copied: dict[Slot, Any] = {}
    leaving: dict[Slot, Slot] = {}
    steps: list[Step] = []
    for step in schedule.steps:
        if step.op is not None:
            if any(slot in fed for slot in step.inputs):
                return None  # a value that the kernel wants in host memory
            steps.append(step)
            continue
        source, target = step.inputs[0], step.outputs[0]
        if target.location.on_host:
            if source.location.on_host or step.reads[0]:
                return None
            leaving[target] = source
        elif source in fed and target.location.device == device:
            inputs[target] = fed[source]
        elif source in constant and target.location.device == device:
            copied[target] = constant[source].constant_value
        else:
            return None
    if not set(schedule.fetches) <= leaving.keys() or any(
        slot in leaving for step in schedule.steps for slot in step.inputs
    ):
        return None
    arrays = tuple([leaving[slot] for slot in schedule.fetches])
    storages = tuple(slot for step in steps if step.op_type in VARIABLE_OPS for slot in step.outputs)
    part = replace(schedule, feeds=(*inputs, *copied), steps=tuple(steps), fetches=(*arrays, *storages))
    return DevicePart(device, part, tuple(inputs.values()), tuple(copied.values()), len(storages))


def _is_pure(step: Step) -> bool:
    """Whether a kernel does the same in every run: no conditionals, no state but variables that are read."""
    op = step.op
    assert op is not None
    if op.type in CONTROL_FLOW_OPS or op.op_def is None:
        return False
    if op.op_def.is_stateful and op.type not in _READERS:
        return False
    return op.type in _READERS or all(
        reads or not (slot.is_ref or slot.tensor.dtype.base_dtype is resource)
        for slot, reads in zip(step.inputs, step.reads, strict=True)
    )


class _TooLarge(Exception):
    """The kernels take more memory than a graph may keep."""


class _Graph:
    """A captured step.

    Args:
        backend: the GPU.
        part: what was captured.
        code: its function.
        feeds: fed values, as examples.

    Raises:
        _TooLarge: the kernels take too much memory.
        Exception: what a kernel or CUDA says that cannot be captured.
    """

    def __init__(
        self,
        backend: CupyBackend,
        part: DevicePart,
        code: PlanCode,
        feeds: Sequence[Any],
    ) -> None:
        self._backend = backend
        self._part = part
        self._inputs = [backend.from_host(feeds[position]) for position in part.feeds]
        self._constants = [backend.from_host(value) for value in part.constants]
        self._blocks: list[Any] = []
        backend.enter()
        cuda, stream = backend.xp.cuda, backend.xp.cuda.Stream(non_blocking=True)
        with cuda.using_allocator(self._keeping(cuda.get_allocator())), backend.compute.current(stream):
            stream.begin_capture()
            try:
                found = code.function(*self._inputs, *self._constants)
            except BaseException:
                self._abandon(stream)
                raise
            self._launch = stream.end_capture().launch
        count = len(found) - part.variables
        self._outputs = found[:count]
        storages = [getattr(reference, "resource", reference) for reference in found[count:]]
        self._variables = [(storage, storage.value) for storage in storages]

    def _keeping(self, allocate: Callable[[int], Any]) -> Callable[[int], Any]:
        """An allocator whose memory is never returned as long as the graph lives; it is that of ``compute``."""
        compute, taken = self._backend.compute, 0

        def keep(size: int) -> Any:
            nonlocal taken
            taken += size
            if taken > MAX_BYTES:
                raise _TooLarge(f"its kernels take more than {MAX_BYTES} bytes")
            with compute.current():
                block = allocate(size)
            self._blocks.append(block)
            return block

        return keep

    def _abandon(self, stream: Any) -> None:
        """Ends a capture that failed; CUDA says once more that it is invalid."""
        try:
            stream.end_capture()
        except self._backend.xp.cuda.runtime.CUDARuntimeError:
            return

    @property
    def is_current(self) -> bool:
        """Whether all variables still have the arrays that the graph reads."""
        return all(storage.is_initialized and storage.value is array for storage, array in self._variables)

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """The fetched values, in host memory."""
        backend = self._backend
        backend.enter()
        for array, position in zip(self._inputs, self._part.feeds, strict=True):
            backend.copy_into(array, feeds[position])
        self._launch(backend.stream)
        values = [backend.to_host(array) for array in self._outputs]
        return [value if value.ndim else value[()] for value in values]


class CapturingPlan(PlanOnGPU):
    """A plan that launches graphs once it has run a few times with the same shapes.

    Args:
        backend: the GPU.
        part: what can be captured.
        compile_part: gives its function.
    """

    def __init__(
        self,
        *arguments: Any,
        backend: CupyBackend,
        part: DevicePart,
        compile_part: Callable[[DevicePart], PlanCode],
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._backend = backend
        self._part = part
        self._compile_part = compile_part
        self._compiled: PlanCode | None = None
        self._graphs: OrderedDict[tuple[Any, ...], _Graph | int] = OrderedDict()
        self._captures = 0
        self._lock = threading.Lock()
        self.not_captured = ""
        """Why the plan runs kernel by kernel for good; "" while it may be captured."""

    def run_entered(self, feeds: Sequence[Any]) -> list[Any]:
        """Runs that meet in several threads go kernel by kernel, beside the one that has the graph."""
        if self.not_captured or not self._lock.acquire(blocking=False):
            return super().run_entered(feeds)
        try:
            graph = self._graph(feeds)
            if graph is not None:
                return self._launched(graph, feeds)
        finally:
            self._lock.release()
        return super().run_entered(feeds)

    def _launched(self, graph: _Graph, feeds: Sequence[Any]) -> list[Any]:
        try:
            return graph.run(feeds)
        except (self._backend.xp.cuda.runtime.CUDARuntimeError, InternalError) as error:
            raise InternalError.of(
                f"{self._backend.device} failed in a CUDA graph: {error}",
                hint="without graphs in GPUPLACE_GPU_EXPERIMENTS the error names its node",
            ) from error

    def _graph(self, feeds: Sequence[Any]) -> _Graph | None:
        """The graph for feeds of these shapes, captured now if it is time."""
        key = tuple([value.shape for value in feeds])
        found = self._graphs.get(key, 0)
        if isinstance(found, _Graph):
            if found.is_current:
                self._graphs.move_to_end(key)
                return found
            found = RUNS_BEFORE
        if found < RUNS_BEFORE:
            self._graphs[key] = found + 1
            self._forget()
            return None
        self._captures += 1
        if self._captures > MAX_CAPTURES:
            self._give_up("variables or shapes change in nearly every run")
            return None
        graph = self._captured(feeds)
        if graph is not None:
            self._graphs[key] = graph
            self._forget()
        return graph

    def _forget(self) -> None:
        """Drops the graphs that were not used for the longest time."""
        while len(self._graphs) > MAX_GRAPHS:
            self._graphs.popitem(last=False)

    def _captured(self, feeds: Sequence[Any]) -> _Graph | None:
        token = enter()
        try:
            if self._compiled is None:
                self._compiled = self._compile_part(self._part)
            return _Graph(self._backend, self._part, self._compiled, feeds)
        except Exception as error:
            reason = error.__cause__ if isinstance(error, FailedStep) else error
            if isinstance(reason, OpError):  # the node fails: kernel by kernel the step says so in full
                self._graphs.clear()
            else:  # what CUDA or a library does not allow in captures: the plan runs without
                self._give_up(f"{type(reason).__name__}: {reason}")
        finally:
            leave(token)
        return None

    def _give_up(self, reason: str) -> None:
        self.not_captured = reason
        self._graphs.clear()
