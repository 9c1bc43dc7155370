"""Functions of a graph's library where a kernel calls them: one plan, made once and run for every call.

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
from gpuplace.runtime.plan.compile import PlanMaker
from gpuplace.runtime.plan.executor import Plan


class SessionFunctions:
    """Runs functions for the kernels of one session.

    Args:
        maker: makes the session's plans.
    """

    def __init__(self, maker: PlanMaker) -> None:
        self._maker = weakref.proxy(maker)  # which has the session's resources, which have this
        self._stateless: dict[tuple[FunctionBody, str], Plan] = {}

    def callable_of(
        self, graph: Any, name: str, device: str, state: Any
    ) -> Callable[[Sequence[Any]], list[Any]]:
        """As ``gpuplace.kernels.resources.FunctionRuns``."""
        from gpuplace.graphdef.function_def import body_of

        body = body_of(graph, name)
        fetches = list(dict.fromkeys(tensor for tensor in body.results if tensor not in body.args))
        plan = self._plan(body, fetches, device, state)
        if list(body.results) == fetches:
            return plan.run
        return _in_form(plan.run, body, fetches)

    def _plan(self, body: FunctionBody, fetches: Sequence[Tensor], device: str, state: Any) -> Plan:
        """The plan of a body: one for all calls where no kernel keeps anything."""
        known = self._stateless.get((body, device))
        if known is not None:
            return known
        with without_garbage_collection():
            plan = self._maker.make_function((tuple(fetches), body.targets, body.args), device, state)
        if not any(_keeps_state(step.op) for step in plan.schedule.steps):
            self._stateless[body, device] = plan
        return plan


def _keeps_state(op: Any) -> bool:
    return op is not None and (op.op_def is None or op.op_def.is_stateful or op.type in VARIABLE_OPS)


def _in_form(
    run: Callable[[Sequence[Any]], list[Any]], body: FunctionBody, fetches: Sequence[Tensor]
) -> Callable[[Sequence[Any]], list[Any]]:
    """Gives the results in their order, those too that are arguments, or are there twice."""
    places = [
        (True, body.args.index(tensor)) if tensor in body.args else (False, fetches.index(tensor))
        for tensor in body.results
    ]

    def call(values: Sequence[Any]) -> list[Any]:
        made = run(values)
        return [values[at] if is_arg else made[at] for is_arg, at in places]

    return call
