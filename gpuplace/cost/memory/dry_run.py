"""Dry run of a step: the session's own plan, with kernels that return unfilled arrays.

The schedule is built as a session builds it, with its order, lifetimes and memory accounting; only the functions bound
to nodes differ. A straight line is walked (``walk``); loops and branches are compiled, as in a session. The memory
behavior of each kernel is kept:

- ops whose result is the memory of their input, or a view of it (``Reshape``, ``Slice``, assignments, reads), run
  unchanged: a view of an array without memory (``unfilled``) costs nothing;
- all others return new arrays of the inferred shapes; only small numbers, which may determine loops and
  shapes, are computed, and no strings;
- arrays and lists of tensors keep their elements, and stack them without copying;
- a loop that depends on other values, or with a given trip count, runs as often as the estimate assumes, a loop of
  functions once; a conditional of functions runs the branch that the estimate times;
- ops with effects outside of the step (queues, files, printing) do not run: their results are empty arrays.

The effort is bounded (`Work`): the memory of a step that needs more is unknown.

Work without effect on memory is skipped: nodes that are alike are bound once, ops that only affect devices without
accounting are left out, and variables there need not be computed to have a value.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.memory.requests import MemoryRequests, RecordingMemory, Work
from gpuplace.cost.memory.step_facts import CallBodies, StepFacts
from gpuplace.cost.memory.unfilled import SMALL_BYTES, ResultMaker, is_whole, unfilled, unfilled_like
from gpuplace.cost.memory.walk import Walk
from gpuplace.device.device_set import DeviceSet
from gpuplace.dtypes import resource
from gpuplace.graph.op_sets import (
    ASSIGNMENTS,
    BATCH_NORMALIZATIONS,
    BRANCH_OPS,
    CALL_OPS,
    CONTROL_FLOW_OPS,
    HANDLING_VARIABLES,
    IDENTITY_OPS,
    KEEPING_WITHIN_A_STEP,
    METADATA_OPS,
    NUMBERS_OF_ELEMENTS,
    UPDATES_OF_VARIABLES,
    VARIABLE_OPS,
    WHILE_OPS,
)
from gpuplace.graph.operation import Operation
from gpuplace.kernels.compute import KernelContext, bind, find_compute, traits_of
from gpuplace.kernels.resources import LARGE_BYTES, ResourceHandle, SessionResources, VariableStorage, change
from gpuplace.kernels.tensor_lists import TensorList
from gpuplace.ops.flow.calls import function_call
from gpuplace.runtime.backends.numpy_backend import NumpyBackend
from gpuplace.runtime.plan.codegen.functions import PlanCode, PlanForm
from gpuplace.runtime.plan.codegen.kernel_calls import Environment
from gpuplace.runtime.plan.compile import PlanCompiler
from gpuplace.runtime.plan.schedule.constant_folding import Folder
from gpuplace.runtime.plan.schedule.costs import tensor_nbytes
from gpuplace.runtime.plan.schedule.partition import Schedule, Step
from gpuplace.runtime.session.function_runs import SessionFunctions
from gpuplace.typing import ConfigProto, DTypeLike

_METADATA = METADATA_OPS | {"ShapeN", "VariableShape"}
_AS_THEY_ARE = VARIABLE_OPS | {"SymbolicGradient", "RemoteCall"}
_COPYING = frozenset({"Bitcast"})
"""Ops that share the memory of their input, but whose kernels copy arrays that are not contiguous."""
_OF_LISTS = "TensorList"
"""Prefix of the types of ops on tensor lists."""


class _UnfilledArrays:
    """NumPy for kernels that keep tensors; large results are unfilled."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def zeros(shape: Sequence[int], dtype: DTypeLike) -> Any:
        """Return zeros, as NumPy does."""
        return unfilled(shape, dtype)

    @staticmethod
    def array(value: Any, copy: bool) -> Any:
        """Return a copy, as NumPy does."""
        return unfilled_like(value)

    @staticmethod
    def add(first: Any, second: Any) -> Any:
        """Return the sum of two arrays of equal shape."""
        return np.add(first, second) if first.nbytes <= SMALL_BYTES else unfilled_like(first)

    @staticmethod
    def stack(values: Sequence[Any]) -> Any:
        """Return the arrays stacked along a new first axis."""
        first = values[0]
        if first.nbytes * len(values) <= SMALL_BYTES:
            return np.stack(values)
        return unfilled((len(values), *first.shape), first.dtype)

    @staticmethod
    def concatenate(values: Sequence[Any]) -> Any:
        """Return the arrays joined along the first axis."""
        if sum([value.nbytes for value in values]) <= SMALL_BYTES:
            return np.concatenate(values)
        return unfilled((sum(map(len, values)), *values[0].shape[1:]), values[0].dtype)


