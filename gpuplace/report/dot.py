r"""DOT text of a drawing: coloured by assigned device, copies dashed and labelled, control edges dotted, with a legend.

>>> from gpuplace.report.placement_view import PlacementView
>>> view = PlacementView.of_columns(
...     [("a", "Const", "/cpu:0", "/device:CPU:0"), ("n", "Neg", "", "/device:GPU:0")], [("a", 0, "n", 0)]
... )
>>> text = dot_text(draw(view))
>>> "n0 -> n1 [" in text, 'class="copy"' in text
(True, True)

Every box has an ``id`` (see `gpuplace.report.drawing.Box`), every open scope the id ``c`` and its number, and
classes say what an element is (``op``, ``scope``, ``bundle``, ``stub``, ``copy``, ``control``, ``unmet``,
``guilty``), so that a page can restyle it and answer clicks.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable

from gpuplace.report.drawing import Box, Cluster, Drawing, Link, Stub, draw
from gpuplace.report.palette import INK, LIGHT, Theme, device_label, device_style
from gpuplace.report.scopes import ROOT
from gpuplace.report.text import bytes_text, counted, printable, shortened

__all__ = ["draw", "dot_text", "escape", "quote"]

FONT = "Arial"
"""Named alone, since its widths are known wherever a picture is laid out; pages put further families behind it."""
BAR_WIDTH = 96
"""Width of a device-share bar in points."""
_LABEL_WIDTH = 30
_ESCAPE = re.compile(r"\\([NGETHL])")
"""What Graphviz replaces in labels; a blank of no width between the two characters keeps it from that."""
_CORNERS = {"square": "", "round": "rounded", "cut": "diagonals"}


def escape(text: str) -> str:
    """Text for an HTML-like label, which may not be empty, and in which ``\\N`` would mean the node's name."""
    return html.escape(_literal(text), quote=True) or "&#160;"


def _literal(text: str) -> str:
    """The text without control characters and without Graphviz's escapes."""
    return _ESCAPE.sub("\\\\\u200b\\1", printable(text))


def quote(text: str) -> str:
    r"""A quoted DOT string that means exactly the text.

    >>> print(quote('say "hi" & go'))
    "say \"hi\" &amp; go"
    """
    safe = "\n".join(_literal(line) for line in text.split("\n"))
    safe = safe.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "&#10;")
    return f'"{safe}"'


def dot_text(
    drawing: Drawing,
    *,
    theme: Theme = LIGHT,
    direction: str = "TB",
    legend: bool = True,
    transparent: bool = False,
) -> str:
    """The drawing in Graphviz's language.

    Args:
        drawing: what to show.
        theme: colours around the boxes.
        direction: ``"TB"`` from top to bottom, ``"LR"`` from left to right.
        legend: whether to draw the legend below.
        transparent: no background, for a page that has its own.

    Raises:
        ValueError: another direction.
    """
    if direction not in ("TB", "LR", "BT", "RL"):
        raise ValueError(f"direction is 'TB', 'LR', 'BT' or 'RL', not {direction!r}")
    background = "transparent" if transparent else theme.background
    lines = [
        "digraph placement {",
        f'  graph [rankdir={direction} bgcolor="{background}" pad=0.15 nodesep=0.22 ranksep=0.38 fontname="{FONT}"'
        f' fontsize=11 fontcolor="{theme.ink}" compound=true newrank=true tooltip=" "',
        "    nslimit=2 nslimit1=2 mclimit=0.5]",
        f'  node [shape=box style=filled fontname="{FONT}" fontsize=11 fontcolor="{INK}" color="{theme.frame}"'
        ' margin="0.1,0.08" height=0.3 width=0.6 penwidth=1]',
        f'  edge [fontname="{FONT}" fontsize=9 color="{theme.edge}" fontcolor="{theme.faint}"'
        " arrowsize=0.6 penwidth=1.1]",
    ]
    if legend and drawing.legend:
        lines.append(f"  label=<{_legend(drawing, theme)}> labelloc=b labeljust=l")
    inside: dict[int, list[str]] = {}
    position = {box.id: box for box in drawing.boxes}
    for box in drawing.boxes:
        inside.setdefault(box.cluster, []).append(_box(box, theme))
    for stub in drawing.stubs:
        inside.setdefault(position[stub.box].cluster, []).extend(_stub(stub, theme))
    _scope(lines, ROOT, drawing.clusters, inside, theme, "  ")
    lines += (f"  {_link(link, theme)}" for link in drawing.links)
    lines.append("}")
    return "\n".join(lines) + "\n"


