"""From a signature to a plan: schedule, constants, and one line or several lanes.

A plan runs in lanes where at least two devices have work that takes much longer than it takes to wake a thread,
which is judged by shapes when the plan is made. Where shapes are unknown it starts as a single line that looks
at the clock; when a run was slow enough the next one measures every step, and from then on the measured times
decide. Everything else is one straight line in the calling thread, with nothing added. With real GPUs that line
queues work for all of them before it waits for any (``queue_order``, ``stream_plan``).

``ConfigProto.inter_op_parallelism_threads`` is the most lanes beside the caller's (1: the single line, always;
0: as many as there are devices), or the number of the step's own pool of threads (``run_options``);
``intra_op_parallelism_threads`` the most threads of one kernel, for the process, as the first session says.

What a plan folds a traced plan does not: who asks where time goes is shown every node, on its device, and every copy.
TensorFlow's traces show what is left after folding.

Source: tensorflow/core/common_runtime/direct_session.cc and process_util.cc, release 1.15 (the options).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from gpuplace.backends.select import make_backend
from gpuplace.backends.workers import Workers, intra_op_threads, process_workers
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.registry import KernelRegistry
from gpuplace.memory.process_state import SessionDevices
from gpuplace.numerics import threads
from gpuplace.numerics.threads import available_cores
from gpuplace.plan.codegen.functions import PlanBuilder, PlanCode
from gpuplace.plan.codegen.lanes import LaneBuilder, ParallelPlan, TracedLaneBuilder, lane_schedules
from gpuplace.plan.codegen.streams import PlanOnGPU, StreamPlanBuilder
from gpuplace.plan.cuda_graphs import (
    CapturingPlan,
    DeviceBuilder,
    DevicePart,
    captures_are_on,
    device_part,
)
from gpuplace.plan.executor import ConstantPlan, Plan
from gpuplace.plan.fused_elementwise import fusion_is_on
from gpuplace.plan.schedule.constant_folding import Folder
from gpuplace.plan.schedule.elementwise_groups import fused
from gpuplace.plan.schedule.lanes import Arrangement, arrange, estimated_costs
from gpuplace.plan.schedule.partition import PartitionOptions, Schedule, Step, make_schedule
from gpuplace.plan.schedule.queue_order import in_queue_order
from gpuplace.session.run_options import pools_of_threads
from gpuplace.tracing.partition_graphs import count_transfers
from gpuplace.tracing.step_stats import TracedPlanBuilder

__all__ = ["PLAIN", "PlanKind", "PlanMaker", "Signature"]

Signature = tuple[tuple[Tensor, ...], tuple[Operation, ...], tuple[Tensor, ...]]
"""Fetched tensors, target operations, fed tensors."""

WORTH_MEASURING_NS = 1_000_000
"""A run of unknown shapes that takes longer than this, in nanoseconds, may be worth lanes."""


class PlanKind(NamedTuple):
    """What the plan of a signature does besides computing."""

    is_traced: bool = False
    """It records every call."""
    is_timed: bool = False
    """It may end early."""
    most_lanes: int | None = None
    """The most lanes beside the caller's; None: as the session says."""


PLAIN = PlanKind()
"""The plan that only computes."""


