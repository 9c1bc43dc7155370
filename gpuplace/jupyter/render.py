"""From DOT text to SVG, PNG or PDF: with ``dot`` where it is installed, else with ``graphviz-pure``, under a time
limit.

``graphviz-pure`` is a dependency of this package and brings an executable of its own, so pictures need nothing that pip
does not install. The environment variable GPUPLACE_DOT names another program.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Unpack

from graphviz.backend import ExecutableNotFound

from gpuplace.jupyter.pdf import pdf_of_jpeg
from gpuplace.views.picture.arrangement import arranged
from gpuplace.views.picture.layout import Layout, layout_text, read_layout, wrapping
from gpuplace.views.picture.sheet import Sheet
from gpuplace.views.picture.svg import MARGIN, SvgOptions, svg_text
from gpuplace.web.rules import RULES

DOT_VARIABLE = "GPUPLACE_DOT"
"""Environment variable with the path of the program that lays pictures out."""
TIME_LIMIT_S = 10.0
"""Seconds that a layout may take."""

_WRAPPINGS = ((1.0, False), (0.8, False), (0.6, False), (1.0, True), (0.8, True), (0.6, True), (1.25, True))
"""Parts of a canvas' width that a picture is wrapped for until it fits, and whether its boxes stand close."""
_TEXT = RULES["text"]
_PURE = "graphviz-pure"
_PDF_DOTS = 192
"""Dots per inch of a PDF page that holds a picture in dots; ``graphviz-pure`` writes no other."""
_TEXT_FORMS = frozenset({"svg", "json", "json0", "plain", "dot", "canon"})
_PLAIN_SIGNS = str.maketrans({"▸": "►", "╌": "–", "◆": "◊", "✖": "×"})
"""Signs that a page finds in some font, and pictures in dots not everywhere, and what stands for them there."""


class NoLayoutProgram(ExecutableNotFound):  # type: ignore[misc]
    """There is no program that lays pictures out."""

    def __init__(self, program: str) -> None:
        RuntimeError.__init__(
            self,
            f"There is no program {program!r} to lay pictures out with\n"
            "  try  pip install graphviz-pure, or install Graphviz so that dot is on PATH, or give the path of dot in"
            f" the environment variable {DOT_VARIABLE}; .save('picture.dot') needs none",
        )


class LayoutTimeout(RuntimeError):
    """A picture took too long to lay out."""


def dot_program() -> str:
    """Path of the program: GPUPLACE_DOT's, else ``dot``, else ``graphviz-pure``.

    Raises:
        NoLayoutProgram: there is none.
    """
    named = os.environ.get(DOT_VARIABLE)
    found = shutil.which(named) if named else shutil.which("dot") or _graphviz_pure()
    if found is None:
        raise NoLayoutProgram(named or "dot")
    return found


def _graphviz_pure() -> str | None:
    """The executable of the package, beside this interpreter's own or on PATH."""
    return shutil.which(_PURE, path=sysconfig.get_path("scripts")) or shutil.which(_PURE)


def render(dot: str, form: str = "svg", *, time_limit_s: float = TIME_LIMIT_S) -> bytes:
    """The picture as a file's content.

    Args:
        dot: text in Graphviz's language.
        form: ``"svg"``, ``"png"``, ``"pdf"`` or another format that the program knows.
        time_limit_s: seconds after which it is given up.

    Raises:
        LayoutTimeout: the limit was reached.
        NoLayoutProgram: no program is installed.
        ValueError: the program does not write this format.
        CalledProcessError: the program refused the text.
    """
    if not re.fullmatch(r"[a-z0-9:_-]+", form):
        raise ValueError(f"Unknown picture format {form!r}: for example svg, png, pdf")
    program = dot_program()
    if form not in _TEXT_FORMS:
        dot = dot.translate(_PLAIN_SIGNS)
    if form == "pdf" and Path(program).stem == _PURE:
        jpeg = _run(program, ["-Tjpg", f"-Gdpi={_PDF_DOTS}"], dot, time_limit_s)
        return pdf_of_jpeg(jpeg, dots_per_inch=_PDF_DOTS)
    return _run(program, [f"-T{form}"], dot, time_limit_s)


def _run(program: str, arguments: list[str], dot: str, time_limit_s: float) -> bytes:
    try:
        done = subprocess.run(
            [program, *arguments],
            input=dot.encode("utf-8"),
            capture_output=True,
            timeout=time_limit_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise LayoutTimeout(
            f"The picture was not laid out in {time_limit_s:g} s: fold scopes, draw fewer boxes or give it more time "
            "(time_limit_s=)"
        ) from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip()
        if "not recognized" in said:
            raise ValueError(f"{Path(program).name} cannot write {arguments[0][2:]!r}: {said}") from None
        raise
    return done.stdout


def sheet_svg(
    sheet: Sheet,
    *,
    direction: str = "TB",
    canvas: tuple[float, float] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    **options: Unpack[SvgOptions],
) -> str:
    """The picture as one ``<svg>`` element; laid out again only where its boxes or edges are others.

    Args:
        sheet: what to draw.
        direction: ``"TB"`` from top to bottom, ``"LR"`` from left to right.
        canvas: width and height in points of what the picture is wrapped for.
        time_limit_s: seconds that the layout may take.
        options: how it looks.

    Raises:
        LayoutTimeout: the limit was reached.
        NoLayoutProgram: no program is installed.
    """
    return svg_text(sheet, sheet_layout(sheet, direction, canvas, time_limit_s), **options)


def sheet_layout(
    sheet: Sheet,
    direction: str = "TB",
    canvas: tuple[float, float] | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Layout:
    """Where the boxes and lines of a picture go; see `sheet_svg`.

    Lines make a picture wider than its boxes are, so one that comes out too wide is wrapped for less width.
    """
    if canvas is not None:
        canvas = room_on(canvas)
    best: tuple[float, Layout] | None = None
    for share, is_tight in _WRAPPINGS if canvas is not None else _WRAPPINGS[:1]:
        wrapped_for = None if canvas is None else (canvas[0] * share, canvas[1])
        wrapped = wrapping(sheet, direction, wrapped_for, is_tight=is_tight)
        found = arranged(layout(layout_text(sheet, direction, wrapped), time_limit_s), sheet, wrapped)
        size = 0.0 if canvas is None else max(found.width / canvas[0], found.height / canvas[1])
        if best is None or size < best[0]:
            best = (size, found)
        if size <= 1.0:
            break
    assert best is not None
    return best[1]


def room_on(canvas: tuple[float, float]) -> tuple[float, float]:
    """Width and height of the largest picture whose names can be read on a canvas of some width and height in pixels.

    The picture is made smaller to fit, but for its margin.
    """
    scale = _TEXT["readable"] * 1.003 / _TEXT["title"]
    return canvas[0] / scale - 2 * MARGIN, canvas[1] / scale - 2 * MARGIN


@lru_cache(maxsize=128)
def layout(text: str, time_limit_s: float = TIME_LIMIT_S) -> Layout:
    """Where boxes and lines go, for a question of `layout_text`; kept for a repeated one."""
    try:
        found = render(text, "json0", time_limit_s=time_limit_s)
    except subprocess.CalledProcessError:  # some curves are too much for Graphviz: straight lines are not
        found = render(text.replace("{", "{ splines=line", 1), "json0", time_limit_s=time_limit_s)
    return read_layout(found.decode("utf-8"))