def _scope(
    lines: list[str],
    scope: int,
    clusters: tuple[Cluster, ...],
    inside: dict[int, list[str]],
    theme: Theme,
    indent: str,
) -> None:
    """The boxes of a scope, then the scopes inside it as frames."""
    lines += (indent + line for line in inside.get(scope, ()))
    for cluster in clusters:
        if cluster.parent != scope:
            continue
        tip = quote(f"{cluster.path}\n{counted(cluster.nodes, 'node')}, open: double-click to fold")
        lines.append(f"{indent}subgraph cluster_{cluster.scope} {{")
        lines.append(
            f'{indent}  graph [id="c{cluster.scope}" class="open" label=<<B>{escape(shortened(cluster.label, 40))}</B>>'
            f' tooltip={tip} style="rounded,filled" fillcolor="{theme.scope}" color="{theme.frame}" penwidth=0.8'
            f' fontcolor="{theme.faint}" fontsize=10 margin=10 labeljust=l labelloc=t]'
        )
        _scope(lines, cluster.scope, clusters, inside, theme, indent + "  ")
        lines.append(f"{indent}}}")


def _table(rows: Iterable[str]) -> str:
    cells = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows)
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{cells}</TABLE>'


def _small(text: str, colour: str, size: int = 9) -> str:
    return f'<FONT POINT-SIZE="{size}" COLOR="{colour}">{escape(text)}</FONT>'


def _box(box: Box, theme: Theme) -> str:
    return _op(box, theme) if box.kind == "op" else _folded(box, theme)


def _op(box: Box, theme: Theme) -> str:
    style = device_style(box.device)
    request = box.requests[0] if box.requests else ""
    rows = [
        f"<B>{escape(shortened(box.label, _LABEL_WIDTH))}</B>",
        _small(" · ".join(filter(None, (shortened(box.op_type, _LABEL_WIDTH), style.label))), INK),
    ]
    classes = ["op"]
    pen, colour = 1.0, theme.frame
    if request:
        rows.append(_small(f"{'≠ asked' if box.unmet else 'asked'} {shortened(request, _LABEL_WIDTH)}", INK))
    if box.unmet:
        classes.append("unmet")
        pen, colour = 2.2, theme.alarm
    if box.guilty:
        classes.append("guilty")
        pen, colour = 3.0, theme.alarm
        rows.append(f"<B>{_small('✖ cannot be placed', '#9c1048')}</B>")
    lines = [f"{box.name}", f"{box.op_type} on {box.device or 'no device'}"]
    if request:
        lines.append(f"asked for {request}" + (", which was not met" if box.unmet else ""))
    shape = ",".join(
        part for part in ("filled", _CORNERS[style.corners], "dashed" if box.unmet else "") if part
    )
    return (
        f'{box.id} [id="{box.id}" class="{" ".join(classes)}" label=<{_table(rows)}>'
        f' tooltip={quote(chr(10).join(lines))} style="{shape}" fillcolor="{style.fill}"'
        f' color="{colour}" penwidth={pen} peripheries={style.outlines}]'
    )


def _folded(box: Box, theme: Theme) -> str:
    name = shortened(box.label, _LABEL_WIDTH)
    times = f" × {box.copies}" if box.copies > 1 else ""
    rows = [
        f'<FONT COLOR="{theme.ink}"><B>▸ {escape(name)}{times}</B></FONT>',
        _small(counted(box.nodes, "node"), theme.faint),
        _bar(box.shares),
        _small(_shares_text(box.shares), theme.ink),
    ]
    classes = [box.kind]
    pen, colour = 1.2, theme.frame
    if box.unmet:
        classes.append("unmet")
        rows.append(_small(f"≠ {counted(box.unmet, 'request')} not met", theme.alarm))
    if box.guilty:
        classes.append("guilty")
        pen, colour = 3.0, theme.alarm
        rows.append(_small(f"✖ {box.guilty} cannot be placed", theme.alarm))
    tip = [box.name.rstrip("*"), f"{counted(box.nodes, 'node')}: {_shares_text(box.shares, 99)}"]
    tip.append("double-click, or Enter, to unfold")
    return (
        f'{box.id} [id="{box.id}" class="{" ".join(classes)}" label=<{_table(rows)}> tooltip={quote(chr(10).join(tip))}'
        f' style="filled,rounded" fillcolor="{theme.background}" color="{colour}" penwidth={pen}'
        f" peripheries={2 if box.kind == 'bundle' else 1}]"
    )


def _bar(shares: tuple[tuple[str, int], ...]) -> str:
    """Cells as wide as each device's share."""
    total = sum(count for _, count in shares) or 1
    cells = "".join(
        f'<TD BGCOLOR="{device_style(device).fill}" WIDTH="{max(5, round(BAR_WIDTH * count / total))}" HEIGHT="8"'
        f' FIXEDSIZE="TRUE"></TD>'
        for device, count in shares
    )
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'


def _shares_text(shares: tuple[tuple[str, int], ...], most: int = 3) -> str:
    told = [f"{device_label(device)} {count:,}" for device, count in shares[:most]]
    if len(shares) > most:
        told.append(f"+{len(shares) - most}")
    return " · ".join(told)