_UNFILLED = _UnfilledArrays()


class _DryBackend(NumpyBackend):
    """Backend that copies only small arrays between memories."""

    def from_host(self, value: Any) -> Any:
        """Copy a small array; see `NumpyBackend.from_host`."""
        return value if self.memory is None else unfilled_like(value)

    def to_host(self, value: Any) -> Any:
        """Copy a small array; see `NumpyBackend.to_host`."""
        return value if self.memory is None else unfilled_like(value)

    def copier_from(self, sender: Any) -> Callable[[Any], Any]:
        """Return a function that copies small arrays; see `NumpyBackend.copier_from`."""
        return unfilled_like


class DryRun:
    """Devices and plans of a session for steps that are not computed.

    Args:
        devices: the devices.
        kernels: registry that states which arguments are in host memory.
        config: the ``ConfigProto``.
        release: release whose rules apply.
        facts: known facts about the step.
        gpus: full names of the devices with memory accounting.
    """

    def __init__(
        self,
        devices: DeviceSet,
        kernels: Any,
        config: ConfigProto,
        release: str,
        facts: StepFacts,
        gpus: Container[str],
    ) -> None:
        self._step, self._branches, self._bodies = facts, facts.branches(), CallBodies(facts.shapes.engine)
        self._work = Work(len(facts.graph.get_operations()))
        self.assumed: dict[str, None] = {}
        """Assumptions about nodes in functions, one sentence each."""
        self.unknown = ""
        """Why the step may need more memory, or ``""``."""
        self._graph = facts.graph
        self._facts: dict[tuple[str, str], _Facts] = {}
        self._alike: dict[tuple[Any, str], Callable[..., Any]] = {}
        self._results: dict[Any, tuple[ResultMaker, bool]] = {}
        self.resources = SessionResources()
        self.maker = _DryCompiler(self, devices, kernels, config, release)
        self.resources.functions = SessionFunctions(self.maker)
        self.requests = MemoryRequests()
        """Requests so far."""
        numbers = itertools.count()
        self.memories: dict[str, RecordingMemory] = {}
        for device in devices:
            memory = None
            if device.name in gpus:
                memory = RecordingMemory(device.name, self.requests, numbers, self.memories, self._work)
                self.memories[device.name] = memory
            self.maker.backends[device.name] = _DryBackend(device.name, device.device_type, memory)

    def run(self, signature: Any, device_of: Callable[[Operation], str], values: Sequence[Any]) -> None:
        """Run a step.

        Args:
            signature: fetched tensors, target operations, fed tensors.
            device_of: function that returns the device of an operation.
            values: fed values.

        Raises:
            OpError: The step cannot be planned.
        """
        plan = self.maker.make(signature, device_of)
        plan.run(values)
        self.collect()

    def collect(self) -> None:
        """Record the memory that has been freed by now."""
        for memory in self.memories.values():
            memory.collect()

    def close(self) -> None:
        """Drop all arrays; memory freed by that is not recorded."""
        for memory in self.memories.values():
            memory.requests = MemoryRequests()
        self.resources.is_closed = True
        self.maker.close()
        self.resources.clear()

    def set_unfilled_values(
        self, variables: Iterable[Operation], device_of: Callable[[Operation], str]
    ) -> None:
        """Set variables to values that are not computed.

        Args:
            variables: reference variables, or handles of resource variables, of known shapes.
            device_of: function that returns the device of an operation.
        """
        for op in variables:
            variable_or_handle = bind(op.type, "CPU", np, op, self.resources, device_of(op))()
            storage = (
                variable_or_handle.variable
                if isinstance(variable_or_handle, ResourceHandle)
                else variable_or_handle
            )
            value = unfilled(op.attrs["shape"].known_sizes, storage.dtype.as_numpy_dtype)
            memory = self.memories.get(device_of(op))
            storage.assign(value if memory is None else memory.note(storage.name, device_of(op), value))

    def bind(
        self, op_type: str, device_type: str, xp: Any, op: Any, session: Any, device: str = ""
    ) -> Callable[..., Any]:
        """Return the function that replaces an operation's kernel; arguments as in ``kernels.compute.bind``."""
        is_known = op.graph is self._graph
        if op_type == "LoopCond":
            step = self._step
            trips, nodes = (step.trips(op.name), step.trip_work(op.name)) if is_known else (None, 1)
            return _Condition(trips, nodes, self._work)
        if is_known and op.name in self._branches and len(op.outputs) == 1:
            return _Branch(np.array(self._branches[op.name], op.outputs[0].dtype.as_numpy_dtype))
        if op_type in WHILE_OPS:
            return self._body_once(op, KernelContext(op, device, device_type, session, xp))
        if op_type in BRANCH_OPS:
            return self._one_branch(op, KernelContext(op, device, device_type, session, xp))
        if op_type in CALL_OPS:
            return self._call(op, bind(op_type, device_type, xp, op, session, device))
        facts = self._facts.get((op_type, device_type))
        if facts is None:
            facts = self._facts[op_type, device_type] = _facts_of(op, device_type)
        if facts.runs or op_type in op.graph.functions:
            return bind(op_type, device_type, xp, op, session, device)
        likeness = self._step.likeness(op.name) if is_known else None
        key = likeness, device_type
        replacement = None if likeness is None else self._alike.get(key)
        if replacement is None:
            replacement, knows_node = self._replacement(facts, likeness, device_type, xp, op, session, device)
            if likeness is not None and not knows_node:
                self._alike[key] = replacement
        return replacement

    def _results_of(self, op: Operation, likeness: Any) -> tuple[ResultMaker, bool]:
        """Return the result maker of an operation, and whether it works on a variable; cached for like nodes."""
        results = None if likeness is None else self._results.get(likeness)
        if results is None:
            maker = ResultMaker(op, self._step.sizes if op.graph is self._graph else _nothing_known)
            results = maker, _has_variables(op)
            if likeness is not None:
                self._results[likeness] = results
        return results

    def _replacement(
        self, facts: _Facts, likeness: Any, device_type: str, xp: Any, op: Any, session: Any, device: str
    ) -> tuple[Callable[..., Any], bool]:
        """Return the function that replaces an operation's kernel, and whether it depends on the node itself."""
        op_type, op_def = op.type, op.op_def
        is_stateful = op_def is None or op_def.is_stateful
        maker, has_variables = self._results_of(op, likeness)
        keeps_to_step = facts.keeps_to_step or has_variables
        is_list = op_type.startswith(_OF_LISTS)
        if facts.is_outside or (is_stateful and not keeps_to_step and not is_list):
            return maker.new, False
        if maker.is_known and op.graph is self._graph and self._step.is_guess(op.name):
            return maker.new, True
        if facts.keeps_to_step or is_list:
            kernel = self._counted(op_type, bind(op_type, device_type, _UNFILLED, op, session, device))
            return maker.if_fails(kernel) if is_list else kernel, True
        kernel = bind(op_type, device_type, xp, op, session, device)
        if op_type in _METADATA or op_type in HANDLING_VARIABLES:
            return kernel, facts.knows_node
        if facts.hands_on:
            return (kernel if has_variables else maker.if_fails(kernel)), facts.knows_node
        if has_variables and facts.updates:
            return _updating(op, kernel), True
        if not has_variables and any(tensor.dtype.is_handle for tensor in (*op.inputs, *op.outputs)):
            return maker.if_fails(kernel), facts.knows_node
        if op_type in BATCH_NORMALIZATIONS:
            return maker.probing(kernel), False  # bound to the attributes alone
        if not maker.is_known:
            return maker.unless_inferred(op, kernel, partial(self._report, op, device)), True
        if maker.nbytes > SMALL_BYTES:
            return maker.new, False
        return maker.unless_small(kernel), facts.knows_node

    def _counted(self, op_type: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return a kernel on tensor lists and arrays that counts the elements it processes."""
        at, work = NUMBERS_OF_ELEMENTS.get(op_type), self._work

        def run(*inputs: Any) -> Any:
            if at is not None:
                work.spend(len(inputs[at]) if inputs[at].ndim else int(inputs[at]))
            for value in inputs:
                if type(value) is TensorList:
                    work.spend(len(value.elements) // _COPIED_AT_ONCE)
            return kernel(*inputs)

        return run

    def _call(self, op: Operation, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that provides the facts about the function's body while the body runs."""

        def run(*values: Any) -> Any:
            self._work.spend(1)
            with self._bodies.inside(op, op.attrs["f"].name, 0):
                return kernel(*values)

        return run

    def _one_branch(self, op: Operation, context: KernelContext) -> Callable[..., Any]:
        """Return a conditional of functions that runs the branch that the estimate times."""

        return lambda index, *values: self._called(op, self._bodies.branch(op, values), 1, context, values)

    def _body_once(self, op: Operation, context: KernelContext) -> Callable[..., Any]:
        """Return a loop of functions that runs one iteration, as the estimate assumes."""
        return lambda *values: self._called(op, op.attrs["body"].name, 0, context, values)

    def _called(
        self, op: Operation, name: str, first: int, context: KernelContext, values: Sequence[Any]
    ) -> Any:
        self._work.spend(1)
        with self._bodies.inside(op, name, first):
            results = function_call(name, context)(values)
        return results[0] if len(results) == 1 else tuple(results)

    def _report(self, op: Operation, device: str, is_bounded: bool) -> None:
        """Record that sizes of a node in a function are assumed or unknown."""
        size = "the largest possible number" if is_bounded else "1"
        self.assumed[f"Unknown sizes of '{op.name}' ({op.type}) are assumed to be {size}"] = None
        if not is_bounded and device in self.memories and not self.unknown:
            self.unknown = f"the shape and size of '{op.name}' ({op.type}) are unknown"


_COPIED_AT_ONCE = 64
"""List elements that are copied in the time of one allocation."""


def _nothing_known(node: str, output: int) -> None:
    """Return None: no shapes are known beyond those of the graph."""


class _Condition:
    """The condition of a loop.

    Args:
        trips: number of times it holds per entry of the loop; None to use its own value.
        nodes: number of nodes in an iteration.
        work: budget that iterations count against.
    """

    def __init__(self, trips: int | None, nodes: int, work: Work) -> None:
        self._trips, self._nodes, self._work, self._done = trips, nodes, work, 0

    def __call__(self, value: Any) -> Any:
        self._work.spend(self._nodes)
        if self._trips is None:
            return value
        holds = self._done < self._trips
        self._done = self._done + 1 if holds else 0
        return np.array(holds)


class _Branch:
    """The predicate or index of a conditional, set to the branch that the estimate assumes to run.

    Args:
        value: the predicate or index.
    """

    def __init__(self, value: np.ndarray) -> None:
        self._value = value

    def __call__(self, *inputs: Any) -> Any:
        return self._value.copy()


class _Facts(NamedTuple):
    """Facts about an op type on a device type."""

    runs: bool
    """Whether its kernel runs unchanged."""
    is_outside: bool
    """Whether it has effects outside of the step, calls the program, or has no kernel."""
    keeps_to_step: bool
    """Whether it keeps tensors only within a step."""
    updates: bool
    """Whether it changes variables and has no other output."""
    hands_on: bool
    """Whether it only passes its input through, or returns a view of it."""
    knows_node: bool
    """Whether its kernel is bound to a node, not only to attributes."""


def _facts_of(op: Operation, device_type: str) -> _Facts:
    op_type, op_def = op.type, op.op_def
    compute, traits = find_compute(op_type, device_type), traits_of(op_type)
    return _Facts(
        compute is not None and op_type in _AS_THEY_ARE,
        compute is None or traits.reads_outside or traits.calls_program or traits.waits,
        op_type.startswith(KEEPING_WITHIN_A_STEP),
        op_def is not None and all(arg.is_ref for arg in op_def.outputs),
        (traits.shares and op_type not in _COPYING)
        or traits.views
        or op_type in CONTROL_FLOW_OPS | IDENTITY_OPS,
        compute is None or compute.is_binder or compute.wants_context,
    )


class _Folder(Folder):
    """Constant folding without calls into the program, which computes only small results."""

    def _may_fold(self, op: Operation) -> bool:
        return not traits_of(op.type).calls_program and super()._may_fold(op)

    def _compute(self, op: Operation, constant: Any) -> tuple[Any, ...] | None:
        results = ResultMaker(op, _nothing_known)
        input_bytes = sum(tensor_nbytes(tensor) or 0 for tensor in op.inputs)
        if not results.has_text and input_bytes + results.nbytes <= SMALL_BYTES:
            return super()._compute(op, constant)
        if not results.is_known:
            return None
        folded = results.new()
        return folded if isinstance(folded, tuple) else (folded,)


class _DryCompiler(PlanCompiler):
    """Builds plans that compute nothing, in a single lane."""

    def __init__(self, owner: DryRun, devices: Any, kernels: Any, config: ConfigProto, release: str) -> None:
        self._owner = owner
        super().__init__(devices, kernels, config, release, owner.resources, threading.RLock(), {}, 0)
        self._folder = _Folder(config, owner.resources)

    def limit_threads(self, in_an_op: int) -> None:
        """Leave the threads of the process unchanged."""

    def arranged_for_waits(self, schedule: Schedule) -> None:
        """Return None: nothing waits, and the order of allocations in several threads would be arbitrary."""

    def _trimmed(self, schedule: Schedule, backends: Mapping[str, Any]) -> Schedule:
        """Return a straight schedule without steps that have no effect on an accounted memory."""
        accounted = {name for name, backend in backends.items() if backend.memory is not None}
        needed = set(schedule.fetches)
        kept: list[Step] = []
        for step in reversed(schedule.steps):
            if (
                step.device in accounted
                or not needed.isdisjoint(step.outputs)
                or any(slot.location.device in accounted for slot in step.inputs)
                or not _only_gives(step)
            ):
                kept.append(step)
                needed.update(step.inputs)
        return replace(schedule, steps=tuple(reversed(kept)))

    def _code(
        self, schedule: Schedule, backends: Mapping[str, Any], form: PlanForm, resources: Any = None
    ) -> PlanCode:
        if form != PlanForm() or not schedule.is_straight:
            return super()._code(schedule, backends, form, resources)
        schedule = self._trimmed(schedule, backends)
        walk = Walk(schedule, self.environment(backends, resources or self._resources), self._release)
        return PlanCode(walk, (), [None], {}, {}, (), ())

    def environment(self, backends: Mapping[str, Any], resources: Any) -> Environment:
        """Return the environment of `PlanCompiler`, with the replacements of kernels."""
        return Environment(
            backends,
            resources,
            self._constant,
            shows_every_op=True,
            bind=self._owner.bind,
            binds_conditions=True,
        )


def _only_gives(step: Step) -> bool:
    """Whether a step only returns results, or changes a variable's value without changing its size."""
    op = step.op
    if op is None:
        return True
    if op.op_def is None or op.type in ASSIGNMENTS:
        return False
    return not op.op_def.is_stateful or op.type.startswith(UPDATES_OF_VARIABLES) or op.type in VARIABLE_OPS


def _has_variables(op: Operation) -> bool:
    """Whether an op works on a variable, beyond reading it as a saver does.

    Handles of other resources are recognized by the op type.
    """
    if op.op_def is not None and any(arg.is_ref for arg in op.op_def.inputs):
        return not op.type.startswith(("Queue", "Reader", "Barrier", "Accumulator", "Lookup", "SparseAccum"))
    handles = [tensor for tensor in op.inputs if tensor.dtype.base_dtype is resource]
    return (
        bool(handles)
        and any(
            part in op.type
            for part in ("Variable", "VarIs", "ResourceApply", "ResourceSparseApply", "ResourceScatter")
        )
        or op.type.startswith(("ResourceGather", "ResourceStridedSliceAssign"))
    )


def _updating(op: Operation, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel for small variables, and its memory behavior alone for large ones."""
    gives_reference = bool(op.outputs)

    def run(*inputs: Any) -> Any:
        resources = [getattr(value, "resource", value) for value in inputs]
        storages = [storage for storage in resources if isinstance(storage, VariableStorage)]
        if sum([value.nbytes for value in (*storages, *inputs) if hasattr(value, "nbytes")]) <= SMALL_BYTES:
            return kernel(*inputs)
        change(storages, _unfilled_values)
        return inputs[0] if gives_reference else ()

    return run


def _unfilled_values(values: Sequence[Any], are_own: Sequence[bool]) -> list[Any]:
    """Return new values; as in ``kernels.resources.change``, an array without other references is overwritten."""
    own = [
        value.nbytes >= LARGE_BYTES and sys.getrefcount(value) <= _REFERENCES and is_whole(value)
        for value in values
    ]
    return [value if is_own else unfilled_like(value) for value, is_own in zip(values, own, strict=True)]


def _references(values: Sequence[Any], are_own: Sequence[bool]) -> int:
    """Return the number of references to a list item in a loop like that of `_unfilled_values`."""
    return max([value.nbytes * 0 + sys.getrefcount(value) for value in values])


_REFERENCES = _references([np.zeros(1)], [False])
"""Reference count of an array that nobody else holds."""
