"""The order in which one thread feeds several real GPUs: what only queues work comes before what makes it wait.

The order of the graph would finish one tower, wait for its gradients, and only then begin the next::

    graph order    tower 0 ..., tower 1 ..., copy g0, copy g1, mean (waits), copy of mean, apply
    GPU:0          [tower 0]                                                               [apply]
    here           turns of tower 0 and tower 1, each copy as soon as its value is queued, mean (waits), ...
    GPU:0          [tower 0                ][g0]                                           [apply]
    GPU:1          [tower 1                ][g1]

Of the steps whose inputs are queued the first one in this list is next: constants; copies to and from GPUs; kernels on
GPUs, in turns of ``TURN`` for each GPU; kernels on the host; kernels that take a value which has to come from a GPU
first. Among equals the order of the graph decides, so a schedule always gives the same order. What depends on what is
known from ``lanes.dependencies``: uses of one variable keep the order of the graph, so values are the same bit by bit.

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (whatever is ready runs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpuplace.graph.ready_order import ready_order
from gpuplace.plan.schedule.lanes import dependencies
from gpuplace.plan.schedule.partition import Schedule, Slot, Step

TURN = 16
"""Kernels that are queued on a GPU before another GPU has its turn."""

_CONSTANT, _COPY, _QUEUED, _ON_HOST, _WAITS = range(5)


def in_queue_order(schedule: Schedule, backends: Mapping[str, Any]) -> Schedule:
    """The schedule with its steps in that order.

    Args:
        schedule: what a plan does.
        backends: full device name to the device; real GPUs are those that own their arrays.
    """
    sources, keys = dependencies(schedule), _keys(schedule, backends)
    order = ready_order(sorted(range(len(keys)), key=keys.__getitem__), sources.__getitem__)
    assert len(order) == len(keys), "a schedule has no cycles"
    return replace(schedule, steps=tuple([schedule.steps[number] for number in order]))


def _keys(schedule: Schedule, backends: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """What steps are sorted by: rank, turn of its GPU, position in the schedule."""
    coming = {slot for step in schedule.copies if _leaves_gpu(step, backends) for slot in step.outputs}
    queued: dict[str, int] = {}
    keys = []
    for number, step in enumerate(schedule.steps):
        rank = _rank(step, backends, coming)
        turn = 0
        if rank == _QUEUED:
            turn = queued.get(step.device, 0) // TURN
            queued[step.device] = queued.get(step.device, 0) + 1
        keys.append((rank, turn, number))
    return keys


def _rank(step: Step, backends: Mapping[str, Any], coming: set[Slot]) -> int:
    if step.op_type == "Const":
        return _CONSTANT
    if step.is_copy:
        return _COPY
    if not coming.isdisjoint(step.inputs):
        return _WAITS
    values = (*step.inputs, *step.outputs)
    if backends[step.device].owns_arrays and not all(slot.location.on_host for slot in values):
        return _QUEUED
    return _ON_HOST


def _leaves_gpu(step: Step, backends: Mapping[str, Any]) -> bool:
    """Whether a copy brings a value from a real GPU's memory to the host."""
    source, target = step.inputs[0].location, step.outputs[0].location
    return target.on_host and not source.on_host and backends[source.device].owns_arrays
