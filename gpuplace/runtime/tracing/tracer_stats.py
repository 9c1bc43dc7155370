"""Statistics that TensorFlow's tracers add from ``HARDWARE_TRACE`` on, in addition to those of its executor.

========================================  ==================================  =====================================
device of the ``DeviceStepStats``         a node's name                       release
========================================  ==================================  =====================================
``/host:CPU``                             ``MatMul:MatMul``, with the number  1.15: a list of threads, every op with
                                          of its thread                       a kernel on the host that is not cheap
``/device:GPU:0/stream:all``              ``MatMul:MatMul``                   both: a GPU's kernels
``/device:GPU:0/stream:<n>``              the same                            both: those of one stream
``/device:GPU:0/memcpy``                  ``edge_7_x:MEMCPYHtoD``, in 2.21    both: copies from and to a GPU
                                          ``MemcpyH2D``
========================================  ==================================  =====================================

On a task of a cluster the device names of a GPU start with the task's name.

Simulated GPUs have one stream, number 13 like TensorFlow's first, and kernel times are those of NumPy. For a
real GPU nothing is added: only events on its streams could tell when a kernel ran.

Source: tensorflow/core/profiler/internal/cpu/host_tracer.cc, core/platform/default/device_tracer.cc, release 1.15;
core/profiler/convert/xplane_to_step_stats.cc, release 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.device.parsed_name import parse_name
from gpuplace.graph.op_sets import INLINE_OPS, VARIABLE_OPS
from gpuplace.runtime.plan.schedule.partition import Slot, Step

_STREAM = 13
_UNTRACED = INLINE_OPS - VARIABLE_OPS - {"ReadVariableOp"}
"""Ops so cheap that 1.15's tracer of host threads omits them."""
_DIRECTIONS = {
    (False, True): ("HtoD", "H2D", "Pageable to Device", "pageable", "device"),
    (True, False): ("DtoH", "D2H", "Device to Pageable", "device", "pageable"),
    (True, True): ("PtoP", "P2P", "Device to Device", "device", "device"),
}
"""Names of a copy in 1.15 and 2.21, and its source and target, by whether the source and the target are GPU memory."""


def add_tracer_stats(
    step_stats: Any, trace: Any, edges: Mapping[Slot, tuple[str, str, str]], rules: str
) -> None:
    """Add the tracers' lists to a ``StepStats`` message.

    Args:
        step_stats: the message.
        trace: the ``Trace`` of the step.
        edges: names of the two nodes of the copy and of the tensor, by copied value.
        rules: ``"1.15"`` or ``"2.21"``.
    """
    lists: dict[str, Any] = {}

    def add(device: str, name: str, record: Any, label: str) -> Any:
        if device not in lists:
            lists[device] = step_stats.dev_stats.add(device=device)
        thread = record.thread & 0xFFFFFFFF
        start = (record.start_ns + trace.epoch_ns) // 1000
        duration = max(1, (record.end_ns - record.start_ns) // 1000)
        return lists[device].node_stats.add(
            node_name=name,
            all_start_micros=start,
            op_end_rel_micros=0 if device == _HOST else duration,
            all_end_rel_micros=duration,
            timeline_label=label,
            scheduled_micros=start if rules == "2.21" else 0,
            thread_id=thread if rules == "2.21" or device == _HOST else 0,
        )

    for record in trace.records:
        step: Step = trace.schedule.steps[record.number]
        if rules == "1.15":
            for name, device in _host_names(step, edges):
                add(_HOST, name, record, f"id=1,device={device},async={str('_Recv' in name).lower()}")
                lists[_HOST].thread_names[record.thread & 0xFFFFFFFF] = "tf_Compute"
        backend = trace.backends[step.device]
        if step.op is not None:
            gpu = _gpu_number(step.device)
            if (
                gpu is not None
                and not backend.owns_arrays
                and not _is_on_host(step)
                and step.op_type != "Const"
            ):
                for stream in ("all", _STREAM):
                    row = f"{_task(step.device)}/device:GPU:{gpu}/stream:{stream}"
                    add(row, f"{step.name}:{step.op_type}", record, "")
            continue
        _add_copy(add, step, record, backend, edges[step.outputs[0]][2], rules)


_HOST = "/host:CPU"


def _host_names(step: Step, edges: Mapping[Slot, tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Return name and device of the entries of the tracer of host threads for a step."""
    if step.op is None:
        send, receive, _ = edges[step.outputs[0]]
        return [
            (f"{send}:_Send", step.inputs[0].location.device),
            (f"{receive}:_Recv", step.outputs[0].location.device),
        ]
    return [] if step.op_type in _UNTRACED else [(f"{step.name}:{step.op_type}", step.device)]


def _add_copy(add: Any, step: Step, record: Any, backend: Any, tensor: str, rules: str) -> None:
    source, target = step.inputs[0].location, step.outputs[0].location
    names = _DIRECTIONS.get((not source.on_host, not target.on_host))
    if names is None or backend.owns_arrays:
        return
    short, long, direction, origin, goal = names
    gpu = _gpu_number(target.device if source.on_host else source.device)
    nbytes = record.outputs[0].nbytes if record.outputs[0] is not None else 0
    if rules == "1.15":
        name, label = f"{tensor}:MEMCPY{short}", f"MEMCPY{short} {nbytes} bytes ({direction})"
        streams = [f"stream:{_STREAM}"]
    else:
        name = f"Memcpy{long}"
        to = _gpu_number(target.device) if not target.on_host else gpu
        label = f"{name} kind_src:{origin} kind_dst:{goal} size:{nbytes} dest:{to} async:1"
        streams = [f"stream:{_STREAM}<{name}>"]
    for row in ("memcpy", *streams):
        add(f"{_task(step.device)}/device:GPU:{gpu}/{row}", name, record, label)


def _task(device: str) -> str:
    task = device.rpartition("/device:")[0]
    return "" if task.startswith("/job:localhost/") else task


def _gpu_number(device: str) -> int | None:
    parsed = parse_name(device)
    return parsed.id if parsed is not None and parsed.type == "GPU" else None


def _is_on_host(step: Step) -> bool:
    slots = (*step.inputs, *step.outputs)
    return bool(slots) and all(slot.location.on_host for slot in slots)
