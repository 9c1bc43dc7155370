"""Detect idle GPUs, and GPUs that wait for work pinned to the CPU.

An idle GPU can take over a part of the step that does not depend on the rest, such as a tower; otherwise the batch can
be divided among several towers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from gpuplace.cost.batches import batch_of
from gpuplace.cost.grid import fed_shapes
from gpuplace.cost.sentences import seconds_text
from gpuplace.findings.facts import WORTH_TRYING, Ints, StepFacts
from gpuplace.findings.finding import IDLE, Finding
from gpuplace.findings.parts import independent_parts
from gpuplace.findings.trials import Trials
from gpuplace.findings.words import counted, listed, request, verb
from gpuplace.why.rules import Rule

_APART = 0.05
"""Least gain of moving independent parts, as a fraction of the step."""
_LEAST = 100e-6
"""Least gain of moving independent parts in seconds."""
_IDLE = 0.02
"""A GPU is idle below this fraction of the busiest GPU's time."""
_LITTLE = 0.5
"""A GPU can take over work below this fraction of the busiest GPU's time."""


def pinned_to_the_cpu(facts: StepFacts, trials: Trials, moved: Iterable[str]) -> list[Finding]:
    """Return a finding if requests pin work that a GPU could do to the CPU.

    Args:
        facts: the step.
        trials: tries changes.
        moved: names of nodes that other findings already move.
    """
    if not facts.is_gpu.any() or facts.is_cluster:
        return []
    step = facts.step
    is_pinned = facts.has_rule(Rule.REQUEST, Rule.ASSIGNED) & ~facts.is_gpu[facts.device] & facts.runs
    is_pinned &= facts.is_model & ~facts.is_constant & ~facts.gradients_apart & ~facts.combines
    is_pinned &= ~np.isin(facts.root, facts.root[[facts.graph.index[name] for name in moved]])
    seconds = float(facts.seconds[is_pinned].sum())
    if seconds < WORTH_TRYING * step.step_time:
        return []
    nodes = np.flatnonzero(is_pinned)
    trial = trials.with_requests(_nearest_gpus(facts, nodes.tolist()))
    gpus = [] if trial is None else sorted({label for _, label in trial.moved if label.startswith("GPU")})
    if trial is None or not gpus:
        return []
    ops = np.where(facts.is_gradient[nodes], facts.op_of[nodes], step.part.nodes[nodes])
    where, count = facts.where(is_pinned), len(nodes)
    device = Counter(facts.graph.requested_device(node) for node in nodes.tolist()).most_common(1)[0][0]
    shares = [
        f"{label} computes in {facts.busy[facts.labels.index(label)] / step.step_time:.0%} of the step"
        for label in gpus
    ]
    return [
        Finding(
            IDLE,
            f"{listed(gpus)} {verb(len(gpus), 'wait')} while {where} {verb(len(set(ops.tolist())), 'run')} on the CPU",
            f"{counted(count, 'node')} ({where}) {verb(count, 'ask')} for '{device}' and {verb(count, 'take')} "
            f"{seconds_text(seconds)} of the CPU, while {listed(shares)}.",
            "Take these lines out of the block for the CPU: TensorFlow then places them on the GPU.",
            f"with tf.device('{request(gpus[0])}'):\n    ...  # {where}",
            facts.names_of(is_pinned),
            ("CPU:0", *gpus),
            trial.gain,
            moved=trial.moved,
        )
    ]


def _nearest_gpus(facts: StepFacts, nodes: list[int]) -> dict[int, int]:
    """Return the GPU for each node: the GPU of most neighbors, otherwise the busiest GPU."""
    default = int(np.where(facts.is_gpu, facts.busy + 1e-12, 0.0).argmax())
    gpu_of = {}
    for node in nodes:
        votes = Counter(
            int(facts.device[other])
            for other in (*facts.inputs[node], *facts.consumers[node])
            if facts.on_gpu[other] and facts.kernel_seconds[other] > 0
        )
        gpu_of[node] = votes.most_common(1)[0][0] if votes else default
    return gpu_of


