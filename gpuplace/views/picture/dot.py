r"""Write a drawing as DOT: coloured boxes, dashed copies with labels, dotted control edges, a legend.

>>> from gpuplace.views.picture.drawing import draw
>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns(
...     [("a", "Const", "/cpu:0", "/device:CPU:0"), ("n", "Neg", "", "/device:GPU:0")], [("a", 0, "n", 0)]
... )
>>> text = dot_text(draw(view))
>>> "n0 -> n1 [" in text, 'class="copy"' in text
(True, True)

Each box has an ``id`` (see `gpuplace.views.picture.drawing.Box`), and each open scope the id ``c`` with its number.
Classes describe each element (``op``, ``scope``, ``bundle``, ``copy``, ``control``, ``unmet``, ``guilty``), so that a
page can restyle it and react to clicks.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from gpuplace.views.picture.colouring import Category
from gpuplace.views.picture.drawing import Cluster, Drawing
from gpuplace.views.picture.outline import outline
from gpuplace.views.picture.rank_constraints import row_constraints
from gpuplace.views.picture.sheet import (
    BAR_HEIGHT,
    Face,
    Line,
    Sheet,
    fill_colour,
    role_colour,
    sheet_of,
)
from gpuplace.views.picture.strips import ranks
from gpuplace.views.picture.wires import Wire
from gpuplace.views.tables.palette import INK, LIGHT, PAPER, PATTERNS, Look, Theme
from gpuplace.views.tables.scopes import ROOT
from gpuplace.views.tables.text import counted, printable, shortened
from gpuplace.web.rules import RULES, words

FONT = "Arial"
"""A single font, whose widths are known at layout time; pages add more families."""
LIMITS = "nslimit=2 nslimit1=2 mclimit=0.5"
"""Graphviz attributes that limit its layout time."""
NOTE_ROLES = {
    "copy": "copy",
    "control": "faint",
    "alarm": "alarm",
    "mark": "mark",
    "trace": "mark",
    "path": "path",
    "moved": "ink",
    "plain": "faint",
}
"""Colours of the notes below the legend."""
SCOPE: int = RULES["text"]["scope"]
"""Font size of an open scope's name."""
BAR_WIDTH = 96
"""Width of a device-share bar in points."""
_DIM = 0.72
"""Share of the background in dimmed colours."""
_ESCAPE = re.compile(r"\\([NGETHL])")
"""Characters that Graphviz treats as escapes in labels; a zero-width space between the two prevents that."""
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_CORNERS = {"square": "", "round": "rounded", "cut": "diagonals"}


def escape(text: str) -> str:
    """Escape text for an HTML-like label, which must not be empty, and where ``\\N`` would mean the node's name."""
    return html.escape(_literal(text), quote=True) or "&#160;"


def _literal(text: str) -> str:
    """Return the text without control characters and Graphviz escapes."""
    return _ESCAPE.sub("\\\\\u200b\\1", printable(text))


def quote(text: str) -> str:
    r"""Quote text as a DOT string.

    >>> print(quote('say "hi" & go'))
    "say \"hi\" &amp; go"
    """
    safe = "\n".join(_literal(line) for line in text.split("\n"))
    safe = safe.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "&#10;")
    return f'"{safe}"'


def dot_text(
    drawing: Drawing | Sheet,
    *,
    theme: Theme = LIGHT,
    direction: str = "TB",
    legend: bool = True,
    patterns: bool = False,
) -> str:
    """Return a drawing as DOT text.

    Args:
        drawing: drawing to write; a `Drawing` gets the colours of the assigned devices, a `Sheet` has its own.
        theme: colours around the boxes.
        direction: ``"TB"`` from top to bottom, ``"LR"`` from left to right.
        legend: whether to draw the legend below.
        patterns: whether stripes also distinguish the categories without colour.

    Raises:
        ValueError: the direction is unknown.
    """
    checked_direction(direction)
    sheet = drawing if isinstance(drawing, Sheet) else sheet_of(drawing)
    lines = [
        "digraph placement {",
        f'  graph [rankdir={direction} bgcolor="{theme.background}" pad=0.15 nodesep=0.22 ranksep=0.38 '
        f'fontname="{FONT}" fontsize=11 fontcolor="{theme.ink}" compound=true newrank=true tooltip=" "',
        f"    {LIMITS}]",
        f'  node [shape=box style=filled fontname="{FONT}" fontsize=11 fontcolor="{INK}" color="{theme.frame}"'
        ' margin="0.1,0.08" height=0.3 width=0.6 penwidth=1]',
        f'  edge [fontname="{FONT}" fontsize=9 color="{theme.edge}" fontcolor="{theme.faint}"'
        " arrowsize=0.6 penwidth=1.1]",
    ]
    if legend and sheet.legend:
        lines.append(f"  label=<{_legend(sheet, theme, patterns)}> labelloc=b labeljust=l")
    inside: dict[int, list[str]] = {}
    for face in sheet.faces:
        inside.setdefault(face.box.cluster, []).append(_box(face, theme, patterns))
    _scope(lines, ROOT, sheet.drawing.clusters, inside, theme, "  ")
    lines += (f"  {text}" for text in edge_texts(sheet.drawing, [_link(wire, theme) for wire in sheet.wires]))
    lines += (f"  {src} -> {dst} [style=invis weight=0]" for src, dst in row_constraints(sheet.drawing))
    lines.append("}")
    return "\n".join(lines) + "\n"


