"""Groups whose device is not chosen but follows: the gates of gradients, and what no function of devices is asked of.

A gate is the NoOp by which the gradients of an op wait for each other. Where a program is built within other devices,
it is with all that it waits for, or, where those are apart, where the placer has it by itself (`rebuilt`)::

    MatMul_grad/MatMul     GPU:0 ──┐
                                   ├──> MatMul_grad/tuple/group_deps     GPU:0 with both, else the placer's own
    MatMul_grad/MatMul_1   GPU:0 ──┘
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.freedom import Freedom
from gpuplace.advisor.steps.rebuilt import gates_of_gradients, untold_nodes

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Gates:
    """The gates of a step that may be on any device."""

    groups: Ints
    """[gates] group of each, which holds nothing else."""
    homes: Ints
    """[gates] the device of each where what it waits for is apart."""
    first: Ints
    """[gates] where its own begin among `awaited`."""
    awaited: Ints
    """Groups that gates wait for."""

    def shut(self, homes: Ints) -> Ints:
        """Puts gates where what they wait for is.

        Args:
            homes: [groups] devices; changed, and returned.
        """
        if len(self.groups):
            where = homes[self.awaited]
            least, most = np.minimum.reduceat(where, self.first), np.maximum.reduceat(where, self.first)
            homes[self.groups] = np.where(least == most, least, self.homes)
        return homes


def gate_groups(freedom: Freedom, runs: Bools, kept: Collection[int]) -> tuple[Gates, Ints]:
    """The gates that run, and the groups of what cannot be told a device.

    Args:
        freedom: what may be chosen.
        runs: [groups] whether the step runs any of it.
        kept: nodes whose device is not to be chosen.
    """
    graph, group = freedom.placement.graph, freedom.group
    is_alone = np.bincount(group, minlength=len(runs)) == 1
    untold = [int(group[node]) for node in untold_nodes(graph) if node not in kept and is_alone[group[node]]]
    chosen: list[int] = []
    first: list[int] = []
    awaited: list[int] = []
    for gate, waits in gates_of_gradients(graph).items():
        own = int(group[gate])
        if waits and gate not in kept and runs[own] and is_alone[own] and freedom.allowed[own].all():
            chosen.append(own)
            first.append(len(awaited))
            awaited.extend(group[waits].tolist())
    groups = np.array(chosen, dtype=np.int64)
    gates = Gates(
        groups, freedom.default[groups], np.array(first, dtype=np.int64), np.array(awaited, dtype=np.int64)
    )
    return gates, np.array(untold, dtype=np.int64)
