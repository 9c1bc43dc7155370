"""Placers of the literature on a `Problem`, what the advisor is compared with: `gpuplace.advisor.placers`, from papers.

As in Baechi, nodes that must be together are placed with the first of them that computes, and only GPUs are chosen
where a GPU can run a node; links are as long as a copy takes that is alone.
"""

from __future__ import annotations

from gpuplace.advisor.placers import Costs, earliest_first, favourite_children, heft, in_stretches
from gpuplace.advisor.problem import Problem

LP_SECONDS = 60.0


def m_topo(problem: Problem) -> list[int]:
    """m-TOPO: stretches of a topological order, each of an equal part of all memory and the largest node's."""
    return in_stretches(Costs(problem))


def m_etf(problem: Problem) -> list[int]:
    """m-ETF: of all that is ready, what can begin first, where it can begin first."""
    return earliest_first(Costs(problem))


def m_sct(problem: Problem) -> list[int]:
    """m-SCT: as m-ETF, but a device waits for the favourite child of what it did last."""
    costs = Costs(problem)
    return earliest_first(costs, favourite_children(costs, LP_SECONDS))


RIVALS = {"m-TOPO": m_topo, "m-ETF": m_etf, "m-SCT": m_sct, "HEFT": lambda problem: heft(Costs(problem))}
"""What they are called, and what gives the device of each node."""
