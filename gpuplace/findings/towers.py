"""Towers: variables that GPUs copy in every step, and gradients that one device averages for all.

A tower depends on the kernels of one GPU only; nodes that depend on several GPUs combine towers. Two placements of
variables, and of gradient averages, are tried: all on one GPU, and distributed over all GPUs::

    w on CPU:0 ──copy──> tower 0, tower 1     w_0 on GPU:0, w_1 on GPU:1, ...: copies go both ways at the same time
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.findings.facts import WORTH_TRYING, StepFacts
from gpuplace.findings.finding import AVERAGING, VARIABLES, Finding
from gpuplace.findings.trials import Trial, Trials
from gpuplace.findings.words import counted, listed, request, scopes, verb

_MOSTLY = 0.9
"""Minimal share of the averaging that one device does."""


@dataclass
class _Copied:
    """Variables that GPUs copy from another device of their host."""

    consumers: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """GPUs that copy each variable."""
    sizes: Counter[int] = field(default_factory=Counter)
    """Bytes of each variable."""
    sources: set[int] = field(default_factory=set)
    """Devices of the variables."""
    count: int = 0
    nbytes: float = 0.0
    seconds: float = 0.0

    @property
    def gpus(self) -> list[int]:
        """GPUs that copy at least one variable."""
        return sorted({gpu for gpus in self.consumers.values() for gpu in gpus})


def copied_variables(facts: StepFacts, trials: Trials, already_moved: Iterable[str]) -> list[Finding]:
    """Return a finding if GPUs copy variables that are on another device.

    Args:
        facts: the step.
        trials: evaluates changes.
        already_moved: names of nodes that other findings move.
    """
    copied = _copied(facts, set(already_moved))
    if copied.seconds < WORTH_TRYING * facts.step.step_time:
        return []
    best: tuple[Trial, bool] | None = None
    for is_distributed in (False, True):
        if is_distributed and len(copied.gpus) == 1:
            continue
        trial = trials.with_requests(_homes(copied.consumers, copied.sizes, is_distributed))
        if trial is not None and (best is None or trial.gain > best[0].gain):
            best = trial, is_distributed
    if best is None:
        return []
    trial, is_distributed = best
    gpus = [facts.labels[gpu] for gpu in copied.gpus]
    here = listed([facts.labels[device] for device in sorted(copied.sources)])
    count, variables = len(copied.consumers), sorted(copied.consumers)
    names = facts.names_of(variables)
    who = listed(gpus) if len(gpus) < 4 else f"All {len(gpus)} GPUs"
    fix, code = _variables_fix(gpus, is_distributed)
    return [
        Finding(
            VARIABLES,
            f"{who} {verb(len(gpus), 'copy') if len(gpus) > 1 else 'copies'} variables from {here} in every step",
            f"{counted(count, 'variable')} ({scopes(names, [copied.sizes[variable] for variable in variables])}) "
            f"{verb(count, 'are')} on {here}. Each step copies {counted(copied.count, 'tensor')} "
            f"({size_text(copied.nbytes)}) from there to {listed(gpus)}.",
            fix,
            code,
            names,
            tuple(dict.fromkeys([*(facts.labels[device] for device in sorted(copied.sources)), *gpus])),
            trial.gain,
            moved=trial.moved,
        )
    ]


def _copied(facts: StepFacts, already_moved: set[str]) -> _Copied:
    """Return the copies of variables, except those for gradients away from their layers: see `gradients`."""
    src, _, dst = facts.data
    hosts = facts.step.machinery.hosts
    copies = (
        (facts.variable_of[src] >= 0) & (facts.device[src] != facts.device[dst]) & ~facts.gradients_apart[dst]
    )
    needed = set(zip(src[copies].tolist(), facts.device[dst[copies]].tolist(), strict=True))
    copied = _Copied()
    for row in facts.copy_rows:
        if (row.node, row.receiver) not in needed or not facts.is_gpu[row.receiver]:
            continue
        variable = int(facts.variable_of[row.node])
        if facts.names[variable] in already_moved or hosts[row.sender] != hosts[row.receiver]:
            continue  # in a cluster, variables of parameter servers are meant to be copied
        copied.consumers[variable].add(row.receiver)
        copied.sizes[variable] = max(copied.sizes[variable], int(row.nbytes))
        copied.sources.add(int(facts.device[variable]))
        copied.count, copied.nbytes, copied.seconds = (
            copied.count + 1,
            copied.nbytes + row.nbytes,
            copied.seconds + row.seconds,
        )
    return copied


def _homes(
    consumers: Mapping[int, set[int]], sizes: Mapping[int, int], is_distributed: bool
) -> dict[int, int]:
    """Return a GPU for each variable.

    It is the first GPU that uses the variable; if distributed, the one of these with the fewest bytes so far.
    """
    loads: Counter[int] = Counter()
    gpu_of = {}
    for variable in sorted(consumers, key=lambda variable: (-sizes[variable], variable)):
        choices = sorted(consumers[variable])
        gpu_of[variable] = min(choices, key=lambda gpu: (loads[gpu], gpu)) if is_distributed else choices[0]
        loads[gpu_of[variable]] += sizes[variable]
    return gpu_of


def _variables_fix(gpus: list[str], is_distributed: bool) -> tuple[str, str]:
    if is_distributed:
        homes = ", ".join(f"'{request(gpu)}'" for gpu in gpus)
        return (
            "Keep the variables on the GPUs in turn, so that each GPU sends its part to the others.",
            f"homes = itertools.cycle([{homes}])\n"
            "def device(op):  # for tf.device() around each tower\n"
            "    return next(homes) if op.type in ('VariableV2', 'VarHandleOp') else tower_device",
        )
    return (
        f"Keep the variables on {gpus[0]}.",
        f"with tf.device('{request(gpus[0])}'):\n    weights = tf.get_variable(...)",
    )


def averaged_gradients(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return a finding if one device averages the gradients of all towers and the others wait for it.

    Args:
        facts: the step.
        trials: evaluates changes.
    """
    nodes = np.flatnonzero(facts.combines)
    if not len(nodes):
        return []
    copied = facts.copied(targets=facts.combines)
    work = np.bincount(facts.device[nodes], facts.seconds[nodes])
    device, seconds = int(work.argmax()), float(work.max())
    if seconds + copied.seconds < WORTH_TRYING * facts.step.step_time or seconds < _MOSTLY * work.sum():
        return []
    best: tuple[Trial, str] | None = None
    for way, homes in _places(facts, nodes.tolist(), device).items():
        trial = trials.with_requests(homes)
        if trial is not None and (best is None or trial.gain > best[0].gain):
            best = trial, way
    if best is None:
        return []
    trial, way = best
    here, gpus = facts.labels[device], [facts.labels[gpu] for gpu in facts.tower_gpus]
    count = len(nodes)
    fix, code = _averaging_fix(way, gpus)
    return [
        Finding(
            AVERAGING,
            f"All towers wait for {here}, which averages their gradients",
            f"{counted(count, 'node')} ({facts.where(nodes)}) on {here} {verb(count, 'average')} the gradients of "
            f"{counted(len(gpus), 'tower')}. Each step copies {counted(copied.tensors, 'gradient')} "
            f"({size_text(copied.nbytes)}) to {here}, and the kernels there take {seconds_text(seconds)}.",
            fix,
            code,
            facts.names_of(nodes),
            tuple(dict.fromkeys([here, *gpus])),
            trial.gain,
            moved=trial.moved,
        )
    ]


