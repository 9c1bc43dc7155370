"""Measured steps for tests."""

from types import SimpleNamespace

import numpy as np

import gpuplace as tf


def tower_step():
    """The timeline of a step of two towers that share an input on the CPU; needs two GPUs.

    The quickest of some: where one node was held up, the others are too narrow to be drawn by themselves.
    """
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            shared = tf.constant(np.ones([64, 64], np.float32), name="shared")
        x = tf.placeholder(tf.float32, [64, 64], name="x")
        ends = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                y = tf.matmul(shared, x, name="in")
                ends.append(tf.matmul(y, y, name="out"))
        with tf.device("/cpu:0"):
            total = tf.add_n(ends, name="total")
        with tf.Session() as session:
            steps = [session.timeline(total, {x: np.ones([64, 64])}) for _ in range(5)]
            return min(steps, key=lambda step: step.total_us)


def entry(name, label, start, lasted, sizes=(), thread=0):
    """A ``NodeExecStats`` in microseconds."""
    output = [
        SimpleNamespace(
            slot=slot,
            tensor_description=SimpleNamespace(
                allocation_description=SimpleNamespace(requested_bytes=size, allocator_name="cpu")
            ),
        )
        for slot, size in enumerate(sizes)
    ]
    return SimpleNamespace(
        node_name=name,
        timeline_label=label,
        all_start_micros=start,
        all_end_rel_micros=lasted,
        all_start_nanos=0,
        all_end_rel_nanos=0,
        output=output,
        thread_id=thread,
    )


def step_of(**devices):
    """A ``StepStats``; ``_`` in a name stands for ``:``."""
    return SimpleNamespace(
        dev_stats=[
            SimpleNamespace(
                device=f"/job:localhost/replica:0/task:0/device:{name.replace('_', ':')}", node_stats=nodes
            )
            for name, nodes in devices.items()
        ]
    )


def busy_step(count):
    """A timeline of many short ops on two devices."""
    half = count // 2
    nodes = [
        [entry(f"op_{i}", f"op_{i} = Add(op_{i - 1})", 1000 + 10 * i, 7) for i in range(first, count, 2)]
        for first in (0, 1)
    ]
    assert len(nodes[0]) == half
    return tf.timeline(step_of(CPU_0=nodes[0], GPU_0=nodes[1]))


def crowded_step(count):
    """A timeline of ops that all run at once."""
    nodes = [entry(f"n{i}", f"n{i} = Add()", 100 + i, 1000) for i in range(count)]
    return tf.timeline(step_of(CPU_0=nodes))
