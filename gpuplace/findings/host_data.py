"""Detect data that leaves the GPU for ops without a GPU kernel and comes back.

Such an op is on the CPU, or its GPU kernel works in host memory, as int32 kernels do. Adjacent nodes of both kinds form
a region, which costs time if it takes data from a GPU's memory and returns data to one::

    hidden (GPU) ──copy──> Cast ──> FloorMod int32 ──> Cast ──copy──> MatMul (GPU)

The gain of a change is predicted with the region in GPU memory, as if it had kernels there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.dtypes import DType, float32, int32, int64, string
from gpuplace.errors import OpError
from gpuplace.findings.facts import WORTH_TRYING, Bools, CopyRow, Ints, StepFacts
from gpuplace.findings.finding import HOST_DATA, Finding
from gpuplace.findings.trials import Trials
from gpuplace.findings.words import counted, listed, verb
from gpuplace.graph.op_sets import CONTROL_FLOW_PASSING, METADATA_OPS
from gpuplace.why.kernel_text import missing_kernel
from gpuplace.why.rules import Rule

_MOST = 2
"""Causes that are tried, the most costly first."""
_COUNTS = 0.05
"""Smallest fraction of a region's seconds or copied bytes for an op to be named as a cause."""
_TYPES = (float32, int64)
"""Types proposed instead of int32."""
_OPTIONAL = {"OptionalFromValue", "OptionalGetValue"}
"""Ops through which a functional conditional passes tensors to its gradient."""
_WITHOUT_KERNEL = (Rule.KERNEL, Rule.KERNEL_PRIORITY, Rule.SOFT_PLACEMENT, Rule.SOFT_RESOURCE, Rule.HOST_DATA)


@dataclass(frozen=True, eq=False)
class _Region:
    """Adjacent nodes that compute in host memory."""

    nodes: Ints
    culprits: Ints
    """The nodes in it that take the time, or cause the copies."""
    copies: list[CopyRow]
    seconds: float
    """Seconds of its kernels and copies."""


def data_through_the_cpu(facts: StepFacts, trials: Trials) -> list[Finding]:
    """Return a finding for each set of op types that takes data from GPUs and returns it.

    Args:
        facts: the step.
        trials: tries changes.
    """
    if not facts.is_gpu.any():
        return []
    causes: dict[tuple[str, ...], list[_Region]] = defaultdict(list)
    for region in _regions(facts):
        causes[tuple(sorted({facts.graph.op_type(node) for node in region.culprits.tolist()}))].append(region)
    ranked = sorted(causes.items(), key=lambda item: (-sum(region.seconds for region in item[1]), item[0]))
    findings = []
    for _, regions in ranked[:_MOST]:
        if sum(region.seconds for region in regions) >= WORTH_TRYING * facts.step.step_time:
            findings += _finding(facts, trials, regions)
    return findings


def _lacking(facts: StepFacts) -> Bools:
    """[nodes] whether a node computes on the host because it has no kernel for GPU memory."""
    on_cpu = ~facts.is_gpu[facts.device] & facts.has_rule(*_WITHOUT_KERNEL)
    on_host = facts.is_gpu[facts.device] & facts.step.flow.on_host
    computes: Bools = (on_cpu | on_host) & facts.runs & ~facts.is_constant & ~facts.step.part.is_fed
    return computes & ~facts.of_types(lambda name: name in CONTROL_FLOW_PASSING or name in METADATA_OPS)


def _regions(facts: StepFacts) -> Iterator[_Region]:
    """Yield the regions that take data from a GPU's memory and return data to one."""
    lacks = _lacking(facts)
    if not lacks.any():
        return
    inside = lacks | (facts.follows & facts.runs & ~facts.is_gpu[facts.device] & ~facts.is_constant)
    inside |= _passed_through(facts, inside)
    src, _, dst = facts.data
    parent = list(range(len(inside)))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    both = inside[src] & inside[dst]
    for first_end, other_end in zip(src[both].tolist(), dst[both].tolist(), strict=True):
        parent[root(first_end)] = root(other_end)
    first: dict[int, int] = {}
    for node in np.flatnonzero(inside).tolist():  # a variable joins its readers and its updates
        other_end = first.setdefault(int(facts.root[node]), node)
        parent[root(node)] = root(other_end)
    number = np.array([root(node) for node in range(len(inside))], dtype=np.int64)
    leaves_gpu, enters_gpu = facts.memory_edges
    runs = facts.runs[src] & facts.runs[dst]
    takes = np.unique(number[dst[runs & leaves_gpu & ~enters_gpu & inside[dst] & ~inside[src]]])
    gives = np.unique(number[src[runs & ~leaves_gpu & enters_gpu & inside[src] & ~inside[dst]]])
    for first_end in np.intersect1d(takes, gives).tolist():
        nodes = np.flatnonzero(inside & (number == first_end))
        if lacks[nodes].any():
            yield _region(facts, nodes, lacks)


