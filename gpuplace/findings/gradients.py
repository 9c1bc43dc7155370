"""Detect gradients that run on a different device from their layer.

``tf.gradients`` puts an op's gradient on the device of the block around ``tf.gradients``, not on the op's device. If a
layer requests GPU:1 but its gradients are on GPU:0, all activations that they need are copied there.
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.sentences import size_text
from gpuplace.findings.facts import WORTH_TRYING, StepFacts
from gpuplace.findings.finding import GRADIENTS, Finding
from gpuplace.findings.trials import Trials
from gpuplace.findings.words import counted, listed, verb


def gradients_elsewhere(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return a finding if gradients run on devices other than their layers'.

    Args:
        facts: the step.
        trials: tries changes.
    """
    apart, device, home = facts.gradients_apart, facts.device, facts.device_of_op
    copied = facts.copied(targets=apart)
    if copied.seconds + float(facts.seconds[apart].sum()) < WORTH_TRYING * facts.step.step_time:
        return []
    nodes = np.flatnonzero(apart)
    homes = dict(zip(nodes.tolist(), home[nodes].tolist(), strict=True))
    trial = trials.with_requests(homes)
    rest = _left_behind(facts)
    with_rest = trials.with_requests(homes | rest) if rest else None
    moves_rest = with_rest is not None and (
        trial is None or with_rest.gain >= trial.gain + WORTH_TRYING * facts.step.step_time
    )
    trial = with_rest if moves_rest else trial
    if trial is None:
        return []
    here = [facts.labels[number] for number in np.unique(device[nodes]).tolist()]
    there = [facts.labels[number] for number in np.unique(home[nodes]).tolist()]
    cause = (
        f"{counted(len(nodes), 'gradient node')} ({facts.where(nodes)}) run on {listed(here)}, each on a "
        "different device from its layer."
        if here == there
        else f"{counted(len(nodes), 'gradient node')} {verb(len(nodes), 'run')} on {listed(here)}, but the layers that "
        f"they belong to ({facts.where(nodes)}) are on {listed(there)}."
    )
    if copied.tensors:
        cause += (
            f" Each step copies {counted(copied.tensors, 'tensor')} ({size_text(copied.nbytes)}) for them."
        )
    requests = {facts.graph.requested_device(node) for node in nodes.tolist()} - {""}
    if len(requests) == 1:
        cause += f" They ask for '{requests.pop()}', the device of the block around minimize()."
    return [
        Finding(
            GRADIENTS,
            _headline(here, there),
            cause,
            "Pass colocate_gradients_with_ops=True, so that each gradient runs on the device of its op"
            + (
                f", and compute {facts.where(sorted(rest))} in the block of the last layer."
                if moves_rest
                else "."
            ),
            "train_op = optimizer.minimize(loss, colocate_gradients_with_ops=True)",
            facts.names_of(nodes),
            tuple(dict.fromkeys([*there, *here])),
            trial.gain,
            moved=trial.moved,
        )
    ]


def _headline(here: list[str], there: list[str]) -> str:
    """Return the headline for gradients on `here` of layers on `there`."""
    if here == there:
        return f"Gradients on {listed(here)} run on a different device from their layer"
    return f"Gradients of layers on {listed(there)} run on {listed(here)}"


def _left_behind(facts: StepFacts) -> dict[int, int]:
    """Return nodes without a device request that use results of one other GPU only, such as a loss outside all blocks.

    Returns:
        Node -> that GPU, including gradients, by position.
    """
    gpu_of: dict[int, int] = {}
    device, takes_weights = facts.device.tolist(), facts.takes_weights.tolist()
    stays = (facts.keeps_variable | facts.is_constant | ~facts.runs).tolist()
    requested, forward = facts.graph.device.tolist(), facts.forward.tolist()
    for node in facts.order:
        if stays[node] or requested[node] or not takes_weights[node]:
            continue
        if forward[node] >= 0:  # a gradient stays with its op
            if forward[node] in gpu_of:
                gpu_of[node] = gpu_of[forward[node]]
            continue
        sources = {
            gpu_of.get(before, device[before]) for before in facts.inputs[node] if takes_weights[before]
        }
        if len(sources) == 1 and sources != {device[node]} and facts.is_gpu[next(iter(sources))]:
            gpu_of[node] = sources.pop()
    return gpu_of
