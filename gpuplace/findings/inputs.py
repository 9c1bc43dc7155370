"""Detect input pipeline ops that take the GPU's time.

Work on the input before any variable is involved, such as crops, flips and colors, can run on the CPU for the next
batch, in a queue or a data set, while the GPU trains on the current batch. The gain is predicted with the results fed.
"""

from __future__ import annotations

import math

import numpy as np

from gpuplace.cost.estimate import step_threads
from gpuplace.cost.sentences import seconds_text
from gpuplace.cost.shapes.engine import sizes_of
from gpuplace.cost.shapes.kinds import filled_with
from gpuplace.findings.facts import Bools, StepFacts
from gpuplace.findings.finding import INPUT, Finding
from gpuplace.findings.trials import Trials
from gpuplace.findings.words import counted, listed, verb

_WORTH = 0.03
"""Smallest fraction of the step for the kernels; smaller work, such as a cast, counts as part of the model."""
_LEAST = 100e-6
"""Smallest time of the kernels in seconds that justifies a pipeline."""


def input_on_gpus(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return a finding if kernels of the input pipeline take the GPU's time.

    Args:
        facts: the step.
        trials: tries changes.
    """
    step, inside = facts.step, facts.is_input
    kernels = inside & facts.on_gpu & (facts.kernel_seconds > 0)
    seconds = float(facts.kernel_seconds[kernels].sum())
    if seconds < max(_WORTH * step.step_time, _LEAST):
        return []
    feeds = _ends(facts, inside)
    after = trials.fed(feeds) if feeds else None
    if after is None:
        return []
    works = [step.works[node] for node in np.flatnonzero(inside & facts.runs).tolist()]
    cores = max(math.ceil(sum(step.cost_model.kernel_times(works, None)) / after.step_time), 1)
    keeps_up = cores <= step_threads(step)
    if not keeps_up and not facts.is_trained:
        return []  # one-time input cannot be prepared and stored beforehand
    if keeps_up:
        fix = "Prepare the input on the CPU ahead of the step, in a tf.data pipeline with prefetch() or before a queue."
        code = (
            "with tf.device('/cpu:0'):\n"
            f"    dataset = dataset.map(prepare, num_parallel_calls={cores}).batch(batch_size).prefetch(1)"
        )
    else:
        fix = "Prepare the input once, before the training, and store it: the CPU could not keep up with the GPU."
        code = "writer.write(prepare(example).SerializeToString())  # a tf.python_io.TFRecordWriter"
    gpus = sorted({facts.labels[device] for device in facts.device[kernels].tolist()})
    count = int(kernels.sum())
    return [
        Finding(
            INPUT,
            f"Input pipeline ops take {seconds / step.step_time:.0%} of the step on {listed(gpus)}",
            f"{counted(count, 'node')} ({facts.where(kernels)}) {verb(count, 'prepare')} the input on {listed(gpus)}, "
            f"{seconds_text(seconds)} in each step, before any variable is involved. Preparing it on the CPU while "
            f"the GPU computes would take {counted(cores, 'core')}.",
            fix,
            code,
            facts.names_of(kernels),
            ("CPU:0", *gpus),
            min(step.step_time - after.step_time, _most(facts, inside)),
        )
    ]


def _most(facts: StepFacts, inside: Bools) -> float:
    """Return the total seconds of the input: kernels, launches and copies."""
    nodes = inside & facts.runs
    own = float(facts.seconds[nodes].sum() + facts.step.node_times["host"][nodes].sum())
    return own + facts.copied(nodes).seconds + facts.copied(None, nodes).seconds


def _ends(facts: StepFacts, inside: Bools) -> dict[str, tuple[int, ...]]:
    """Return the tensors from the input's GPU kernels to the model with their shapes; empty if a shape is unknown."""
    src, output, dst = facts.data
    computed = inside & facts.runs & ~facts.step.part.is_fed
    from_kernels = np.zeros(len(inside), dtype=bool)
    waiting = np.flatnonzero(computed & facts.on_gpu & (facts.kernel_seconds > 0)).tolist()
    while waiting:
        node = waiting.pop()
        if not from_kernels[node]:
            from_kernels[node] = True
            waiting += [after for after in facts.consumers[node] if computed[after]]
    leaves = from_kernels[src] & ~inside[dst] & facts.runs[dst]
    shapes = {}
    for node, port in sorted(set(zip(src[leaves].tolist(), output[leaves].tolist(), strict=True))):
        sizes = sizes_of(facts.step.shapes.sizes[node], port)
        if sizes is None or None in sizes:
            return {}
        shapes[f"{facts.names[node]}:{port}"] = filled_with(sizes, 1)
    return shapes
