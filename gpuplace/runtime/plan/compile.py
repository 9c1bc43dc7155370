"""Compile a signature to a plan: schedule, constants, and one lane or several.

A plan runs in lanes if at least two devices have work that takes much longer than waking a thread, judged by shapes
when the plan is compiled. If shapes are unknown, the plan starts in a single lane that measures its time. After a run
that was slow enough, the next one measures every step, and from then on the measured times apply. All other plans,
including those with real GPUs, are one straight line in the calling thread, without overhead.

``ConfigProto.inter_op_parallelism_threads`` is the maximum number of lanes in addition to the caller's (1: always a
single lane; 0: as many as there are devices), or the size of the step's own thread pool (``run_options``);
``intra_op_parallelism_threads`` is the maximum number of threads of one kernel, for the process, set by the first
session.

A traced plan does not fold constants: a trace shows every node, on its device, and every copy. TensorFlow's traces show
what is left after folding.

Source: tensorflow/core/common_runtime/direct_session.cc and process_util.cc, release 1.15 (the options).
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gpuplace.errors import ResourceExhaustedError
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import traits_of
from gpuplace.kernels.registry import KernelRegistry
from gpuplace.numerics import blas_threads, threads
from gpuplace.numerics.threads import available_cores
from gpuplace.runtime.backends.select import make_backend
from gpuplace.runtime.backends.workers import Workers, process_workers
from gpuplace.runtime.memory.allocator_text import oom_message
from gpuplace.runtime.memory.process_state import SessionDevices
from gpuplace.runtime.plan.codegen.functions import LanePart, PlanCode, PlanForm, plan_code
from gpuplace.runtime.plan.codegen.kernel_calls import Environment
from gpuplace.runtime.plan.executor import ConstantPlan, Plan, PlanOnGPU
from gpuplace.runtime.plan.parallel_plan import ParallelPlan
from gpuplace.runtime.plan.schedule.constant_folding import Folder
from gpuplace.runtime.plan.schedule.lanes import (
    Arrangement,
    arrange,
    arrange_waiting,
    estimated_costs,
    lane_schedules,
)
from gpuplace.runtime.plan.schedule.liveness import find_liveness
from gpuplace.runtime.plan.schedule.partition import PartitionOptions, Schedule, make_schedule
from gpuplace.runtime.plan.schedule.transfers import count_transfers
from gpuplace.runtime.plan.schedule.unused import drops_unused
from gpuplace.typing import Array, ConfigProto

Signature = tuple[tuple[Tensor, ...], tuple[Operation, ...], tuple[Tensor, ...]]
"""Fetched tensors, target operations, fed tensors."""

WORTH_MEASURING_NS = 1_000_000
"""Duration of a run with unknown shapes, in nanoseconds, above which lanes may be worthwhile."""


class PlanOptions(NamedTuple):
    """Options of a signature's plan: what it does besides computing, such as tracing."""

    is_traced: bool = False
    """Whether it records every call."""
    is_timed: bool = False
    """Whether it may end early."""
    most_lanes: int | None = None
    """Maximum number of lanes in addition to the caller's; None for the session's."""


PLAIN = PlanOptions()
"""Options of a plan that only computes."""


