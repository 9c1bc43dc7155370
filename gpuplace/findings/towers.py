"""Detect variables that GPUs copy in each step, and gradients that one device averages for all towers.

Towers, and the nodes that average their gradients, come from the model's structure. Variables and averages are tried in
two places: all on one GPU, and spread over all GPUs in turn::

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
"""Smallest fraction of the averaging time on one device."""


@dataclass
class _Copied:
    """Variables that GPUs copy from another device of their host."""

    takers: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Variable -> the GPUs that copy it."""
    sizes: Counter[int] = field(default_factory=Counter)
    """Variable -> its size in bytes."""
    sources: set[int] = field(default_factory=set)
    """Devices of the variables."""
    count: int = 0
    nbytes: float = 0.0
    seconds: float = 0.0

    @property
    def gpus(self) -> list[int]:
        """The GPUs that copy a variable."""
        return sorted({gpu for gpus in self.takers.values() for gpu in gpus})


def copied_variables(facts: StepFacts, trials: Trials, moved: Iterable[str]) -> list[Finding]:
    """Return a finding if GPUs copy variables that another device keeps.

    Args:
        facts: the step.
        trials: tries changes.
        moved: names of nodes that other findings already move.
    """
    copied = _copied(facts, set(moved))
    if copied.seconds < WORTH_TRYING * facts.step.step_time:
        return []
    best: tuple[Trial, bool] | None = None
    for in_turn in (False, True):
        if in_turn and len(copied.gpus) == 1:
            continue
        trial = trials.with_requests(_homes(copied.takers, copied.sizes, in_turn))
        if trial is not None and (best is None or trial.gain > best[0].gain):
            best = trial, in_turn
    if best is None:
        return []
    trial, in_turn = best
    gpus = [facts.labels[gpu] for gpu in copied.gpus]
    here = listed([facts.labels[number] for number in sorted(copied.sources)])
    count, variables = len(copied.takers), sorted(copied.takers)
    names = facts.names_of(variables)
    who = listed(gpus) if len(gpus) < 4 else f"All {len(gpus)} GPUs"
    fix, code = _variables_fix(gpus, in_turn)
    return [
        Finding(
            VARIABLES,
            f"{who} {verb(len(gpus), 'copy') if len(gpus) > 1 else 'copies'} variables from {here} in every step",
            f"{counted(count, 'variable')} ({scopes(names, [copied.sizes[number] for number in variables])}) "
            f"{verb(count, 'are')} on {here}. Each step copies {counted(copied.count, 'tensor')} "
            f"({size_text(copied.nbytes)}) from there to {listed(gpus)}.",
            fix,
            code,
            names,
            tuple(dict.fromkeys([*(facts.labels[number] for number in sorted(copied.sources)), *gpus])),
            trial.gain,
            moved=trial.moved,
        )
    ]


def _copied(facts: StepFacts, moved: set[str]) -> _Copied:
    """Return the copies of variables, except those for gradients on other devices than their layers (`gradients`)."""
    src, _, dst = facts.data
    hosts = facts.step.machinery.hosts
    takes = (
        (facts.variable_of[src] >= 0) & (facts.device[src] != facts.device[dst]) & ~facts.gradients_apart[dst]
    )
    needed = set(zip(src[takes].tolist(), facts.device[dst[takes]].tolist(), strict=True))
    copied = _Copied()
    for row in facts.copy_rows:
        if (row.node, row.receiver) not in needed or not facts.is_gpu[row.receiver]:
            continue
        variable = int(facts.variable_of[row.node])
        if facts.names[variable] in moved or hosts[row.sender] != hosts[row.receiver]:
            continue  # in a cluster, copies from parameter servers are intended
        copied.takers[variable].add(row.receiver)
        copied.sizes[variable] = max(copied.sizes[variable], int(row.nbytes))
        copied.sources.add(int(facts.device[variable]))
        copied.count, copied.nbytes, copied.seconds = (
            copied.count + 1,
            copied.nbytes + row.nbytes,
            copied.seconds + row.seconds,
        )
    return copied


def _homes(takers: Mapping[int, set[int]], sizes: Mapping[int, int], in_turn: bool) -> dict[int, int]:
    """Return the GPU for each variable: the first reader, or the reader with the fewest bytes so far."""
    loads: Counter[int] = Counter()
    home_of = {}
    for variable in sorted(takers, key=lambda variable: (-sizes[variable], variable)):
        choices = sorted(takers[variable])
        home_of[variable] = min(choices, key=lambda gpu: (loads[gpu], gpu)) if in_turn else choices[0]
        loads[home_of[variable]] += sizes[variable]
    return home_of


def _variables_fix(gpus: list[str], in_turn: bool) -> tuple[str, str]:
    if in_turn:
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
    """Return a finding if one device averages the gradients of all towers while the other devices wait.

    Args:
        facts: the step.
        trials: tries changes.
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


_WITH_VARIABLES, _ON_ONE, _IN_TURN = "with variables", "on one", "in turn"


def _places(facts: StepFacts, nodes: list[int], now: int) -> dict[str, dict[int, int]]:
    """Return the ways to distribute the averaging: with the variables, all on one GPU, or over the GPUs in turn."""
    gpus = facts.tower_gpus
    group = _variable_of(facts, nodes)
    home = {root: int(facts.device[np.flatnonzero(facts.root == root)[0]]) for root in set(group.values())}
    ways: dict[str, dict[int, int]] = {}
    on_gpus = {node: home[root] for node, root in group.items() if facts.is_gpu[home[root]]}
    if any(facts.device[node] != device for node, device in on_gpus.items()):
        ways[_WITH_VARIABLES] = on_gpus
    elif now != gpus[0]:
        ways[_ON_ONE] = dict.fromkeys(nodes, gpus[0])
    work: Counter[int] = Counter()
    for node, root in group.items():
        work[root] += round(facts.seconds[node] * 1e9)
    loads: Counter[int] = Counter()
    turn = {}
    for root in sorted(home, key=lambda root: (-work[root], root)):
        turn[root] = min(gpus, key=lambda gpu: (loads[gpu], gpu))
        loads[turn[root]] += work[root]
    ways[_IN_TURN] = {node: turn[root] for node, root in group.items()}
    return ways


def _variable_of(facts: StepFacts, nodes: list[int]) -> dict[int, int]:
    """Map each averaging node to the colocation group of the variable that it updates."""
    root_of: dict[int, int] = {}
    chosen = set(nodes)
    for node in reversed(facts.order):
        if node not in chosen:
            continue
        for after in facts.consumers[node]:
            if after in root_of or facts.keeps_variable[after]:
                root_of[node] = root_of.get(after, int(facts.root[after]))
                break
    return root_of


def _averaging_fix(way: str, gpus: list[str]) -> tuple[str, str]:
    if way == _ON_ONE:
        return (
            f"Average the gradients on {gpus[0]}.",
            f"with tf.device('{request(gpus[0])}'):\n    gradients = average_gradients(tower_gradients)",
        )
    if way == _WITH_VARIABLES:
        words, before, device = (
            "Average each gradient on the device of its variable.",
            "",
            "pairs[0][1].device",
        )
    else:
        homes = ", ".join(f"'{request(gpu)}'" for gpu in gpus)
        words, device = (
            "Average the gradients on the GPUs in turn, so that each GPU averages its part.",
            "next(homes)",
        )
        before = f"homes = itertools.cycle([{homes}])\n"
    return (
        words,
        f"{before}for pairs in zip(*tower_gradients):\n    with tf.device({device}):\n"
        "        average = tf.add_n([gradient for gradient, _ in pairs]) / len(pairs)",
    )