def checked_direction(direction: str) -> str:
    """Return the direction; raise ValueError for an unknown direction."""
    if direction not in ("TB", "LR", "BT", "RL"):
        raise ValueError(f"direction is 'TB', 'LR', 'BT' or 'RL', not {direction!r}")
    return direction


def _scope(
    lines: list[str],
    scope: int,
    clusters: tuple[Cluster, ...],
    inside: dict[int, list[str]],
    theme: Theme,
    indent: str,
) -> None:
    """Write the boxes of a scope, then its inner scopes as frames."""
    lines += (indent + line for line in inside.get(scope, ()))
    for cluster in clusters:
        if cluster.parent != scope:
            continue
        tip = quote(cluster_tip(cluster))
        lines.append(f"{indent}subgraph cluster_{cluster.scope} {{")
        lines.append(
            f'{indent}  graph [id="c{cluster.scope}" class="open" label=<<B>{escape(shortened(cluster.label, 40))}</B>>'
            f' tooltip={tip} style="rounded,filled" fillcolor="{theme.scope}" color="{theme.frame}" penwidth=0.8'
            f' fontcolor="{theme.faint}" fontsize={SCOPE} margin=10 labeljust=l labelloc=t]'
        )
        _scope(lines, cluster.scope, clusters, inside, theme, indent + "  ")
        lines.append(f"{indent}}}")


def _table(rows: Iterable[str], ground: str = "") -> str:
    cells = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows)
    colour = f' BGCOLOR="{ground}"' if ground else ""
    return f'<TABLE{colour} BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{cells}</TABLE>'


def _text(line: Line, theme: Theme, look: Look | None) -> str:
    """Return one line of a box."""
    spans = "".join(
        f'<FONT POINT-SIZE="{line.size:g}" COLOR="{role_colour(role, theme, look)}">{escape(text)}</FONT>'
        for text, role in line.spans
    )
    return f"<B>{spans}</B>" if line.is_bold else spans


def _box(face: Face, theme: Theme, patterns: bool) -> str:
    rows = [_text(line, theme, face.look) for line in face.lines]
    rows[face.name_lines : face.name_lines] = [_bar(bar, theme) for bar in face.bars]
    look = face.look
    fill = fill_colour(look, theme)
    styles = ["filled", _CORNERS[face.corners], "dashed" if face.is_dashed else ""]
    if patterns and look is not None and look.pattern:
        fill, styles = _stripes(look), ["striped", "dashed" if face.is_dashed else ""]
    box = face.box
    table = _table(rows, look.fill if look is not None and "striped" in styles else "")
    text = (
        f'{box.id} [id="{box.id}" class="{" ".join(face.classes)}" label=<{table}> tooltip={quote(face.tip)}'
        f' style="{",".join(filter(None, styles))}" fillcolor="{fill}"'
        f' color="{role_colour(face.stroke, theme)}" penwidth={face.pen:g} peripheries={face.outlines}]'
    )
    return dimmed(text, theme) if face.is_dim else text


def dimmed(text: str, theme: Theme) -> str:
    """Return the text with all colours faded towards the background, for formats without opacity.

    >>> dimmed('color="#000000"', LIGHT)
    'color="#b8b8b8"'
    """
    ground = [int(theme.background[i : i + 2], 16) for i in (1, 3, 5)]

    def mixed(match: re.Match[str]) -> str:
        parts = [int(match[0][i : i + 2], 16) for i in (1, 3, 5)]
        both = zip(parts, ground, strict=True)
        return "#" + "".join(f"{round(start + (end - start) * _DIM):02x}" for start, end in both)

    return _COLOUR.sub(mixed, text)


def _stripes(look: Look) -> str:
    """Return the fill with light stripes, as a colour list for Graphviz's striped boxes."""
    count = PATTERNS.index(look.pattern) + 1
    return ":".join([look.fill, *(part for _ in range(count) for part in (f"{PAPER};{0.03}", look.fill))])


def _bar(shares: tuple[tuple[Look, int], ...], theme: Theme) -> str:
    """Return table cells with widths proportional to the shares."""
    total = sum(count for _, count in shares) or 1
    parts = [(fill_colour(look, theme), max(5, round(BAR_WIDTH * count / total))) for look, count in shares]
    cells = "".join(
        f'<TD BGCOLOR="{fill}" WIDTH="{width}" HEIGHT="{BAR_HEIGHT:g}" FIXEDSIZE="TRUE"></TD>'
        for fill, width in parts
    )
    size = f'FIXEDSIZE="TRUE" WIDTH="{sum(width for _, width in parts)}" HEIGHT="{BAR_HEIGHT:g}"'
    return f'<TABLE {size} BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'


