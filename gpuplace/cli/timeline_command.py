"""`gpuplace timeline`: a measured step as text, a picture, a page or a Chrome trace."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from gpuplace.cli.output import write
from gpuplace.cli.setup import UsageError, graph_options, machine_of, placement_of, step_of
from gpuplace.runtime.tracing.chrome_timeline import Timeline
from gpuplace.views.page.page import timeline_page_html
from gpuplace.views.timelines.reader import step_timeline
from gpuplace.views.timelines.svg import timeline_svg
from gpuplace.views.timelines.text import timeline_text


def timeline(arguments: argparse.Namespace) -> int:
    """Print the step as text, or write it in the requested formats."""
    placement = None
    if arguments.graph:
        machine = machine_of(arguments.machine)
        placement = placement_of(arguments, machine, on_error="raise")
    elif options := graph_options(arguments):
        raise UsageError(f"{options}: options for placing a graph; add --graph")
    step = step_of(arguments.step, placement, arguments.graph)
    try:
        step_view = step_timeline(step, placement)
    except ValueError as error:
        raise UsageError(f"{arguments.step}: {error}") from None
    settings = [("file", arguments.step)]
    if placement is not None:
        settings += [("graph", arguments.graph), ("machine", str(machine)), ("TensorFlow", placement.release)]
    title = arguments.title or Path(arguments.step).name
    forms: dict[str, Callable[[], str]] = {
        "svg": lambda: timeline_svg(step_view, arguments.theme),
        "html": lambda: timeline_page_html(step_view, title=title, settings=settings),
        "json": lambda: Timeline(step.step_stats).generate_chrome_trace_format(show_memory=arguments.memory),
    }
    outputs = {form: path for form in forms if (path := getattr(arguments, form))}
    if not outputs:
        print(timeline_text(step_view))
    for form, path in outputs.items():
        write(forms[form](), path)
    return 0
