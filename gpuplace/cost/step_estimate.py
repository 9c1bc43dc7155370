"""Predicted cost of a step: the result of `gpuplace.estimate`.

An estimate stores the arrays of the step and their times. Tables, texts and timelines are computed on demand, and
memory is predicted when it is first read.
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
from gpuplace.typing import ConfigProto, DataFrame, Findings, RunMetadata, StepTimeline
from gpuplace.why.placement import Placement


@dataclass(frozen=True, eq=False)
class StepRequest:
    """A step, and the options of the session that runs it."""

    fetches: Any = None
    """Fetches, as for `gpuplace.estimate`; None for the default subject."""
    feeds: Mapping[Any, Any] = field(default_factory=dict)
    """Tensor, or its name, to a shape or an array."""
    config: Any = None
    """The ``ConfigProto``."""
    trip_counts: Mapping[str, float] | None = None
    """Name of a loop's frame to the number of its iterations."""
    whole_graph: bool = False
    """Whether every node of the graph runs."""

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays that are fed, by node name."""
        return {
            feed_name(key).partition(":")[0]: value
            for key, value in self.feeds.items()
            if isinstance(value, np.ndarray)
        }


@dataclass(eq=False, repr=False)
class StepEstimate:
    """Predicted cost of one step of a graph on a machine, as `gpuplace.estimate` returns it."""

    placement: Placement
    """The placed graph."""
    part: StepPart
    """The nodes that run."""
    shapes: StepShapes
    """Their shapes."""
    works: Sequence[Work]
    """Their work."""
    machinery: Machinery
    """The machine."""
    cost_model: CostModel
    """The model that timed the work."""
    flow: StepFlow
    """The items of the step."""
    times: Times
    """The times of the items."""
    request: StepRequest
    """The requested step."""
    assumptions: tuple[str, ...]
    """Assumptions, one sentence each."""
    memory_requests: dict[Hashable, Any]
    """Allocations of the step by placement, shared by all estimates of the step."""

    @property
    def subject(self) -> Subject:
        """The step: nodes that run, fetches and feeds."""
        return self.part.subject

    # Time

    @property
    def step_time(self) -> float:
        """Predicted seconds of the step."""
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
        """[nodes] begin, end, time, host time and runs over all executions; infinite begin if a node does not run."""
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
        """[nodes of the part] seconds of all executions, as in ``frame()``; 0 if a node does not run."""
        return self.node_times["time"]

    @property
    def node_runs(self) -> np.ndarray:
        """[nodes of the part] number of executions."""
        return self.node_times["runs"]

    @cached_property
    def running(self) -> list[int]:
        """Nodes that run, in order of their start."""
        start = self.node_times["start"]
        nodes = np.flatnonzero(np.isfinite(start))
        return nodes[np.argsort(start[nodes], kind="stable")].tolist()

    @cached_property
    def begins(self) -> dict[str, float]:
        """First start of each node that runs, in seconds, by node name."""
        names, start = self.part.graph.names, self.node_times["start"].tolist()
        return {names[node]: start[node] for node in self.running}

    def bytes_of(self, node: int, output: int) -> int:
        """Return the bytes of an output; an unknown size counts as 1.

        Args:
            node: position of a node of the step in the whole graph.
            output: output of the node.
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
        seconds = {}
        count = len(self.part.graph)
        is_node = (self.flow.item_node < count) & (items["host_start"] >= 0)
        for number, name in enumerate(self.device_names):
            if self.machinery.is_gpu[number]:
                is_counted = is_node & (self.flow.device == number) & (items["kind"] == ON_GPU)
                seconds[name] = float(items["kernel"][is_counted].sum())
            else:
                is_counted = is_node & (self.flow.device == number) & (items["end"] > items["start"])
                seconds[name] = _covered(items["start"][is_counted], items["end"][is_counted])
        return seconds

    @cached_property
    def step_copies(self) -> StepCopies:
        """Copies of the step, with nodes by position in the whole graph."""
        return copies_of_part(self.placement, self.part, self.shapes)

    @cached_property
    def copies(self) -> tuple[CopyCost, ...]:
        """Tensors that the step copies to another device, in order of the first start."""
        rows = [cost for _, cost in self.costs_of_copies]
        return tuple(sorted(rows, key=lambda copy: (copy.start, copy.tensor, copy.target)))

    @cached_property
    def costs_of_copies(self) -> list[tuple[StepCopy, CopyCost]]:
        """Each copy of the step with its cost."""
        return copy_costs(self)

    @cached_property
    def guessed(self) -> float:
        """Fraction of the kernel time, 0 to 1, that is based on guesses: ops without a model, assumed shapes."""
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
        """Critical path of the step; see `gpuplace.cost.clock.path`."""
        return self.flow.path(self.times)

    # Memory

    @cached_property
    def memory(self) -> StepMemory:
        """Memory of every GPU and of the host over time, as a simulated GPU's allocator shows it when the step runs."""
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
        """Peak bytes in use on each device, by full name, variables included; None where it is unknown."""
        return dict(self.memory.peaks)

    # Results

    @cached_property
    def findings(self) -> Findings:
        """The findings of the step: at most five causes of lost time, with their fixes."""
        findings = above("gpuplace.findings.find", "findings")

        return findings(self)

    def rows(self, table: str = "nodes") -> list[Any]:
        """Return a table as records.

        Args:
            table: one of ``"nodes"``, ``"devices"``, ``"copies"``, ``"memory"``, ``"ops"``, ``"findings"``.

        Raises:
            ValueError: There is no such table.
        """
        if table not in TABLES:
            raise ValueError(f"An estimate has no table {table!r}: choose one of {', '.join(TABLES)}")
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
        """Return a table as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.estimate_frames` for the columns.

        Args:
            table: one of ``"nodes"``, ``"devices"``, ``"copies"``, ``"memory"``, ``"ops"``, ``"findings"``.

        Raises:
            ValueError: There is no such table.
        """
        estimate_frame = above("gpuplace.jupyter.frames.estimate_frames", "estimate_frame")

        return estimate_frame(self, table)

    def run_metadata(self) -> RunMetadata:
        """Return the predicted step as TensorFlow's ``RunMetadata``, with ``step_stats`` like those of a traced run."""
        return step_metadata(self)

    def timeline(self) -> StepTimeline:
        """Return the predicted step as a timeline, like that of a measured step."""
        step_timeline = above("gpuplace.views.timelines.reader", "step_timeline")

        return step_timeline(self.run_metadata(), self.placement)

    def compare(self, run_metadata: RunMetadata) -> Comparison:
        """Compare the predicted step with a measured one, op type by op type.

        Args:
            run_metadata: ``RunMetadata`` or ``StepStats`` of a traced run of TensorFlow or gpuplace.

        Raises:
            TypeError: The argument is neither.
            ValueError: No node of this graph was measured.
        """
        return compare(self, run_metadata)

    def what_if(
        self, machine: Any = None, config: ConfigProto | None = None, soft_placement: bool | None = None
    ) -> StepEstimate:
        """Predict the same step on another machine or with other options, reusing shapes and work.

        Args:
            machine: another machine; None for the same.
            config: another ``ConfigProto``; None for the same.
            soft_placement: whether requests that cannot be met are overridden; None: as the config states.

        Raises:
            OpError: The graph cannot be placed there.
        """
        estimate_again = above("gpuplace.cost.estimate", "estimate_again")

        return estimate_again(self, machine, config, soft_placement)

    def largest_batch(self, most: int = 1 << 16) -> int:
        """Return the largest batch with which the step fits in memory; 0 if none does, ``most`` if a larger one would.

        The batch is the first dimension of feeds where it is None (``feeds={"images": (None, 224, 224, 3)}``),
        otherwise the first dimension that all feeds share.

        Args:
            most: the largest batch to try.

        Raises:
            InvalidArgumentError: No dimension can be identified as the batch, the graph fixes it, or `most` is not a
                valid batch size.
            FailedPreconditionError: The result is unknown, because the memory of a larger batch is unknown.
        """
        estimate_batch = above("gpuplace.cost.estimate", "estimate_batch")
        check_batch(most)
        largest_fitting, unknown = largest(lambda batch: estimate_batch(self, batch).memory.fits, most=most)
        if unknown is not None:
            raise FailedPreconditionError.of(
                f"Cannot determine the largest batch: it is unknown whether a batch of {unknown:,} fits.",
                facts={
                    "known to fit": f"a batch of {largest_fitting:,}" if largest_fitting else "none",
                    "because": estimate_batch(self, unknown).memory.unknown,
                },
                hint=f"most={largest_fitting}" if largest_fitting else None,
            )
        return largest_fitting

    def explain(self, *, memory: bool = True) -> str:
        """Return the findings, the breakdowns of time and memory, and the assumptions as text.

        Args:
            memory: whether to describe the contents of memory, which takes longer to compute than the time.
        """
        text = explanation(self, memory=memory)
        return text if self.findings.skipped else f"{self.findings}\n{text}"

    @property
    def text(self) -> str:
        """Summary in one line."""
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
    """Return the length of the union of some intervals, in seconds."""
    if not len(start):
        return 0.0
    order = np.argsort(start, kind="stable")
    begins, ends = start[order], np.maximum.accumulate(end[order])
    gaps = np.maximum(begins[1:] - ends[:-1], 0.0)
    return float(ends[-1] - begins[0] - gaps.sum())
