"""Many steps of a monitored session: summaries, checkpoints, a queue and hooks, and nothing left behind.

    python -m tests.soak.training --minutes 5

What the process holds (memory, Python objects, bytes on GPUs) is compared between a time when all is warm and the end,
and so is the number of checkpoints on disk.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import gpuplace as tf
from gpuplace.graphdef.file_writer import FileWriterCache
from tests.soak.session import ALLOCATION, complain, usage

WARM_STEPS = 600
CHECKPOINTS = 5
SAVE_STEPS, SUMMARY_STEPS = 50, 5


def soak(steps: int, seconds: float = 0.0) -> list[str]:
    """Trains for so many steps, and at least so many seconds; returns what was wrong."""
    tf.use_machine("2x Tesla K40c")
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        queue = tf.FIFOQueue(8, tf.float32, [[16, 32]])
        tf.train.add_queue_runner(
            tf.train.QueueRunner(queue, [queue.enqueue(tf.random_normal([16, 32], seed=1))])
        )
        step = tf.train.get_or_create_global_step()
        with tf.device("/gpu:1"):
            weights = tf.get_variable("weights", [32, 8], initializer=tf.random_normal_initializer(seed=2))
            loss = tf.reduce_mean(tf.square(tf.matmul(queue.dequeue(), weights)))
        tf.summary.histogram("weights", weights)
        tf.summary.scalar("loss", loss)
        tf.summary.image("picture", tf.reshape(weights, [1, 32, 8, 1]))
        train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, step)
        hooks = [tf.train.NanTensorHook(loss), tf.train.LoggingTensorHook([loss], every_n_iter=100)]
        config = tf.ConfigProto(allow_soft_placement=True)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            hooks=hooks,
            config=config,
            save_checkpoint_secs=None,
            save_checkpoint_steps=SAVE_STEPS,
            save_summaries_steps=SUMMARY_STEPS,
        ) as session:
            raw = session._tf_sess()
            for _ in range(WARM_STEPS):
                session.run(train)
            before, started = usage(raw), time.monotonic()
            made = 0
            while made < steps or time.monotonic() < started + seconds:
                session.run(train)
                made += 1
            after = usage(raw)
            took = time.monotonic() - started
            complaints = complain(before, after)
            if (counted := int(raw.run(step))) != WARM_STEPS + made:
                complaints.append(f"{counted} steps counted of {WARM_STEPS + made}")
        FileWriterCache.clear()
        kept = len(list(Path(folder).glob("*.index")))
        if kept != CHECKPOINTS:
            complaints.append(f"{kept} checkpoints are kept")
        (path,) = Path(folder).glob("events*")
        written = [event.step for event in tf.train.summary_iterator(path) if event.HasField("summary")]
        if len(set(written)) < made // SUMMARY_STEPS:
            complaints.append(f"{len(set(written))} summaries of {made} steps")
    print(f"{made:,} steps in {took:.1f} s, {1e3 * took / made:.2f} ms each\nbefore {before}\nafter  {after}")
    return complaints


def main() -> int:
    """Soaks, and says how it went."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=0.0)
    options = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in ALLOCATION.items()):
        command = [sys.executable, "-m", "tests.soak.training", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **ALLOCATION})
    complaints = soak(options.steps, 60 * options.minutes)
    for complaint in complaints:
        print("FAULT", complaint)
    print("soak:", "failed" if complaints else "passed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
