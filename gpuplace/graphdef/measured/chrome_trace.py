"""Read a measured step from a Chrome trace by ``timeline.Timeline`` (TensorFlow's or ours) or by the profiler.

Many programs keep only ``timeline.json``. The trace still contains these parts of a step::

    process "<device> Compute"   a list of nodes
    "X" event                    a node: begin, length, and what it takes (``input0``, ``input1``, ... of its arguments)
    "O" event                    an output with its bytes, where the trace shows memory

It lacks nanoseconds, threads, and the details that GPU tracers record besides a kernel's name.

>>> trace = '[{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/cpu:0 Compute"}},' \\
...     '{"ph": "X", "pid": 1, "tid": 0, "ts": 5, "dur": 2, "args": {"name": "b", "op": "Neg", "input0": "a"}}]'
>>> node = step_of_trace(trace).dev_stats[0].node_stats[0]
>>> node.timeline_label, node.all_start_micros, node.all_end_rel_micros
('b = Neg(a)', 5, 2)

Source: tensorflow/python/client/timeline.py, releases 1.15 and 2.21.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gpuplace.graphdef.measured.profile import step_of_profile_trace
from gpuplace.graphdef.messages import StepStats

_COMPUTE, _TENSORS = " Compute", " Tensors"
_BYTES = re.compile(r"\brequested_bytes: (\d+)")
_ALLOCATOR = re.compile(r"\ballocator_name: (\S+)")


def step_of_trace(text: str) -> Any:
    """Return the ``StepStats`` in a trace; without device lists if the trace contains no ops.

    Raises:
        ValueError: the text is not a Chrome trace, or an event is incomplete.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise ValueError("the JSON has no list of traceEvents")
    profiled = step_of_profile_trace(events)
    if profiled is not None:
        return profiled
    step = StepStats()
    reader = _Reader(step)
    for kind, read in (("M", reader.process), ("O", reader.tensor), ("X", reader.op)):
        for number, event in enumerate(events):
            try:
                if event["ph"] == kind:
                    read(event)
            except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"event {number} of the trace is incomplete: {error!r}") from None
    for number in reversed(range(len(step.dev_stats))):
        if not step.dev_stats[number].node_stats:
            del step.dev_stats[number]
    return step


class _Reader:
    def __init__(self, step: Any) -> None:
        self.step = step
        self.devices: dict[Any, Any] = {}
        """Process -> device list."""
        self.owners: dict[Any, str] = {}
        """Process of a device's tensors -> the device."""
        self.outputs: dict[tuple[str, Any, int], dict[str, str]] = {}
        """Device, lane and last microsecond of an op -> name and description of its outputs."""

    def process(self, event: dict[str, Any]) -> None:
        if event["name"] != "process_name":
            return
        name, pid = event["args"]["name"], event["pid"]
        if name.endswith(_COMPUTE):
            self.devices[pid] = self.step.dev_stats.add(device=name.removesuffix(_COMPUTE))
        elif name.endswith(_TENSORS):
            self.owners[pid] = name.removesuffix(_TENSORS)

    def tensor(self, event: dict[str, Any]) -> None:
        if event["pid"] in self.owners:
            key = self.owners[event["pid"]], event["tid"], int(event["ts"])
            self.outputs.setdefault(key, {})[event["name"]] = event["args"]["snapshot"]["tensor_description"]

    def op(self, event: dict[str, Any]) -> None:
        if event["pid"] not in self.devices:
            return
        device, args = self.devices[event["pid"]], event["args"]
        name, op, start, lasted = args["name"], args["op"], int(event["ts"]), int(event["dur"])
        label = ""
        if "/stream:" in device.device or "/memcpy" in device.device:
            name = name if op == "unknown" else f"{name}:{op}"
        elif op not in ("unknown", "RecvTensor"):
            inputs = (args[f"input{position}"] for position in range(len(args)) if f"input{position}" in args)
            label = f"{name} = {op}({', '.join(inputs)})"
        node = device.node_stats.add(
            node_name=name,
            timeline_label=label,
            scheduled_micros=start,
            all_start_micros=start,
            op_end_rel_micros=lasted,
            all_end_rel_micros=lasted,
        )
        edges = {
            tensor: text
            for last in {
                start + lasted - 1,
                max(start, start + lasted - 1),
            }  # TensorFlow's and our zero-length events
            for tensor, text in self.outputs.get((device.device, event["tid"], last), {}).items()
        }
        for tensor, text in edges.items():
            if tensor != name and tensor.rpartition(":")[0] != name:
                continue
            memory = node.output.add(
                slot=int(tensor[len(name) + 1 :] or 0)
            ).tensor_description.allocation_description
            if size := _BYTES.search(text):
                memory.requested_bytes = int(size[1])
            if allocator := _ALLOCATOR.search(text):
                memory.allocator_name = allocator[1]
