"""A step without its arithmetic: the session's own plan, whose kernels hand out arrays that nobody fills.

The schedule is made as a session makes it, with its order, its lifetimes and its counting of memory; only what a node
is bound to differs. A straight line is walked (``walk``); loops and branches are compiled, as in a session. What a
kernel does with memory is kept:

- ops whose result is the memory of their input, or a view of it (``Reshape``, ``Slice``, assignments, reads), run as
  they are: a view of an array that has no memory (``unfilled``) costs nothing;
- all others give new arrays of the inferred shapes; only small numbers, which decide about loops and shapes, are
  computed, and nothing of strings;
- arrays and lists of tensors keep their elements, and stack them without copying;
- a loop that hangs on something else, or of which the user says how often it runs, runs as often as the estimate takes
  it to, one of functions once; of a conditional of functions the branch runs that the estimate times;
- whatever reaches outside (queues, files, printing) does not run: its results are empty arrays.

How much is done is bounded (`Work`): the memory of a step that takes more is not known.

Nothing is done that changes nothing: nodes alike are bound once, what only happens where memory is not accounted for
is left out, and variables there need not be computed to have a value.
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

from gpuplace.cost.memory.requests import AskingMemory, MemoryRequests, Work
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
from gpuplace.runtime.plan.compile import PlanMaker
from gpuplace.runtime.plan.schedule.constant_folding import Folder
from gpuplace.runtime.plan.schedule.costs import tensor_nbytes
from gpuplace.runtime.plan.schedule.partition import Schedule, Step
from gpuplace.runtime.session.function_runs import SessionFunctions

_METADATA = METADATA_OPS | {"ShapeN", "VariableShape"}
_AS_THEY_ARE = VARIABLE_OPS | {"SymbolicGradient", "RemoteCall"}
_COPYING = frozenset({"Bitcast"})
"""Ops with the memory of their input whose kernels copy what does not lie in one piece."""
_OF_LISTS = "TensorList"
"""How the types of ops on lists of tensors begin."""


class _UnfilledArrays:
    """NumPy for kernels that keep tensors: what they make of large arrays is not filled."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def zeros(shape: Sequence[int], dtype: Any) -> Any:
        """As of NumPy."""
        return unfilled(shape, dtype)

    @staticmethod
    def array(value: Any, copy: bool) -> Any:
        """As of NumPy."""
        return unfilled_like(value)

    @staticmethod
    def add(one: Any, other: Any) -> Any:
        """As of NumPy, of equal shapes."""
        return np.add(one, other) if one.nbytes <= SMALL_BYTES else unfilled_like(one)

    @staticmethod
    def stack(values: Sequence[Any]) -> Any:
        """As of NumPy."""
        first = values[0]
        if first.nbytes * len(values) <= SMALL_BYTES:
            return np.stack(values)
        return unfilled((len(values), *first.shape), first.dtype)

    @staticmethod
    def concatenate(values: Sequence[Any]) -> Any:
        """As of NumPy."""
        if sum([value.nbytes for value in values]) <= SMALL_BYTES:
            return np.concatenate(values)
        return unfilled((sum(map(len, values)), *values[0].shape[1:]), values[0].dtype)


_UNFILLED = _UnfilledArrays()


class _DryBackend(NumpyBackend):
    """A device between whose memories nothing is copied but what is small."""

    def from_host(self, value: Any) -> Any:
        """As `NumpyBackend.from_host`."""
        return value if self.memory is None else unfilled_like(value)

    def to_host(self, value: Any) -> Any:
        """As `NumpyBackend.to_host`."""
        return value if self.memory is None else unfilled_like(value)

    def copier_from(self, sender: Any) -> Callable[[Any], Any]:
        """As `NumpyBackend.copier_from`."""
        return unfilled_like


