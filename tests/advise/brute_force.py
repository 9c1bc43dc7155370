"""All splits of small random workloads beside what the search finds: how often it finds the best.

python -m tests.advise.brute_force [--count 1000] [--most 10] [--steps 20000]
"""

from __future__ import annotations

import argparse
import itertools
import math

import numpy as np

from gpuplace.advise import loops
from gpuplace.advise.network import blocks_of, network_of
from gpuplace.advise.problem import Problem
from gpuplace.advise.search import _new_state, _new_work, solve
from gpuplace.advise.workloads import read_workload
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError
from gpuplace.numerics.compiled.dispatch import compiled_module
from tests.advise.workload_examples import as_text, random_workload


def best_of_all(problem: Problem, objective: str) -> float:
    """The best objective of all splits; infinite if none fits."""
    net = network_of(problem)
    state = _new_state(net, 0.0)
    code = compiled_module(loops)
    blocks = blocks_of(problem) if objective == "latency" else None
    work = _new_work(blocks, False) if blocks is not None else None
    best = math.inf
    for split in itertools.product(range(net.device_count), repeat=problem.group_count):
        device = np.array(split)
        used = np.bincount(device, net.sizes, net.device_count)
        runs = net.seconds[np.arange(len(device)) * net.device_count + device]
        if (used > net.rooms * (1 + 1e-12)).any() or np.isinf(runs).any():
            continue
        if blocks is not None:
            best = min(best, code.latency(blocks, device, work, state.total))
        else:
            code.tally(net, device, state.count, state.elsewhere, state.load, state.used)
            best = min(best, state.load.max())
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--most", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20000)
    arguments = parser.parse_args()
    for objective in ("throughput", "latency"):
        equal = judged = 0
        for seed in range(arguments.count):
            training = objective == "throughput" and seed % 2 == 1
            workload = random_workload(seed, arguments.most, training=training)
            try:
                problem = read_workload(as_text(workload), objective)
                found = solve(problem, objective, steps=arguments.steps, seed=seed).value
            except InvalidArgumentError:  # it cannot fit
                continue
            except ResourceExhaustedError:
                found = math.inf
            judged += 1
            best = best_of_all(problem, objective)
            if found <= best * (1 + 1e-9) + 1e-12:
                equal += 1
            else:
                print(f"{objective}: seed {seed}: found {found:g}, best {best:g}")
        print(
            f"{objective}: {equal} of {judged} are the best of all splits ({equal / judged:.2%})", flush=True
        )


if __name__ == "__main__":
    main()
