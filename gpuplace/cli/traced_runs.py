"""``gpuplace run SCRIPT --trace FILE``: measures what sessions of a script run, and keeps one step.

`BaseSession.run` is replaced for the time of the script. Which step is the last is known in the end alone, so without a
number every run is measured; with one, the others run as they would. Runs count from 1 over all sessions, as the
script calls them; what `partial_run` and callables run is not counted.
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
    """The runs of a script.

    Args:
        path: file to write: a Chrome trace where its name ends in ``.json``, a ``RunMetadata`` as text (``.pbtxt``),
            else a binary one; compressed where ``.gz`` follows. A relative path is meant from the folder of now.
        number: of the run to keep, from 1; None for the last.

    Raises:
        UsageError: the number is none, or the file cannot be written.
    """

    def __init__(self, path: str, number: int | None = None) -> None:
        if number is not None and number < 1:
            raise UsageError(f"--trace-step {number}: runs count from 1")
        self.shown, self.path, self.number = path, os.path.abspath(path), number
        self.count = 0
        """How many there were."""
        self.kept: tuple[int, Any] | None = None
        """Number and ``RunMetadata`` of the run to write."""
        try:
            check_writable(path)  # known now, and not after hours
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measures the runs of all sessions."""
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
            wanted, step = _full(options)
            found = plain(session, fetches, feed_dict, wanted, step)
            self.kept = number, step
            if run_metadata is not None:
                _give(run_metadata, step, options)
            return found

        BaseSession.run = run  # type: ignore[assignment, method-assign]
        try:
            yield
        finally:
            BaseSession.run = plain  # type: ignore[method-assign]

    def write(self) -> bool:
        """Writes the step that is kept and says which it is; returns whether there is one.

        Raises:
            UsageError: it cannot be written.
        """
        if self.kept is None:
            told = "no step"
            if self.count:
                others = f"is number {self.number:,}" if self.number else "came to its end"
                told = f"{counted(self.count, 'step')}, and none that {others}"
            print(f"gpuplace run: --trace: the script ran {told}", file=sys.stderr)
            return False
        number, step = self.kept
        save(_serialised(step, self.path.lower()), self.path)
        told = f"step {number:,} of {self.count:,}: {step_timeline(step).text}"
        print(f"gpuplace run: {self.shown}: {told}", file=sys.stderr)
        return True


def _full(options: Any) -> tuple[Any, Any]:
    """Options of a run that is measured, and the message for what is."""
    from gpuplace.graphdef.messages import RunMetadata, RunOptions

    wanted = RunOptions()
    if options is not None:
        wanted.CopyFrom(options)
    wanted.trace_level = max(wanted.trace_level, RunOptions.FULL_TRACE)
    wanted.output_partition_graphs = True
    return wanted, RunMetadata()


def _give(run_metadata: Any, step: Any, options: Any) -> None:
    """Fills in the script's own message with what its options ask for."""
    run_metadata.CopyFrom(step)
    if not getattr(options, "trace_level", 0):
        run_metadata.ClearField("step_stats")
    if not getattr(options, "output_partition_graphs", False):
        run_metadata.ClearField("partition_graphs")


def _serialised(step: Any, name: str) -> bytes:
    from gpuplace.graphdef.messages import text_format

    plain = name.removesuffix(".gz")
    if plain.endswith(".json"):
        data = Timeline(step.step_stats).generate_chrome_trace_format(show_memory=True).encode()
    elif plain.endswith(_TEXT):
        data = text_format.MessageToString(step).encode()
    else:
        data = step.SerializeToString()
    return gzip.compress(data) if name != plain else data
