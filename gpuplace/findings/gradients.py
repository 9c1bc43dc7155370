"""Gradients that run on another device than their layer.

``tf.gradients`` puts the gradient of an op on the device of the block around ``tf.gradients``, not on the op's. A layer
that asked for GPU:1 then has its gradients on GPU:0, and all activations that they need are copied there.
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.sentences import size_text
from gpuplace.findings.facts import WORTH_TRYING, StepFacts
from gpuplace.findings.finding import GRADIENTS, Finding
from gpuplace.findings.trials import Trials
from gpuplace.findings.words import counted, listed, verb


def gradients_elsewhere(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return one finding for all gradients that are apart from their layers.

    Args:
        facts: the step.
        trials: tries changes.
    """
    apart, forward, device = facts.gradients_apart, facts.forward, facts.device
    copied = facts.copied(targets=apart)
    if copied.seconds + float(facts.seconds[apart].sum()) < WORTH_TRYING * facts.step.step_time:
        return []
    nodes = np.flatnonzero(apart)
    trial = trials.with_requests(dict(zip(nodes.tolist(), device[forward[nodes]].tolist(), strict=True)))
    if trial is None:
        return []
    here = [facts.labels[one] for one in np.unique(device[nodes]).tolist()]
    there = [facts.labels[one] for one in np.unique(device[forward[nodes]]).tolist()]
    cause = (
        f"{counted(len(nodes), 'gradient node')} {verb(len(nodes), 'run')} on {listed(here)}, but the layers that they "
        f"belong to ({facts.where(np.unique(forward[nodes]))}) are on {listed(there)}."
    )
    if copied.tensors:
        cause += (
            f" Each step copies {counted(copied.tensors, 'tensor')} ({size_text(copied.nbytes)}) for them."
        )
    asked = {facts.graph.requested_device(node) for node in nodes.tolist()} - {""}
    if len(asked) == 1:
        cause += f" They ask for '{asked.pop()}', the device of the block around minimize()."
    return [
        Finding(
            GRADIENTS,
            f"Gradients of layers on {listed(there)} run on {listed(here)}",
            cause,
            "Pass colocate_gradients_with_ops=True, so that each gradient runs on the device of its op.",
            "train_op = optimizer.minimize(loss, colocate_gradients_with_ops=True)",
            facts.names_of(nodes),
            tuple(dict.fromkeys([*there, *here])),
            trial.gain,
            moved=trial.moved,
        )
    ]
