"""``tf.CriticalSection``: functions that run one at a time, in all steps of a session.

    x ──> (group) ┄┄> MutexLock ┄┄> ops that the call adds ┄┄> ConsumeMutexLock ┄┄> Identity ──> result
                          ^                                           ^
    MutexV2 (handle) ─────┘               lock (variant) ─────────────┘

The function's inputs from the surrounding graph are computed before the lock is taken, so that nothing waits for them
while holding it.

Source: tensorflow/python/ops/critical_section_ops.py, release 1.15 (nodes added, messages);
tensorflow/core/kernels/mutex_ops.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.operation import CLASS_ATTR, Operation, Tensor, add_control
from gpuplace.graph.traced_graph import init_scope
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops import nest
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.flow import control
from gpuplace.ops.support import new
from gpuplace.tf1.flow.mutex import HeldMutex, Mutex
from gpuplace.tf1.input.queue_kernels import own_resource, resource_of
from gpuplace.typing import Array, ArrayModule

__all__ = ["CriticalSection"]

CRITICAL_SECTIONS = "critical_sections"
"""The collection of the sections."""
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"
"""The collection of executions in critical sections."""
_TYPE_NAME = "N10tensorflow12_GLOBAL__N_15MutexE"


class _Execution(NamedTuple):
    """One execution in a critical section."""

    op: Operation
    """The op that takes the lock."""
    handle: Tensor
    """The handle of the section."""
    resources: list[Tensor]
    """The resource handles that the function uses."""
    exclusive_resource_access: bool
    """Whether functions of other sections may not use these resources."""


class CriticalSection:
    """A section in which functions run one at a time.

    >>> import gpuplace as tf
    >>> count = tf.get_variable("count", initializer=0.0, use_resource=True)
    >>> def step():
    ...     seen = count.read_value()
    ...     with tf.control_dependencies([seen]), tf.control_dependencies([count.assign_add(1.0)]):
    ...         return tf.identity(seen)
    >>> section = CriticalSection()
    >>> both = section.execute(step) + section.execute(step)
    >>> with tf.Session() as session:
    ...     session.run(count.initializer)
    ...     float(session.run(both))
    1.0

    Args:
        name: name of the section; None: ``CriticalSection``.
        shared_name: sections that share a name share one lock; None: the section's name.
        critical_section_def: not supported, as in TensorFlow.
        import_scope: not supported.

    Raises:
        ValueError: both a name and a definition are given.
        NotImplementedError: a definition is given.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def and name is not None:
            raise ValueError("critical_section_def and shared_name are mutually exclusive.")
        if critical_section_def:
            raise NotImplementedError("Not yet implemented")
        with name_scope(name, "CriticalSection") as scope, init_scope():
            container = get_default_graph().scopes.container
            shared = scope if shared_name is None else shared_name
            self._handle = new("MutexV2", scope, shared_name=shared, container=container)
        get_default_graph().add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        """Name of the section."""
        return self._handle.op.name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Run a function in the section.

        Args:
            fn: takes no arguments, returns tensors and operations in any structure.
            exclusive_resource_access: whether functions of other sections may not use the same resources.
            name: name of the scope.

        Returns:
            The function's results, in the same structure.

        Raises:
            ValueError: the function uses the section itself, or resources of another section.
        """
        graph = get_default_graph()
        with name_scope(name, "critical_section_execute"):
            lock = new("MutexLock", mutex=self._handle)
            before = len(graph)
            with graph.control_dependencies([lock]):
                results = fn()
            operations = graph.get_operations()[before:]
            _lock_after_inputs(lock.op, operations)
            used = list(
                dict.fromkeys(
                    tensor
                    for op in operations
                    for tensor in op.inputs
                    if tensor.dtype.base_dtype.name == "resource"
                )
            )
            if any(self._is_own(tensor) for tensor in used):
                raise ValueError(
                    "The function fn attempts to directly access the CriticalSection in which it would be running."
                    "  This is illegal and would cause deadlocks."
                )
            self._check_others(used, exclusive_resource_access)
            flat = [_copied(item) for item in nest.flatten(results)]
            with graph.control_dependencies(flat):
                with graph.colocate_with(self._handle):
                    released = apply_op("ConsumeMutexLock", mutex_lock=lock)
                packed = nest.pack_sequence_as(results, control.tuple(nest.flatten(results)))
            with graph.control_dependencies([released]):
                outputs = nest.map_structure(_copied, packed)
            graph.add_to_collection(
                CRITICAL_SECTION_EXECUTIONS,
                _Execution(lock.op, self._handle, used, exclusive_resource_access),
            )
            return outputs

    def _is_own(self, tensor: Tensor) -> bool:
        op, own_op = tensor.op, self._handle.op
        return (
            op.type == "MutexV2"
            and bool(op.attrs["shared_name"])
            and op.attrs["shared_name"] == own_op.attrs["shared_name"]
            and (op.device == own_op.device or op.attrs.get(CLASS_ATTR) == own_op.attrs.get(CLASS_ATTR))
        )

    def _check_others(self, used: Sequence[Tensor], exclusive: bool) -> None:
        for other in get_default_graph().get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_own(other.handle) or not (exclusive or other.exclusive_resource_access):
                continue
            both = [tensor for tensor in used if tensor in other.resources]
            if both:
                raise ValueError(
                    f"This execution would access resources: {both}.  Either this lock (CriticalSection:"
                    f" {self._handle}) or lock '{other}' (CriticalSection: {other.handle}) requested exclusive"
                    " resource access of this resource.  Did you mean to call execute with keyword argument"
                    " exclusive_resource_access=False?"
                )


def _lock_after_inputs(lock: Operation, operations: Sequence[Operation]) -> None:
    """Make a lock wait for the outside inputs of the operations that run under it."""
    inside = {*operations, lock, *lock.control_inputs, *(tensor.op for tensor in lock.inputs)}
    sources = [source for op in operations for source in (*(t.op for t in op.inputs), *op.control_inputs)]
    outside = [op for op in dict.fromkeys(sources) if op not in inside]
    if outside:
        add_control(lock, control.group(*outside))


def _copied(value: Any) -> Any:
    if isinstance(value, Operation):
        return control.group(value)
    return value.identity() if hasattr(value, "with_flow") else identity(value)


@compute("MutexV2")
def _mutex(xp: ArrayModule, *, ctx: KernelContext) -> ResourceHandle:
    mutex, container, name = own_resource(ctx, ctx.op.attrs, lambda _: Mutex())
    return ResourceHandle(ctx.device, container, name, _TYPE_NAME, mutex)


@compute("MutexLock")
def _lock(xp: ArrayModule, mutex: Array, *, ctx: KernelContext) -> HeldMutex:
    """Take the lock: within a step in graph order, the order in which variables are used too."""
    resource: Mutex = resource_of(mutex, Mutex, _TYPE_NAME)
    return resource.acquire(ctx.session.cancellation)


@compute("ConsumeMutexLock")
def _consume(xp: ArrayModule, mutex_lock: Any) -> tuple[()]:
    held = mutex_lock[()] if hasattr(mutex_lock, "ravel") else mutex_lock
    held.let_go()
    return ()
