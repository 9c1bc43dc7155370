"""What a step will cost: the answer of `gpuplace.estimate`.

It keeps the arrays of the flow and its times, and works out tables, sentences and timelines only when asked; memory is
foretold when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.batches import largest
from gpuplace.cost.comparison import Comparison, compare
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.events import COPY, ON_CPU, ON_GPU, Times, path
from gpuplace.cost.memory.step_memory import StepMemory
from gpuplace.cost.sentences import explanation
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.cost.step_flow import Machinery, StepFlow
from gpuplace.cost.step_metadata import step_metadata
from gpuplace.cost.step_part import StepPart
from gpuplace.cost.work import Work
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.graph.op_sets import PASSING_ON, VARIABLE_OPS
from gpuplace.typing import DataFrame, RunMetadata, StepTimeline
from gpuplace.why.placement import Placement

TABLES = ("nodes", "devices", "copies", "memory", "ops")
"""What `StepEstimate.frame` and `StepEstimate.rows` offer."""


class NodeCost(NamedTuple):
    """What a node costs; seconds since the step's begin, and in all its executions."""

    name: str
    """Its name."""
    op: str
    """Its op type."""
    device: str
    """Full name."""
    start: float
    """When it began first, in seconds."""
    time: float
    """Seconds that it took: of a GPU's kernels, of the CPU with what the executor takes."""
    flops: float
    """Operations of all its executions."""
    bytes: float
    """Bytes read and written by all its executions."""
    model: str
    """Which rule found its work."""
    end: float
    """When it was over last, in seconds."""
    host: float
    """Seconds of a thread of the host that starts it."""
    runs: float
    """How often it runs."""
    guessed: str
    """What had to be assumed, or ``""``."""


class DeviceCost(NamedTuple):
    """What a device does in a step."""

    device: str
    """Full name."""
    hardware: str
    """Name of the GPU; ``"CPU"``."""
    nodes: int
    """Nodes that run there."""
    busy: float
    """Seconds in which it computes."""
    share: float
    """The same as a part of the step."""
    copies_in: int
    """Copies to it."""
    bytes_in: float
    """Bytes of these."""
    copies_out: int
    """Copies from it."""
    bytes_out: float
    """Bytes of these."""
    flops: float
    """Operations."""


class CopyCost(NamedTuple):
    """A copy of a step."""

    tensor: str
    """What is copied; ``^node`` for the signal that a node is done."""
    source: str
    """Full name of the device it comes from."""
    target: str
    """Full name of the device it goes to."""
    start: float
    """Seconds since the step's begin."""
    time: float
    """Seconds that it takes."""
    wait: float
    """Seconds from the time that it was sent to its begin: for streams and links."""
    bytes: float
    """Bytes."""
    way: str
    """``"PCIe"``, ``"NVLink"``, ``"PCIe through the host"``, ``"network"``, ``"host memory"`` or ``"signal"``."""


class MemoryCost(NamedTuple):
    """The memory of a device in a step."""

    device: str
    """Full name."""
    limit: int
    """Bytes that its allocator may hand out; 0: no limit."""
    peak: int
    """Most bytes in use, variables included."""
    variables: int
    """Bytes of variables and constants, which stay."""
    at: str
    """Node that was being run at the peak."""
    fits: bool
    """Whether it fits."""
    fragmentation: float
    """Part of the free memory that is not in its largest piece, at the end; 0 to 1."""


