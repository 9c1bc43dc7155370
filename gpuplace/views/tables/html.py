"""Tables and texts as HTML without scripts or style sheets, which works in saved and untrusted notebooks.

>>> table(("op", "device"), [("a<b", "CPU:0")]).count("a&lt;b")
1
"""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from gpuplace.views.tables.palette import INK, LIGHT, device_label, device_style
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.rows import mapping_cells, node_rows
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import counted, printable, summary_text
from gpuplace.web.rules import RULES

_CELL = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"
_LIMIT = 40
_CHIPS = 8
_BAR = 80
"""Length of the longest bar in pixels."""


class Raw(str):
    """Text that is already HTML."""


def escape(value: Any) -> str:
    """Return a value as HTML text; "" for None."""
    if isinstance(value, Raw):
        return value
    return "" if value is None else html.escape(printable(str(value)), quote=True)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    limit: int | None = None,
    caption: str = "",
    more: int = 0,
) -> str:
    """Return a table; rows beyond ``limit``, and ``more`` rows that were not passed, are counted below it."""
    body: list[str] = []
    for row in rows:
        if limit is not None and len(body) >= limit:
            more += 1
            continue
        cells = "".join(f'<td style="{_CELL}">{escape(value)}</td>' for value in row)
        body.append(f"<tr>{cells}</tr>")
    head = "".join(f'<th scope="col" style="{_CELL}">{escape(name)}</th>' for name in columns)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    rest = f"<p>and {counted(more, 'more row')}</p>" if more else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{rest}"


def chip(device: str, text: str = "") -> Raw:
    """Return a device's label in its colour."""
    style = device_style(device)
    radius = {"square": 2, "round": 8, "cut": 0}[style.corners]
    border = f"double {LIGHT.frame} 3px" if style.outlines > 1 else f"solid {LIGHT.frame} 1px"
    return Raw(
        f'<span style="background:{style.fill};color:{INK};border:{border};border-radius:{radius}px;padding:0 6px;'
        f'white-space:nowrap">{escape(text or style.label)}</span>'
    )


def bar(value: float, most: float, text: str) -> Raw:
    """Return a value with a bar in proportion to the largest value; "" for NaN.

    >>> bar(1.0, 2.0, "1 s").count("width:40px"), bar(float("nan"), 2.0, "none")
    (1, '')
    """
    if math.isnan(value):
        return Raw("")
    width = round(_BAR * value / most) if most > 0 else 0
    style = f"display:inline-block;width:{width}px;height:9px;background:{LIGHT.mark};margin-right:6px"
    return Raw(f'<span aria-hidden="true" style="{style}"></span>{escape(text)}')


def node_table(placement: Any, *, limit: int | None = _LIMIT) -> str:
    """Return a table of nodes with type, request and device; overridden requests are marked."""
    count = len(view_of(placement))
    shown = count if limit is None else min(limit, count)
    rows = (
        (
            row.node,
            row.type,
            ("≠ " if row.is_met is False else "") + row.requested,
            chip(row.assigned),
        )
        for row in node_rows(placement, range(shown))
    )
    return table(RULES["tables"]["nodes"], rows, more=count - shown)


def summary(placement: Any) -> str:
    """Return chips with node counts, then copies and errors."""
    view = view_of(placement)
    chips = " ".join(
        chip(device, f"{device_label(device)}: {count:,}")
        for device, count in view.counts.items()
        if count or device
    )
    _, _, details = summary_text(view).partition("; ")
    errors = "".join(error_html(error) for error in view.errors[:1])
    part = f"<p>{escape(view.part)}</p>" if view.part else ""
    return f"{part}<p>{counted(len(view), 'node')} &nbsp; {chips} &nbsp; {escape(details)}</p>{errors}"


def error_html(error: BaseException) -> str:
    """Return an error: TensorFlow's message, the facts, and the hint."""
    message = getattr(error, "sentence", str(error))
    rows = list(getattr(error, "facts", {}).items())
    if hint := getattr(error, "hint", None):
        rows.append(("try", hint))
    facts = "".join(
        f'<tr><th scope="row" style="{_CELL};white-space:nowrap">{escape(label)}</th>'
        f'<td style="{_CELL}">{_lines(text)}</td></tr>'
        for label, text in rows
    )
    return (
        f'<div role="alert" style="border-left:4px solid {LIGHT.alarm};padding:2px 10px;margin:4px 0">'
        f"<p><b>{escape(type(error).__name__)}</b>: {_lines(message)}</p>"
        f"{f'<table><tbody>{facts}</tbody></table>' if facts else ''}</div>"
    )


