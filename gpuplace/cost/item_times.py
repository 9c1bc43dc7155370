"""What the items of a flow take by a cost model; the rest of a flow does not depend on the model.

So a flow that is made once can be timed by one model after the other, as ``gpuplace calibrate`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.events import Flow
from gpuplace.cost.work import Work
from gpuplace.device.gpu_models import GPUModel

EXPENSIVE_SECONDS = 3e-6
"""Kernels of the CPU that take longer may go to the pool: TensorFlow measures them as they run, and takes 8,000 cycles
as the limit (5,000 until 1.15).

Source: kOpIsExpensiveThresholdCycles in core/common_runtime/executor.cc, release 2.21; core/framework/op_kernel.h,
release 1.15.
"""
_TRANSFER = Work("float32", launches=0, model="none")


class Alike(NamedTuple):
    """Nodes that take the same time: of one type of op, with equal work, on one kind of device."""

    nodes: Sequence[int]
    """Where they are among nodes and copies."""
    op_type: str
    """Type of the op."""
    rewritten: str | None
    """Type of the op that TensorFlow's optimizers put in its place, else the same; None: another kernel computes it."""
    work: Work
    """What the kernel of each has to do."""
    gpu: GPUModel | None
    """What computes them; None for the CPU."""
    may_move: bool
    """Whether they go to the pool if they are expensive."""
    computing: Sequence[int]
    """Those of the nodes that have a kernel to run: neither fed nor constant."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemTimes:
    """What a model is asked for to time a flow."""

    alike: Sequence[Alike]
    """All nodes that take any time."""
    copies: range
    """Where the copies are among nodes and copies."""
    cheap_copies: frozenset[int]
    """Those of the copies that leave a GPU."""
    place: Sequence[int]
    """[items] node or copy of each item."""
    weight: Sequence[float]
    """[items] how many executions each stands for."""
    fed: int
    """How many tensors are fed."""

    def timed(self, flow: Flow, model: CostModel) -> Flow:
        """The flow with the times of a model.

        Args:
            flow: the flow; its own times do not count.
            model: what times it.
        """
        total = self.copies.stop
        host, kernel = [0.0] * total, [0.0] * total
        expensive, held = [False] * total, [0.0] * total
        by_gpu: dict[int, list[Alike]] = {}
        for one in self.alike:
            if model.in_a_line or one.rewritten is not None:
                by_gpu.setdefault(id(one.gpu), []).append(one)
        for members in by_gpu.values():
            gpu = members[0].gpu
            types = [one.op_type if model.in_a_line else one.rewritten or "" for one in members]
            kernels = model.kernel_times([one.work for one in members], gpu, types)
            for one, op_type, seconds in zip(members, types, kernels, strict=True):
                work = one.work
                starts = model.host_seconds(op_type, work, gpu)
                for node in one.nodes:
                    host[node] = starts
                if not (work.launches or work.nbytes or work.flops):
                    continue
                holds = model.held_seconds(op_type, work, seconds) if gpu is None else 0.0
                is_expensive = one.may_move and seconds > EXPENSIVE_SECONDS
                for node in one.computing:
                    kernel[node], held[node], expensive[node] = seconds, holds, is_expensive
        transfer = model.host_seconds("_Send", _TRANSFER, None) + model.host_seconds("_Recv", _TRANSFER, None)
        for copy in self.copies:
            host[copy], expensive[copy] = transfer, copy not in self.cheap_copies
        place, weight = self.place, self.weight
        return replace(
            flow,
            host=[host[one] * more for one, more in zip(place, weight, strict=True)],
            kernel=[kernel[one] * more for one, more in zip(place, weight, strict=True)],
            is_expensive=[expensive[one] for one in place],
            held=[held[one] * more for one, more in zip(place, weight, strict=True)],
            begin=model.call_seconds(self.fed),
            wake_up=model.wake_up_seconds,
            queue=model.queue_seconds,
        )
