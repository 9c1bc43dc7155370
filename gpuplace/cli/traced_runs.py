"""``gpuplace run SCRIPT --trace FILE``: measure the session runs of a script, and keep one step.

`BaseSession.run` is replaced while the script runs. Without a step number every run is measured, because only the end
of the script shows which run was the last. With a number, the other runs are not measured. Runs are counted from 1 over
all sessions, in call order; `partial_run` and callables are not counted.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpuplace.cli.output import save
from gpuplace.cli.setup import UsageError
from gpuplace.runtime.session.base_session import BaseSession
from gpuplace.runtime.tracing.chrome_timeline import Timeline
from gpuplace.views.tables.text import counted
from gpuplace.views.timelines.reader import step_timeline
from gpuplace.writing import check_writable

_TEXT = (".pbtxt", ".txt", ".prototxt", ".textproto")


class TracedRuns:
    """The measured runs of a script.

    Args:
        path: the output file: a Chrome trace (``.json``), a ``RunMetadata`` as text (``.pbtxt``) or, otherwise, in
            binary form; compressed if ``.gz`` follows. A relative path is relative to the current folder.
        number: the number of the run to keep, from 1; None for the last.

    Raises:
        UsageError: the number is less than 1, or the file cannot be written.
    """

    def __init__(self, path: str, number: int | None = None) -> None:
        if number is not None and number < 1:
            raise UsageError(f"--trace-step {number}: runs are counted from 1")
        self.shown, self.path, self.number = path, os.path.abspath(path), number
        self.count = 0
        """Number of runs so far."""
        self.kept: tuple[int, Any] | None = None
        """Number and ``RunMetadata`` of the run that is written."""
        try:
            check_writable(path)  # report it now, not after hours of training
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure the runs of all sessions."""
        plain = BaseSession.run

        def run(
            session: BaseSession,
            fetches: Any,
            feed_dict: Any = None,
            options: Any = None,
            run_metadata: Any = None,
        ) -> Any:
            self.count += 1
            number = self.count
            if self.number not in (None, number):
                return plain(session, fetches, feed_dict, options, run_metadata)
            traced_options, step = _full(options)
            values = plain(session, fetches, feed_dict, traced_options, step)
            self.kept = number, step
            if run_metadata is not None:
                _copy_requested(run_metadata, step, options)
            return values

        BaseSession.run = run  # type: ignore[assignment, method-assign]
        try:
            yield
        finally:
            BaseSession.run = plain  # type: ignore[method-assign]

    def write(self) -> bool:
        """Write the measured step and report its number; return whether there is one.

        Raises:
            UsageError: the file cannot be written.
        """
        if self.kept is None:
            outcome = "the script ran no step"
            if self.count:
                problem = f"no step {self.number:,}" if self.number else "none completed"
                outcome = f"the script ran {counted(self.count, 'step')}, {problem}"
            print(f"gpuplace run: --trace: {outcome}", file=sys.stderr)
            return False
        number, step = self.kept
        save(_serialized(step, self.path.lower()), self.path)
        outcome = f"step {number:,} of {self.count:,}: {step_timeline(step).text}"
        print(f"gpuplace run: {self.shown}: {outcome}", file=sys.stderr)
        return True


def _full(options: Any) -> tuple[Any, Any]:
    """Return options that measure a run, and the message to fill in."""
    from gpuplace.graphdef.messages import RunMetadata, RunOptions

    traced_options = RunOptions()
    if options is not None:
        traced_options.CopyFrom(options)
    traced_options.trace_level = max(traced_options.trace_level, RunOptions.FULL_TRACE)
    traced_options.output_partition_graphs = True
    return traced_options, RunMetadata()


def _copy_requested(run_metadata: Any, step: Any, options: Any) -> None:
    """Fill in the script's own message with the fields that its options request."""
    run_metadata.CopyFrom(step)
    if not getattr(options, "trace_level", 0):
        run_metadata.ClearField("step_stats")
    if not getattr(options, "output_partition_graphs", False):
        run_metadata.ClearField("partition_graphs")


def _serialized(step: Any, name: str) -> bytes:
    from gpuplace.graphdef.messages import text_format

    plain = name.removesuffix(".gz")
    if plain.endswith(".json"):
        data = Timeline(step.step_stats).generate_chrome_trace_format(show_memory=True).encode()
    elif plain.endswith(_TEXT):
        data = text_format.MessageToString(step).encode()
    else:
        data = step.SerializeToString()
    return gzip.compress(data) if name != plain else data
