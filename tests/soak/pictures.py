"""Many steps of a small net on images from files, which 16 threads read, distort and shuffle, as tutorials do it.

    python -m tests.soak.pictures --steps 10000

The process is as a user starts it: what its threads have freed and keep for later counts as memory that it holds, so
that it has to stay the same after the first steps.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gpuplace as tf
from gpuplace.numerics.compiled import dispatch
from tests.soak.session import resident_bytes

SIZE, CROPPED, CLASSES, BATCH, THREADS, FILES = 32, 24, 10, 16, 16, 3
RECORD = 1 + SIZE * SIZE * 3
WARM_STEPS, MOST_WARM_S = 500, 300
MAX_GROWN = 24 << 20
"""Bytes."""


def soak(steps: int, warm_steps: int = WARM_STEPS, megabytes: int = 24) -> list[str]:
    """Trains for so many steps; returns what was wrong.

    Args:
        steps: after those in which everything is warmed up.
        warm_steps: so many at least, and until numba's loops are compiled.
        megabytes: of each file.
    """
    tf.use_machine("cpu")
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        records = (megabytes << 20) // RECORD
        loss, train = net(*batches(files(Path(folder), records), min(2_000, records)))
        seen: list[int] = []
        losses: list[float] = []
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, save_checkpoint_secs=60, save_summaries_steps=100
        ) as session:
            started = time.monotonic()
            while len(losses) < warm_steps or (is_compiling() and time.monotonic() - started < MOST_WARM_S):
                if len(losses) < warm_steps:
                    losses.append(float(session.run([loss, train])[0]))
                else:  # steps would take the interpreter from the compiler
                    time.sleep(0.02)
                seen.append(resident_bytes())
            warm, peak = len(losses), max(seen)
            for number in range(steps):
                losses.append(float(session.run([loss, train])[0]))
                seen.append(resident_bytes())
                if not number % 500:
                    print(f"{number:6} steps {seen[-1] >> 20:6} MiB  loss {losses[-1]:.4f}", flush=True)
        took = time.monotonic() - started
    complaints = []
    if max(seen) - peak > MAX_GROWN:
        complaints.append(f"{(max(seen) - peak) >> 20} MiB more memory than in the first {warm} steps")
    first, last = np.mean(losses[:10]), np.mean(losses[-10:])
    if not last < first:
        complaints.append(f"the loss went from {first:.3f} to {last:.3f}")
    print(
        f"{len(losses):,} steps in {took:.1f} s; at most {peak >> 20} MiB in the first {warm}, {max(seen) >> 20} MiB"
        f" later; loss {first:.3f} to {last:.3f}"
    )
    return complaints


def is_compiling() -> bool:
    """Whether numba, which takes much memory, has work to do."""
    worker = dispatch._compiler.worker
    return worker is not None and worker.is_alive() and None in dispatch._ready.values()


def files(folder: Path, records: int) -> list[str]:
    """Files of labelled images, each class with a pattern of its own."""
    random = np.random.default_rng(0)
    patterns = random.integers(0, 256, [CLASSES, RECORD - 1])
    paths = []
    for number in range(FILES):
        labels = random.integers(0, CLASSES, records)
        pictures = (patterns[labels] + random.integers(0, 128, [records, RECORD - 1], np.int16)) // 2
        path = folder / f"pictures-{number}.bin"
        path.write_bytes(np.concatenate([labels[:, None], pictures], 1).astype(np.uint8).tobytes())
        paths.append(str(path))
    return paths


def batches(paths: list[str], waiting: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Distorted images and their labels, drawn from so many."""
    _, text = tf.FixedLengthRecordReader(RECORD).read(tf.train.string_input_producer(paths))
    record = tf.decode_raw(text, tf.uint8)
    image = tf.cast(tf.reshape(record[1:], [3, SIZE, SIZE]), tf.float32)
    image = tf.random_crop(tf.transpose(image, [1, 2, 0]), [CROPPED, CROPPED, 3])
    image = tf.image.random_contrast(tf.image.random_flip_left_right(image), 0.5, 1.5)
    image = tf.image.per_image_standardization(image)
    image.set_shape([CROPPED, CROPPED, 3])
    label = tf.reshape(tf.cast(record[:1], tf.int32), [])
    return tf.train.shuffle_batch([image, label], BATCH, waiting + 3 * BATCH, waiting, num_threads=THREADS)


def net(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Operation]:
    """The loss, and a step of training."""
    hidden = images
    for width in (32, 32):
        hidden = tf.layers.conv2d(hidden, width, 5, padding="same", activation=tf.nn.relu)
        hidden = tf.layers.max_pooling2d(hidden, 2, 2)
    logits = tf.layers.dense(tf.layers.flatten(hidden), CLASSES)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    tf.summary.scalar("loss", loss)
    tf.summary.image("images", images)
    for variable in tf.trainable_variables():
        tf.summary.histogram(variable.op.name, variable)
    step = tf.train.get_or_create_global_step()
    return loss, tf.train.GradientDescentOptimizer(0.03).minimize(loss, step)


def main() -> int:
    """Soaks, and says how it went."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=10_000)
    complaints = soak(parser.parse_args().steps)
    for complaint in complaints:
        print("FAULT", complaint)
    print("soak:", "failed" if complaints else "passed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
