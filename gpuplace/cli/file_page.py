"""The HTML page of any file that gpuplace reads: a graph, a SavedModel, a log or a measured step.

``python -m gpuplace.cli.file_page FILE PAGE [MACHINE] [--soft]`` writes the page of ``gpuplace report`` or
``gpuplace timeline``. The JupyterLab extension runs it in a separate process that it can stop.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpuplace.cli.main import main as command_line
from gpuplace.errors import OpError
from gpuplace.graphdef.measured.run_metadata import load_run_metadata
from gpuplace.views.logs.graph_or_log import log_in_file

__all__ = ["command_of", "main"]

SAVED_MODELS = ("saved_model.pb", "saved_model.pbtxt")
"""File names that stand for the SavedModel in their folder."""


def command_of(path: Path, page: Path, machine: str = "", soft: bool = False) -> list[str]:
    """Return the command line that writes a file's page.

    Args:
        path: the file.
        page: the output path.
        machine: the machine for a graph; ``""`` for the default.
        soft: whether a graph is placed with soft placement.

    Raises:
        OpError: the file cannot be read.
    """
    title = [f"--title={path.name}"]
    if path.name in SAVED_MODELS:
        path = path.parent
    elif _is_step(path):
        return ["timeline", f"--html={page}", *title, "--", str(path)]
    options = [f"--output={page}", *title]
    if log_in_file(path) is None:
        options += [f"--machine={machine}"] if machine else []
        options += ["--soft"] if soft else []
    return ["report", *options, "--", str(path)]


def _is_step(path: Path) -> bool:
    """Return whether a file is a measured step. Graphs have the same extensions, so the content decides."""
    try:
        step = load_run_metadata(path)
    except OpError:
        return False
    return any(device.node_stats and ":" in device.device for device in step.step_stats.dev_stats)


def main(argv: list[str] | None = None) -> int:
    """Write one page and return the exit code of the command that wrote it.

    Args:
        argv: the command-line arguments; those of this process if None.
    """
    parser = argparse.ArgumentParser(prog="python -m gpuplace.cli.file_page")
    parser.add_argument("file", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("machine", nargs="?", default="")
    parser.add_argument("--soft", action="store_true")
    arguments = parser.parse_args(argv)
    try:
        command = command_of(arguments.file, arguments.page, arguments.machine, arguments.soft)
    except OpError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return command_line(command)


if __name__ == "__main__":
    sys.exit(main())