def cluster_tip(cluster: Cluster) -> str:
    """Return the tooltip of an open scope."""
    return words("scope_tip", scope=cluster.path, nodes=counted(cluster.nodes, "node"))


def edge_texts(drawing: Drawing, attributes: Sequence[str]) -> list[str]:
    """Return the edges of a drawing as DOT text, upper end first.

    Args:
        drawing: drawing with the edges.
        attributes: returns the attributes of a line.
    """
    rank = ranks((box.id for box in drawing.boxes), (pair for link in drawing.links for pair in link.below))
    towers = {f"s{scope}" for scope in outline(drawing.view).towers}
    texts = []
    for link, attribute in zip(drawing.links, attributes, strict=True):
        order = link.rank or rank[link.dst] - rank[link.src]
        upper, lower = (link.src, link.dst) if order >= 0 else (link.dst, link.src)
        more = "" if order >= 0 else "dir=back"
        if not link.rank:  # an edge that moves few boxes, and no tower
            more += " minlen=0 weight=0" if {upper, lower} <= towers else " weight=0"
        attribute = " ".join(filter(None, (attribute, more.strip())))
        texts.append(f"{upper} -> {lower} [{attribute}]" if attribute else f"{upper} -> {lower}")
    return texts


def _link(wire: Wire, theme: Theme) -> str:
    """Return the attributes of a line."""
    attributes = [f"penwidth={wire.pen:.1f}"]
    classes = [wire.kind] if wire.kind != "tensor" else []
    colour = ""
    if wire.kind == "copy":
        cell = "".join(f'{escape(line)}<BR ALIGN="LEFT"/>' for line in wire.label)
        # Space around the text keeps it apart from its line.
        label = (
            f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="5"><TR><TD ALIGN="LEFT">{cell}</TD></TR></TABLE>'
        )
        attributes.append(f'style=dashed fontcolor="{theme.copy}" label=<{label}>')
        colour = theme.copy
    elif wire.kind == "control":
        attributes.append("style=dotted arrowhead=empty arrowtail=empty")
    if wire.on_path:
        classes.append("path")
        colour = theme.path
    if colour:
        attributes.append(f'color="{colour}"')
    if classes:
        attributes.append(f'class="{" ".join(classes)}"')
    tip = quote(wire.tip)
    attributes.append(f"tooltip={tip} labeltooltip={tip}")
    if wire.is_dim and not colour:
        attributes.append(f'color="{theme.edge}"')
    text = " ".join(attributes)
    return dimmed(text, theme) if wire.is_dim else text


def _swatch(category: Category, theme: Theme, patterns: bool) -> str:
    look = category.look
    edge = theme.alarm if category.label == "no device" else theme.frame
    rounded = ' STYLE="ROUNDED"' if look.corners == "round" else ""
    text = f'<FONT COLOR="{role_colour("fill", theme, look)}">{escape(category.label)}: {category.count:,}</FONT>'
    cell = f"<TD>{text}</TD>"
    if patterns and look.pattern:
        count = PATTERNS.index(look.pattern) + 1
        stripe = f'<TD WIDTH="3" BGCOLOR="{look.fill}"></TD><TD WIDTH="2" BGCOLOR="{PAPER}"></TD>'
        cell = stripe * count + cell
    return (
        f'<TD><TABLE BORDER="{look.outlines}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3"{rounded}'
        f' BGCOLOR="{fill_colour(look, theme)}" COLOR="{edge}"><TR>{cell}</TR></TABLE></TD>'
    )


def _legend(sheet: Sheet, theme: Theme, patterns: bool) -> str:
    """Return the legend: title, categories with counts, and the meaning of lines."""
    swatches = [_swatch(category, theme, patterns) for category in sheet.legend]
    rows = [swatches[first : first + 6] for first in range(0, len(swatches), 6)]
    title = f'<FONT COLOR="{theme.ink}"><B>{escape(sheet.title)}</B></FONT>'
    text = f'<TR><TD ALIGN="LEFT">{title}</TD></TR>'
    text += "".join(
        f'<TR><TD ALIGN="LEFT"><TABLE BORDER="0" CELLSPACING="4"><TR>{"".join(row)}</TR></TABLE></TD></TR>'
        for row in rows
    )
    for kind, note in sheet.notes:
        colour = role_colour(NOTE_ROLES[kind], theme)
        text += f'<TR><TD ALIGN="LEFT"><FONT COLOR="{colour}">{escape(note)}</FONT></TD></TR>'
    return f'<FONT POINT-SIZE="10"><TABLE BORDER="0" CELLSPACING="0" CELLPADDING="1">{text}</TABLE></FONT>'
