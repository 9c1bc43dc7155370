"""A placement as one HTML file that needs no kernel, no server and no network: picture, tables, reasons and log.

The page is the explorer's picture (the same script and style sheet) with something else in the kernel's place: the
placement's columns as JSON, and a script that folds and unfolds. Where the explorer has Graphviz, the page lays boxes
out itself (``gpuplace/web/layout.js``): every folding is possible, and a file holds columns instead of the pictures
of some foldings (one SVG of 60 boxes is 60 kB, and a graph of 10,000 nodes has hundreds of scopes to open). The
timeline of a measured step is the notebook's too, beside the picture or on a page of its own.

Names come from files that anybody may have written. They reach the page as JSON in a script element that is not
executed, with every ``<`` written as an escape, and become text nodes there; the page forbids itself any request.

>>> from gpuplace.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns([("</script><b>", "Const", "/cpu:0", "/device:CPU:0")])
>>> text = page_html(view, title="a<b")
>>> "</script><b>" in text, "<h1>a&lt;b</h1>" in text
(False, True)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuplace.page.data import page_data
from gpuplace.tables.html import error_html, escape, summary, table
from gpuplace.tables.placement_view import view_of
from gpuplace.tables.rows import node_rows
from gpuplace.tables.text import counted
from gpuplace.timelines.page import timeline_page, timeline_tables
from gpuplace.timelines.reader import step_timeline
from gpuplace.timelines.step_timeline import StepTimeline

__all__ = ["page_html", "timeline_page_html"]

_WEB = Path(__file__).parents[1] / "web"
"""Where the explorer's scripts and sheet lie; they are text here, and import nothing."""
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_PLAIN_ROWS = 200
"""Rows that a browser without scripts shows."""


def page_html(placement: Any, *, title: str = "Placement", run_metadata: Any = None, **options: Any) -> str:
    """The page as text.

    Args:
        placement: a `Placement`, complete or partial, a `LoggedPlacement` or a `PlacementView`.
        title: its heading.
        run_metadata: ``RunMetadata`` or ``StepStats`` of a step: its timeline, and colours by time and memory.
        **options: for `gpuplace.page.data.page_data`.
    """
    data = page_data(placement, run_metadata=run_metadata, **options)
    timeline = None if run_metadata is None else step_timeline(run_metadata, placement)
    scripts = [_picture_script()]
    if timeline is not None:
        data["step"] = timeline_page(timeline).as_json()
        scripts.append(_timeline_script())
    body = f"""<section id="graph" aria-label="Graph"></section>
{_timeline_section(timeline)}<section id="tables" aria-label="Tables"></section>
<noscript>{_without_scripts(placement)}</noscript>"""
    return _document(title, data["summary"], data["settings"], body, data, scripts)


def timeline_page_html(
    timeline: StepTimeline, *, title: str = "Timeline", settings: Sequence[tuple[str, str]] = ()
) -> str:
    """A page of a measured step alone.

    Args:
        timeline: the step.
        title: its heading.
        settings: ``(label, text)`` of where it is from.
    """
    data = {"step": timeline_page(timeline).as_json()}
    section = _timeline_section(timeline)
    return _document(title, "", settings, section, data, [_timeline_script()])


def _timeline_section(timeline: StepTimeline | None) -> str:
    """Where the timeline goes, and its tables."""
    if timeline is None:
        return ""
    return f"""<section id="step" aria-label="Measured step">
<div id="lanes"></div>
<div class="gp-step-tables">{timeline_tables(timeline)}</div>
</section>
"""


def _document(
    title: str,
    told: str,
    settings: Sequence[Sequence[str]],
    body: str,
    data: dict[str, Any],
    scripts: Sequence[str],
) -> str:
    """What all pages have: the policy that forbids requests, sheets, a heading, data and scripts."""
    rows = "".join(f"<div><dt>{escape(label)}</dt><dd>{escape(text)}</dd></div>" for label, text in settings)
    script = "\n".join((_text(_WEB, "theme.js"), *scripts))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="gpuplace">
<title>{escape(title)} - gpuplace</title>
<style>
{_text(_WEB, "explorer.css")}
{_text(_WEB, "page.css")}
</style>
</head>
<body class="gp">
<header>
<h1>{escape(title)}</h1>
{f"<p>{escape(told)}</p>" if told else ""}
<dl>{rows}</dl>
</header>
<main>
{body}
</main>
<script type="application/json" id="data">{_json(data)}</script>
<script>
"use strict";
{{
const DATA = JSON.parse(document.getElementById("data").textContent);
{script}
setTimeout(() => (document.documentElement.dataset.ready = "yes"), 60); // behind what the scripts put off
}}
</script>
</body>
</html>
"""


@lru_cache(maxsize=8)
def _text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def _picture_script() -> str:
    """Modules as one script: a page that is opened as a file cannot import."""
    layout = _text(_WEB, "layout.js").replace("export { place, siblings };", "return { place, siblings };")
    return "\n".join(
        (
            f"const {{ place, siblings }} = (() => {{\n{layout}\n}})();",
            _view("graphView", "lights.js", "graph_view.js"),
            _text(_WEB, "page.js"),
            _text(_WEB, "page_lights.js"),
            _text(_WEB, "tables.js"),
        )
    )


def _timeline_script() -> str:
    return "\n".join((_view("timelineView", "dom.js", "timeline_view.js"), _text(_WEB, "page_step.js")))


def _view(name: str, *modules: str) -> str:
    """A widget's script, as a constant that has what it exports."""
    text = "\n".join(_text(_WEB, module) for module in modules)
    text = text.replace("export default {", "return {").replace("export ", "")
    return f"const {name} = (() => {{\n{text}\n}})();"


def _json(data: Any) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _without_scripts(placement: Any) -> str:
    """What can be read where scripts are switched off."""
    view = view_of(placement)
    rows = (
        (row.node, row.type, ("≠ " if row.is_met is False else "") + row.requested, row.assigned)
        for row in node_rows(view)
    )
    errors = "".join(error_html(error) for error in view.errors[1:])
    nodes = table(("node", "type", "requested", "assigned"), rows, limit=_PLAIN_ROWS)
    told = f"<p>The picture needs JavaScript; nothing is fetched.</p>{summary(view)}{errors}{nodes}"
    left = getattr(placement, "unparsed", ())
    if left:
        title = f"Not understood: {counted(len(left), 'piece')} of text"
        lines = ((row.line, row.text) for row in left[:_PLAIN_ROWS])
        told += table(("line", "text"), lines, caption=title, more=max(0, len(left) - _PLAIN_ROWS))
    return told
