"""What nodes take by a cost model: a row for those of one type of op and one work, a column for what computes them.

The rest of a step does not depend on the model, so that it can be timed by one model after the other, as ``gpuplace
calibrate`` does, and by one model on all devices, as the advisor does.
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
"""Kernels of the CPU that take longer may go to the pool: TensorFlow measures them as they run, and takes 8,000 cycles
as the limit (5,000 until 1.15).

Source: kOpIsExpensiveThresholdCycles in core/common_runtime/executor.cc, release 2.21; core/framework/op_kernel.h,
release 1.15.
"""
POLL_SECONDS = 10e-6
"""How long after the end of a copy its receiver hears of it: the period in which TensorFlow looks at its events.

Source: core/common_runtime/gpu/gpu_event_mgr.cc, release 1.15.
"""
CPU, HOST_OF_GPU = 0, 1
"""Columns of the CPU: of its own nodes, and of a GPU's nodes whose kernels work in host memory, which never go to the
pool."""
_TRANSFER = Work("float32", launches=0, model="none")


class Row(NamedTuple):
    """Nodes that take the same time on each device."""

    op_type: str
    """Type of the op."""
    rewritten: str | None
    """Type of the op that TensorFlow's optimizers put in its place, else the same; None: another kernel computes it."""
    work: Work
    """What the kernel of each has to do."""
    has_kernel: bool
    """Whether there is a kernel to run: it is neither fed nor constant."""
    may_move: bool
    """Whether the nodes go to the pool if they are expensive."""


NO_ROW = Row("", None, _TRANSFER, False, False)
"""The row of what is not run."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemTimes:
    """What a model is asked for to time a step."""

    rows: Sequence[Row]
    """The first is `NO_ROW`."""
    columns: Sequence[GPUModel | None]
    """What computes: None for the CPU, twice, as `CPU` and `HOST_OF_GPU`; then GPUs."""
    fed: int
    """How many tensors are fed."""

    def runs_in_a_line(self, model: CostModel) -> bool:
        """Whether the step is gpuplace's own runtime's, which rewrites nothing; machines with GPUs have TensorFlow's.

        Args:
            model: what times it.
        """
        return model.in_a_line and len(self.columns) == 2

    def costs(self, model: CostModel, wanted: Iterable[int] | None = None) -> Costs:
        """What the step takes by a model, in lists.

        Args:
            model: what times it.
            wanted: positions in the table, the others of which stay 0; None: all.
        """
        count = len(self.columns)
        in_a_line = self.runs_in_a_line(model)
        size = len(self.rows) * count
        host, kernel, held = [0.0] * size, [0.0] * size, [0.0] * size
        expensive = [0] * size
        by_column: list[list[int]] = [[] for _ in self.columns]
        for at in range(size) if wanted is None else wanted:
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