def explanation_html(explanation: Any) -> str:
    """Explain a node's device: the rules in order with the devices that each leaves, then possible changes."""
    request = f"requested '{explanation.requested}'" if explanation.requested else ""
    creation = f"created at {explanation.source}" if explanation.source else ""
    ties = f" ({'; '.join(explanation.ties)})" if explanation.ties else ""
    group = f"in a group of {len(explanation.group)}{ties}"
    context = "; ".join(filter(None, [request, creation, group if len(explanation.group) > 1 else ""]))
    rows = []
    for step in explanation.steps:
        rule = Raw(f'<span title="{escape(step.rule.meaning)}">{escape(step.rule.value)}</span>')
        rows.append((rule, step.note, _devices_left(step.before, step.after)))
    steps = table(("rule", "effect", "devices left"), rows)
    remedies = "".join(
        f"<p>To move it to {escape(kind)}: {escape(text)}</p>" for kind, text in explanation.remedy
    )
    name = f"<b>{escape(explanation.node)}</b> ({escape(explanation.op_type)})"
    where = f"is on {chip(explanation.device)}" if explanation.device else "has no device"
    refused = f'<p role="alert">{escape(explanation.refused)}</p>' if explanation.refused else ""
    anyway = f" It would be here anyway: {escape(explanation.held_by)}." if explanation.anyway else ""
    settled = f"<p><b>{escape(explanation.rule.value)}</b>: {escape(explanation.because)}.{anyway}</p>"
    return f"<p>{name} {where} {escape(context and f'({context})')}</p>{refused}{settled}{steps}{remedies}"


def _devices_left(before: Sequence[str], after: Sequence[str]) -> Raw:
    """Return the devices that a rule leaves; those that it removes are struck out, unless there are many."""
    removed = [label for label in before if label not in after]
    labels = [*before, *(label for label in after if label not in before)]
    if len(labels) > _CHIPS:
        labels, removed = list(after), []
    cells = []
    for label in labels[:_CHIPS]:
        device = label if "/" in label else f"/device:{label}"
        name = escape(device_style(device).label)
        struck = f'<del style="padding:0 7px;white-space:nowrap">{name}</del>'
        cells.append(struck if label in removed else chip(device))
    more = [f"+{len(labels) - _CHIPS}"] if len(labels) > _CHIPS else []
    return Raw(" ".join([*cells, *more, *([] if after else ["none"])]))


def _lines(text: str) -> str:
    return "<br>".join(escape(line.expandtabs(2)) for line in str(text).split("\n"))


def mapping_table(rows: Iterable[Any]) -> str:
    """Return the chain physical GPU -> visible GPU -> device, with hidden GPUs and the reasons."""
    shown = [
        (gpu, name, bus, visible, chip(device) if device else "", bytes_text(limit) if limit else "", reason)
        for gpu, name, bus, visible, device, limit, reason in mapping_cells(rows)
    ]
    return table(RULES["tables"]["mapping"], shown)


def image(svg: str, description: str, dark: str = "") -> str:
    """Return an ``<img>`` with an embedded SVG, which untrusted notebooks display.

    Args:
        svg: the picture.
        description: a text alternative.
        dark: the same picture in the dark theme, for dark pages.
    """
    data = base64.b64encode((both_themes(svg, dark) if dark else svg).encode("utf-8")).decode("ascii")
    style = "max-width:100%;height:auto;border-radius:6px"
    about = f'alt="{escape(description)}" src="data:image/svg+xml;base64,{data}"'
    if not dark:
        return f'<img style="{style}" {about}>'
    return f'{_SCHEMES}<img style="{style};color-scheme:light" class="gp-still" {about}>'


_SCHEMES = (
    '<style>:is([data-jp-theme-light="false"],.vscode-dark,[data-theme="dark"],[theme="dark"]) .gp-still'
    '{color-scheme:dark!important}@media (prefers-color-scheme:dark){[data-theme="auto"] .gp-still'
    "{color-scheme:dark!important}}</style>"
)
"""Switches pictures to the dark theme on dark pages: JupyterLab, VS Code, Sphinx."""
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_ATTRIBUTE = re.compile(r'\b(fill|stroke)="(#[0-9a-fA-F]{6})"')
_SHEET = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def both_themes(light: str, dark: str) -> str:
    """Merge two SVGs that differ only in colours into one that follows the theme of its page.

    Colours stay attributes for viewers without ``light-dark()``; other viewers use the style.

    >>> both_themes('<svg><path fill="#ffffff"/></svg>', '<svg><path fill="#000000"/></svg>')
    '<svg style="color-scheme:light dark"><path fill="#ffffff" style="fill:light-dark(#ffffff,#000000)"/></svg>'
    """
    others = _TAG.finditer(dark)
    sheets = _SHEET.finditer(dark)

    def tag(match: re.Match[str]) -> str:
        here, there = match[0], next(others)[0]
        if here.startswith("<svg"):
            return f'{here[:-1]} style="color-scheme:light dark">'
        pairs = zip(_ATTRIBUTE.findall(here), _ATTRIBUTE.findall(there), strict=True)
        style = ";".join(
            f"{name}:light-dark({colour},{other})" for (name, colour), (_, other) in pairs if colour != other
        )
        if not style:
            return here
        end = "/>" if here.endswith("/>") else ">"
        return f'{here[: -len(end)]} style="{style}"{end}'

    def rules(match: re.Match[str]) -> str:
        theirs = iter(_COLOUR.findall(next(sheets)[1]))
        both = _COLOUR.sub(lambda colour: f"light-dark({colour[0]},{next(theirs)})", match[1])
        return f"{match[0]}<style>{both}</style>"

    return _SHEET.sub(rules, _TAG.sub(tag, light))


def scrolling(shown: str) -> str:
    """Return pictures at their own size, in a box that scrolls if they are wider than the page."""
    return f'<div style="overflow-x:auto">{shown.replace("max-width:100%", "max-width:none")}</div>'


def escape_lines(text: str) -> str:
    """Return several lines as HTML text for ``<pre>``."""
    return "\n".join(map(escape, text.split("\n")))
