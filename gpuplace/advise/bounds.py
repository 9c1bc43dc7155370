"""What no split of a problem can be below, whatever is searched."""

from __future__ import annotations

import numpy as np

from gpuplace.advise.problem import Problem, group_seconds, topological_order


def lower_bound(problem: Problem, objective: str) -> float:
    """A number that the objective of every split is at least.

    Args:
        problem: one that ``checked`` let pass.
        objective: "throughput" or "latency".
    """
    if not problem.node_count:
        return 0.0
    return _longest_way(problem) if objective == "latency" else _shared_work(problem)


def _longest_way(problem: Problem) -> float:
    """The longest way through the graph, each node where it is quickest and nothing carried."""
    kinds = [device.kind for device in problem.devices]
    quickest = problem.seconds[:, kinds].min(axis=1).tolist()
    done = [0.0] * problem.node_count
    before: list[list[int]] = [[] for _ in done]
    for source, reader in zip(problem.sources.tolist(), problem.readers.tolist()):
        before[reader].append(source)
    for node in topological_order(problem).tolist():
        done[node] = quickest[node] + max((done[source] for source in before[node]), default=0.0)
    return max(done)


def _shared_work(problem: Problem) -> float:
    """The work of all groups, as if each could be cut and shared between all devices without a transfer.

    For any weights w of the devices that add up to 1, the largest load is at least the sum over the groups of the
    least of w[d] times their time on d: the dual of the linear program. The best weights of two kinds of devices are
    found by golden sections, as the sum is concave; those of more kinds by turns.
    """
    runs = group_seconds(problem)
    kinds, counts = np.unique([device.kind for device in problem.devices], return_counts=True)
    largest = float(runs[:, kinds].min(axis=1).max())
    share = np.full(len(kinds), 1 / len(kinds))

    def dual(weights: np.ndarray) -> float:
        weighted = runs[:, kinds] * np.maximum(weights / counts, 1e-300)
        return float(weighted.min(axis=1).sum())

    best = dual(share)
    for _ in range(1 if len(kinds) <= 2 else 20):
        for one in range(len(kinds) - 1):
            pair = share[one] + share[one + 1]
            low, high = 0.0, pair
            for _ in range(80):
                first, second = (
                    high - (high - low) * 0.618033988749895,
                    low + (high - low) * 0.618033988749895,
                )
                values = []
                for cut in (first, second):
                    trial = share.copy()
                    trial[one], trial[one + 1] = cut, pair - cut
                    values.append(dual(trial))
                if values[0] < values[1]:
                    low = first
                else:
                    high = second
            trial = share.copy()
            trial[one], trial[one + 1] = (low + high) / 2, pair - (low + high) / 2
            if dual(trial) >= best:
                share, best = trial, dual(trial)
    return max(largest, best)
