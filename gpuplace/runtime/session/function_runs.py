"""Functions that kernels call: each is compiled to one plan, which runs for every call.

Source: tensorflow/core/common_runtime/function.cc, release 1.15 (kernels of a function keep their state between calls).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.graph.operation import Tensor
from gpuplace.graph.traced_graph import FunctionBody
from gpuplace.runtime.plan.compile import PlanCompiler
from gpuplace.runtime.plan.executor import Plan


class SessionFunctions:
    """Runs functions for the kernels of one session.

    Args:
        compiler: the session's plan compiler.
    """

    def __init__(self, compiler: PlanCompiler) -> None:
        self._compiler = weakref.proxy(compiler)  # the compiler owns the resources, which own this object
        self._stateless: dict[tuple[FunctionBody, str], Plan] = {}

    def callable_of(
        self, graph: Any, name: str, device: str, state: Any
    ) -> Callable[[Sequence[Any]], list[Any]]:
        """Return a callable for a function; see ``gpuplace.kernels.resources.FunctionRuns``."""
        from gpuplace.graphdef.function_def import body_of

        body = body_of(graph, name)
        fetches = list(dict.fromkeys(tensor for tensor in body.results if tensor not in body.args))
        plan = self._plan(body, fetches, device, state)
        if list(body.results) == fetches:
            return plan.run
        return _with_all_results(plan.run, body, fetches)

    def _plan(self, body: FunctionBody, fetches: Sequence[Tensor], device: str, state: Any) -> Plan:
        """Return the plan of a body; calls of a body without stateful kernels share one."""
        plan = self._stateless.get((body, device))
        if plan is not None:
            return plan
        with without_garbage_collection():
            plan = self._compiler.make_function((tuple(fetches), body.targets, body.args), device, state)
        if not any(_keeps_state(step.op) for step in plan.schedule.steps):
            self._stateless[body, device] = plan
        return plan


def _keeps_state(op: Any) -> bool:
    return op is not None and (op.op_def is None or op.op_def.is_stateful or op.type in VARIABLE_OPS)


def _with_all_results(
    run: Callable[[Sequence[Any]], list[Any]], body: FunctionBody, fetches: Sequence[Tensor]
) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that returns all results in order, including arguments and duplicates."""
    sources = [
        (True, body.args.index(tensor)) if tensor in body.args else (False, fetches.index(tensor))
        for tensor in body.results
    ]

    def call(values: Sequence[Any]) -> list[Any]:
        fetched = run(values)
        return [values[at] if is_arg else fetched[at] for is_arg, at in sources]

    return call
