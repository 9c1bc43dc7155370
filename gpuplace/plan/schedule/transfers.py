"""Names of the nodes that stand for what crosses between devices: numbers that go on through a session's plans.

Source: tensorflow/core/graph/graph_partition.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from gpuplace.graph.operation import Operation
from gpuplace.plan.schedule.partition import Schedule, Slot


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
