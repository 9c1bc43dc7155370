"""All splits of small random problems beside what the search finds: how often it finds the best.

python -m tests.advisor.brute_force [--count 1000] [--most 10] [--steps 20000] [--objective NAME] [--annealing]

With ``--annealing`` the search does not try all splits of what is small, as it otherwise would.
"""

from __future__ import annotations

import argparse
import itertools
import math

import numpy as np

from gpuplace.advisor import split_search
from gpuplace.advisor.chains import Chain, SearchContext
from gpuplace.advisor.problem import Problem, checked
from gpuplace.advisor.solve import solve
from gpuplace.advisor.split_search import OBJECTIVES
from gpuplace.advisor.workloads import read_workload
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError
from tests.advisor.step_examples import random_step
from tests.advisor.workload_examples import as_text, random_workload


def best_of_all(problem: Problem, objective: str) -> float:
    """The best objective of all splits; infinite if none fits."""
    context = SearchContext(problem, objective, True)
    chain, net = Chain(context), context.arrays
    best = math.inf
    for split in itertools.product(range(net.device_count), repeat=problem.group_count):
        device = np.array(split)
        used = np.bincount(device, net.sizes, net.device_count)
        runs = net.seconds[np.arange(len(device)) * net.device_count + device]
        if not ((used > net.rooms * (1 + 1e-12)).any() or np.isinf(runs).any()):
            best = min(best, chain.value(device))
    return best


def random_problem(objective: str, seed: int, most: int) -> Problem:
    """A small problem.

    Raises:
        InvalidArgumentError: it cannot fit.
    """
    if objective == "step_time":
        return checked(random_step(seed, most))
    training = objective == "throughput" and seed % 2 == 1
    return read_workload(as_text(random_workload(seed, most, training=training)), objective)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--most", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--objective", choices=OBJECTIVES, action="append")
    parser.add_argument("--annealing", action="store_true")
    arguments = parser.parse_args()
    if arguments.annealing:
        split_search._ALL = 0
    for objective in arguments.objective or OBJECTIVES:
        equal = compared = 0
        for seed in range(arguments.count):
            try:
                problem = random_problem(objective, seed, arguments.most)
                found = solve(problem, objective, steps=arguments.steps, seed=seed).value
            except InvalidArgumentError:  # it cannot fit
                continue
            except ResourceExhaustedError:
                found = math.inf
            compared += 1
            best = best_of_all(problem, objective)
            if found <= best * (1 + 1e-9) + 1e-12:
                equal += 1
            else:
                print(f"{objective}: seed {seed}: found {found:g}, best {best:g}")
        print(
            f"{objective}: {equal} of {compared} are the best of all splits ({equal / compared:.2%})",
            flush=True,
        )


if __name__ == "__main__":
    main()