@dataclass(eq=False, repr=False)
class PlanCompiler:
    """Compiles the plans of one session; the caller holds the session's lock.

    Args:
        devices: the session's devices.
        kernels: registry that states which arguments are in host memory.
        config: the session's ``ConfigProto``.
        release: release whose error texts are used.
        resources: the session's resources for kernels.
        lock: the session's lock.
        other_plans: the session's plans with other options; they are dropped when their plain plan is recompiled.
        most_lanes: maximum number of lanes in addition to the caller's.
    """

    _devices: SessionDevices
    _kernels: KernelRegistry
    config: InitVar[Any]
    _release: str
    _resources: Any
    _lock: threading.RLock
    _other_plans: dict[tuple[Signature, PlanOptions], Plan]
    _most_lanes: int

    def __post_init__(self, config: ConfigProto) -> None:
        self.backends: dict[str, Any] = {}
        self._types = {device.name: device.device_type for device in self._devices}
        self._client = self._devices.devices[0].name
        self._folder = Folder(config, self._resources)
        self._drops_unused = drops_unused(config)
        self._constants: dict[tuple[Tensor, str, bool], Any] = {}
        self._measured: dict[Signature, Sequence[float]] = {}
        self._transfers = 0
        self._is_closed = False
        # a ``WeakSet`` would drop exceptions of signal handlers
        self._codes: list[weakref.ref[PlanCode]] = []
        self.limit_threads(int(getattr(config, "intra_op_parallelism_threads", 0) or 0))
        self._own_workers = Workers() if getattr(config, "use_per_session_threads", False) else None

    def limit_threads(self, in_an_op: int) -> None:
        """Set the number of threads per kernel for the process, unless an earlier session has.

        Args:
            in_an_op: number of threads; 0 for the environment's or machine's default.
        """
        threads.configure(in_an_op)
        blas_threads.limit(in_an_op)

    def close(self) -> None:
        """Drop all constants, and cancel running plans; threads owned by the session end."""
        self._is_closed = True
        for reference in self._codes:
            code = reference()
            if code is not None:
                code.cancel()
        self._constants, self._measured = {}, {}
        self._other_plans.clear()
        self._folder.clear()
        if self._own_workers is not None:
            self._own_workers.close()

    def make(
        self,
        signature: Signature,
        device_of: Callable[[Operation], str],
        options: PlanOptions = PLAIN,
        done: frozenset[Operation] = frozenset(),
    ) -> Plan:
        """Compile the plan of a signature.

        Args:
            signature: fetches, targets and feeds.
            device_of: function that returns the device of an operation.
            options: options of the plan.
            done: operations that have run in an earlier part of the step.

        Raises:
            InvalidArgumentError: The operations form a cycle.
            UnimplementedError: A node has no kernel.
            ResourceExhaustedError: A constant does not fit on its simulated GPU.
        """
        folder = None if done or options.is_traced else self._folder
        drops = self._drops_unused and options == PLAIN and not done
        partition = PartitionOptions(device_of, self._types, self._kernels, self._client, folder, done, drops)
        schedule = make_schedule(*signature, partition)
        backends = self._backends_of(schedule)
        first, self._transfers = self._transfers, self._transfers + count_transfers(schedule)
        if any(backend.owns_arrays for backend in backends.values()):
            code = self._code(schedule, backends, PlanForm(options.is_timed, options.is_traced))
            return PlanOnGPU(schedule, code, self._release, first)
        waiting = self.arranged_for_waits(schedule)
        if waiting is not None:
            return self._parallel(schedule, backends, waiting, first, options)
        arrangement, is_known = self._arrangement(signature, schedule, len(backends), options)
        if arrangement is not None:
            return self._parallel(schedule, backends, arrangement, first, options)
        code = self._code(schedule, backends, PlanForm(options.is_timed, options.is_traced))
        if all(step.op_type == "Const" for step in schedule.steps) and options == PLAIN:
            return ConstantPlan(schedule, code, self._release, first)
        if is_known or options != PLAIN:
            return Plan(schedule, code, self._release, first)
        return _MeasuringPlan(schedule, code, self._release, first, maker=self, signature=signature)

    def arranged_for_waits(self, schedule: Schedule) -> Arrangement | None:
        """Return the lanes of a schedule whose steps may wait for each other; None if none does.

        Args:
            schedule: the schedule.
        """
        return arrange_waiting(schedule)

    def make_function(self, signature: Signature, device: str, resources: Any) -> Plan:
        """Compile the body of a function, all on one device, as a single lane.

        Args:
            signature: its results, side effects and arguments.
            device: full name of the device.
            resources: resources for its kernels.

        Raises:
            InvalidArgumentError: The operations form a cycle.
            UnimplementedError: A node has no kernel.
        """
        partition = PartitionOptions(
            lambda op: device, self._types, self._kernels, device, self._folder, frozenset()
        )
        with self._lock:
            schedule = make_schedule(*signature, partition)
            code = self._code(
                schedule, self._backends_of(schedule), PlanForm(stays_on_device=True), resources
            )
        return Plan(schedule, code, self._release)

    def _code(
        self, schedule: Schedule, backends: Mapping[str, Any], form: PlanForm, resources: Any = None
    ) -> PlanCode:
        environment = self.environment(backends, resources or self._resources)
        code = plan_code(schedule, environment, form)
        self._codes.append(weakref.ref(code))
        return code

    def environment(self, backends: Mapping[str, Any], resources: Any) -> Environment:
        """Return the environment that the code of a plan is bound to.

        Args:
            backends: full device name to backend.
            resources: resources for kernels.
        """
        return Environment(backends, resources, self._constant)

    def _backends_of(self, schedule: Schedule) -> dict[str, Any]:
        used = {step.device for step in schedule.steps}
        used.update(slot.location.device for slot in schedule.slots)
        used.add(self._client)
        for name in used - self.backends.keys():
            self.backends[name] = make_backend(self._devices, name)
        return {name: self.backends[name] for name in self._types if name in used}

    def _arrangement(
        self, signature: Signature, schedule: Schedule, devices: int, options: PlanOptions
    ) -> tuple[Arrangement | None, bool]:
        """Return the lanes of a schedule, or None for a single lane, and whether that is final."""
        most = self._most_lanes if options.most_lanes is None else options.most_lanes
        if devices < 2 or not most or available_cores() < 2 or schedule.loops:
            return None, True
        # Its duration says nothing about its work.
        if any(traits_of(op.type).waits for op in schedule.operations):
            return None, True
        costs: Sequence[float | None] | None = self._measured.get(signature)
        if costs is None or len(costs) != len(schedule.steps):
            costs = estimated_costs(schedule)
        at_least = [cost or 0.0 for cost in costs]
        arrangement = arrange(schedule, at_least, self._client, most, available_cores())
        return arrangement, arrangement is not None or None not in costs

    def _parallel(
        self,
        schedule: Schedule,
        backends: Mapping[str, Any],
        arrangement: Arrangement,
        first: int,
        options: PlanOptions,
    ) -> Plan:
        whole = find_liveness(schedule, lambda step: False)
        schedules = lane_schedules(schedule, arrangement)
        form = PlanForm(options.is_timed, options.is_traced)
        codes = [
            self._code(part, backends, replace(form, lane=LanePart(lane.numbers, whole)))
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

    def _constant(self, tensor: Tensor, value: Array, backend: Any, on_host: bool) -> Array:
        """Return the value of a ``Const`` or of a folded operation, copied to its device once per session."""
        key = tensor, backend.device, on_host
        cached = self._constants.get(key)
        if cached is not None:
            return cached
        if isinstance(value, np.ndarray) and value.size and not any(value.strides):
            _check_fits(value, tensor, backend.device)
        if not on_host:
            value = backend.from_host(value)
            if backend.memory is not None:
                value = backend.memory.note(tensor.op.name, backend.device, value)
        self._constants[key] = value
        return value

    def measuring_code(self, schedule: Schedule) -> PlanCode:
        """Return a function that records when each step began and ended."""
        with self._lock:
            backends = self._backends_of(schedule)
            return self._code(schedule, backends, PlanForm(is_traced=True))

    def recompiled(
        self, signature: Signature, schedule: Schedule, costs: Sequence[float], first: int
    ) -> Plan | None:
        """Return the plan in lanes by measured times; None if the single lane is as fast."""
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


def _check_fits(value: Array, tensor: Tensor, device: str) -> None:
    """Raise an error if a constant that repeats one value would not fit in memory when it is materialized, as in
    TensorFlow.

    Raises:
        ResourceExhaustedError: It would not fit.
    """
    try:
        np.empty(value.shape, value.dtype)
    except (MemoryError, ValueError) as error:
        message = oom_message(value.shape, tensor.dtype.base_dtype, device, "cpu")
        raise ResourceExhaustedError(None, tensor.op, message) from error


class _MeasuringPlan(Plan):
    """A single-lane plan for unknown shapes, which may be replaced by a plan in lanes.

    Args:
        maker: compiler of that plan.
        signature: the signature.
    """

    def __init__(self, *arguments: Any, maker: PlanCompiler, signature: Signature) -> None:
        super().__init__(*arguments)
        self._maker = maker
        self._signature = signature
        self._other: Plan | None = None
        self._slow_ns = WORTH_MEASURING_NS
        self._measures = False

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Run the plan; see ``Plan.run``."""
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

        def record(number: int, started: int, outputs: tuple[Any, ...]) -> None:
            costs[number] = (time.perf_counter_ns() - started) / 1000

        plan = Plan(self.schedule, code, self.release)
        fetched = plan.run([record, *feeds])
        self._measures = False
        self._other = self._maker.recompiled(self._signature, self.schedule, costs, self.first_transfer)
        return fetched
