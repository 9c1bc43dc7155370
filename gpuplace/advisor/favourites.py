"""The favourite child of each node, for m-SCT: the reader whose device waits for it, so that one copy is not made.

It is found by the linear program of small communication times, rounded.

Sources: Hanen, Munier, "An approximation algorithm for scheduling dependent tasks on m processors with small
communication delays", 1995; Jeon et al., "Baechi", SoCC 2020 (m-SCT).
"""

from __future__ import annotations

import numpy as np

from gpuplace.advisor.highs import Rows, quiet_solver
from gpuplace.advisor.placers import Costs

_FAVOURITE = 0.5
"""Below this, an edge of the linear program makes its reader the favourite child."""
_ENDLESS = 1e30


def favourite_children(costs: Costs, seconds: float) -> dict[int, int]:
    """Node -> its favourite child, by the linear program of small communication times, rounded; by HiGHS.

    Args:
        costs: the problem.
        seconds: how long the program may take; where that is too short, there are none.
    """
    solver = quiet_solver()
    solver.setOptionValue("time_limit", float(seconds))
    edges = [
        edge
        for edge in range(len(costs.source))
        if costs.units[edge] and not costs.is_idle[costs.source[edge]]
    ]
    pairs: dict[tuple[int, int], float] = {}
    for edge in edges:
        key = costs.source[edge], costs.reader[edge]
        pairs[key] = max(pairs.get(key, 0.0), costs.mean_copy(edge))
    keys = list(pairs)
    count, number = costs.count, len(pairs)
    lasts = costs.mean_seconds.tolist()
    scale = 1e3 / max(sum(lasts), 1e-12)
    rows = Rows()
    after: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {}
    for at, (source, reader) in enumerate(keys):  # s_reader - s_source - c x >= p_source
        weights = [1.0, -1.0, -pairs[source, reader] * scale]
        rows.add([number + reader, number + source, at], weights, lasts[source] * scale, _ENDLESS)
        after.setdefault(source, []).append(at)
        before.setdefault(reader, []).append(at)
    for of in (after, before):
        for ends in of.values():  # all but one child, or parent, pay for the copy
            rows.add(ends, [1.0] * len(ends), len(ends) - 1.0, _ENDLESS)
    for node in {node for pair in keys for node in pair}:
        if node not in after:
            rows.add([number + count, number + node], [1.0, -1.0], lasts[node] * scale, _ENDLESS)
    upper = np.concatenate([np.ones(number), np.full(count + 1, _ENDLESS)])
    solver.passModel(rows.program(number + count, np.zeros(number + count + 1), upper))
    solver.run()
    values = np.array(solver.getSolution().col_value)
    found: dict[int, int] = {}
    if len(values):
        for at, (source, reader) in enumerate(keys):
            if values[at] < _FAVOURITE:
                found.setdefault(source, reader)
    return found