class OpCost(NamedTuple):
    """What all nodes of an op type cost on a kind of device."""

    op: str
    """Op type."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""
    nodes: int
    """How many."""
    time: float
    """Seconds of all of them."""
    share: float
    """The same as a part of all time of kernels."""
    flops: float
    """Operations."""
    bytes: float
    """Bytes read and written."""
    model: str
    """Which rules found their work."""


class StepEstimate:
    """What one step of a graph will take on a machine; `gpuplace.estimate` makes it.

    Args:
        placement: the graph, placed.
        part: what runs.
        shapes: of it.
        works: of it.
        machinery: the machine.
        model: what timed the work.
        flow: what was run.
        times: when.
        question: what was asked, to ask it again.
        assumed: what had to be assumed.
    """

    def __init__(
        self,
        placement: Placement,
        part: StepPart,
        shapes: StepShapes,
        works: Sequence[Work],
        machinery: Machinery,
        model: CostModel,
        flow: StepFlow,
        times: Times,
        question: Mapping[str, Any],
        assumed: Sequence[str],
    ) -> None:
        self.placement = placement
        self.part = part
        self.shapes = shapes
        self.works = works
        self.machinery = machinery
        self.cost_model = model
        self.flow = flow
        self.times = times
        self.question = question
        self.assumptions: tuple[str, ...] = tuple(dict.fromkeys(assumed))
        """What had to be assumed, a sentence each."""

    # Time

    @property
    def step_time(self) -> float:
        """Seconds that the step takes."""
        return self.times.total

    @cached_property
    def _items(self) -> dict[str, np.ndarray]:
        flow, times = self.flow.flow, self.times
        start = np.array(times.start)
        host_start = np.array(times.host_start)
        kind = np.array(flow.kind)
        begin = np.where(kind == ON_CPU, host_start, start)
        return {
            "kind": kind,
            "start": begin,
            "end": np.array(times.end),
            "kernel": np.array(flow.kernel),
            "host": np.array(flow.host),
            "host_start": host_start,
            "host_end": np.array(times.host_end),
        }

    @cached_property
    def _of_nodes(self) -> dict[str, np.ndarray]:
        """[nodes] begin, end, time and host time, over all executions; NaN for what does not run."""
        items, count = self._items, len(self.part.graph)
        chosen = (self.flow.item_node < count) & (items["host_start"] >= 0)
        node = self.flow.item_node[chosen]
        start, end = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(start, node, items["start"][chosen])
        np.maximum.at(end, node, items["end"][chosen])
        own = items["kernel"] + np.where(items["kind"] == ON_CPU, items["host"], 0.0)
        found = {
            "start": start,
            "end": end,
            "time": np.bincount(node, own[chosen], minlength=count),
            "host": np.bincount(node, items["host"][chosen], minlength=count),
            "runs": np.bincount(node, self.flow.item_weight[chosen], minlength=count),
        }
        return found

    @property
    def node_seconds(self) -> np.ndarray:
        """[nodes of the part] seconds of all executions of each, as in ``frame()``; 0 for what does not run."""
        return self._of_nodes["time"]

    @property
    def node_runs(self) -> np.ndarray:
        """[nodes of the part] how often each runs."""
        return self._of_nodes["runs"]

    @cached_property
    def _running(self) -> list[int]:
        """Nodes that run, in order of their begin."""
        start = self._of_nodes["start"]
        found = np.flatnonzero(np.isfinite(start))
        return found[np.argsort(start[found], kind="stable")].tolist()

    @cached_property
    def begins(self) -> dict[str, float]:
        """When each node that runs began first, in seconds, by its name."""
        names, start = self.part.graph.names, self._of_nodes["start"].tolist()
        return {names[node]: start[node] for node in self._running}

    @property
    def device_names(self) -> list[str]:
        """Full names of the machine's devices."""
        return self.placement.device_set.names

    @cached_property
    def busy(self) -> dict[str, float]:
        """Seconds in which each device computes, by full name."""
        items = self._items
        found = {}
        count = len(self.part.graph)
        is_node = (self.flow.item_node < count) & (items["host_start"] >= 0)
        for number, name in enumerate(self.device_names):
            if self.machinery.is_gpu[number]:
                here = is_node & (self.flow.device == number) & (items["kind"] == ON_GPU)
                found[name] = float(items["kernel"][here].sum())
            else:
                here = is_node & (self.flow.device == number) & (items["end"] > items["start"])
                found[name] = _covered(items["start"][here], items["end"][here])
        return found

    @cached_property
    def copies(self) -> tuple[CopyCost, ...]:
        """Every copy between memories, in order of its begin."""
        flow, items, graph = self.flow, self._items, self.part.graph
        table, names = flow.copies, self.device_names
        first = flow.first_copy
        found = []
        for item in np.flatnonzero(items["kind"] == COPY).tolist():
            copy = int(flow.item_node[item]) - first
            if self.times.host_start[item] < 0:
                continue
            node, output = graph.names[table.source[copy]], table.output[copy]
            tensor = f"^{node}" if output < 0 else f"{node}:{output}" if output else node
            start, end = self.times.start[item], self.times.end[item]
            found.append(
                CopyCost(
                    tensor,
                    names[table.sender[copy]],
                    names[table.receiver[copy]],
                    start,
                    end - start,
                    max(start - self.times.host_start[item] - flow.flow.host[item], 0.0),
                    flow.flow.nbytes[item],
                    table.way[copy],
                )
            )
        found.sort(key=lambda copy: (copy.start, copy.tensor, copy.target))
        return tuple(found)

    @cached_property
    def guessed(self) -> float:
        """The part of the time of all kernels, 0 to 1, that rests on guesses: ops without a model, assumed shapes."""
        time = self._of_nodes["time"]
        kernels = self._kernel_times
        total = float(kernels.sum()) or float(time.sum())
        used = kernels if kernels.sum() else time
        is_guess = np.array([work.is_guess for work in self.works] or [False])[: len(used)]
        return float(used[is_guess].sum()) / total if total else 0.0

    @cached_property
    def _kernel_times(self) -> np.ndarray:
        items, count = self._items, len(self.part.graph)
        chosen = (self.flow.item_node < count) & (items["host_start"] >= 0)
        return np.bincount(self.flow.item_node[chosen], items["kernel"][chosen], minlength=count)

    @cached_property
    def path(self) -> list[tuple[int, bool, float, float]]:
        """What the step waits for from its begin to its end; see `gpuplace.cost.events.path`."""
        return path(self.flow.flow, self.times)

    # Memory

    @cached_property
    def memory(self) -> StepMemory:
        """The memory of every GPU, and of the host, over time: what a simulated GPU's allocator shows when it runs."""
        return StepMemory.foretell(
            self.placement,
            self.part,
            self.shapes,
            self.question.get("config"),
            self._host_memory(),
            self.question.get("fed", {}),
        )

    def _host_memory(self) -> tuple[int, str]:
        """Most bytes of tensors in host memory at a time, by the foretold times, and the CPU's name.

        What a node of a CPU gives out is there from its begin to the end of the last that takes it; variables stay.
        """
        cpus = np.flatnonzero(~self.machinery.is_gpu)
        name = self.device_names[int(cpus[0])] if len(cpus) else ""
        graph, shapes, of = self.part.graph, self.shapes, self._of_nodes
        device = np.where(self.part.is_fed, 0, np.maximum(self.part.device, 0))
        on_cpu = ~self.machinery.is_gpu[device] & np.isfinite(of["start"])
        until = of["end"].copy()
        is_variable = np.array([s.op_type in VARIABLE_OPS for s in graph.signatures] or [False])[
            graph.signature
        ]
        own = np.array([s.op_type not in PASSING_ON for s in graph.signatures] or [False])[graph.signature]
        ends = np.where(np.isfinite(of["end"][graph.dst]), of["end"][graph.dst], 0.0)
        np.maximum.at(until, graph.src, ends)
        first = self.flow.first_copy
        item_copy = self.flow.item_node - first
        chosen = item_copy >= 0
        if chosen.any():
            sources = np.array(self.flow.copies.source)[item_copy[chosen]]
            np.maximum.at(until, sources, self._items["end"][chosen])
        total = 0
        changes: list[tuple[float, int]] = []
        for node in np.flatnonzero(on_cpu).tolist():
            if not own[node]:
                continue
            nbytes = sum(shapes.nbytes(node, output) for output in range(len(shapes.sizes[node])))
            if is_variable[node]:
                total += nbytes
            elif nbytes:
                changes += [(float(of["start"][node]), nbytes), (float(until[node]), -nbytes)]
        changes.sort()
        in_use = most = total
        for _, change in changes:
            in_use += change
            most = max(most, in_use)
        return int(most), name

    @property
    def peak_memory(self) -> dict[str, int]:
        """Most bytes in use on each device, by full name, variables included."""
        return dict(self.memory.peaks)

    # What it says

    def rows(self, table: str = "nodes") -> list[Any]:
        """A table as records.

        Args:
            table: one of ``"nodes"``, ``"devices"``, ``"copies"``, ``"memory"``, ``"ops"``.

        Raises:
            ValueError: there is no such table.
        """
        if table not in TABLES:
            raise ValueError(f"No table {table!r} of an estimate: choose one of {', '.join(TABLES)}")
        if table == "copies":
            return list(self.copies)
        if table == "memory":
            return list(self.memory_rows())
        if table == "devices":
            return list(self._device_rows())
        return list(self._node_rows() if table == "nodes" else self._op_rows())

    def _node_rows(self) -> list[NodeCost]:
        graph, of, works = self.part.graph, self._of_nodes, self.works
        start, end, time, host = (of[name].tolist() for name in ("start", "end", "time", "host"))
        runs = of["runs"].tolist()
        names, devices = self.device_names, self.part.device.tolist()
        fed = self.part.is_fed.tolist()
        found = []
        for node in self._running:
            work = works[node]
            often = runs[node]
            guessed = "; ".join(work.assumed) or (
                "no model of this op: its bytes at the memory's rate" if work.model == "guess" else ""
            )
            found.append(
                NodeCost(
                    graph.names[node],
                    graph.op_type(node),
                    names[0 if fed[node] else devices[node]],
                    start[node],
                    time[node],
                    work.flops * often,
                    work.nbytes * often,
                    work.model,
                    end[node],
                    host[node],
                    often,
                    guessed,
                )
            )
        return found

    def _device_rows(self) -> list[DeviceCost]:
        names, total = self.device_names, self.step_time
        counts = np.zeros(len(names), dtype=np.int64)
        flops = np.zeros(len(names))
        runs = self._of_nodes["runs"].tolist()
        devices, fed = self.part.device.tolist(), self.part.is_fed.tolist()
        for node in self._running:
            where = 0 if fed[node] else devices[node]
            counts[where] += 1
            flops[where] += self.works[node].flops * runs[node]
        into = {name: [0, 0.0] for name in names}
        out = {name: [0, 0.0] for name in names}
        for copy in self.copies:
            if copy.source == copy.target or copy.way == "signal":
                continue
            into[copy.target][0] += 1
            into[copy.target][1] += copy.bytes
            out[copy.source][0] += 1
            out[copy.source][1] += copy.bytes
        found = []
        for number, name in enumerate(names):
            gpu = self.machinery.models[number]
            busy = self.busy[name]
            found.append(
                DeviceCost(
                    name,
                    "CPU" if gpu is None else gpu.name,
                    int(counts[number]),
                    busy,
                    busy / total if total else 0.0,
                    int(into[name][0]),
                    into[name][1],
                    int(out[name][0]),
                    out[name][1],
                    float(flops[number]),
                )
            )
        return found

    def memory_rows(self) -> list[MemoryCost]:
        """A row for each device: limit, peak and what fits."""
        return [MemoryCost(*row) for row in self.memory.rows()]

    def _op_rows(self) -> list[OpCost]:
        sums: dict[tuple[str, str], list[Any]] = {}
        graph, of = self.part.graph, self._of_nodes
        time, runs = of["time"].tolist(), of["runs"].tolist()
        gpu = self.machinery.is_gpu[np.where(self.part.is_fed, 0, np.maximum(self.part.device, 0))].tolist()
        on_host = self.flow.on_host.tolist()
        for node in self._running:
            kind = "GPU" if gpu[node] and not on_host[node] else "CPU"
            work = self.works[node]
            row = sums.setdefault((graph.op_type(node), kind), [0, 0.0, 0.0, 0.0, {}])
            row[0] += 1
            row[1] += time[node]
            row[2] += work.flops * runs[node]
            row[3] += work.nbytes * runs[node]
            row[4][work.model] = None
        total = sum(row[1] for row in sums.values()) or 1.0
        found = [
            OpCost(op, kind, row[0], row[1], row[1] / total, row[2], row[3], ", ".join(row[4]))
            for (op, kind), row in sums.items()
        ]
        found.sort(key=lambda row: (-row.time, row.op, row.device_type))
        return found

    def frame(self, table: str = "nodes") -> DataFrame:
        """A table as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.estimate_frames` for the columns.

        Args:
            table: one of ``"nodes"``, ``"devices"``, ``"copies"``, ``"memory"``, ``"ops"``.

        Raises:
            ValueError: there is no such table.
        """
        estimate_frame = above("gpuplace.jupyter.frames.estimate_frames", "estimate_frame")

        return estimate_frame(self, table)

    def run_metadata(self) -> RunMetadata:
        """The foretold step as TensorFlow's ``RunMetadata``, with ``step_stats`` as a traced run has them."""
        return step_metadata(self)

    def timeline(self) -> StepTimeline:
        """The foretold step in the view of measured ones."""
        step_timeline = above("gpuplace.timelines.reader", "step_timeline")

        return step_timeline(self.run_metadata(), self.placement)

    def compare(self, run_metadata: Any) -> Comparison:
        """The foretold step beside a measured one, op type by op type.

        Args:
            run_metadata: ``RunMetadata`` or ``StepStats`` of a traced run, TensorFlow's or ours.

        Raises:
            TypeError: it is neither.
            ValueError: nothing of this graph was measured.
        """
        return compare(self, run_metadata)

    def what_if(
        self, machine: Any = None, config: Any = None, soft_placement: bool | None = None
    ) -> StepEstimate:
        """The same step elsewhere: shapes and work are known already.

        Args:
            machine: another machine; None: the same.
            config: another ``ConfigProto``; None: the same.
            soft_placement: whether requests that cannot be met are dropped; None: as the config says.

        Raises:
            OpError: it cannot be placed there.
        """
        estimate_again = above("gpuplace.cost.estimate", "estimate_again")

        found: StepEstimate = estimate_again(self, machine, config, soft_placement)
        return found

    def largest_batch(self, most: int = 1 << 16) -> int:
        """The largest batch with which the step fits on the machine; 0 if none does, ``most`` if more would.

        The batch is what is fed as None in the first place (``feeds={"images": (None, 224, 224, 3)}``), or the first
        size that all feeds share.

        Args:
            most: the largest that is tried.

        Raises:
            InvalidArgumentError: no size is known to be the batch, or the graph fixes it.
        """
        estimate_batch = above("gpuplace.cost.estimate", "estimate_batch")
        return largest(lambda batch: bool(estimate_batch(self, batch).memory.fits), most=most)

    def explain(self, *, memory: bool = True) -> str:
        """What takes the time and the memory, and what was assumed, in sentences.

        Args:
            memory: whether to say what the memory holds, which takes longer to work out than the time.
        """
        return explanation(self, memory=memory)

    @property
    def text(self) -> str:
        """The answer in a line."""
        busiest = max(self.busy.items(), key=lambda item: item[1], default=("", 0.0))
        count = len(self._running)
        where = f"; {busiest[0].rpartition('device:')[2]} is busy {busiest[1] / self.step_time:.0%} of it"
        moved = [copy for copy in self.copies if copy.source != copy.target and copy.way != "signal"]
        return (
            f"{count:,} nodes in {self.step_time * 1e3:.3f} ms{where if self.step_time else ''}; {len(moved):,} copies"
            f", {sum(copy.bytes for copy in moved) / 1e6:.1f} MB; {self.guessed:.0%} of the time is guessed"
        )

    @with_safe_text
    def __repr__(self) -> str:
        return f"<StepEstimate of {self.text}>"

    @with_safe_text
    def __str__(self) -> str:
        return self.explain()

    _repr_mimebundle_ = notebook_view


def _covered(start: np.ndarray, end: np.ndarray) -> float:
    """Seconds in which at least one of some intervals is open."""
    if not len(start):
        return 0.0
    order = np.argsort(start, kind="stable")
    begins, ends = start[order], np.maximum.accumulate(end[order])
    gaps = np.maximum(begins[1:] - ends[:-1], 0.0)
    return float(ends[-1] - begins[0] - gaps.sum())
