"""Find what slows a step down: detectors look for causes, and the cost model predicts the time that each fix saves.

>>> from gpuplace.cost.estimate import estimate
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.ops.array.constant import placeholder
>>> with Graph().as_default() as graph:
...     for number in range(2):
...         with graph.device("/gpu:0"):
...             rows = placeholder("float32", [4096, 4096], name=f"rows_{number}")
...             _ = apply_op("MatMul", f"product_{number}", a=rows, b=rows)
>>> rows = findings(estimate(graph, ["product_0", "product_1"], machine="2x V100"))
>>> [(finding.kind, finding.devices) for finding in rows]
[('idle GPU', ('GPU:0', 'GPU:1'))]
"""

from __future__ import annotations

from typing import Any

from gpuplace.cost.batches import open_placeholders
from gpuplace.cost.estimate import estimate_request
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
from gpuplace.subject.step_part import step_part
from gpuplace.subject.subject import feed_name, subject_of
from gpuplace.why.harmless import harmless_counts
from gpuplace.why.placement import Placement

MOST = 5
"""Maximal number of findings reported."""
MOST_NODES = 200_000
"""Maximal number of nodes of a step or graph that is searched for findings."""
ASSUMED_BATCH = 32
"""Assumed batch size of a graph with an unknown batch dimension, if the caller gives none."""
LEAST_SHARE = 0.01
"""Minimal share of the step time that a reported change saves."""
LEAST_SECONDS = 50e-6
"""Minimal time saved, in seconds: a few kernels more or less are not a finding."""
UNKNOWN_SHARE = 0.1
"""Share of the step time by which a finding without a predicted gain is ranked."""


@without_garbage_collection()
def findings(step: StepEstimate) -> Findings:
    """Return the findings of a step, the largest gain first.

    Args:
        step: an estimate of the step.
    """
    count = len(step.part.graph)
    if count > MOST_NODES:
        return no_findings(f"Findings cover steps of up to {MOST_NODES:,} nodes; this step has {count:,}.")
    facts = StepFacts(step)
    if not facts.is_gpu.any():
        return no_findings("The machine has no GPU.")
    trials = Trials(facts)
    rows = does_not_fit(facts, trials)
    rows += gradients_elsewhere(facts, trials)
    rows += averaged_gradients(facts, trials)
    rows += [row for row in overridden_requests(facts, trials) if _is_worth_reporting(row, step)]
    rows += [row for row in copied_variables(facts, trials, _moved(rows)) if _is_worth_reporting(row, step)]
    rows += pinned_to_the_cpu(facts, trials, _moved(rows))
    for detector in (data_through_the_cpu, input_on_gpus, idle_gpus):
        rows += detector(facts, trials)
    notes = _notes(step)
    if not notes:
        rows += small_kernels(facts, trials)
    reported = [row for row in rows if _is_worth_reporting(row, step)]
    reported.sort(key=lambda row: _rank(row, step))
    return Findings(tuple(reported[:MOST]), step.step_time, harmless_counts(step.placement), notes=notes)


def placement_findings(
    placement: Placement,
    fetches: Any = None,
    feeds: Any = None,
    config: Any = None,
    batch: int | None = None,
) -> Findings:
    """Return the findings of a step of a placed graph, from an estimate of the step.

    Args:
        placement: the placed graph.
        fetches: as in `gpuplace.estimate`.
        feeds: shapes of the fed tensors, by tensor.
        config: the session's ``ConfigProto``.
        batch: batch size; None: `ASSUMED_BATCH` if the batch dimension is unknown.

    Raises:
        OpError: a given fetch, feed or batch size does not fit the graph.
    """
    if placement.errors:
        return no_findings("The graph cannot be placed.")
    if len(placement.graph) > MOST_NODES:
        count = len(placement.graph)
        return no_findings(f"Findings cover graphs of up to {MOST_NODES:,} nodes; this graph has {count:,}.")
    try:
        return _step_findings(placement, fetches, feeds, config, batch)
    except OpError as error:
        if fetches is not None or feeds or batch is not None:
            raise
        return no_findings(f"There are no findings, as no step can be estimated: {error.message}")


def _step_findings(
    placement: Placement, fetches: Any, feeds: Any, config: Any, batch: int | None
) -> Findings:
    request = StepRequest(fetches=fetches, feeds=dict(feeds or {}), config=config)
    catalogue = placement.placer.catalogue
    part = step_part(placement, subject_of(placement.graph, catalogue, fetches, request.feeds))
    is_open = any(sizes and sizes[0] in (None, -1) for sizes in open_placeholders(part).values())
    result = findings(
        estimate_request(placement, request, batch=ASSUMED_BATCH if batch is None and is_open else batch)
    )
    if batch is None and is_open and not result.skipped:
        note = f"The graph leaves the batch open: {ASSUMED_BATCH} examples are assumed."
        return Findings(result.rows, result.step_time, result.harmless, notes=(note,))
    return result


def _notes(step: StepEstimate) -> tuple[str, ...]:
    """Return the limits of the findings: with an assumed batch size of 1, all kernels are small."""
    fed = {feed_name(key).partition(":")[0] for key in step.request.feeds}
    sizes = [sizes for name, sizes in open_placeholders(step.part).items() if name not in fed]
    if any(dims and dims[0] in (None, -1) for dims in sizes):
        return (
            "The batch is open, and 1 example is assumed: with a batch size, findings also cover small kernels.",
        )
    return ()


def _moved(rows: list[Finding]) -> set[str]:
    """Return the names of the nodes that some findings move."""
    return {name for row in rows for name, _ in row.moved}


def _is_worth_reporting(finding: Finding, step: StepEstimate) -> bool:
    """Whether the predicted gain exceeds the usual difference between two equally good placements."""
    return finding.gain is None or finding.gain >= max(LEAST_SHARE * step.step_time, LEAST_SECONDS)


def _rank(finding: Finding, step: StepEstimate) -> tuple[bool, float, int]:
    gain = UNKNOWN_SHARE * step.step_time if finding.gain is None else finding.gain
    return not finding.short, -gain, -len(finding.nodes)
