"""Detect problems that no placement solves: a step that does not fit, and kernels that are too small for the GPU."""

from __future__ import annotations

import numpy as np

from gpuplace.cost.batches import batch_of
from gpuplace.cost.grid import fed_shapes
from gpuplace.cost.memory.step_memory import DeviceUse, memory_limits
from gpuplace.cost.memory.variables import variable_bytes
from gpuplace.cost.sentences import LAUNCHES, seconds_text, size_text
from gpuplace.device.parsed_name import short_name
from gpuplace.findings.facts import StepFacts
from gpuplace.findings.finding import DOES_NOT_FIT, SMALL, Finding
from gpuplace.findings.trials import Trials
from gpuplace.findings.words import counted, listed, request, verb

_MOSTLY = 0.5
"""Launches dominate a step from this fraction of the critical path on."""
_HELPS = 0.2
"""Least gain of a larger batch or of fewer launches, as a fraction of the step."""
_SURELY = 0.8
"""The step fits if all its results together take at most this fraction of the GPU's memory."""
_SHOWN = 3
"""Number of tensors to name."""
_TRIED = (1.0, 0.9, 0.8)
"""Fractions of the estimated largest batch that are tried."""
_LARGER = 4
"""Factor of the larger batch that is tried."""


def does_not_fit(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return a finding if a GPU has too little memory for the step.

    Args:
        facts: the step.
        trials: tries changes.
    """
    if _surely_fits(facts) or facts.step.memory.fits is not False:
        return []
    short = [use for use in facts.step.memory.devices if use.short]
    labels = [short_name(use.device) for use in short]
    missing = sum(use.short for use in short)
    worst = max(short, key=lambda use: use.short)
    largest = [f"{tensor.name} ({size_text(tensor.nbytes)})" for tensor in worst.alive[:_SHOWN]]
    fix, code = _memory_fix(facts, trials, worst)
    return [
        Finding(
            DOES_NOT_FIT,
            f"The step does not fit on {listed(labels)}: {size_text(missing)} are missing",
            f"{short_name(worst.device)} has {size_text(worst.limit)}, and the step needs {size_text(worst.peak)}. The "
            f"largest tensors in memory at that moment are {listed(largest)}.",
            fix,
            code,
            tuple(dict.fromkeys(tensor.name for tensor in worst.alive[:_SHOWN])),
            tuple(labels),
            None,
            missing,
        )
    ]


def _surely_fits(facts: StepFacts) -> bool:
    """Return whether each GPU has room for all results of the step at once, and for all variables."""
    limits, shapes = memory_limits(facts.placement), facts.step.shapes
    sizes = np.array(
        [
            sum(shapes.nbytes(node, output) for output in range(len(outputs)))
            for node, outputs in enumerate(shapes.sizes)
        ],
        dtype=np.float64,
    )
    result_bytes = np.bincount(facts.device, sizes * np.maximum(facts.step.node_runs, 1), len(facts.labels))
    kept = variable_bytes(facts.placement)
    return all(
        result_bytes[number] + kept.get(name, 0) <= _SURELY * limits[name][1]
        for number, name in enumerate(facts.step.device_names)
        if name in limits
    )


def _memory_fix(facts: StepFacts, trials: Trials, use: DeviceUse) -> tuple[str, str]:
    """Return a smaller batch if that is enough, otherwise another device for variables."""
    batch = batch_of(fed_shapes(facts.step.request.feeds))
    others = [
        short_name(other.device)
        for other in facts.step.memory.devices
        if other.device != use.device and other.limit - other.peak > use.short
    ]
    split = f" {listed(others)} {verb(len(others), 'have')} room for some of the layers." if others else ""
    fits = 0 if batch is None or batch < 2 else _largest_batch(trials, use, batch)
    if fits:
        return (
            f"Use a smaller batch: about {fits} examples fit instead of {batch}.{split}",
            f"batch_size = {fits}",
        )
    kept = sorted(
        (tensor for tensor in use.alive if tensor.op == "variable"),
        key=lambda tensor: (-tensor.nbytes, tensor.name),
    )
    if kept and sum(tensor.nbytes for tensor in kept) > use.limit / 2:
        where = request(others[0]) if others else "/cpu:0"
        return (
            f"Keep the largest variables on {'another GPU' if others else 'the CPU'}: {kept[0].name} alone takes "
            f"{size_text(kept[0].nbytes)}.{split}",
            f"with tf.device('{where}'):\n    variable = tf.get_variable(...)  # {kept[0].name}",
        )
    return f"Use a smaller batch or smaller layers.{split}", ""


def _largest_batch(trials: Trials, use: DeviceUse, batch: int) -> int:
    """Return about how many examples fit; 0 if unknown.

    The peaks of two batches give the bytes per example. Fragmentation takes some more, so smaller batches are tried
    until one fits.
    """
    half = trials.with_batch(batch // 2)
    if half is None or half.memory.fits is None:
        return 0
    each = (use.peak - half.memory.of(use.device).peak) / (batch - batch // 2)
    most = int((use.limit - (use.peak - each * batch)) / each) if each > 0 else 0
    for part in _TRIED:
        fewer = int(part * most)
        step = trials.with_batch(fewer) if fewer > 0 else None
        if step is not None and step.memory.fits:
            return fewer
    return batch // 2 if half.memory.fits else 0


def small_kernels(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return a finding if the step mostly waits for the host to start kernels.

    Args:
        facts: the step.
        trials: tries changes.
    """
    total, launches = facts.step.step_time, facts.path.get(LAUNCHES, 0.0)
    kernels = np.flatnonzero(facts.kernel_seconds > 0)
    if not len(kernels) or launches < _MOSTLY * total:
        return []
    gain, outlook = total - trials.without_launches(), ""
    batch = batch_of(fed_shapes(facts.step.request.feeds))
    larger = None if batch is None else trials.with_batch(_LARGER * batch)
    if batch is not None and larger is not None:
        gain = total - larger.step_time / _LARGER
        outlook = (
            f" A batch of {_LARGER * batch} instead of {batch} would take {_times(larger.step_time / total)}."
        )
    if gain < _HELPS * total:  # the kernels are long, too, so larger kernels would not help
        return []
    runs = facts.step.node_runs[kernels]
    typical = float(np.median(facts.kernel_seconds[kernels] / np.maximum(runs, 1)))
    busiest = int(facts.busy.argmax())
    label = facts.labels[busiest]
    return [
        Finding(
            SMALL,
            f"Kernels are too small for {label}, which computes in {facts.busy[busiest] / total:.0%} of the step",
            f"The host starts {counted(round(float(runs.sum())), 'kernel')}, and the step waits "
            f"{seconds_text(launches)} of {seconds_text(total)} for that. Half of the kernels run for "
            f"{seconds_text(typical)} or less.{outlook}",
            "Give the GPU more work at a time: use a larger batch, or let XLA fuse the kernels; for recurrent layers, "
            "use tf.contrib.cudnn_rnn.",
            "config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1",
            (),
            (label,),
            gain,
        )
    ]


def _times(ratio: float) -> str:
    """Return a ratio of times in words.

    >>> _times(1.02), _times(1.5)
    ('about as long', '1.5 times as long')
    """
    return "about as long" if ratio < 1.05 else f"{ratio:.1f} times as long"
