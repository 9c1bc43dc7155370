"""What a step will cost: the answer of `gpuplace.estimate`.

It keeps the arrays of the flow and its times, and works out tables, sentences and timelines only when asked; memory is
predicted when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.cost.batches import check_batch, largest
from gpuplace.cost.comparison import Comparison, compare
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.memory.memory_curve import host_memory
from gpuplace.cost.memory.step_memory import StepMemory
from gpuplace.cost.sentences import explanation
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.cost.step_copies import StepCopies, StepCopy, copies_of_part
from gpuplace.cost.step_flow import ON_CPU, ON_GPU, Machinery, StepFlow
from gpuplace.cost.step_graph import Times
from gpuplace.cost.step_metadata import step_metadata
from gpuplace.cost.step_tables import (
    TABLES,
    CopyCost,
    copy_costs,
    device_rows,
    node_rows,
    op_rows,
)
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.errors import FailedPreconditionError
from gpuplace.kernels.work.record import Work
from gpuplace.model.subject.step_part import StepPart
from gpuplace.model.subject.subject import Subject, feed_name
from gpuplace.typing import DataFrame, Findings, RunMetadata, StepTimeline
from gpuplace.why.placement import Placement


@dataclass(frozen=True, eq=False)
class StepRequest:
    """A step, and the options of the session that runs it."""

    fetches: Any = None
    """As for `gpuplace.estimate`; None: the default subject."""
    feeds: Mapping[Any, Any] = field(default_factory=dict)
    """Tensor, or its name, to a shape or an array."""
    config: Any = None
    """The ``ConfigProto``."""
    trip_counts: Mapping[str, float] | None = None
    """Name of a loop's frame to how often its body runs."""
    whole_graph: bool = False
    """Whether every node of the graph runs."""

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that are fed, by name of the node."""
        return {
            feed_name(key).partition(":")[0]: value
            for key, value in self.feeds.items()
            if isinstance(value, np.ndarray)
        }


@dataclass(eq=False, repr=False)
class StepEstimate:
    """What one step of a graph will take on a machine; `gpuplace.estimate` makes it."""

    placement: Placement
    """The graph, placed."""
    part: StepPart
    """What runs."""
    shapes: StepShapes
    """Of what runs."""
    works: Sequence[Work]
    """Of what runs."""
    machinery: Machinery
    """The machine."""
    cost_model: CostModel
    """What timed the work."""
    flow: StepFlow
    """What was run."""
    times: Times
    """When it was run."""
    request: StepRequest
    """The step that was asked for."""
    assumptions: tuple[str, ...]
    """What had to be assumed, a sentence each."""
    memory_requests: dict[Hashable, Any]
    """Allocations of the step by placement, shared by all estimates of the step."""

    @property
    def subject(self) -> Subject:
        """The step: which nodes run, what is fetched and fed."""
        return self.part.subject

    # Time

    @property
    def step_time(self) -> float:
        """Seconds that the step takes."""
        return self.times.total

    @cached_property
    def item_times(self) -> dict[str, np.ndarray]:
        """[items of the flow] kind, begin, end, and seconds of the kernel and of the host that starts it."""
        flow, times = self.flow, self.times
        host_start = np.array(times.host_start)
        return {
            "kind": flow.kind,
            "start": np.where(flow.kind == ON_CPU, host_start, np.array(times.start)),
            "end": np.array(times.end),
            "kernel": flow.kernel,
            "host": flow.host,
            "host_start": host_start,
            "host_end": np.array(times.host_end),
        }

    @cached_property
    def node_times(self) -> dict[str, np.ndarray]:
        """[nodes] begin, end, time, host time and runs, of all executions; an infinite begin where it does not run."""
        items, count = self.item_times, len(self.part.graph)
        chosen = (self.flow.item_node < count) & (items["host_start"] >= 0)
        node = self.flow.item_node[chosen]
        start, end = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(start, node, items["start"][chosen])
        np.maximum.at(end, node, items["end"][chosen])
        own = items["kernel"] + np.where(items["kind"] == ON_CPU, items["host"], 0.0)
        return {
            "start": start,
            "end": end,
            "time": np.bincount(node, own[chosen], minlength=count),
            "host": np.bincount(node, items["host"][chosen], minlength=count),
            "runs": np.bincount(node, self.flow.item_weight[chosen], minlength=count),
        }

    @property
    def node_seconds(self) -> np.ndarray:
        """[nodes of the part] seconds of all executions of each, as in ``frame()``; 0 for what does not run."""
        return self.node_times["time"]

    @property
    def node_runs(self) -> np.ndarray:
        """[nodes of the part] how often each runs."""
        return self.node_times["runs"]

    @cached_property
    def running(self) -> list[int]:
        """Nodes that run, in order of their begin."""
        start = self.node_times["start"]
        found = np.flatnonzero(np.isfinite(start))
        return found[np.argsort(start[found], kind="stable")].tolist()

    @cached_property
    def begins(self) -> dict[str, float]:
        """When each node that runs began first, in seconds, by its name."""
        names, start = self.part.graph.names, self.node_times["start"].tolist()
        return {names[node]: start[node] for node in self.running}

    def bytes_of(self, node: int, output: int) -> int:
        """Return the bytes of an output; an unknown size counts as 1.

        Args:
            node: a node of the step, by its position in the whole graph.
            output: its output.
        """
        return self.shapes.nbytes(int(np.searchsorted(self.part.nodes, node)), output)

    @property
    def device_names(self) -> list[str]:
        """Full names of the machine's devices."""
        return self.placement.device_set.names

    @cached_property
    def busy(self) -> dict[str, float]:
        """Seconds in which each device computes, by full name."""
        items = self.item_times
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
    def step_copies(self) -> StepCopies:
        """The copies of the step, with nodes by position in the whole graph."""
        return copies_of_part(self.placement, self.part, self.shapes)

    @cached_property
    def copies(self) -> tuple[CopyCost, ...]:
        """Every tensor that a step copies to another device, in order of the first begin."""
        rows = [cost for _, cost in self.costs_of_copies]
        return tuple(sorted(rows, key=lambda copy: (copy.start, copy.tensor, copy.target)))

    @cached_property
    def costs_of_copies(self) -> list[tuple[StepCopy, CopyCost]]:
        """Each copy of the step with what it costs."""
        return copy_costs(self)

    @cached_property
    def guessed(self) -> float:
        """The part of the time of all kernels, 0 to 1, that rests on guesses: ops without a model, assumed shapes."""
        time = self.node_times["time"]
        kernels = self._kernel_times
        total = float(kernels.sum()) or float(time.sum())
        used = kernels if kernels.sum() else time
        is_guess = np.array([work.is_guess for work in self.works] or [False])[: len(used)]
        return float(used[is_guess].sum()) / total if total else 0.0

    @cached_property
    def _kernel_times(self) -> np.ndarray:
        items, count = self.item_times, len(self.part.graph)
        chosen = (self.flow.item_node < count) & (items["host_start"] >= 0)
        return np.bincount(self.flow.item_node[chosen], items["kernel"][chosen], minlength=count)

    @cached_property
    def path(self) -> list[tuple[int, bool, float, float]]:
        """What the step waits for from its begin to its end; see `gpuplace.cost.clock.path`."""
        return self.flow.path(self.times)

    # Memory

    @cached_property
    def memory(self) -> StepMemory:
        """The memory of every GPU, and of the host, over time: what a simulated GPU's allocator shows when it runs."""
        return StepMemory.predict(
            self.placement,
            self.part,
            self.shapes,
            self.request.config,
            host_memory(self),
            self.request.arrays,
            self.memory_requests,
        )

    @property
    def peak_memory(self) -> dict[str, int | None]:
        """Most bytes in use on each device, by full name, variables included; None where that is not known."""
        return dict(self.memory.peaks)

    # What it says

    @cached_property
    def findings(self) -> Findings:
        """What stands out in the step: at most five causes that cost time, with their fixes."""
        findings = above("gpuplace.findings.find", "findings")

        return findings(self)

    def rows(self, table: str = "nodes") -> list[Any]:
        """A table as records.

        Args:
            table: one of ``"nodes"``, ``"devices"``, ``"copies"``, ``"memory"``, ``"ops"``, ``"findings"``.

        Raises:
            ValueError: there is no such table.
        """
        if table not in TABLES:
            raise ValueError(f"No table {table!r} of an estimate: choose one of {', '.join(TABLES)}")
        if table == "copies":
            return list(self.copies)
        if table == "memory":
            return list(self.memory.rows())
        if table == "devices":
            return list(device_rows(self))
        if table == "findings":
            return list(self.findings.table())
        return list(node_rows(self) if table == "nodes" else op_rows(self))

    def frame(self, table: str = "nodes") -> DataFrame:
        """A table as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.estimate_frames` for the columns.

        Args:
            table: one of ``"nodes"``, ``"devices"``, ``"copies"``, ``"memory"``, ``"ops"``, ``"findings"``.

        Raises:
            ValueError: there is no such table.
        """
        estimate_frame = above("gpuplace.jupyter.frames.estimate_frames", "estimate_frame")

        return estimate_frame(self, table)

    def run_metadata(self) -> RunMetadata:
        """The predicted step as TensorFlow's ``RunMetadata``, with ``step_stats`` as a traced run has them."""
        return step_metadata(self)

    def timeline(self) -> StepTimeline:
        """The predicted step in the view of measured ones."""
        step_timeline = above("gpuplace.views.timelines.reader", "step_timeline")

        return step_timeline(self.run_metadata(), self.placement)

    def compare(self, run_metadata: Any) -> Comparison:
        """The predicted step beside a measured one, op type by op type.

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

        return estimate_again(self, machine, config, soft_placement)

    def largest_batch(self, most: int = 1 << 16) -> int:
        """The largest batch with which the step fits on the machine; 0 if none does, ``most`` if more would.

        The batch is what is fed as None in the first place (``feeds={"images": (None, 224, 224, 3)}``), or the first
        size that all feeds share.

        Args:
            most: the largest that is tried.

        Raises:
            InvalidArgumentError: no size is known to be the batch, the graph fixes it, or `most` is no batch size.
            FailedPreconditionError: it is not known which is the largest, as the memory of a larger one is not.
        """
        estimate_batch = above("gpuplace.cost.estimate", "estimate_batch")
        check_batch(most)
        found, unknown = largest(lambda batch: estimate_batch(self, batch).memory.fits, most=most)
        if unknown is not None:
            raise FailedPreconditionError.of(
                f"The largest batch is not known: whether a batch of {unknown:,} fits is not.",
                facts={
                    "known to fit": f"a batch of {found:,}" if found else "none",
                    "because": estimate_batch(self, unknown).memory.unknown,
                },
                hint=f"most={found}" if found else None,
            )
        return found

    def explain(self, *, memory: bool = True) -> str:
        """What stands out, what takes the time and the memory, and what was assumed.

        Args:
            memory: whether to say what the memory holds, which takes longer to work out than the time.
        """
        told = explanation(self, memory=memory)
        return told if self.findings.skipped else f"{self.findings}\n{told}"

    @property
    def text(self) -> str:
        """The answer in a line."""
        busiest = max(self.busy.items(), key=lambda item: item[1], default=("", 0.0))
        count = len(self.running)
        where = f"; {busiest[0].rpartition('device:')[2]} is busy {busiest[1] / self.step_time:.0%} of it"
        return (
            f"{count:,} nodes in {self.step_time * 1e3:.3f} ms{where if self.step_time else ''}; "
            f"{self.step_copies.count:,} copies, {sum(copy.bytes for copy in self.copies) / 1e6:.1f} MB; "
            f"{self.guessed:.0%} of the time is guessed"
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
