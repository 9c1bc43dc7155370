"""``gpuplace report`` and ``gpuplace explore``: a graph or a log as a browser page, without and with a kernel."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuplace.cli.estimate_command import feed_of
from gpuplace.cli.output import save, write
from gpuplace.cli.setup import (
    UsageError,
    config_of,
    graph_options,
    machine_of,
    opened,
    placement_of,
    release_of,
    step_of,
)
from gpuplace.cost.estimate import estimate
from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.findings.find import placement_findings
from gpuplace.views.logs.graph_or_log import log_in_file
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.page.fixes import Fix
from gpuplace.views.page.page import page_html
from gpuplace.views.tables.text import counted
from gpuplace.why.placement import Placement

_MODULES = {"lab": "jupyterlab", "voila": "voila"}
"""Servers for the explorer, in order of preference; Voila comes last because its page loads icons from a CDN."""

_PATIENCE_S = 20
"""Time that a server has to shut down, in seconds."""


def report(arguments: argparse.Namespace) -> int:
    """Write the page; for a graph that cannot be placed, write it with the error and then report the error."""
    placement, text = _page(arguments)
    write(text, arguments.output)
    _raise_first_error(placement)
    return 0


def explore(arguments: argparse.Namespace) -> int:
    """Open the explorer, or the page, in a browser; return when the server stops."""
    if not os.path.exists(arguments.graph):
        raise UsageError(f"cannot read {arguments.graph}: No such file or directory")
    with_what = arguments.shown_with or _first_installed()
    if with_what == "page":
        return _open_page(arguments)
    if importlib.util.find_spec(_MODULES[with_what]) is None:
        name = {"voila": "voila", "lab": '"gpuplace[lab]"'}[with_what]
        raise UsageError(
            f"{_MODULES[with_what]} is not installed; run pip install {name}, or use --with page"
        )
    machine_of(arguments.machine)
    release_of(arguments)
    is_log = _log(arguments) is not None
    if not is_log:
        opened(arguments, arguments.graph)  # report errors here, not in the notebook
    with tempfile.TemporaryDirectory(prefix="gpuplace-") as folder:
        path = Path(arguments.output or Path(folder) / "explorer.ipynb")
        save(json.dumps(_notebook(arguments, is_log=is_log), indent=1), str(path))
        with subprocess.Popen(_server(with_what, path.resolve(), arguments)) as server:
            try:
                return server.wait()
            except KeyboardInterrupt:  # SIGTERM stops the server and its kernels without a question
                server.terminate()
                try:
                    server.wait(_PATIENCE_S)
                except subprocess.TimeoutExpired:
                    server.kill()
                return 0


def _page(arguments: argparse.Namespace) -> tuple[Placement | LoggedPlacement, str]:
    log = _log(arguments)
    if log is not None:
        return log, log_page(log, _title(arguments))
    machine = machine_of(arguments.machine)
    placement = placement_of(arguments, machine, on_error="keep")
    release = placement.release
    settings = [("machine", str(machine)), ("TensorFlow", release)]
    if placement.soft:
        settings.append(("soft placement", "on"))
    environ: Mapping[str, str] | None = {} if arguments.machine else None
    if arguments.visible_devices is not None:
        settings.append(("visible GPUs", arguments.visible_devices or "none"))
        environ = placement.device_set.origin.environ
    against, against_text = _against(arguments, machine)
    if against_text:
        settings.append(("compared with", against_text))
    step = None
    if path := getattr(arguments, "run_metadata", None):
        step = step_of(path, placement, arguments.graph)
        settings.append(("measured step", path))
    predicted, findings = None, None
    batch = getattr(arguments, "batch", None)
    if getattr(arguments, "fetch", None) or getattr(arguments, "feed", None):
        predicted = estimate(
            placement,
            arguments.fetch or None,
            dict(map(feed_of, arguments.feed or ())),
            placement.device_set,
            config_of(arguments),
            release,
            batch=batch,
        )
    elif not placement.errors:
        findings = placement_findings(placement, config=config_of(arguments), batch=batch)
    text = page_html(
        placement,
        run_metadata=step,
        estimate=predicted,
        findings=findings,
        fixes=_fixes(placement),
        title=_title(arguments),
        settings=settings,
        mapping=machine.mapping(config_of(arguments), environ, release=release),
        against=against,
        against_text=against_text,
    )
    return placement, text


def _fixes(placement: Placement) -> Sequence[Fix]:
    """Return the changes with which TensorFlow places the graph, if it refuses it."""
    if not placement.errors:
        return ()
    from gpuplace.cli.fixes import fixes_of  # the explorer's settings, which other pages do without

    return fixes_of(placement)


def _log(arguments: argparse.Namespace) -> LoggedPlacement | None:
    """Return the log that the command names; None if the file is a graph.

    Raises:
        UsageError: the file is a log, and there are options for placing a graph.
    """
    if not os.path.exists(arguments.graph):
        raise UsageError(f"cannot read {arguments.graph}: No such file or directory")
    log = log_in_file(arguments.graph)
    if log is not None and (options := graph_options(arguments)):
        raise UsageError(
            f"{arguments.graph} is a log with recorded devices, so it is not placed again. Remove {options}. "
            f"To compare the log with its graph: gpuplace log {arguments.graph} --against GRAPH"
        )
    return log


def log_page(log: LoggedPlacement, title: str) -> str:
    """Return the HTML page of a log.

    Args:
        log: the log.
        title: the heading of the page.
    """
    settings = [("source", "TensorFlow log")]
    if len(log.numbers) > 1:
        settings.append(("sessions", f"{len(log.numbers)}; for a node in several, the last line counts"))
    if log.unparsed:
        settings.append(("unparsed", f"{counted(len(log.unparsed), 'piece')} of text, below"))
    return page_html(log, title=title, settings=settings)


def _title(arguments: argparse.Namespace) -> str:
    return getattr(arguments, "title", None) or Path(arguments.graph).resolve().name


def _against(arguments: argparse.Namespace, machine: Machine) -> tuple[Placement | None, str]:
    """Return the placement to compare with and its description; None if no comparison was requested."""
    machine_text = getattr(arguments, "against", None)
    other_release = getattr(arguments, "against_release", None)
    if not machine_text and not other_release:
        return None, ""
    other = machine_of(machine_text) if machine_text else machine
    placement = placement_of(arguments, other, on_error="keep", release=other_release)
    description = [str(other)] if machine_text else []
    if other_release:
        description.append(f"TensorFlow {other_release}")
    return placement, ", ".join(description)


def _raise_first_error(placement: Placement | LoggedPlacement) -> None:
    errors: tuple[OpError, ...] = getattr(placement, "errors", ())
    if errors:
        raise errors[0]


def _first_installed() -> str:
    for name, module in _MODULES.items():
        if importlib.util.find_spec(module) is not None:
            return name
    raise UsageError(
        "the explorer needs JupyterLab or Voila, and neither is installed; run pip install "
        '"gpuplace[lab]", or use --with page for a page that needs only a browser'
    )


def _open_page(arguments: argparse.Namespace) -> int:
    placement, text = _page(arguments)
    if arguments.output:
        path = Path(arguments.output)
    else:
        folder = tempfile.mkdtemp(prefix="gpuplace-")  # kept: the browser reads the file after we exit
        path = Path(folder) / "report.html"
    save(text, str(path))
    print(path)
    if not arguments.no_browser:
        webbrowser.open(path.resolve().as_uri())
    _raise_first_error(placement)
    return 0


def _notebook(arguments: argparse.Namespace, *, is_log: bool = False) -> dict[str, Any]:
    """Return a notebook whose only cell opens the explorer."""
    options = {"machine": arguments.machine, "release": arguments.release}
    call_arguments = [repr(str(Path(arguments.graph).resolve()))]
    call_arguments += [f"{name}={value!r}" for name, value in options.items() if value]
    lines = ["import gpuplace as tf", ""]
    if arguments.config:
        config_of(arguments)  # report an invalid file here, not in the notebook
        path = repr(str(Path(arguments.config).resolve()))
        lines[:0] = ["from google.protobuf import text_format", ""]
        lines.append(f"config = text_format.Parse(open({path}).read(), tf.ConfigProto())")
        lines += ["config.allow_soft_placement = True"] if arguments.soft else []
        call_arguments.append("config=config")
    elif arguments.soft:
        call_arguments.append("config=tf.ConfigProto(allow_soft_placement=True)")
    others = {name: getattr(arguments, name) for name in ("visible_devices", "tags", "signature", "function")}
    call_arguments += [f"{name}={value!r}" for name, value in others.items() if value is not None]
    call_arguments += [
        f"{name}=True" for name in ("clear_devices", "whole_graph") if getattr(arguments, name)
    ]
    if is_log:
        lines.append(f"tf.explore(tf.parse_log({call_arguments[0]}))")
    else:
        lines.append(f"tf.explore({', '.join(call_arguments)})")
    source = "\n".join(lines)
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "explorer",
        "metadata": {},
        "outputs": [],
        "source": source.splitlines(keepends=True),
    }
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return {"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _server(with_what: str, path: Path, arguments: argparse.Namespace) -> list[str]:
    """Return the command that serves the notebook."""
    port = [f"--port={arguments.port}"] if arguments.port else []
    quiet = ["--no-browser"] if arguments.no_browser else []
    if with_what == "voila":
        return [sys.executable, "-m", "voila", *port, *quiet, str(path)]
    root = ["--allow-root"] if hasattr(os, "getuid") and os.getuid() == 0 else []
    news = [
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
    ]
    return [sys.executable, "-m", "jupyterlab", *port, *quiet, *root, *news, str(path)]