class PlanMaker:
    """Makes the plans of one session; the caller holds the session's lock.

    Args:
        devices: the session's devices.
        kernels: says which arguments are in host memory.
        config: the session's ``ConfigProto``.
        release: whose error texts to use.
        resources: the session's, for kernels.
        lock: the session's.
        other_plans: the session's plans of other kinds; they are dropped when their plain one is made again.
    """

    def __init__(
        self,
        devices: SessionDevices,
        kernels: KernelRegistry,
        config: Any,
        release: str,
        resources: Any,
        lock: threading.RLock,
        other_plans: dict[tuple[Signature, PlanKind], Plan],
    ) -> None:
        self.backends: dict[str, Any] = {}
        self._devices = devices
        self._types = {device.name: device.device_type for device in devices}
        self._client = devices.devices[0].name
        self._kernels = kernels
        self._release = release
        self._resources = resources
        self._lock = lock
        self._other_plans = other_plans
        self._folder = Folder(config, resources)
        self._fuses = fusion_is_on(config)
        self._constants: dict[tuple[Tensor, str, bool], Any] = {}
        self._measured: dict[Signature, Sequence[float]] = {}
        self._transfers = 0
        self._is_closed = False
        self._most_lanes = pools_of_threads(config)[0]
        in_an_op = int(getattr(config, "intra_op_parallelism_threads", 0) or 0)
        threads.configure(in_an_op)
        intra_op_threads.ask(in_an_op)
        self._own_workers = Workers() if getattr(config, "use_per_session_threads", False) else None

    def close(self) -> None:
        """Gives up all constants; threads of its own end."""
        self._is_closed = True
        self._constants, self._measured = {}, {}
        self._other_plans.clear()
        self._folder.clear()
        if self._own_workers is not None:
            self._own_workers.close()

    def make(
        self,
        signature: Signature,
        device_of: Callable[[Operation], str],
        kind: PlanKind = PLAIN,
        done: frozenset[Operation] = frozenset(),
    ) -> Plan:
        """The plan of a signature.

        Args:
            signature: what to fetch, run and feed.
            device_of: the placement.
            kind: what it does besides computing.
            done: what has run already, in an earlier part of the step.

        Raises:
            InvalidArgumentError: the operations form a cycle.
            UnimplementedError: a node cannot be computed.
            ResourceExhaustedError: a constant does not fit on its simulated GPU.
        """
        folder = None if done or kind.is_traced else self._folder
        options = PartitionOptions(device_of, self._types, self._kernels, self._client, folder, done)
        schedule = make_schedule(*signature, options)
        backends = self._backends_of(schedule)
        first, self._transfers = self._transfers, self._transfers + count_transfers(schedule)
        gpus = [backend for backend in backends.values() if backend.owns_arrays]
        if gpus:
            return self._on_gpus(schedule, backends, gpus, first, kind)
        arrangement, is_known = self._arrangement(signature, schedule, len(backends), kind)
        if arrangement is not None:
            return self._parallel(schedule, backends, arrangement, first, kind)
        code = self._line(schedule, backends, kind)
        if all(step.op_type == "Const" for step in schedule.steps) and kind == PLAIN:
            return ConstantPlan(schedule, code, self._release, first)
        if is_known or kind != PLAIN:
            return Plan(schedule, code, self._release, first)
        return _MeasuringPlan(schedule, code, self._release, first, maker=self, signature=signature)

    def _on_gpus(
        self,
        schedule: Schedule,
        backends: Mapping[str, Any],
        gpus: Sequence[Any],
        first: int,
        kind: PlanKind,
    ) -> Plan:
        """The plan of a schedule with real GPUs.

        One that is traced, or has loops, keeps the order of the graph and waits for each copy.
        """
        if kind.is_traced or schedule.loops:
            return PlanOnGPU(schedule, self._line(schedule, backends, kind), self._release, first, gpus=gpus)
        if kind == PLAIN and self._fuses:
            schedule = fused(schedule, backends)
        schedule = in_queue_order(schedule, backends)
        code = StreamPlanBuilder(
            schedule, backends, self._resources, self._constant, is_timed=kind.is_timed
        ).build()
        part = device_part(schedule, backends) if kind == PLAIN and captures_are_on() else None
        if part is None:
            return PlanOnGPU(schedule, code, self._release, first, gpus=gpus)
        return CapturingPlan(
            schedule,
            code,
            self._release,
            first,
            gpus=gpus,
            backend=backends[part.device],
            part=part,
            compile_part=self._compiled_part,
        )

    def _line(self, schedule: Schedule, backends: Mapping[str, Any], kind: PlanKind) -> PlanCode:
        builder = TracedPlanBuilder if kind.is_traced else PlanBuilder
        return builder(schedule, backends, self._resources, self._constant, is_timed=kind.is_timed).build()

    def _backends_of(self, schedule: Schedule) -> dict[str, Any]:
        used = {step.device for step in schedule.steps}
        used.update(slot.location.device for slot in schedule.slots)
        used.add(self._client)
        for name in used - self.backends.keys():
            self.backends[name] = make_backend(self._devices, name)
        return {name: self.backends[name] for name in self._types if name in used}

    def _arrangement(
        self, signature: Signature, schedule: Schedule, devices: int, kind: PlanKind
    ) -> tuple[Arrangement | None, bool]:
        """The lanes of a schedule, if it gets any, and whether enough is known to say so."""
        most = self._most_lanes if kind.most_lanes is None else kind.most_lanes
        if devices < 2 or not most or available_cores() < 2 or schedule.loops:
            return None, True
        costs: Sequence[float | None] | None = self._measured.get(signature)
        if costs is None or len(costs) != len(schedule.steps):
            costs = estimated_costs(schedule)
        at_least = [cost or 0.0 for cost in costs]
        found = arrange(schedule, at_least, self._client, most, available_cores())
        return found, found is not None or None not in costs

    def _parallel(
        self,
        schedule: Schedule,
        backends: Mapping[str, Any],
        arrangement: Arrangement,
        first: int,
        kind: PlanKind,
    ) -> Plan:
        whole = PlanBuilder(schedule, backends, self._resources, self._constant).uses()
        builder = TracedLaneBuilder if kind.is_traced else LaneBuilder
        schedules = lane_schedules(schedule, arrangement)
        codes = [
            builder(
                part,
                backends,
                self._resources,
                self._constant,
                is_timed=kind.is_timed,
                numbers=lane.numbers,
                whole=whole,
            ).build()
            for part, lane in zip(schedules, arrangement.lanes, strict=True)
        ]
        return ParallelPlan(
            schedule,
            codes,
            self._release,
            first,
            arrangement=arrangement,
            lane_feeds=[[schedule.feeds.index(slot) for slot in part.feeds] for part in schedules],
            workers=self._own_workers or process_workers(),
        )

    def _constant(self, tensor: Tensor, value: Any, backend: Any, on_host: bool) -> Any:
        """The value of a ``Const`` or of a folded operation, copied to its device once a session."""
        key = tensor, backend.device, on_host
        known = self._constants.get(key)
        if known is not None:
            return known
        if not on_host:
            value = backend.from_host(value)
            if backend.memory is not None:
                value = backend.memory.note(value, tensor.op.name, backend.device)
        self._constants[key] = value
        return value

    def _compiled_part(self, part: DevicePart) -> PlanCode:
        """The function of what can be captured."""
        with self._lock:
            backends = self._backends_of(part.schedule)
            return DeviceBuilder(part.schedule, backends, self._resources, self._constant).build()

    def measuring_code(self, schedule: Schedule) -> PlanCode:
        """A function that notes when each step began and ended."""
        with self._lock:
            backends = self._backends_of(schedule)
            return _MeasuringBuilder(schedule, backends, self._resources, self._constant).build()

    def remade(
        self, signature: Signature, schedule: Schedule, costs: Sequence[float], first: int
    ) -> Plan | None:
        """The plan in lanes, for measured times; None if the single line does as well."""
        with self._lock:
            if self._is_closed:
                return None
            arrangement = arrange(schedule, costs, self._client, self._most_lanes, available_cores())
            if arrangement is None:
                return None
            self._measured[signature] = costs
            for key in [key for key in self._other_plans if key[0] == signature]:
                del self._other_plans[key]
            return self._parallel(schedule, self._backends_of(schedule), arrangement, first, PLAIN)


