"""Detect device requests that a reference or resource edge overrides.

A node that takes a variable by reference or handle runs on the variable's device, whatever it requests. A block for the
GPU around such lines has no effect as long as the variable is created in a block for the CPU::

    with tf.device("/cpu:0"): bank = tf.get_variable(...)
    with tf.device("/gpu:0"): tf.assign(bank, new)          # runs on the CPU
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from gpuplace.cost.sentences import size_text
from gpuplace.device.parsed_name import parse_name
from gpuplace.findings.facts import StepFacts
from gpuplace.findings.finding import OVERRIDDEN, Finding
from gpuplace.findings.trials import Trials
from gpuplace.findings.words import counted, listed, request, verb
from gpuplace.graph.op_sets import REFERENCE_VARIABLES
from gpuplace.why.rules import Rule

_MOST = 2
"""Number of device pairs that are tried, those with the most nodes first."""


def overridden_requests(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return a finding for each device that nodes request although their variables keep them on another device.

    Args:
        facts: the step.
        trials: tries changes.
    """
    overridden = (
        facts.has_rule(Rule.YIELDS_TO_SOURCE, Rule.REQUESTS_DROPPED) & facts.runs & facts.keeps_variable
    )
    requested: dict[int, set[int]] = defaultdict(set)
    members: dict[int, list[int]] = defaultdict(list)
    for node in np.flatnonzero(overridden).tolist():
        root = int(facts.root[node])
        members[root].append(node)
        requested[root] |= _devices(facts, facts.graph.requested_device(node))
    causes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for root, devices in requested.items():
        if len(devices) == 1:  # if several towers request it, it is copied wherever it is: see `towers`
            causes[int(facts.device[members[root][0]]), next(iter(devices))] += members[root]
    findings = []
    for (source, target), nodes in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST]:
        findings += _finding(facts, trials, source, target, nodes)
    return findings


def _devices(facts: StepFacts, text: str) -> set[int]:
    """Return the devices that match a request."""
    parsed = parse_name(text)
    if parsed is None:
        return set()
    position = facts.placement.chooser.position
    return {position[device.name] for device in facts.placement.device_set.matching(parsed)}


def _finding(facts: StepFacts, trials: Trials, source: int, target: int, nodes: list[int]) -> list[Finding]:
    trial = trials.with_requests(dict.fromkeys(nodes, target))
    if trial is None:
        return []
    here, there = facts.labels[source], facts.labels[target]
    group = np.isin(facts.root, [facts.root[node] for node in nodes])
    variables = np.flatnonzero(group & facts.is_variable)
    count, names = len(variables), listed(facts.names_of(variables))
    is_reference = facts.graph.op_type(int(variables[0])) in REFERENCE_VARIABLES
    device = facts.graph.requested_device(nodes[0])
    them = "them" if count > 1 else "it"
    cause = (
        f"{counted(len(nodes), 'node')} ({listed(facts.names_of(nodes))}) {verb(len(nodes), 'ask')} for '{device}', "
        f"but a {'reference' if is_reference else 'resource'} edge ties {'them' if len(nodes) > 1 else 'it'} to "
        f"{names}, which {verb(count, 'are')} on {here}."
    )
    nbytes = facts.copied(sources=group).nbytes + facts.copied(targets=group).nbytes
    if nbytes:
        cause += f" Each step copies {size_text(nbytes)} between {here} and other devices for {them}."
    place = request(there)
    return [
        Finding(
            OVERRIDDEN,
            f"A request for {there} is overridden: {names} {verb(count, 'are')} on {here}",
            cause,
            f"Create the variable{'s' if count > 1 else ''} on the device of the lines that use {them}: ask for "
            f"{place} around {'their' if count > 1 else 'its'} creation.",
            f"with tf.device('{place}'):\n    variable = tf.get_variable(...)  # {names}",
            facts.names_of(nodes),
            (here, there),
            trial.gain,
            moved=trial.moved,
        )
    ]