_WITH_VARIABLES, _ON_ONE, _DISTRIBUTED = "with variables", "on one", "distributed"


def _places(facts: StepFacts, nodes: list[int], now: int) -> dict[str, dict[int, int]]:
    """Return the candidate devices of the averages: their variables' devices, one GPU, or distributed over the GPUs."""
    gpus = facts.tower_gpus
    group = _variable_of(facts, nodes)
    home = {root: int(facts.device[np.flatnonzero(facts.root == root)[0]]) for root in set(group.values())}
    candidates: dict[str, dict[int, int]] = {}
    on_gpus = {node: home[root] for node, root in group.items() if facts.is_gpu[home[root]]}
    if any(facts.device[node] != device for node, device in on_gpus.items()):
        candidates[_WITH_VARIABLES] = on_gpus
    elif now != gpus[0]:
        candidates[_ON_ONE] = dict.fromkeys(nodes, gpus[0])
    work: Counter[int] = Counter()
    for node, root in group.items():
        work[root] += round(facts.seconds[node] * 1e9)
    loads: Counter[int] = Counter()
    gpu_of = {}
    for root in sorted(home, key=lambda root: (-work[root], root)):
        gpu_of[root] = min(gpus, key=lambda gpu: (loads[gpu], gpu))
        loads[gpu_of[root]] += work[root]
    candidates[_DISTRIBUTED] = {node: gpu_of[root] for node, root in group.items()}
    return candidates


def _variable_of(facts: StepFacts, nodes: list[int]) -> dict[int, int]:
    """Return the group of the variable that each averaging node updates, by node."""
    already_moved: dict[int, int] = {}
    chosen = set(nodes)
    for node in reversed(facts.order):
        if node not in chosen:
            continue
        for after in facts.consumers[node]:
            if after in already_moved or facts.keeps_variable[after]:
                already_moved[node] = already_moved.get(after, int(facts.root[after]))
                break
    return already_moved


def _averaging_fix(way: str, gpus: list[str]) -> tuple[str, str]:
    if way == _ON_ONE:
        return (
            f"Average the gradients on {gpus[0]}.",
            f"with tf.device('{request(gpus[0])}'):\n    gradients = average_gradients(tower_gradients)",
        )
    if way == _WITH_VARIABLES:
        text, setup, device = (
            "Average each gradient on the device of its variable.",
            "",
            "pairs[0][1].device",
        )
    else:
        homes = ", ".join(f"'{request(gpu)}'" for gpu in gpus)
        text, device = (
            "Average the gradients on the GPUs in turn, so that each GPU averages its part.",
            "next(homes)",
        )
        setup = f"homes = itertools.cycle([{homes}])\n"
    return (
        text,
        f"{setup}for pairs in zip(*tower_gradients):\n    with tf.device({device}):\n"
        "        average = tf.add_n([gradient for gradient, _ in pairs]) / len(pairs)",
    )
