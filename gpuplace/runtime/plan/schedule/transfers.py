"""Names of the nodes that stand for what crosses between devices: numbers that go on through a session's plans.

>>> [source_name(name) for name in ("a/b/_3", "a/ctrl/_2", "w/read_S1", "y/ctrl_S4", "x_G0", "y")]
['a/b', 'a', 'w/read', 'y', 'x', None]

Source: tensorflow/core/graph/graph_partition.cc, core/common_runtime/direct_session.cc (``/_``) and
core/distributed_runtime/master_session.cc (``_S``, between tasks) and graph_mgr.cc (``_G``, within one), releases 1.15
and 2.21.
"""

from __future__ import annotations

import re

from gpuplace.graph.operation import Operation
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot

_TRANSFER = re.compile(r"(.+?)(?:/ctrl)?(?:/_|_[SG])\d+")


def source_name(name: str) -> str | None:
    """The node whose output another one sends or receives, by that one's name; None where it has no such name."""
    found = _TRANSFER.fullmatch(name)
    return None if found is None else found[1]


def transfer_names(schedule: Schedule, first_transfer: int) -> dict[Slot, tuple[str, str, str]]:
    """For each copied value: names of its sending and receiving node and the tensor name both use."""
    names = {}
    for position, step in enumerate(schedule.copies):
        source = step.inputs[0].tensor.op.name
        number = first_transfer + 2 * position
        names[step.outputs[0]] = (
            f"{source}/_{number}",
            f"{source}/_{number + 1}",
            f"edge_{number}_{source}",
        )
    return names


def control_numbers(schedule: Schedule, first_transfer: int) -> dict[tuple[Operation, str], int]:
    """For each operation that something on another device waits for, and that device: number of the first of the four
    nodes between them."""
    devices = {step.op: step.device for step in schedule.steps if step.op is not None}
    number = first_transfer + 2 * len(schedule.copies)
    found: dict[tuple[Operation, str], int] = {}
    for step in schedule.steps:
        for control in step.control_inputs:
            device = step.device
            if devices.get(control, device) != device and (control, device) not in found:
                found[control, device] = number
                number += 4
    return found


def count_transfers(schedule: Schedule) -> int:
    """How many nodes send, receive and go between."""
    return 2 * len(schedule.copies) + 4 * len(control_numbers(schedule, 0))
