"""Run a function once for each replica, in turn.

Each replica has a thread, and one thread runs at a time: a replica's thread until its function returns or calls
``merge_call``, then the next replica's. When all have reached a ``merge_call``, the main thread calls the merge
function with their arguments, and they continue. The order of the nodes is therefore the same in every run.

Source: tensorflow/python/distribute/mirrored_strategy.py and shared_variable_creator.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.operation import Operation
from gpuplace.ops.array.constant import constant
from gpuplace.ops.distribute.contexts import Context, entered
from gpuplace.ops.variables.variable_scope import get_variable_scope, variable_creator_scope, variable_scope
from gpuplace.tf1.distribute.contexts import ReplicaContext, require_replica_context
from gpuplace.tf1.distribute.values import regrouped, selected

__all__ = ["call_for_each"]


class _ReplicaStopped(BaseException):
    """Signal that ends a replica's function after another one has failed."""


def call_for_each(
    strategy: Any, devices: Sequence[str], fn: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    """Run a function for each replica, and return its results with one component per replica.

    Args:
        strategy: the current strategy.
        devices: devices of the replicas.
        fn: the function.
        args: its arguments.
        kwargs: its keyword arguments.

    Raises:
        RuntimeError: the replicas make different numbers of merge calls.
    """
    get_default_graph().switch_to_thread_local()
    shared: dict[str, list[Any]] = {}
    replicas = []
    for number in range(len(devices)):
        positional, named = selected(number, (list(args), dict(kwargs)))
        replicas.append(_Replica(strategy, number, devices[number], shared, fn, positional, named))
    try:
        while True:
            for replica in replicas:
                replica.turn()
            if all(replica.is_done for replica in replicas):
                break
            if any(replica.is_done for replica in replicas):
                raise RuntimeError(
                    "Some replicas made a different number of replica_context().merge_call() calls."
                )
            _merge(strategy, devices, replicas)
    finally:
        for replica in replicas:
            replica.stop()
    return regrouped(devices, [replica.result for replica in replicas])


def _merge(strategy: Any, devices: Sequence[str], replicas: list[_Replica]) -> None:
    """Call a merge function with the arguments of all replicas."""
    graph, first = get_default_graph(), replicas[0]
    args, kwargs = regrouped(devices, [(list(each.merged[1]), dict(each.merged[2])) for each in replicas])
    waits = list(dict.fromkeys(op for each in replicas for op in each.controls))
    with name_scope(first.scope), graph.control_dependencies(waits), variable_scope(first.variables):
        result = first.merged[0](strategy, *args, **kwargs)
    for number, replica in enumerate(replicas):
        replica.answer = selected(number, result)


class _Replica(ReplicaContext):
    """A replica and its thread.

    Args:
        strategy: the strategy.
        number: index of the replica.
        device: its device.
        shared: variable name -> the variables that the replicas have created.
        fn: the function to run.
        args: its arguments.
        kwargs: its keyword arguments.
    """

    def __init__(
        self,
        strategy: Any,
        number: int,
        device: str,
        shared: dict[str, list[Any]],
        fn: Callable[..., Any],
        args: Any,
        kwargs: Any,
    ) -> None:
        super().__init__(strategy, number)
        self._device, self._shared = device, shared
        self._call = fn, args, kwargs
        self._graph = get_default_graph()
        self._creators = self._graph.scopes.of_thread.variable_creators
        self._outer_variables = get_variable_scope()
        scope = self._graph.get_name_scope()
        self._outer_scope = (f"{scope}/" if scope else "") + (f"replica_{number}/" if number else "")
        self._made: dict[str, int] = {}
        self._may_run, self._has_paused = threading.Event(), threading.Event()
        self._is_stopped = False
        self.is_done = False
        self.result: Any = None
        self.answer: Any = None
        self.merged: tuple[Any, Any, Any] = (None, (), {})
        self.scope, self.variables = "", self._outer_variables
        self.controls: tuple[Operation, ...] = ()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"replica {number}", daemon=True)
        self._thread.start()

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of the replica."""
        return (self._device,)

    def turn(self) -> None:
        """Run the function until it returns or calls ``merge_call``; raise any exception of it."""
        self._may_run.set()
        self._has_paused.wait()
        self._has_paused.clear()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Stop the thread."""
        self._is_stopped = True
        self._may_run.set()
        self._thread.join()

    def _run(self) -> None:
        self._may_run.wait()
        self._may_run.clear()
        graph = self._graph
        try:
            if self._is_stopped:
                return
            with graph.as_default(), contextlib.ExitStack() as stack:
                graph.scopes.of_thread.variable_creators = self._creators
                self._replica_id = constant(self.number, int32)
                stack.enter_context(entered(Context(self._strategy, self)))
                stack.enter_context(graph.device(self._device))
                stack.enter_context(graph.name_scope(self._outer_scope or None))
                stack.enter_context(variable_scope(self._outer_variables, reuse=self.number > 0 or None))
                stack.enter_context(variable_creator_scope(self._variable))
                fn, args, kwargs = self._call
                self.result = fn(*args, **kwargs)
            self.is_done = True
        except _ReplicaStopped:
            return
        except BaseException as error:
            self._error = error
        finally:
            self._has_paused.set()

    def _variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Return the variable that the first replica creates for all of them."""
        name = kwargs.get("name") or "Variable"
        place = self._made.get(name, 0)
        self._made[name] = place + 1
        variables = self._shared.setdefault(name, [])
        if self.number == 0:
            variables.append(next_creator(**kwargs))
        elif place >= len(variables):
            raise RuntimeError(
                f"The first replica did not create variable {name}: all replicas must create the same variables"
            )
        return variables[place]

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Call a function once for all replicas; see ``ReplicaContext.merge_call``."""
        require_replica_context(self)
        if get_default_graph() is not self._graph:
            raise RuntimeError(
                "`merge_call` called while defining a new graph or a tf.function: use the strategy inside the "
                "function instead of calling the function inside a replica"
            )
        self.merged = merge_fn, args, kwargs or {}
        scope = self._graph.get_name_scope()
        self.scope = f"{scope}/" if scope else ""
        self.variables = get_variable_scope()
        self.controls = tuple(self._graph.scopes.stacks().control_inputs())
        self._has_paused.set()
        self._may_run.wait()
        self._may_run.clear()
        if self._is_stopped:
            raise _ReplicaStopped
        return self.answer