def _passed_through(facts: StepFacts, inside: Bools) -> Bools:
    """[nodes] whether a node only passes a value between nodes of regions, on any device."""
    passing = facts.of_types(CONTROL_FLOW_PASSING.__contains__).tolist()
    before, after = inside.tolist(), inside.tolist()
    for node in facts.order:
        if passing[node] and any(before[other] for other in facts.inputs[node]):
            before[node] = True
    for node in reversed(facts.order):
        if passing[node] and any(after[other] for other in facts.consumers[node]):
            after[node] = True
    return np.array(before, dtype=bool) & np.array(after, dtype=bool)


def _region(facts: StepFacts, nodes: Ints, lacks: Bools) -> _Region:
    inside = np.zeros(len(facts.graph), dtype=bool)
    inside[nodes] = True
    src, _, dst = facts.data
    made, taken = facts.memory_edges
    crosses = (made != taken) & (inside[src] | inside[dst])
    ends: dict[tuple[int, int], set[int]] = defaultdict(set)
    for one, other in zip(src[crosses].tolist(), dst[crosses].tolist(), strict=True):
        ends[one, int(facts.device[other])] |= {node for node in (one, other) if inside[node]}
    copies, moved = [], np.zeros(len(facts.graph))
    for row in facts.copy_rows:
        if touched := ends.get((row.node, row.receiver)):
            copies.append(row)
            moved[list(touched)] += row.nbytes
    seconds = facts.seconds[nodes]
    total = sum(row.nbytes for row in copies)
    counts = (seconds >= _COUNTS * (seconds.sum() or np.inf)) | (moved[nodes] >= _COUNTS * (total or np.inf))
    culprits = nodes[counts & lacks[nodes]]
    if not len(culprits):
        culprits = nodes[lacks[nodes]]
    return _Region(nodes, culprits, copies, float(seconds.sum()) + sum(row.seconds for row in copies))


def _finding(facts: StepFacts, trials: Trials, regions: list[_Region]) -> list[Finding]:
    nodes = np.unique(np.concatenate([region.nodes for region in regions]))
    culprits = np.unique(np.concatenate([region.culprits for region in regions]))
    homes = _gpus(facts, nodes.tolist())
    seconds = trials.in_gpu_memory(facts.with_company(homes))
    if seconds is None:
        return []
    ops = [op for op, _ in Counter(facts.graph.op_type(node) for node in culprits.tolist()).most_common()]
    first = max(culprits.tolist(), key=lambda node: (facts.seconds[node], -node))
    gpus = sorted({facts.labels[device] for device in homes.values()})
    copies = [row for region in regions for row in region.copies]
    count = len(culprits)
    cause = (
        f"{_why(facts, first)}, so {counted(count, 'node')} ({facts.where(culprits)}) {verb(count, 'compute')} in host "
        f"memory. Each step copies {size_text(sum(row.nbytes for row in copies))} between host memory and "
        f"{listed(gpus)}, which takes {seconds_text(sum(row.seconds for row in copies))}."
    )
    fix, code = _fix(facts, culprits)
    here = sorted({facts.labels[device] for device in facts.device[culprits].tolist()})
    return [
        Finding(
            HOST_DATA,
            f"{listed(ops)} {verb(len(ops), 'pull')} data of {listed(gpus)} through the CPU",
            cause,
            fix,
            code,
            facts.names_of(culprits),
            tuple(dict.fromkeys([*gpus, *here])),
            min(facts.step.step_time - seconds, sum(region.seconds for region in regions)),
        )
    ]


