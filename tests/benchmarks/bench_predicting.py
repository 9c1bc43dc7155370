"""How long predicting a step takes, beside running it once on NumPy: on simulated GPUs, in one process.

    python -m tests.benchmarks.bench_predicting [--net ResNet-152] [--gpus 2] [--batch 32]

The net is one of `published_nets`, as towers. Predicting is all that ``gpuplace.estimate`` does with the graph:
placing it, shapes, work, the executor and memory; the first time, which loads modules and tables, and again, the
median of some times.
"""

from __future__ import annotations

import argparse
import statistics
import time

import gpuplace as tf
from tests.benchmarks.published_nets import BATCH, PUBLISHED, training_step

_AGAIN = 5


def main() -> None:
    """Prints the seconds of each, and predicting as a part of running."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--net", choices=list(PUBLISHED), default="ResNet-152")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument(
        "--batch", type=int, help="images of a GPU; as many as in the published measurements if not given"
    )
    options = parser.parse_args()
    batch = options.batch or BATCH[options.net]
    machine, config = f"{options.gpus}x Tesla K80", tf.ConfigProto(allow_soft_placement=True)
    with tf.Graph().as_default() as graph:
        step = training_step(tf, options.net, options.gpus, batch)
        start = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())
    taken = []
    for _ in range(1 + _AGAIN):
        begin = time.perf_counter()
        found = tf.estimate(graph, step, machine=machine, config=config)
        assert found.step_time > 0 and found.peak_memory
        taken.append(time.perf_counter() - begin)
    tf.use_machine(machine)
    with tf.Session(graph=graph, config=config) as session:
        session.run(start)
        begin = time.perf_counter()
        session.run(step)
        ran = time.perf_counter() - begin
    print(f"{options.net}, {options.gpus} GPUs, {batch} images each: {len(found.works):,} nodes in the step")
    for what, seconds in (("predicted first", taken[0]), ("predicted again", statistics.median(taken[1:]))):
        print(f"{what:<15}{seconds:>9.2f} s   1/{ran / seconds:.0f} of running it")
    print(f"{'run on NumPy':<15}{ran:>9.2f} s")


if __name__ == "__main__":
    main()
