"""Find causes of lost time in a step, and predict the saving from removing each.

>>> from gpuplace.cost.estimate import estimate
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.ops.array.constant import placeholder
>>> with Graph().as_default() as graph:
...     for number in range(2):
...         with graph.device("/gpu:0"):
...             rows = placeholder("float32", [4096, 4096], name=f"rows_{number}")
...             _ = apply_op("MatMul", f"product_{number}", a=rows, b=rows)
>>> found = findings(estimate(graph, ["product_0", "product_1"], machine="2x V100"))
>>> [(one.kind, one.devices) for one in found]
[('idle GPU', ('GPU:0', 'GPU:1'))]
"""

from __future__ import annotations

from typing import Any

from gpuplace.cost.batches import open_placeholders
from gpuplace.cost.estimate import estimate_request
from gpuplace.cost.shapes.feeds import checked_sizes
from gpuplace.cost.shapes.kinds import shape_of
from gpuplace.cost.step_estimate import StepEstimate, StepRequest
from gpuplace.errors import OpError
from gpuplace.findings.facts import StepFacts
from gpuplace.findings.finding import Finding, Findings, no_findings
from gpuplace.findings.gradients import gradients_elsewhere
from gpuplace.findings.host_data import data_through_the_cpu
from gpuplace.findings.idle import idle_gpus, pinned_to_the_cpu
from gpuplace.findings.inputs import input_on_gpus
from gpuplace.findings.overridden import overridden_requests
from gpuplace.findings.properties import does_not_fit, small_kernels
from gpuplace.findings.towers import averaged_gradients, copied_variables
from gpuplace.findings.trials import Trials
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.model.subject.step_part import step_part
from gpuplace.model.subject.subject import feed_name, subject_of
from gpuplace.typing import ConfigProto, FeedDict
from gpuplace.why.harmless import harmless_counts
from gpuplace.why.placement import Placement

MOST = 5
"""Maximum number of findings."""
MOST_NODES = 200_000
"""Number of nodes above which no findings are computed."""
ASSUMED_BATCH = 32
"""Assumed batch size of a graph that leaves the batch open."""
LEAST_PART = 0.01
"""Smallest fraction of the step that a change must save."""
LEAST_SECONDS = 50e-6
"""Smallest gain of a finding in seconds: a few more or fewer kernels are not a finding."""
UNKNOWN_PART = 0.1
"""Assumed gain, as a fraction of the step, for ranking a finding whose gain cannot be predicted."""


@without_garbage_collection()
def findings(step: StepEstimate) -> Findings:
    """Return the findings of a step.

    Args:
        step: estimate of the step.
    """
    count = len(step.part.graph)
    if count > MOST_NODES:
        return no_findings(f"Findings cover steps of up to {MOST_NODES:,} nodes; this step has {count:,}.")
    facts = StepFacts(step)
    if not facts.is_gpu.any():
        return no_findings("The machine has no GPU.")
    trials = Trials(facts)
    candidates = does_not_fit(facts, trials)
    candidates += gradients_elsewhere(facts, trials)
    candidates += averaged_gradients(facts, trials)
    candidates += [finding for finding in overridden_requests(facts, trials) if _counts(finding, step)]
    candidates += [
        finding for finding in copied_variables(facts, trials, _moved(candidates)) if _counts(finding, step)
    ]
    candidates += pinned_to_the_cpu(facts, trials, _moved(candidates))
    for detector in (data_through_the_cpu, input_on_gpus, idle_gpus):
        candidates += detector(facts, trials)
    notes = _notes(step)
    if not notes:
        candidates += small_kernels(facts, trials)
    counting = [finding for finding in candidates if _counts(finding, step)]
    counting.sort(key=lambda finding: _rank(finding, step))
    return Findings(tuple(counting[:MOST]), step.step_time, harmless_counts(step.placement), notes=notes)


@without_garbage_collection()
def placement_findings(
    placement: Placement,
    fetches: Any = None,
    feeds: FeedDict | None = None,
    config: ConfigProto | None = None,
    batch: int | None = None,
) -> Findings:
    """Return the findings of a step of a placed graph, from an estimate of it.

    Args:
        placement: placement of the graph.
        fetches: as for `gpuplace.estimate`.
        feeds: tensor -> shape of the fed value.
        config: the ``ConfigProto``.
        batch: examples in a step; None: `ASSUMED_BATCH` if the graph leaves the batch open.

    Raises:
        OpError: a fetch, feed or batch of the caller does not match the graph.
    """
    if placement.errors:
        return no_findings("The graph cannot be placed.")
    if len(placement.graph) > MOST_NODES:
        count = len(placement.graph)
        return no_findings(f"Findings cover graphs of up to {MOST_NODES:,} nodes; this graph has {count:,}.")
    try:
        return _of_step(placement, fetches, feeds, config, batch)
    except OpError as error:
        if fetches is not None or feeds or batch is not None:
            raise
        return no_findings(f"No step can be estimated, so there are no findings: {error.message}")


def _of_step(
    placement: Placement, fetches: Any, feeds: Any, config: ConfigProto, batch: int | None
) -> Findings:
    request = StepRequest(fetches=fetches, feeds=dict(feeds or {}), config=config)
    catalogue = placement.placer.catalogue
    part = step_part(placement, subject_of(placement.graph, catalogue, fetches, request.feeds))
    is_open = any(sizes and sizes[0] in (None, -1) for sizes in open_placeholders(part).values())
    result = findings(
        estimate_request(placement, request, batch=ASSUMED_BATCH if batch is None and is_open else batch)
    )
    if batch is None and is_open and not result.skipped:
        note = f"The graph does not fix the batch size: {ASSUMED_BATCH} examples are assumed."
        return Findings(result.rows, result.step_time, result.harmless, notes=(note, *result.notes))
    return result


def _notes(step: StepEstimate) -> tuple[str, ...]:
    """Return the limits of the findings. With an assumed batch or length of 1, all kernels are small."""
    fed = {feed_name(key).partition(":")[0]: sizes for key, sizes in step.request.feeds.items()}
    shapes = {
        name: checked_sizes(name, fed[name]) if name in fed else declared
        for name, declared in open_placeholders(step.part).items()
    }
    if any(sizes and sizes[0] is None for sizes in shapes.values()):
        return (
            "The batch size is unknown: 1 example is assumed. With a batch size, findings also cover small kernels.",
        )
    is_open = [name for name, sizes in shapes.items() if sizes is None or None in sizes]
    if not is_open:
        return ()
    name = is_open[0]
    more = len(is_open) - 1
    others = f" and {more} more input{'s' if more > 1 else ''}" if more else ""
    return (
        f"{name} {shape_of(shapes[name])}{others} {'have' if more else 'has'} unknown sizes besides the batch, which"
        " are assumed to be 1: feed known shapes, and findings also cover small kernels.",
    )


def _moved(findings: list[Finding]) -> set[str]:
    """Return the names of the nodes that findings move."""
    return {name for finding in findings for name, _ in finding.moved}


def _counts(finding: Finding, step: StepEstimate) -> bool:
    """Return whether a finding saves more than the noise between placements."""
    return finding.gain is None or finding.gain >= max(LEAST_PART * step.step_time, LEAST_SECONDS)


def _rank(finding: Finding, step: StepEstimate) -> tuple[bool, float, int]:
    gain = UNKNOWN_PART * step.step_time if finding.gain is None else finding.gain
    return not finding.short, -gain, -len(finding.nodes)