def _gpus(facts: StepFacts, nodes: list[int]) -> dict[int, int]:
    """Return the GPU for each node: its own, or the GPU of most neighbors of all nodes."""
    votes = Counter(
        int(facts.device[other])
        for node in nodes
        for other in (*facts.inputs[node], *facts.consumers[node])
        if facts.on_gpu[other]
    )
    default = votes.most_common(1)[0][0] if votes else int(np.flatnonzero(facts.is_gpu)[0])
    return {node: int(facts.device[node]) if facts.is_gpu[facts.device[node]] else default for node in nodes}


def _why(facts: StepFacts, node: int) -> str:
    """Return why a node computes in host memory, without a period."""
    whole, op_type = int(facts.step.part.nodes[node]), facts.graph.op_type(node)
    missing = missing_kernel(facts.placement, facts.placement.facts_of(whole), "GPU")
    if missing is not None:
        return f"There is {missing}" if missing.startswith("no ") else missing
    if facts.is_gpu[facts.device[node]]:
        types = sorted({dtype.name for dtype in _types_of(facts, node)})
        return f"The GPU kernel of {op_type}{f' for {listed(types)}' if types else ''} works in host memory"
    culprit = int(facts.placement.verdicts.culprit[whole])
    if culprit == whole:
        return f"The CPU kernel of {op_type} comes before its GPU kernel"
    return f"{op_type} shares a device with {facts.placement.graph.names[culprit]}, which has no GPU kernel"


def _types_of(facts: StepFacts, node: int) -> list[DType]:
    """Return the types in a node's signature."""
    values = [value for _, value in facts.graph.signatures[facts.graph.signature[node]].attrs]
    flat = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    return [value.base_dtype for value in flat if isinstance(value, DType)]


def _fix(facts: StepFacts, culprits: Ints) -> tuple[str, str]:
    """Return the recommended change as text and code: another type that has kernels, or another place."""
    types = {dtype for node in culprits.tolist() for dtype in _types_of(facts, node)}
    types |= {dtype.base_dtype for node in culprits.tolist() for dtype in facts.step.shapes.dtypes(node)}
    signatures = np.unique(facts.graph.signature[culprits]).tolist()
    ops = sorted({facts.types[number] for number in signatures})
    types_with_kernel = {
        number: [dtype for dtype in _TYPES if _has_kernel(facts, number, dtype)] for number in signatures
    }
    shared = [
        dtype for dtype in _TYPES if all(dtype in dtypes for dtypes in types_with_kernel.values() if dtypes)
    ]
    if int32 in types and shared and any(types_with_kernel.values()):
        without = sorted({facts.types[number] for number, dtypes in types_with_kernel.items() if not dtypes})
        need = "needs another op" if len(without) == 1 else "need other ops"
        return (
            f"Compute in {' or '.join(f'tf.{dtype.name}' for dtype in shared)} instead of tf.int32: GPUs have kernels "
            f"for that in their own memory{f', except for {listed(without)}, which {need}' if without else ''}.",
            f"x = tf.cast(x, tf.{shared[0].name})",
        )
    if _OPTIONAL.intersection(ops):
        return (
            "Build conditionals from Switch and Merge, which keep values that gradients need on the GPU.",
            "tf.disable_control_flow_v2()",
        )
    if string in types:
        return (
            "Handle strings in the input pipeline, ahead of the step, and feed the step with numbers.",
            "ids = tf.string_to_hash_bucket_fast(words, buckets)  # in dataset.map(), or before the queue",
        )
    return (
        f"Replace {listed(ops)} with ops that have GPU kernels, or move the computation to the input or after the "
        "last layer.",
        "",
    )


def _has_kernel(facts: StepFacts, signature: int, dtype: DType) -> bool:
    """Return whether a signature with another type instead of int32 has a kernel in GPU memory."""
    catalogue = facts.placement.placer.catalogue
    row = facts.graph.signatures[signature]
    op_def = catalogue.ops.get(row.op_type)
    if op_def is None:
        return False

    def changed(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        return dtype if value == int32 else value

    attrs = {**op_def.defaults, **{name: changed(value) for name, value in row.attrs}}
    try:
        if catalogue.kernels.find(op_def.name, attrs, "GPU")[0] is None:
            return False
        _, outputs = catalogue.kernels.host_memory(op_def, attrs, "GPU")
    except (OpError, KeyError, TypeError):  # the op does not support the type
        return False
    return not outputs