class DryRun:
    """A session's devices and plans for steps that are not computed.

    Args:
        devices: the devices.
        kernels: says which arguments are in host memory.
        config: the ``ConfigProto``.
        release: whose rules.
        facts: what is known of the step.
        gpus: full names of the devices whose memory is accounted for.
    """

    def __init__(
        self,
        devices: DeviceSet,
        kernels: Any,
        config: Any,
        release: str,
        facts: StepFacts,
        gpus: Container[str],
    ) -> None:
        self._step, self._branches, self._bodies = facts, facts.branches(), CallBodies(facts.shapes.engine)
        self._work = Work(len(facts.graph.get_operations()))
        self.assumed: dict[str, None] = {}
        """What had to be assumed of nodes in functions, a sentence each."""
        self.unknown = ""
        """Why the step may ask for more; ``""`` where nothing is unknown."""
        self._graph = facts.graph
        self._facts: dict[tuple[str, str], _Facts] = {}
        self._alike: dict[tuple[Any, str], Callable[..., Any]] = {}
        self._results: dict[Any, tuple[ResultMaker, bool]] = {}
        self.resources = SessionResources()
        self.maker = _DryMaker(self, devices, kernels, config, release)
        self.resources.functions = SessionFunctions(self.maker)
        self.requests = MemoryRequests()
        """What has been asked for up to now."""
        numbers = itertools.count()
        self.memories: dict[str, AskingMemory] = {}
        for device in devices:
            memory = None
            if device.name in gpus:
                memory = AskingMemory(device.name, self.requests, numbers, self.memories, self._work)
                self.memories[device.name] = memory
            self.maker.backends[device.name] = _DryBackend(device.name, device.device_type, memory)

    def run(self, signature: Any, device_of: Callable[[Operation], str], values: Sequence[Any]) -> None:
        """Runs a step.

        Args:
            signature: fetched tensors, target operations, fed tensors.
            device_of: the placement.
            values: what is fed.

        Raises:
            OpError: the step cannot be planned.
        """
        plan = self.maker.make(signature, device_of)
        plan.run(values)
        self.collect()

    def collect(self) -> None:
        """Notes what has been given back by now."""
        for memory in self.memories.values():
            memory.collect()

    def close(self) -> None:
        """Gives up all arrays; what is given back by that is not among the requests."""
        for memory in self.memories.values():
            memory.requests = MemoryRequests()
        self.resources.is_closed = True
        self.maker.close()
        self.resources.clear()

    def give_values(self, variables: Iterable[Operation], device_of: Callable[[Operation], str]) -> None:
        """Gives variables values that nobody computes.

        Args:
            variables: reference variables, or the handles of others, of known shapes.
            device_of: the placement.
        """
        for op in variables:
            made = bind(op.type, "CPU", np, op, self.resources, device_of(op))()
            storage = made.variable if isinstance(made, ResourceHandle) else made
            value = unfilled(op.attrs["shape"].known_sizes, storage.dtype.as_numpy_dtype)
            memory = self.memories.get(device_of(op))
            storage.assign(value if memory is None else memory.note(storage.name, device_of(op), value))

    def bind(
        self, op_type: str, device_type: str, xp: Any, op: Any, session: Any, device: str = ""
    ) -> Callable[..., Any]:
        """What stands for an operation; arguments as of ``kernels.compute.bind``."""
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
        made = None if likeness is None else self._alike.get(key)
        if made is None:
            made, knows_node = self._stand_in(facts, likeness, device_type, xp, op, session, device)
            if likeness is not None and not knows_node:
                self._alike[key] = made
        return made

    def _results_of(self, op: Operation, likeness: Any) -> tuple[ResultMaker, bool]:
        """What makes the results of an operation, and whether it works on a variable; nodes alike have one answer."""
        found = None if likeness is None else self._results.get(likeness)
        if found is None:
            makes = ResultMaker(op, self._step.sizes if op.graph is self._graph else _nothing_known)
            found = makes, _has_variables(op)
            if likeness is not None:
                self._results[likeness] = found
        return found

    def _stand_in(
        self, facts: _Facts, likeness: Any, device_type: str, xp: Any, op: Any, session: Any, device: str
    ) -> tuple[Callable[..., Any], bool]:
        """What stands for an operation that does not run as it is, and whether it knows the node itself."""
        op_type, op_def = op.type, op.op_def
        is_stateful = op_def is None or op_def.is_stateful
        makes, has_variables = self._results_of(op, likeness)
        keeps_to_step = facts.keeps_to_step or has_variables
        is_list = op_type.startswith(_OF_LISTS)
        if facts.is_outside or (is_stateful and not keeps_to_step and not is_list):
            return makes.new, False
        if makes.is_known and op.graph is self._graph and self._step.is_guess(op.name):
            return makes.new, True
        if facts.keeps_to_step or is_list:
            kernel = self._counted(op_type, bind(op_type, device_type, _UNFILLED, op, session, device))
            return makes.if_fails(kernel) if is_list else kernel, True
        kernel = bind(op_type, device_type, xp, op, session, device)
        if op_type in _METADATA or op_type in HANDLING_VARIABLES:
            return kernel, facts.knows_node
        if facts.hands_on:
            return (kernel if has_variables else makes.if_fails(kernel)), facts.knows_node
        if has_variables and facts.updates:
            return _updating(op, kernel), True
        if not has_variables and any(tensor.dtype.is_handle for tensor in (*op.inputs, *op.outputs)):
            return makes.if_fails(kernel), facts.knows_node
        if op_type in BATCH_NORMALIZATIONS:
            return makes.probing(kernel), False  # bound to the attributes alone
        if not makes.is_known:
            return makes.unless_inferred(op, kernel, partial(self._report, op, device)), True
        if makes.nbytes > SMALL_BYTES:
            return makes.new, False
        return makes.unless_small(kernel), facts.knows_node

    def _counted(self, op_type: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that keeps tensors, which counts how many it goes through."""
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
        """A call, which says what is known of the body while that runs."""

        def run(*values: Any) -> Any:
            self._work.spend(1)
            with self._bodies.inside(op, op.attrs["f"].name, 0):
                return kernel(*values)

        return run

    def _one_branch(self, op: Operation, context: KernelContext) -> Callable[..., Any]:
        """The branch of a conditional of functions that the estimate times."""

        return lambda index, *values: self._called(op, self._bodies.branch(op, values), 1, context, values)

    def _body_once(self, op: Operation, context: KernelContext) -> Callable[..., Any]:
        """One trip of a loop of functions, as it is taken to run."""
        return lambda *values: self._called(op, op.attrs["body"].name, 0, context, values)

    def _called(
        self, op: Operation, name: str, first: int, context: KernelContext, values: Sequence[Any]
    ) -> Any:
        self._work.spend(1)
        with self._bodies.inside(op, name, first):
            made = function_call(name, context)(values)
        return made[0] if len(made) == 1 else tuple(made)

    def _report(self, op: Operation, device: str, is_bounded: bool) -> None:
        """Notes that sizes of a node in a function are assumed, or not known."""
        size = "as many as there can be" if is_bounded else "1"
        self.assumed[f"Unknown sizes of '{op.name}' ({op.type}) are taken as {size}"] = None
        if not is_bounded and device in self.memories and not self.unknown:
            self.unknown = f"the shape of '{op.name}' ({op.type}) is not known, nor how much it takes"


_COPIED_AT_ONCE = 64
"""Elements of a list that are copied in the time of one allocation."""


def _nothing_known(node: str, output: int) -> None:
    """The shapes of nodes of which only the graph tells."""


class _Condition:
    """The condition of a loop.

    Args:
        trips: how often it holds whenever the loop is entered; None: it says so itself.
        nodes: nodes of a trip.
        work: what trips are counted by.
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
    """The predicate, or the index, of a conditional: the branch that the estimate takes to run.

    Args:
        value: the predicate or index.
    """

    def __init__(self, value: np.ndarray) -> None:
        self._value = value

    def __call__(self, *inputs: Any) -> Any:
        return self._value.copy()


class _Facts(NamedTuple):
    """What a dry run asks of an op type on a device type."""

    runs: bool
    """Whether it runs as it is."""
    is_outside: bool
    """Whether it reaches outside, into the program too, or nothing computes it."""
    keeps_to_step: bool
    updates: bool
    """Whether it changes variables, and gives nothing else out."""
    hands_on: bool
    """Whether it computes nothing, but hands on, or shows a part of, what it takes."""
    knows_node: bool
    """Whether its function is bound to a node, and not to its attributes alone."""


def _facts_of(op: Operation, device_type: str) -> _Facts:
    op_type, op_def = op.type, op.op_def
    found, traits = find_compute(op_type, device_type), traits_of(op_type)
    return _Facts(
        found is not None and op_type in _AS_THEY_ARE,
        found is None or traits.reads_outside or traits.calls_program or traits.waits,
        op_type.startswith(KEEPING_WITHIN_A_STEP),
        op_def is not None and all(arg.is_ref for arg in op_def.outputs),
        (traits.shares and op_type not in _COPYING)
        or traits.views
        or op_type in CONTROL_FLOW_OPS | IDENTITY_OPS,
        found is None or found.is_binder or found.wants_context,
    )


class _Folder(Folder):
    """Folds what no function of the program is called for, and computes it where it is small."""

    def _may_fold(self, op: Operation) -> bool:
        return not traits_of(op.type).calls_program and super()._may_fold(op)

    def _computed(self, op: Operation, constant: Any) -> tuple[Any, ...] | None:
        results = ResultMaker(op, _nothing_known)
        given = sum(tensor_nbytes(tensor) or 0 for tensor in op.inputs)
        if not results.has_text and given + results.nbytes <= SMALL_BYTES:
            return super()._computed(op, constant)
        if not results.is_known:
            return None
        made = results.new()
        return made if isinstance(made, tuple) else (made,)


class _DryMaker(PlanMaker):
    """Makes plans that compute nothing, in a single line."""

    def __init__(self, owner: DryRun, devices: Any, kernels: Any, config: Any, release: str) -> None:
        self._owner = owner
        super().__init__(devices, kernels, config, release, owner.resources, threading.RLock(), {}, 0)
        self._folder = _Folder(config, owner.resources)

    def limit_threads(self, in_an_op: int) -> None:
        """Leaves the process as it is."""

    def arranged_for_waits(self, schedule: Schedule) -> None:
        """None: nothing waits where nothing is computed, and what threads ask for comes in an order of its own."""

    def _trimmed(self, schedule: Schedule, backends: Mapping[str, Any]) -> Schedule:
        """A straight schedule without what no memory hears of."""
        heard = {name for name, backend in backends.items() if backend.memory is not None}
        needed = set(schedule.fetches)
        kept: list[Step] = []
        for step in reversed(schedule.steps):
            if (
                step.device in heard
                or not needed.isdisjoint(step.outputs)
                or any(slot.location.device in heard for slot in step.inputs)
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
        """As `PlanMaker.environment`, with what stands for kernels."""
        return Environment(
            backends,
            resources,
            self._constant,
            shows_every_op=True,
            bind=self._owner.bind,
            binds_conditions=True,
        )


def _only_gives(step: Step) -> bool:
    """Whether a step does nothing but give its results, or change what a variable's value is but not its size."""
    op = step.op
    if op is None:
        return True
    if op.op_def is None or op.type in ASSIGNMENTS:
        return False
    return not op.op_def.is_stateful or op.type.startswith(UPDATES_OF_VARIABLES) or op.type in VARIABLE_OPS


def _has_variables(op: Operation) -> bool:
    """Whether an op works on a variable, and does not just read it, as what saves it does.

    What has a handle of something else is told by its name.
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
    """The kernel of small variables; of large ones what it does with their memory."""
    gives_reference = bool(op.outputs)

    def run(*inputs: Any) -> Any:
        storages = [getattr(one, "resource", one) for one in inputs]
        storages = [one for one in storages if isinstance(one, VariableStorage)]
        if sum([one.nbytes for one in (*storages, *inputs) if hasattr(one, "nbytes")]) <= SMALL_BYTES:
            return kernel(*inputs)
        change(storages, _unfilled_values)
        return inputs[0] if gives_reference else ()

    return run


def _unfilled_values(values: Sequence[Any], are_own: Sequence[bool]) -> list[Any]:
    """New values: an array that nobody else has is written over, as by ``kernels.resources.change``."""
    own = [
        value.nbytes >= LARGE_BYTES and sys.getrefcount(value) <= _REFERENCES and is_whole(value)
        for value in values
    ]
    return [value if is_own else unfilled_like(value) for value, is_own in zip(values, own, strict=True)]


def _references(values: Sequence[Any], are_own: Sequence[bool]) -> int:
    """References to an item of a list where it is looked at as in `_unfilled_values`."""
    return max([value.nbytes * 0 + sys.getrefcount(value) for value in values])


_REFERENCES = _references([np.zeros(1)], [False])
