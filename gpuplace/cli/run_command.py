"""``gpuplace run``: run a script with gpuplace in TensorFlow's place, on a given machine and as a given release."""

from __future__ import annotations

import argparse
import os

from gpuplace import release as releases
from gpuplace.cli.run_script import run_module, run_script
from gpuplace.cli.setup import UsageError, machine_of, release_of
from gpuplace.cli.traced_runs import TracedRuns
from gpuplace.device.machine import ENVIRONMENT_VARIABLE as MACHINE_VARIABLE
from gpuplace.graphdef.file_kinds import no_program


def run(arguments: argparse.Namespace) -> int:
    """Run a script with the given machine and release; its child processes inherit both."""
    machine_of(arguments.machine)
    if arguments.machine:
        os.environ[MACHINE_VARIABLE] = arguments.machine
    if arguments.release:
        os.environ[releases.ENVIRONMENT_VARIABLE] = arguments.release
    release_of(arguments)
    if arguments.trace_step is not None and not arguments.trace:
        raise UsageError("--trace-step requires --trace FILE")
    if not arguments.trace:
        return _run_script(arguments)
    runs = TracedRuns(arguments.trace, arguments.trace_step)
    try:
        with runs.measured():
            code = _run_script(arguments)
    except UsageError:  # the script does not exist
        raise
    except BaseException as error:  # a script may exit or be interrupted; its measured step is still useful
        if runs.write() or not (isinstance(error, SystemExit) and not error.code):
            raise
        return 1
    return code if runs.write() else code or 1


def _run_script(arguments: argparse.Namespace) -> int:
    if arguments.is_module:
        try:
            return run_module(arguments.script, arguments.script_arguments)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{arguments.script}.".startswith(f"{error.name}."):
                raise  # an import inside the module or its package failed
            raise UsageError(f"No module named {arguments.script}") from None
    try:
        if (reason := no_program(arguments.script)) is not None:
            raise UsageError(reason)
        return run_script(arguments.script, arguments.script_arguments)
    except OSError as error:
        if error.filename != arguments.script:
            raise
        raise UsageError(f"cannot read {arguments.script}: {error.strerror}") from None
