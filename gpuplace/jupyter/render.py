"""Render DOT text as SVG, PNG or PDF, within a time limit, with ``dot`` if installed, otherwise with ``graphviz-pure``.

``graphviz-pure`` is a dependency of this package with its own executable, so pictures need only what pip
installs. The environment variable GPUPLACE_DOT selects another program.
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
"""Environment variable with the path of the layout program."""
TIME_LIMIT_S = 10.0
"""Time limit of a layout, in seconds."""

_WRAPPINGS = ((1.0, False), (0.8, False), (0.6, False), (1.0, True), (0.8, True), (0.6, True), (1.25, True))
"""Fractions of a canvas's width for which a picture is wrapped until it fits, and whether boxes are spaced closely."""
_TEXT = RULES["text"]
_PURE = "graphviz-pure"
_PDF_DOTS = 192
"""Resolution in dots per inch of a PDF page with a bitmap; ``graphviz-pure`` writes no other PDF."""
_TEXT_FORMS = frozenset({"svg", "json", "json0", "plain", "dot", "canon"})
_PLAIN_SIGNS = str.maketrans({"▸": "►", "╌": "–", "◆": "◊", "✖": "×"})
"""Characters that bitmap fonts may lack -> replacements."""


class NoLayoutProgram(ExecutableNotFound):  # type: ignore[misc]
    """No layout program is installed."""

    def __init__(self, program: str) -> None:
        RuntimeError.__init__(
            self,
            f"The layout program {program!r} was not found\n"
            "  try  pip install graphviz-pure, or install Graphviz so that dot is on PATH, or set the environment"
            f" variable {DOT_VARIABLE} to the path of dot; or call .save('picture.dot'), which needs no layout program",
        )


class LayoutTimeout(RuntimeError):
    """The layout of a picture took too long."""


def dot_program() -> str:
    """Return the path of the program: that of GPUPLACE_DOT, otherwise ``dot``, otherwise ``graphviz-pure``.

    Raises:
        NoLayoutProgram: there is none.
    """
    named = os.environ.get(DOT_VARIABLE)
    path = shutil.which(named) if named else shutil.which("dot") or _graphviz_pure()
    if path is None:
        raise NoLayoutProgram(named or "dot")
    return path


def _graphviz_pure() -> str | None:
    """Return the executable of the package, next to this interpreter's own or on PATH."""
    return shutil.which(_PURE, path=sysconfig.get_path("scripts")) or shutil.which(_PURE)


def render(dot: str, form: str = "svg", *, time_limit_s: float = TIME_LIMIT_S) -> bytes:
    """Return the picture as a file's content.

    Args:
        dot: text in the DOT language.
        form: ``"svg"``, ``"png"``, ``"pdf"`` or another format of the program.
        time_limit_s: time limit in seconds.

    Raises:
        LayoutTimeout: the limit was reached.
        NoLayoutProgram: no program is installed.
        ValueError: the program does not write this format.
        CalledProcessError: the program rejected the text.
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
            f"The layout of the picture took more than {time_limit_s:g} s. Fold scopes, draw fewer boxes, or raise the "
            "limit (time_limit_s=)"
        ) from None
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode("utf-8", "replace").strip()
        if "not recognized" in message:
            raise ValueError(f"{Path(program).name} cannot write {arguments[0][2:]!r}: {message}") from None
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
    """Return the picture as one ``<svg>`` element; a layout is reused for equal boxes and edges.

    Args:
        sheet: the content.
        direction: ``"TB"`` from top to bottom, ``"LR"`` from left to right.
        canvas: width and height in points for which the picture is wrapped.
        time_limit_s: time limit of the layout in seconds.
        options: the look.

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
    """Return the positions of the boxes and lines of a picture; see `sheet_svg`.

    Lines make a picture wider than its boxes, so a picture that is too wide is wrapped again for a smaller width.
    """
    if canvas is not None:
        canvas = room_on(canvas)
    best: tuple[float, Layout] | None = None
    for share, is_tight in _WRAPPINGS if canvas is not None else _WRAPPINGS[:1]:
        wrapped_for = None if canvas is None else (canvas[0] * share, canvas[1])
        wrapped = wrapping(sheet, direction, wrapped_for, is_tight=is_tight)
        trial = arranged(layout(layout_text(sheet, direction, wrapped), time_limit_s), sheet, wrapped)
        size = 0.0 if canvas is None else max(trial.width / canvas[0], trial.height / canvas[1])
        if best is None or size < best[0]:
            best = (size, trial)
        if size <= 1.0:
            break
    assert best is not None
    return best[1]


def room_on(canvas: tuple[float, float]) -> tuple[float, float]:
    """Return the width and height of the largest picture with readable names that fits a canvas given in pixels.

    The picture is scaled down to fit, except for its margin.
    """
    scale = _TEXT["readable"] * 1.003 / _TEXT["title"]
    return canvas[0] / scale - 2 * MARGIN, canvas[1] / scale - 2 * MARGIN


@lru_cache(maxsize=128)
def layout(text: str, time_limit_s: float = TIME_LIMIT_S) -> Layout:
    """Return the positions of boxes and lines for a text of `layout_text`; cached."""
    try:
        output = render(text, "json0", time_limit_s=time_limit_s)
    except subprocess.CalledProcessError:  # Graphviz fails on some curves, but not on straight lines
        output = render(text.replace("{", "{ splines=line", 1), "json0", time_limit_s=time_limit_s)
    return read_layout(output.decode("utf-8"))
