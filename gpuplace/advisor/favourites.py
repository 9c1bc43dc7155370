"""The favourite child of each node, for m-SCT: the reader whose device waits for it, so that one copy is not made.

It is found by the linear program of small communication times, rounded.

Sources: Hanen, Munier, "An approximation algorithm for scheduling dependent tasks on m processors with small
communication delays", 1995; Jeon et al., "Baechi", SoCC 2020 (m-SCT).
"""

from __future__ import annotations

import numpy as np

from gpuplace.advisor.highs import quiet_solver
from gpuplace.advisor.placers import Costs

_FAVOURITE = 0.5
"""Below this, an edge of the linear program makes its reader the favourite child."""


def favourite_children(costs: Costs, seconds: float) -> dict[int, int]:
    """Node -> its favourite child, by the linear program of small communication times, rounded; by HiGHS.

    Args:
        costs: the problem.
        seconds: how long the program may take; where that is too short, there are none.
    """
    import highspy

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
    columns: list[list[int]] = []
    weights: list[list[float]] = []
    lower: list[float] = []
    after: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {}
    for at, (source, reader) in enumerate(keys):  # s_reader - s_source - c x >= p_source
        columns.append([number + reader, number + source, at])
        weights.append([1.0, -1.0, -pairs[source, reader] * scale])
        lower.append(lasts[source] * scale)
        after.setdefault(source, []).append(at)
        before.setdefault(reader, []).append(at)
    for of in (after, before):
        for ends in of.values():  # all but one child, or parent, pay for the copy
            columns.append(ends)
            weights.append([1.0] * len(ends))
            lower.append(len(ends) - 1.0)
    for node in {node for pair in keys for node in pair}:
        if node not in after:
            columns.append([number + count, number + node])
            weights.append([1.0, -1.0])
            lower.append(lasts[node] * scale)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = number + count + 1, len(columns)
    program.col_cost_ = np.eye(1, number + count + 1, number + count)[0]
    program.col_lower_ = np.zeros(number + count + 1)
    program.col_upper_ = np.concatenate([np.ones(number), np.full(count + 1, 1e30)])
    program.row_lower_, program.row_upper_ = np.array(lower), np.full(len(columns), 1e30)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.cumsum([0, *map(len, columns)])
    program.a_matrix_.index_ = (
        np.concatenate([np.array(row) for row in columns]) if columns else np.zeros(0, int)
    )
    program.a_matrix_.value_ = np.concatenate([np.array(row) for row in weights]) if weights else np.zeros(0)
    solver.passModel(program)
    solver.run()
    values = np.array(solver.getSolution().col_value)
    found: dict[int, int] = {}
    if len(values):
        for at, (source, reader) in enumerate(keys):
            if values[at] < _FAVOURITE:
                found.setdefault(source, reader)
    return found