@dataclass
class _MeasuringBuilder(PlanBuilder):
    """Makes the code of a schedule with a note of every step's time."""

    parameters: ClassVar[tuple[str, ...]] = ("note",)
    retires_early: ClassVar[bool] = False

    def add(self, number: int, step: Step) -> None:
        self.namespace["clock"] = time.perf_counter_ns
        self.emit(step, "s = clock()")
        super().add(number, step)
        self.emit(step, f"note({number}, s)")


class _MeasuringPlan(Plan):
    """A single line for shapes that are not known beforehand; it may become a plan in lanes.

    Args:
        maker: makes that plan.
        signature: the signature.
    """

    def __init__(self, *arguments: Any, maker: PlanMaker, signature: Signature) -> None:
        super().__init__(*arguments)
        self._maker = maker
        self._signature = signature
        self._other: Plan | None = None
        self._slow_ns = WORTH_MEASURING_NS
        self._measures = False

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """As ``Plan.run``."""
        if self._other is not None:
            return self._other.run(feeds)
        if self._measures:
            return self._measured(feeds)
        started = time.perf_counter_ns()
        fetched = super().run(feeds)
        elapsed = time.perf_counter_ns() - started
        if elapsed > self._slow_ns:
            self._slow_ns, self._measures = 2 * elapsed, True
        return fetched

    def _measured(self, feeds: Sequence[Any]) -> list[Any]:
        code = self._maker.measuring_code(self.schedule)
        costs = [0.0] * len(self.schedule.steps)

        def note(number: int, started: int) -> None:
            costs[number] = (time.perf_counter_ns() - started) / 1000

        plan = Plan(self.schedule, code, self.release)
        fetched = plan.run([note, *feeds])
        self._measures = False
        self._other = self._maker.remade(self._signature, self.schedule, costs, self.first_transfer)
        return fetched
