"""Foretold training rates beside those that TensorFlow published in 2017, on Google's machine with Tesla K80s.

``python -m tests.benchmarks.bench_step_estimates`` prints images a second for 1, 2, 4 and 8 GPUs: published, foretold,
and how far that is off. Nothing in the model is fitted to these rates.
"""

from __future__ import annotations

import argparse
import time

import gpuplace as tf
from gpuplace.cost.estimate import estimate
from tests.benchmarks.published_nets import BATCH, PUBLISHED, training_step


def foretold(net: str, gpus: int, machine: str = "Tesla K80") -> tuple[float, float, object]:
    """Images a second, the seconds that foretelling took, and the estimate."""
    with tf.Graph().as_default() as graph:
        step = training_step(tf, net, gpus)
    started = time.perf_counter()
    found = estimate(
        graph, step, machine=f"{gpus}x {machine}", config=tf.ConfigProto(allow_soft_placement=True)
    )
    elapsed = time.perf_counter() - started
    return BATCH[net] * gpus / found.step_time, elapsed, found


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", action="append", choices=list(PUBLISHED))
    parser.add_argument("--gpus", type=int, action="append")
    parser.add_argument("--explain", action="store_true")
    arguments = parser.parse_args()
    errors = []
    print(
        f"{'net':<14}{'GPUs':>5}{'published':>11}{'foretold':>11}{'off':>8}{'foretelling s':>15}{'GPU busy':>10}"
    )
    for net in arguments.net or PUBLISHED:
        for gpus, published in PUBLISHED[net].items():
            if arguments.gpus and gpus not in arguments.gpus:
                continue
            rate, elapsed, step = foretold(net, gpus)
            off = rate / published - 1
            errors.append(abs(off))
            busy = max(step.busy.values()) / step.step_time
            print(
                f"{net:<14}{gpus:>5}{published:>11.1f}{rate:>11.1f}{off:>+8.0%}{elapsed:>15.2f}{busy:>10.0%}",
                flush=True,
            )
            if arguments.explain:
                print(step.explain()[:3000])
                for row in step.rows("ops")[:14]:
                    print(
                        f"    {row.op:<28}{row.device_type:<5}{row.nodes:>6}{row.time * 1e3:>10.2f} ms {row.model}"
                    )
    mean = sum(errors) / len(errors)
    print(f"mean |error| {mean:.1%}, worst {max(errors):.1%}")


if __name__ == "__main__":
    main()
