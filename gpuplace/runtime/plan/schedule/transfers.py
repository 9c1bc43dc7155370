"""Names of the nodes that represent transfers between devices, numbered throughout a session's plans.

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
    """Return the node whose output a transfer node sends or receives; None for other nodes."""
    match = _TRANSFER.fullmatch(name)
    return None if match is None else match[1]


def transfer_names(schedule: Schedule, first_transfer: int) -> dict[Slot, tuple[str, str, str]]:
    """Return, for each copied value, the names of its sending and receiving node and of the transferred tensor."""
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
    """Return the first number of the four transfer nodes for each operation and waiting device."""
    devices = {step.op: step.device for step in schedule.steps if step.op is not None}
    number = first_transfer + 2 * len(schedule.copies)
    first_number: dict[tuple[Operation, str], int] = {}
    for step in schedule.steps:
        for control in step.control_inputs:
            device = step.device
            if devices.get(control, device) != device and (control, device) not in first_number:
                first_number[control, device] = number
                number += 4
    return first_number


def count_transfers(schedule: Schedule) -> int:
    """Return the number of transfer nodes."""
    return 2 * len(schedule.copies) + 4 * len(control_numbers(schedule, 0))
