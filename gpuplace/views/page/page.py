"""A placement as one HTML file that needs no kernel, server or network: picture, tables, reasons and log.

The page shows the explorer's picture with the same modules, layout and style sheets. In place of the kernel, it has the
placement's columns as JSON, and scripts that fold and unfold, so that every folding is possible. A file has columns
instead of pictures: an SVG of 60 boxes takes 60 kB, and a graph of 10,000 nodes has hundreds of scopes to open. The
timeline of a measured step is also the notebook's, beside the picture or on its own page.

A page that is opened as a file cannot import neighboring files, so its import map contains the modules themselves.

Names come from untrusted files. They reach the page as JSON in a script element that is not executed, with every ``<``
escaped, and become text nodes; the page's policy forbids all requests.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns([("</script><b>", "Const", "/cpu:0", "/device:CPU:0")])
>>> text = page_html(view, title="a<b")
>>> "</script><b>" in text, "<h1>a&lt;b</h1>" in text
(False, True)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.cost.sentences import explanation
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.findings.finding import Findings
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.typing import PlacementLike, RunMetadata
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.logs.op_rows import OP_COLUMNS, op_cells
from gpuplace.views.page.bodies import bodies_of
from gpuplace.views.page.cost_blocks import cost_blocks
from gpuplace.views.page.data import page_data
from gpuplace.views.page.finding_blocks import HEADING, finding_blocks
from gpuplace.views.page.fixes import Fix, fixes_html
from gpuplace.views.tables.html import error_html, escape, escape_lines, summary, table
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.rows import node_rows
from gpuplace.views.tables.text import counted
from gpuplace.views.timelines.beside import beside
from gpuplace.views.timelines.page import timeline_page, timeline_tables
from gpuplace.views.timelines.reader import step_timeline
from gpuplace.views.timelines.step_timeline import StepTimeline
from gpuplace.web.modules import import_map
from gpuplace.web.rules import RULES
from gpuplace.web.sheets import PAGE_SHEETS, page_colours_sheet, sheet

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:"
)
"""The page fetches nothing; its modules are ``data:`` URLs of its import map."""
_PLAIN_ROWS = 200
"""Maximum number of table rows for browsers without scripts."""


@without_garbage_collection()
def page_html(
    placement: PlacementLike,
    *,
    title: str = "Placement",
    run_metadata: RunMetadata | None = None,
    estimate: StepEstimate | None = None,
    findings: Findings | None = None,
    has_bodies: bool = True,
    fixes: Sequence[Fix] = (),
    **options: Any,
) -> str:
    """Return the page as HTML.

    Args:
        placement: a `Placement`, complete or partial, a `LoggedPlacement` or a `PlacementView`.
        title: heading of the page.
        run_metadata: ``RunMetadata`` or ``StepStats`` of a step: its timeline, and colours by time and memory.
        estimate: estimate of a step, shown below the picture, with its timeline beside that of ``run_metadata``.
        findings: findings of the step, shown above the picture; None: those of ``estimate``, if passed.
        has_bodies: whether called functions can be opened.
        fixes: fixes for a graph that TensorFlow refuses.
        **options: options of `gpuplace.views.page.data.page_data`.
    """
    stats = run_metadata
    if stats is None and estimate is not None:
        stats = estimate.run_metadata()
    data = page_data(placement, run_metadata=stats, estimate=estimate, **options)
    shared = {name: options[name] for name in ("settings", "mapping") if name in options}
    called = bodies_of(placement) if has_bodies else {}
    bodies = {name: page_data(body, **shared) for name, body in called.items()}
    for fix in fixes:
        if fix.placement is not None:
            settings = [*options.get("settings", ()), ("changed", fix.label)]
            bodies[fix.label] = {**page_data(fix.placement, settings=settings), "isFix": True}
    timeline = None if run_metadata is None else step_timeline(run_metadata, placement)
    heading = "Measured step"
    if estimate is not None:
        heading = "Predicted step" if timeline is None else "Predicted and measured step"
        measured = () if timeline is None else (("measured", timeline),)
        timeline = beside(("predicted", estimate.timeline()), *measured)
    if timeline is not None:
        data["step"] = timeline_page(timeline).as_json()
    if estimate is not None:
        data["cost"] = cost_blocks(estimate)
        findings = estimate.findings if findings is None else findings
    if findings is not None:
        data["findings"] = finding_blocks(findings)
    sections = _ops_section(placement) + _cost_section(estimate) + _timeline_section(timeline, heading)
    errors = view_of(placement).errors
    summary_text = data["summary"]
    if errors:
        outcome = "TensorFlow rejects this graph. The picture shows where its nodes would otherwise go"
        summary_text = f"{outcome}: {summary_text}"
    above = _refused_section(errors, fixes) + _findings_section(findings)
    body = f"""{above}<section id="graph" aria-labelledby="graph-title">
