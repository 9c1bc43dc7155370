"""Published placers on a `Problem`, with which the advisor is compared; they are those of `gpuplace.advisor.placers`.

As in Baechi, nodes that must stay together are placed with the first of them that computes, and only GPUs are used
for nodes that can run on a GPU; links have the speed of a copy that shares no link.
"""

from __future__ import annotations

from gpuplace.advisor import placers
from gpuplace.advisor.placers import Costs, favorite_children, heft
from gpuplace.advisor.problem import Problem

LP_SECONDS = 60.0


def m_topo(problem: Problem) -> list[int]:
    """m-TOPO: intervals of a topological order, each with an equal share of all memory plus the largest group's."""
    return placers.m_topo(Costs(problem))


def m_etf(problem: Problem) -> list[int]:
    """m-ETF: of all ready nodes, the one that can begin first, where it can begin first."""
    return placers.m_etf(Costs(problem))


def m_sct(problem: Problem) -> list[int]:
    """m-SCT: as m-ETF, but a device waits for the favorite child of its last node."""
    costs = Costs(problem)
    return placers.m_etf(costs, favorite_children(costs, LP_SECONDS))


RIVALS = {"m-TOPO": m_topo, "m-ETF": m_etf, "m-SCT": m_sct, "HEFT": lambda problem: heft(Costs(problem))}
"""What they are called, and what gives the device of each node."""