def _stub(stub: Stub, theme: Theme) -> list[str]:
    """A label on the box's scope instead of a line through the picture."""
    arrow = f"→ {stub.label}" if stub.is_outgoing else f"{stub.label} →"
    text = f"{arrow} ({stub.edges})"
    colour = theme.copy if stub.copies else theme.faint
    tip = f"{counted(stub.edges, 'edge')} {'to' if stub.is_outgoing else 'from'} {stub.label}" + (
        f", {counted(stub.copies, 'copy', 'copies')} between devices" if stub.copies else ""
    )
    ends = (stub.box, stub.id) if stub.is_outgoing else (stub.id, stub.box)
    style = "dashed" if stub.copies else "solid"
    return [
        f'{stub.id} [id="{stub.id}" class="stub" shape=plaintext style="" label={quote(shortened(text, 36))} fontsize=9'
        f' fontcolor="{colour}" margin=0.02 height=0.15 width=0.2 tooltip={quote(tip)}]',
        f'{ends[0]} -> {ends[1]} [class="stub" style={style} color="{colour}" arrowsize=0.4 penwidth=0.8]',
    ]


def _link(link: Link, theme: Theme) -> str:
    attributes = []
    if link.copies:
        what = (
            str(link.tensor)
            if link.tensor is not None and link.copies == 1
            else counted(link.copies, "copy", "copies")
        )
        size = "" if link.nbytes is None else bytes_text(link.nbytes)
        label = f"{escape(what)}<BR/>{size}" if size else escape(what)
        attributes += [
            'class="copy"',
            f'style=dashed color="{theme.copy}" fontcolor="{theme.copy}" label=<{label}>',
            f"penwidth={1.5 + min(2.5, math.log10(link.copies)):.1f}",
        ]
        told = f"copied between devices: {what}" + (f", {size}" if size else "")
    elif link.tensors:
        told = str(link.tensor) if link.tensor is not None else counted(link.tensors, "tensor")
        attributes.append(f"penwidth={1.1 + min(2.5, math.log10(link.tensors)):.1f}")
    else:
        told = counted(link.controls, "control edge")
        attributes += ['class="control"', "style=dotted arrowhead=empty"]
    tip = quote(f"{link.name}\n{told}")
    attributes.append(f"tooltip={tip} labeltooltip={tip}")
    return f"{link.src} -> {link.dst} [{' '.join(attributes)}]"


def _legend(drawing: Drawing, theme: Theme) -> str:
    """Devices with counts, then what the lines mean."""
    swatches = []
    for device, count in drawing.legend:
        style = device_style(device)
        edge = theme.alarm if device == "" else theme.frame
        rounded = ' STYLE="ROUNDED"' if style.corners == "round" else ""
        swatches.append(
            f'<TD><TABLE BORDER="{style.outlines}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3"{rounded}'
            f' BGCOLOR="{style.fill}" COLOR="{edge}"><TR><TD>'
            f'<FONT COLOR="{INK}">{escape(style.label)}: {count:,}</FONT></TD>'
            "</TR></TABLE></TD>"
        )
    rows = [swatches[first : first + 6] for first in range(0, len(swatches), 6)]
    text = "".join(
        f'<TR><TD><TABLE BORDER="0" CELLSPACING="4"><TR>{"".join(row)}</TR></TABLE></TD></TR>' for row in rows
    )
    notes = []
    if drawing.copies:
        told = f", {bytes_text(drawing.nbytes)}" if drawing.nbytes else ""
        notes.append(
            f'<FONT COLOR="{theme.copy}">- - - {counted(drawing.copies, "copy", "copies")} between devices{told}</FONT>'
        )
    if any(not link.tensors and link.controls for link in drawing.links):
        notes.append(f'<FONT COLOR="{theme.faint}">· · · control edge</FONT>')
    if drawing.unmet:
        notes.append(f'<FONT COLOR="{theme.alarm}">≠ {counted(drawing.unmet, "request")} not met</FONT>')
    if drawing.guilty:
        notes.append(
            f'<FONT COLOR="{theme.alarm}">✖ {counted(drawing.guilty, "node")} cannot be placed</FONT>'
        )
    if drawing.nodes > len(drawing.boxes):
        notes.append(
            f'<FONT COLOR="{theme.faint}">▸ folded: {counted(drawing.nodes, "node")} in'
            f" {counted(len(drawing.boxes), 'box', 'boxes')}</FONT>"
        )
    if notes:
        text += f'<TR><TD ALIGN="LEFT">{"   ".join(notes)}</TD></TR>'
    return f'<FONT POINT-SIZE="10"><TABLE BORDER="0" CELLSPACING="0" CELLPADDING="1">{text}</TABLE></FONT>'