def idle_gpus(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return a finding if GPUs have no work, or little, while another GPU computes.

    Args:
        facts: the step.
        trials: tries changes.
    """
    # Gradients that are apart from their layers are a separate finding: here they count where their layers are.
    device = facts.device_of_layer
    busy = np.bincount(device, facts.kernel_seconds, len(facts.labels))
    most = float(busy.max(initial=0.0))
    if most < WORTH_TRYING * facts.step.step_time or facts.is_cluster:
        return []  # in a cluster, each session uses its own task's GPUs
    gpus = np.flatnonzero(facts.is_gpu).tolist()
    idle = [gpu for gpu in gpus if busy[gpu] < _IDLE * most]
    little = [gpu for gpu in gpus if busy[gpu] < _LITTLE * most]
    findings = _parts(facts, trials, little, device) if little else []
    return findings or (_split_batch(facts, trials, idle) if idle else [])


def _parts(facts: StepFacts, trials: Trials, targets: list[int], device: Ints) -> list[Finding]:
    """Return a finding if independent parts of the step could run on other GPUs."""
    part = independent_parts(facts)
    homes = _homes(facts, part, targets, device)
    trial = trials.with_requests(homes) if homes else None
    if trial is None or trial.gain < max(_APART * facts.step.step_time, _LEAST):
        return []
    used = sorted(set(homes.values()))
    labels = [facts.labels[gpu] for gpu in used]
    busiest = int(facts.busy.argmax())
    is_idle = max(facts.busy[gpu] for gpu in used) < _IDLE * facts.busy[busiest]
    where = facts.where(sorted(homes))
    return [
        Finding(
            IDLE,
            f"{listed(labels)} {verb(len(labels), 'are')} {'idle' if is_idle else 'mostly idle'}: "
            f"{facts.labels[busiest]} runs independent parts of the step one after the other",
            f"{int(part.max()) + 1} parts of the step do not depend on each other, and {facts.labels[busiest]} "
            f"computes in {facts.busy[busiest] / facts.step.step_time:.0%} of the step. "
            f"{listed(labels)} could run {where}.",
            f"Ask for {listed([request(label) for label in labels])} around {where}.",
            f"with tf.device('{request(labels[0])}'):\n    ...  # {where}",
            facts.names_of(sorted(homes)),
            (facts.labels[busiest], *labels),
            trial.gain,
            moved=trial.moved,
        )
    ]


def _homes(facts: StepFacts, part: Ints, targets: list[int], device: Ints) -> dict[int, int]:
    """Distribute parts to other GPUs, heaviest first, so that no GPU gets more work than the busiest had."""
    if part.max(initial=-1) < 1:
        return {}
    weights = np.bincount(part[part >= 0], facts.kernel_seconds[part >= 0])
    loads = np.bincount(device, facts.kernel_seconds, len(facts.labels)).tolist()
    homes: dict[int, int] = {}
    for number in np.argsort(-weights, kind="stable").tolist():
        members = np.flatnonzero(part == number)
        here = int(np.bincount(device[members], facts.kernel_seconds[members]).argmax())
        target = min(targets, key=lambda gpu: (loads[gpu], gpu))
        # A GPU with little other work keeps the part at no cost.
        if facts.is_gpu[here] and loads[target] + weights[number] < (1 - _APART) * loads[here]:
            loads[here] -= float(weights[number])
            loads[target] += float(weights[number])
            may_move = ~facts.keeps_variable[members] & facts.runs[members]
            homes |= dict.fromkeys(members[may_move].tolist(), target)
    return homes


def _split_batch(facts: StepFacts, trials: Trials, idle: list[int]) -> list[Finding]:
    """Return a finding for idle GPUs: the step time with a share of the batch on each of them."""
    step = facts.step
    busy = [gpu for gpu in np.flatnonzero(facts.is_gpu).tolist() if gpu not in idle]
    busiest = int(facts.busy.argmax())
    gpus_of_model = _gpus_of_model(facts, len(busy))
    count = (len(idle) + len(busy)) // gpus_of_model
    batch = batch_of(fed_shapes(step.request.feeds))
    gain, outlook = None, ""
    if count < 2:  # too few GPUs for a second tower of this size, and the step of one-GPU towers is unknown
        gpus_of_model, count = 1, len(idle) + len(busy)
    elif batch is not None:
        each = batch * (len(busy) // gpus_of_model) // count
        part = trials.with_batch(each) if each else None
        if part is not None:
            exchanged = _exchange(facts, busiest, idle[0]) if facts.is_trained else 0.0
            gain = step.step_time - part.step_time - exchanged
            if gain <= 0:  # the step is too short to be shared
                return []
            outlook = (
                f" With a batch of {each} in each of {count} towers, a step would take {seconds_text(part.step_time)}"
                + (f", and the exchange of gradients {seconds_text(exchanged)}." if exchanged else ".")
            )
    labels, used = [facts.labels[gpu] for gpu in idle], [facts.labels[gpu] for gpu in busy]
    return [
        Finding(
            IDLE,
            f"{listed(labels)} {verb(len(labels), 'are')} idle",
            f"The step {'trains' if facts.is_trained else 'runs'} on {listed(used)} alone. {facts.labels[busiest]} "
            f"computes in {facts.busy[busiest] / step.step_time:.0%} of it, and {counted(len(idle), 'other GPU')} of "
            f"the machine {verb(len(idle), 'have')} nothing to do.{outlook}",
            f"Build {count} towers, each on "
            + ("its own GPU" if gpus_of_model == 1 else f"{gpus_of_model} GPUs")
            + " with a part of the batch"
            + (", and average their gradients." if facts.is_trained else ", or run other batches there."),
            _towers_code(count, gpus_of_model, facts.is_trained),
            (),
            (*used, *labels),
            gain,
        )
    ]


def _gpus_of_model(facts: StepFacts, busy: int) -> int:
    """Return the number of GPUs that one tower uses, or all busy GPUs if the model has no towers.

    Args:
        facts: the step.
        busy: number of GPUs that compute.
    """
    if not facts.tower_gpus:
        return max(1, busy)
    seconds = facts.seconds_of_towers
    return int((seconds >= _IDLE * seconds.max(axis=1, keepdims=True)).sum(axis=1).max())


def _towers_code(towers: int, gpus: int, is_trained: bool) -> str:
    """Return the loop that builds towers, each on one or more GPUs."""
    device = "    with tf.device('/gpu:%d' % number)"
    among = ""
    if gpus > 1:  # the layers of a tower ask for its devices
        device = (
            f"    gpus = ['/gpu:%d' % ({gpus} * number + part) for part in range({gpus})]  # for layers of this tower\n"
            "    with tf.device(gpus[0])"
        )
        among = ", gpus"
    if is_trained:
        return (
            f"for number in range({towers}):\n"
            f"{device}, tf.variable_scope('model', reuse=number > 0):\n"
            f"        tower_losses.append(loss_of(images[number], labels[number]{among}))"
        )
    return (
        f"for number, part in enumerate(tf.split(batch, {towers})):\n"
        f"{device}:\n"
        f"        results.append(model(part{among}))  # the same variables in each tower"
    )


def _exchange(facts: StepFacts, gpu: int, other: int) -> float:
    """Predict the seconds for sending the gradients to another GPU and the new variables back."""
    shapes, nbytes = facts.step.shapes, 0
    for node in np.flatnonzero(facts.is_update & facts.runs).tolist():
        for before in facts.inputs[node]:
            if facts.is_model[before] and not facts.keeps_variable[before]:
                sizes = [shapes.nbytes(before, output) for output in range(len(shapes.sizes[before]))]
                nbytes += max(sizes, default=0)
    machinery = facts.step.machinery
    ways, _ = machinery.ways([(gpu, other), (other, gpu)], False)
    memories, physical = machinery.memories, machinery.physical
    seconds = 0.0
    for begin, end in ((gpu, other), (other, gpu)):
        way = ways.number[2 * (memories[physical[begin]] * len(memories) + memories[physical[end]])]
        seconds += ways.latency[way] + nbytes / ways.bandwidth[way]
    return seconds
