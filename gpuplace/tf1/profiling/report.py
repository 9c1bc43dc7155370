"""A profile in one of its views, printed or written to a file.

Source: tensorflow/core/profiler/internal/print_model_analysis.cc, tfprof_stats.cc, tfprof_show.cc and
tfprof_timeline.h, release 1.15 (output, conditions for an empty view).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from gpuplace.errors import InvalidArgumentError, OpError, UnimplementedError
from gpuplace.files.file_io import write_string_to_file
from gpuplace.tf1.profiling.graph_profile import GraphProfile
from gpuplace.tf1.profiling.messages import GraphNodeProto, MultiGraphNodeProto
from gpuplace.tf1.profiling.options import Options, explanations
from gpuplace.tf1.profiling.views.trees import CodeView, GraphView, ScopeView
from gpuplace.tf1.profiling.views.types import OpView

__all__ = ["VIEWS", "report", "show"]

VIEWS: dict[str, Any] = {"scope": ScopeView, "graph": GraphView, "op": OpView, "code": CodeView}
"""Command -> the view."""


def _message(view: str) -> Any:
    return MultiGraphNodeProto if view in ("op", "code") else GraphNodeProto


def _print_error(error: OpError) -> None:
    """Print an error, with its class in words."""
    words = re.findall("[A-Z][a-z]+", type(error).__name__.removesuffix("Error"))
    print(f"{' '.join(words).capitalize()}: {error.message}", file=sys.stderr)


def report(profile: GraphProfile, view: str, settings: Mapping[str, Any]) -> Any:
    """Show a profile.

    Args:
        profile: the nodes.
        view: ``scope``, ``graph``, ``op`` or ``code``.
        settings: the options.

    Returns:
        The ``GraphNodeProto`` or ``MultiGraphNodeProto`` of the root; empty for options that cannot be
        satisfied, which are reported on standard error.

    Raises:
        UnimplementedError: the output is for pprof.
    """
    try:
        options = Options.of(settings)
    except InvalidArgumentError as error:
        _print_error(error)
        return _message(view)()
    if options.output != "stdout":
        return show(profile, view, options)
    print(f"\n=========================Options=============================\n{options}", end="")
    print("\n==================Model Analysis Report======================")
    message = show(profile, view, options)
    print("\n======================End of Report==========================")
    return message


def show(profile: GraphProfile, view: str, options: Options) -> Any:
    """Show a profile without header and footer.

    Args:
        profile: the nodes.
        view: ``scope``, ``graph``, ``op`` or ``code``.
        options: contents and output.

    Returns:
        The root's message.

    Raises:
        UnimplementedError: the output is for pprof.
    """
    if options.step >= 0 and options.step not in profile.steps:
        steps = "".join(f"{step} " for step in sorted(profile.steps))
        print(f"Options -step={options.step} not found.\nAvailable steps: {steps}", file=sys.stderr)
        return _message(view)()
    if view == "code" and not profile.has_traces:
        print("No code trace information", file=sys.stderr)
        return _message(view)()
    if options.output == "pprof":
        raise UnimplementedError.of(
            "gpuplace does not write profiles for pprof",
            hint="print the view with with_stdout_output(), or write it to a file with with_file_output(path)",
        )
    if options.output == "timeline" and view in ("op", "graph"):
        raise UnimplementedError.of(
            f"the {view} view has no timeline",
            hint="use the scope or code view, or show the step itself: gpuplace.timeline(run_metadata)",
        )
    arranged = VIEWS[view](profile)
    text, message = arranged.show(options)
    text = f"{profile.missing_times}{explanations(view, options.select)}Profile:\n{text}"
    if options.output == "stdout":
        print(text, end="", flush=True)
    elif options.output == "file":
        _write(options.output_settings["outfile"], text)
    elif options.output == "timeline":
        _write_timeline(arranged.root, f"{options.output_settings['outfile']}_{options.step}")
    return message


def _write(path: str, text: str) -> bool:
    """Write a file; if that fails, report it on standard error and return False."""
    try:
        write_string_to_file(path, text)
    except OpError as error:
        _print_error(error)
        return False
    return True


def _events(root: Any) -> Iterator[dict[str, Any]]:
    """Return the events of a Chrome trace: one process for each depth, with regions as long as the total times."""
    named: set[int] = set()
    waiting = [(root, 0, 0)]
    while waiting:
        item, start, depth = waiting.pop()
        if depth not in named:
            named.add(depth)
            yield {"args": {"name": f"Scope:{depth}"}, "name": "process_name", "ph": "M", "pid": depth}
        yield {
            "args": {"name": item.name, "op": item.name},
            "cat": "Op",
            "dur": item.total.get("exec_micros", 0),
            "name": item.name,
            "ph": "X",
            "pid": depth,
            "tid": 0,
            "ts": start,
        }
        below = []
        for child in item.kept:
            took = child.total.get("exec_micros", 0)
            if took > 0:
                below.append((child, start, depth + 1))
                start += took
        waiting += below[::-1]


def _write_timeline(root: Any, path: str) -> None:
    if _write(path, json.dumps({"traceEvents": list(_events(root))}, separators=(",", ":")) + "\n"):
        line = "\n******************************************************\n"
        where = "Open a Chrome browser, enter URL chrome://tracing and load the timeline file."
        print(f"{line}Timeline file is written to {path}.\n{where}{line}", end="", flush=True)
