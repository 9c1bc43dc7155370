"""Style sheets: the files of ``styles/``, preceded by the colours of ``rules.json``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gpuplace.web.rules import RULES

EXPLORER_SHEETS = ("base.css", "picture.css", "tables.css", "controls.css", "panels.css", "timeline.css")
"""Sheets of the explorer's widgets."""
PAGE_SHEETS = (*EXPLORER_SHEETS, "page.css")
"""Sheets of a report page."""
_FOLDER = Path(__file__).parent / "styles"
_ROLES = ("edge", "copy", "alarm", "mark", "path")
"""Roles for which a notebook uses gpuplace's colours; paper and ink follow the notebook's theme."""
_NOTEBOOKS = {
    "ui-font-color1": "ink",
    "ui-font-color2": "faint",
    "layout-color1": "background",
    "layout-color2": "scope",
    "border-color1": "line",
    "border-color2": "hairline",
    "brand-color1": "focus",
}
"""JupyterLab's colour variables, which a report page must define itself."""


@cache
def sheet(names: tuple[str, ...]) -> str:
    """Return the colours and the sheets of a group."""
    texts = ((_FOLDER / name).read_text(encoding="utf-8") for name in names)
    return "\n".join((colours_sheet(), *texts))


def colours_sheet() -> str:
    """Return the colours as custom properties, and rules that adapt a picture for the light theme to the page's theme.

    >>> "--gp-copy: #a8431a;" in colours_sheet(), '[fill="#a8431a"] { fill: var(--gp-copy); }' in colours_sheet()
    (True, True)
    """
    colours = RULES["colours"]
    light, dark = colours["themes"]["light"], colours["themes"]["dark"]
    paper, ink, faint = colours["paper"], light["ink"], light["faint"]
    plain = {"ink": ink, "paper": paper, "raised": light["scope"]}
    plain |= {name: light[name] for name in ("frame", "line", "hairline", "focus")}
    lines = [".gp, .gp-explorer {"]
    lines += [f"  --gp-light-{name}: {colour};" for name, colour in plain.items()]
    lines += [f"  --gp-{role}: {light[role]};" for role in _ROLES]
    lines += [f"  --gp-bytes-{kind}: {colour};" for kind, colour in colours["bytes_of"].items()]
    lines.append("}")
    lines.append('[data-jp-theme-light="false"] .gp,')
    lines.append(".vscode-dark .gp,")
    lines.append(".vscode-high-contrast:not(.vscode-high-contrast-light) .gp,")
    lines.append('html[theme="dark"] .gp {')
    lines += [f"  --gp-{role}: {dark[role]};" for role in _ROLES]
    lines.append("}")

    def rule(selectors: str, attribute: str, colour: str, variable: str, property_name: str = "") -> None:
        chosen = ", ".join(f'.gp-canvas {part}[{attribute}="{colour}"]' for part in selectors.split(", "))
        lines.append(f"{chosen} {{ {property_name or attribute}: var(--gp-{variable}); }}")

    rule("g.scope , g.bundle ", "fill", paper, "ground")
    for text in ("text", "tspan"):
        rule(f"g.scope {text}, g.bundle {text}", "fill", ink, "ink")
        rule(f"g.blank {text}, g.lane.blank {text}", "fill", ink, "ink")
        rule(f"g.node {text}, g.edge {text}", "fill", faint, "faint")
    rule("g.blank > g > a > ", "fill", paper, "ground")
    rule("g.node ", "stroke", light["frame"], "edge")
    for colour in dict.fromkeys((light["edge"], light["frame"])):
        rule("g.edge ", "stroke", colour, "edge")
    rule("g.edge ", "fill", light["edge"], "edge")
    rule("g.edge polygon", "fill", light["frame"], "edge")
    rule("g.lane ", "fill", light["scope"], "raised")
    rule("g.lane ", "fill", faint, "faint")
    rule("g.lane ", "stroke", light["frame"], "line")
    rule("g.lane.blank ", "fill", paper, "ground")
    for role in _ROLES[1:]:
        rule("", "stroke", light[role], role)
        rule("", "fill", light[role], role)
    rule("g.moved ", "stroke", ink, "ink")
    return "\n".join(lines) + "\n"


def page_colours_sheet() -> str:
    """Return the colours of a report page: the browser's theme, and the light theme in print."""
    themes = RULES["colours"]["themes"]
    root = {
        theme: "".join(f"  --jp-{name}: {colours[role]};\n" for name, role in _NOTEBOOKS.items())
        for theme, colours in themes.items()
    }
    roles = "".join(f"  --gp-{role}: {themes['dark'][role]};\n" for role in _ROLES)
    return (
        f":root {{\n  color-scheme: light dark;\n{root['light']}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n:root {{\n{root['dark']}}}\n:root .gp {{\n{roles}}}\n}}\n"
    )
