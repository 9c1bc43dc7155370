"""A step in numbers with more or less of it held together: whole scopes move first, then ops, then single kernels.

The clock is the same at every level, node by node; only what may be apart differs. So the best split of a level is a
split of each finer one, and what cannot be found among thousands of kernels is found among a few scopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.problem import Problem
from gpuplace.advisor.steps.rehearsal import Rehearsal
from gpuplace.advisor.steps.step_problem import StepProblem

Ints = NDArray[np.int64]


def levels_of(rehearsal: Rehearsal, made: StepProblem) -> list[Problem]:
    """The step in numbers, the coarsest first; the last is as it was made.

    Args:
        rehearsal: of the step.
        made: the step in numbers, each unit for itself.
    """
    problem, freedom = made.problem, rehearsal.freedom
    first = np.zeros(problem.group_count, dtype=np.int64)
    first[problem.groups[::-1]] = np.arange(problem.node_count)[::-1]
    of = freedom.group[rehearsal.step.part.nodes[made.nodes[first]]]
    _, choice = np.unique(freedom.allowed[of], axis=0, return_inverse=True)
    found: list[Problem] = []
    for level in rehearsal.units.levels()[:-1]:
        own = np.where(freedom.is_free[of], level[made.unit[first]], len(level) + np.arange(len(of)))
        pairs = np.stack((own, choice.reshape(-1)), axis=1)
        _, number = np.unique(pairs, axis=0, return_inverse=True)
        found.append(replace(problem, groups=number.reshape(-1)[problem.groups].astype(np.int64)))
    return [*found, problem]


def with_room_for(problem: Problem, fitting: Sequence[Ints]) -> Problem:
    """A level whose devices have room for splits that are known to fit, by a finer count than the sum of sizes.

    Args:
        problem: the level.
        fitting: [nodes] devices of each.
    """
    used = np.zeros(len(problem.devices))
    for split in fitting:
        used = np.maximum(used, np.bincount(split, problem.sizes, len(used)))
    most: dict[int, float] = {}
    for device, size in zip(problem.devices, used.tolist(), strict=True):
        most[device.kind] = max(most.get(device.kind, 0.0), size)
    devices = tuple(replace(one, memory=max(one.memory, most[one.kind])) for one in problem.devices)
    return replace(problem, devices=devices)


def is_split_of(problem: Problem, split: Ints) -> bool:
    """Whether a split leaves together what a level holds together.

    Args:
        problem: the level.
        split: [nodes] devices; -1 where it has none.
    """
    device = np.zeros(problem.group_count, dtype=np.int64)
    device[problem.groups] = split
    return bool((split >= 0).all() and (device[problem.groups] == split).all())
