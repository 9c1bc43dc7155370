"""Node times by a cost model: a row for each op type and work, a column for each kind of processor.

The rest of a step does not depend on the model. The step can therefore be timed by one model after another, as
``gpuplace calibrate`` does, and by one model on all devices, as the advisor does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.step_graph import Costs
from gpuplace.device.gpu_models import GPUModel
from gpuplace.kernels.work.record import Work

EXPENSIVE_SECONDS = 3e-6
"""CPU kernels above this time may go to the pool: TensorFlow measures them as they run, with a limit of 8,000 cycles
(5,000 until 1.15).

Source: kOpIsExpensiveThresholdCycles in core/common_runtime/executor.cc, release 2.21; core/framework/op_kernel.h,
release 1.15.
"""
POLL_SECONDS = 10e-6
"""Delay from the end of a copy until its receiver notices: the period in which TensorFlow polls its events.

Source: core/common_runtime/gpu/gpu_event_mgr.cc, release 1.15.
"""
CPU, HOST_OF_GPU = 0, 1
"""Columns of the CPU: its own nodes, and GPU nodes with kernels in host memory, which never go to the pool."""
_TRANSFER = Work("float32", launches=0, model="none")


class Row(NamedTuple):
    """Nodes that take the same time on each device."""

    op_type: str
    """Op type of the nodes."""
    rewritten: str | None
    """Op type after Grappler's rewrites; None if another node's kernel computes the nodes."""
    work: Work
    """Work of each node's kernel."""
    has_kernel: bool
    """Whether there is a kernel to run: the nodes are neither fed nor constant."""
    may_move: bool
    """Whether the nodes go to the pool if they are expensive."""


NO_ROW = Row("", None, _TRANSFER, False, False)
"""Row of nodes that do not run."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemTimes:
    """Inputs of a cost model for the times of a step's items."""

    rows: Sequence[Row]
    """Rows; the first is `NO_ROW`."""
    columns: Sequence[GPUModel | None]
    """Processors: None for the CPU, twice, as `CPU` and `HOST_OF_GPU`; then GPUs."""
    fed: int
    """Number of tensors that are fed."""

    def runs_in_a_line(self, model: CostModel) -> bool:
        """Whether gpuplace's own runtime, which rewrites nothing, runs the step; with GPUs it is TensorFlow.

        Args:
            model: the cost model.
        """
        return model.in_a_line and len(self.columns) == 2

    def costs(self, model: CostModel, positions: Iterable[int] | None = None) -> Costs:
        """Return the times of a step by a cost model, as lists.

        Args:
            model: the cost model.
            positions: positions in the table to fill, the others stay 0; None for all.
        """
        count = len(self.columns)
        in_a_line = self.runs_in_a_line(model)
        size = len(self.rows) * count
        host, kernel, held = [0.0] * size, [0.0] * size, [0.0] * size
        expensive = [0] * size
        by_column: list[list[int]] = [[] for _ in self.columns]
        for at in range(size) if positions is None else positions:
            row = self.rows[at // count]
            if row is not NO_ROW and (in_a_line or row.rewritten is not None):
                by_column[at % count].append(at)
        for column, members in enumerate(by_column):
            gpu = self.columns[column]
            rows = [self.rows[at // count] for at in members]
            types = [row.op_type if in_a_line else row.rewritten or "" for row in rows]
            kernels = model.kernel_times([row.work for row in rows], gpu, types)
            for at, row, op_type, seconds in zip(members, rows, types, kernels, strict=True):
                work = row.work
                host[at] = model.host_seconds(op_type, work, gpu)
                if not row.has_kernel or not (work.launches or work.nbytes or work.flops):
                    continue
                kernel[at] = seconds
                held[at] = model.held_seconds(op_type, work, seconds) if gpu is None else 0.0
                expensive[at] = int(column == CPU and row.may_move and seconds > EXPENSIVE_SECONDS)
        return Costs(
            host,
            kernel,
            held,
            expensive,
            model.host_seconds("_Send", _TRANSFER, None) + model.host_seconds("_Recv", _TRANSFER, None),
            model.call_seconds(self.fed),
            model.wake_up_seconds,
            model.queue_seconds,
            POLL_SECONDS,
        )
