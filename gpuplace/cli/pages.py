"""``gpuplace report`` and ``gpuplace explore``: a graph or a log as a page in a browser, without and with a kernel."""

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
    given_for_graphs,
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
"""What serves the explorer, the first that is installed by default: Voila's own page asks a CDN for icons."""

_PATIENCE_S = 20
"""How long a server may take to end."""


def report(arguments: argparse.Namespace) -> int:
    """Writes the page; of a graph that cannot be placed, the page with the error, which is then told as well."""
    placement, text = _page(arguments)
    write(text, arguments.output)
    _raise_first_error(placement)
    return 0


def explore(arguments: argparse.Namespace) -> int:
    """Opens the explorer, or the page, in a browser; ends with the server."""
    if not os.path.exists(arguments.graph):
        raise UsageError(f"cannot read {arguments.graph}: No such file or directory")
    with_what = arguments.shown_with or _first_installed()
    if with_what == "page":
        return _open_page(arguments)
    if importlib.util.find_spec(_MODULES[with_what]) is None:
        name = {"voila": "voila", "lab": '"gpuplace[lab]"'}[with_what]
        raise UsageError(f"{_MODULES[with_what]} is not installed: pip install {name}, or --with page")
    machine_of(arguments.machine)
    release_of(arguments)
    is_log = _log(arguments) is not None
    if not is_log:
        opened(arguments, arguments.graph)  # errors appear here, not in the notebook
    with tempfile.TemporaryDirectory(prefix="gpuplace-") as folder:
        path = Path(arguments.output or Path(folder) / "explorer.ipynb")
        save(json.dumps(_notebook(arguments, is_log=is_log), indent=1), str(path))
        with subprocess.Popen(_server(with_what, path.resolve(), arguments)) as server:
            try:
                return server.wait()
            except KeyboardInterrupt:  # the server ends its kernels, and asks nothing
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
        settings.append(("placed", "softly"))
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
    """What lets TensorFlow place the graph, if it refuses it."""
    if not placement.errors:
        return ()
    from gpuplace.cli.fixes import fixes_of  # the explorer's settings, which other pages do without

    return fixes_of(placement)


def _log(arguments: argparse.Namespace) -> LoggedPlacement | None:
    """The log that the command names; None if that is a graph.

    Raises:
        UsageError: a log, and options with which a graph is placed.
    """
    if not os.path.exists(arguments.graph):
        raise UsageError(f"cannot read {arguments.graph}: No such file or directory")
    found = log_in_file(arguments.graph)
    if found is not None and (words := given_for_graphs(arguments)):
        raise UsageError(
            f"{arguments.graph} is a log, which tells where nodes were: leave out {words}, with which a graph is "
            f"placed. To compare the log with its graph: gpuplace log {arguments.graph} --against GRAPH"
        )
    return found


def log_page(log: LoggedPlacement, title: str) -> str:
    """The page of a log.

    Args:
        log: the log.
        title: heading of the page.
    """
    settings = [("from", "a log of TensorFlow")]
    if len(log.numbers) > 1:
        settings.append(("sessions", f"{len(log.numbers)}; if a node is in several, the last line counts"))
    if log.unparsed:
        settings.append(("not understood", f"{counted(len(log.unparsed), 'piece')} of text, below"))
    return page_html(log, title=title, settings=settings)


def _title(arguments: argparse.Namespace) -> str:
    return getattr(arguments, "title", None) or Path(arguments.graph).resolve().name


def _against(arguments: argparse.Namespace, machine: Machine) -> tuple[Placement | None, str]:
    """The other placement and what it is in words; None if none was asked for."""
    there = getattr(arguments, "against", None)
    other_release = getattr(arguments, "against_release", None)
    if not there and not other_release:
        return None, ""
    other = machine_of(there) if there else machine
    found = placement_of(arguments, other, on_error="keep", release=other_release)
    told = [str(other)] if there else []
    if other_release:
        told.append(f"TensorFlow {other_release}")
    return found, ", ".join(told)


def _raise_first_error(placement: Placement | LoggedPlacement) -> None:
    errors: tuple[OpError, ...] = getattr(placement, "errors", ())
    if errors:
        raise errors[0]


def _first_installed() -> str:
    for name, module in _MODULES.items():
        if importlib.util.find_spec(module) is not None:
            return name
    raise UsageError(
        "the explorer needs JupyterLab or Voila, and neither is installed: pip install "
        '"gpuplace[lab]"; "--with page" opens a page that needs only a browser'
    )


def _open_page(arguments: argparse.Namespace) -> int:
    placement, text = _page(arguments)
    if arguments.output:
        path = Path(arguments.output)
    else:
        folder = tempfile.mkdtemp(prefix="gpuplace-")  # kept: the browser reads the file after we have ended
        path = Path(folder) / "report.html"
    save(text, str(path))
    print(path)
    if not arguments.no_browser:
        webbrowser.open(path.resolve().as_uri())
    _raise_first_error(placement)
    return 0


def _notebook(arguments: argparse.Namespace, *, is_log: bool = False) -> dict[str, Any]:
    """A notebook whose one cell opens the explorer."""
    options = {"machine": arguments.machine, "release": arguments.release}
    words = [repr(str(Path(arguments.graph).resolve()))]
    words += [f"{name}={value!r}" for name, value in options.items() if value]
    lines = ["import gpuplace as tf", ""]
    if arguments.config:
        config_of(arguments)  # told now if it is none, not in the notebook
        path = repr(str(Path(arguments.config).resolve()))
        lines[:0] = ["from google.protobuf import text_format", ""]
        lines.append(f"config = text_format.Parse(open({path}).read(), tf.ConfigProto())")
        lines += ["config.allow_soft_placement = True"] if arguments.soft else []
        words.append("config=config")
    elif arguments.soft:
        words.append("config=tf.ConfigProto(allow_soft_placement=True)")
    others = {name: getattr(arguments, name) for name in ("visible_devices", "tags", "signature", "function")}
    words += [f"{name}={value!r}" for name, value in others.items() if value is not None]
    words += [f"{name}=True" for name in ("clear_devices", "whole_graph") if getattr(arguments, name)]
    if is_log:
        lines.append(f"tf.explore(tf.parse_log({words[0]}))")
    else:
        lines.append(f"tf.explore({', '.join(words)})")
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
    """The command that serves the notebook."""
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