<h2 class="gp-unseen" id="graph-title">Graph</h2>
</section>
{sections}<section id="tables" aria-labelledby="tables-title">
<h2 class="gp-unseen" id="tables-title">Tables</h2>
</section>
<noscript>{_without_scripts(placement)}</noscript>"""
    return _document(title, summary_text, data["settings"], body, data, "gpuplace/page/placement.js", bodies)


def timeline_page_html(
    timeline: StepTimeline, *, title: str = "Timeline", settings: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the page of a measured step.

    Args:
        timeline: the step.
        title: heading of the page.
        settings: ``(label, text)`` of its origin.
    """
    data = {"step": timeline_page(timeline).as_json()}
    section = _timeline_section(timeline)
    return _document(title, "", settings, section, data, "gpuplace/page/timeline.js")


def _refused_section(errors: Sequence[BaseException], fixes: Sequence[Fix]) -> str:
    """Return the first error of a refused graph with its facts and fixes; the other errors are in the tables."""
    if not errors:
        return ""
    more = f"<p>{counted(len(errors) - 1, 'more error')} in the tables below.</p>" if len(errors) > 1 else ""
    return f"""<section id="refused" aria-labelledby="refused-title">
<h2 id="refused-title">This graph cannot be placed</h2>
{error_html(errors[0])}{more}
{fixes_html(fixes)}
</section>
"""


def _findings_section(findings: Findings | None) -> str:
    """Return the section for findings; without scripts it shows their text."""
    if findings is None:
        return ""
    return f"""<section id="findings" aria-labelledby="findings-title">
<h2 id="findings-title">{HEADING}</h2>
<div id="finding-blocks"></div>
<noscript><pre>{escape_lines(str(findings))}</pre></noscript>
</section>
"""


def _ops_section(placement: PlacementLike) -> str:
    """Return the ops of a log by device."""
    if not isinstance(placement, LoggedPlacement):
        return ""
    return f"""<section id="ops" aria-labelledby="ops-title">
<h2 id="ops-title">Ops by device</h2>
<div class="gp-step-tables">{table(OP_COLUMNS, op_cells(placement), limit=_PLAIN_ROWS)}</div>
</section>
"""


def _cost_section(estimate: StepEstimate | None) -> str:
    """Return the section for the cost of a step; without scripts it shows plain text."""
    if estimate is None:
        return ""
    return f"""<section id="cost" aria-labelledby="cost-title">
<h2 id="cost-title">What a step costs</h2>
<div id="cost-blocks"></div>
<noscript><p>{escape(explanation(estimate))}</p></noscript>
</section>
"""


def _timeline_section(timeline: StepTimeline | None, heading: str = "Measured step") -> str:
    """Return the section for the timeline, with its tables."""
    if timeline is None:
        return ""
    return f"""<section id="step" aria-labelledby="step-title">
<h2 class="gp-unseen" id="step-title">{heading}</h2>
<div id="lanes"></div>
<div class="gp-step-tables">{timeline_tables(timeline)}</div>
</section>
"""


def _document(
    title: str,
    subtitle: str,
    settings: Sequence[Sequence[str]],
    body: str,
    data: dict[str, Any],
    script: str,
    bodies: Mapping[str, dict[str, Any]] | None = None,
) -> str:
    """Return a whole page: the policy that forbids requests, style sheets, heading, data and first module."""
    more = "".join(
        f'\n<script type="application/json" class="body" data-function="{escape(name)}">{_json(body)}</script>'
        for name, body in (bodies or {}).items()
    )
    rows = "".join(f"<div><dt>{escape(label)}</dt><dd>{escape(text)}</dd></div>" for label, text in settings)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="gpuplace">
<title>{escape(title)} - gpuplace</title>
<style>
{page_colours_sheet()}
{sheet(PAGE_SHEETS)}
</style>
</head>
<body class="gp">
<header>
<h1>{escape(title)}</h1>
{f"<p>{escape(subtitle)}</p>" if subtitle else ""}
<dl>{rows}</dl>
</header>
<main>
{body}
</main>
<script type="application/json" id="data">{_json(data)}</script>{more}
<script type="importmap" id="modules">{import_map(script)}</script>
<script type="module" id="start">import "{script}";</script>
</body>
</html>
"""


def _json(data: Any) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _without_scripts(placement: PlacementLike) -> str:
    """Return the content for browsers without scripts."""
    view = view_of(placement)
    rows = (
        (row.node, row.type, ("≠ " if row.is_met is False else "") + row.requested, row.assigned)
        for row in node_rows(view)
    )
    errors = "".join(error_html(error) for error in view.errors[1:])
    nodes = table(RULES["tables"]["nodes"], rows, limit=_PLAIN_ROWS)
    needs = "<p>The picture needs JavaScript. The page loads nothing from the network.</p>"
    html = f"{needs}{summary(view)}{errors}{nodes}"
    left = getattr(placement, "unparsed", ())
    if left:
        title = f"Not understood: {counted(len(left), 'piece')} of text"
        lines = ((row.line, row.text) for row in left[:_PLAIN_ROWS])
        html += table(("line", "text"), lines, caption=title, more=max(0, len(left) - _PLAIN_ROWS))
    return html
