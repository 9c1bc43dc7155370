"""``tf.contrib.testing``: a writer of summaries that only keeps them, and readers of event files, for tests.

Source: tensorflow/contrib/testing/python/framework/fake_summary_writer.py and util.py, release 1.15 (names,
arguments, which arguments are refused).
"""

import glob as _glob
import os as _os
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from gpuplace.graphdef import file_writer as _file_writer
from gpuplace.graphdef.event_file import summary_iterator as _summary_iterator
from gpuplace.graphdef.messages import Summary as _Summary

__all__ = [
    "FakeSummaryWriter", "assert_summary", "latest_event_file", "latest_events", "latest_summaries",
    "simple_values_from_events", "to_summary_proto",
]  # fmt: skip


class FakeSummaryWriter:
    """Keeps what it is given, where a ``FileWriter`` would write it to a file.

    >>> import gpuplace as tf
    >>> writer = FakeSummaryWriter("logs")
    >>> writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)]), 3)
    >>> [summary.value[0].tag for summary in writer.summaries[3]]
    ['loss']

    Args:
        logdir: the folder that a real writer would write to.
        graph: its graph; None: none.
    """

    _replaced: ClassVar[Any] = None

    @classmethod
    def install(cls) -> None:
        """Makes `FileWriterCache` give writers of this class from now on.

        Raises:
            ValueError: it does so already.
        """
        if cls._replaced is not None:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced = _file_writer.FileWriter
        _file_writer.FileWriter = cls  # type: ignore[assignment, misc]

    @classmethod
    def uninstall(cls) -> None:
        """Takes `install` back.

        Raises:
            ValueError: it was not called.
        """
        if cls._replaced is None:
            raise ValueError("FakeSummaryWriter not installed.")
        _file_writer.FileWriter = cls._replaced  # type: ignore[misc]
        cls._replaced = None

    def __init__(self, logdir: Any, graph: Any = None) -> None:
        self._logdir = logdir
        self._graph = graph
        self._summaries: dict[Any, list[Any]] = {}
        self._added_graphs: list[Any] = []
        self._added_meta_graphs: list[Any] = []
        self._added_session_logs: list[Any] = []
        self._added_run_metadata: dict[str, Any] = {}

    @property
    def summaries(self) -> dict[Any, list[Any]]:
        """The summaries of each step."""
        return self._summaries

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: Any = None,
        expected_graph: Any = None,
        expected_summaries: Mapping[Any, Mapping[str, float]] | None = None,
        expected_added_graphs: Iterable[Any] | None = None,
        expected_added_meta_graphs: Iterable[Any] | None = None,
        expected_session_logs: Iterable[Any] | None = None,
    ) -> None:
        """Compares what was added with what a test expects; None: that is not compared.

        Args:
            test_case: a ``unittest.TestCase``.
            expected_logdir: the folder.
            expected_graph: the very graph.
            expected_summaries: step -> tag -> simple value; the rate ``global_step/sec`` is left out.
            expected_added_graphs: the graphs added.
            expected_added_meta_graphs: the meta graphs added.
            expected_session_logs: the session logs added.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for step, expected in (expected_summaries or {}).items():
            test_case.assertIn(step, self._summaries, f"Missing step {step} from {list(self._summaries)}.")
            values = (value for summary in self._summaries[step] for value in summary.value)
            found = {value.tag: value.simple_value for value in values if value.tag != "global_step/sec"}
            test_case.assertEqual(expected, found)
        for wanted, added in (
            (expected_added_graphs, self._added_graphs),
            (expected_added_meta_graphs, self._added_meta_graphs),
            (expected_session_logs, self._added_session_logs),
        ):
            if wanted is not None:
                test_case.assertEqual(list(wanted), added)

    def add_summary(self, summ: Any, current_global_step: Any) -> None:
        """Keeps a summary.

        Args:
            summ: a ``Summary``, or the bytes of one.
            current_global_step: its step.
        """
        summary = _Summary.FromString(summ) if isinstance(summ, bytes) else summ
        self._summaries.setdefault(current_global_step, []).append(summary)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Keeps a graph.

        Args:
            graph: it.
            global_step: its step; None: none.
            graph_def: not taken.

        Raises:
            ValueError: the step is negative, or there is a ``graph_def``.
        """
        _require_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Keeps a meta graph.

        Args:
            meta_graph_def: it.
            global_step: its step; None: none.

        Raises:
            ValueError: the step is negative.
        """
        _require_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Keeps a session's log.

        Args:
            session_log: it.
            global_step: its step, which is not kept.
        """
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Keeps a run's metadata.

        Args:
            run_metadata: it.
            tag: its name.
            global_step: its step; None: none.

        Raises:
            ValueError: the step is negative.
        """
        _require_step(global_step)
        self._added_run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Does nothing: there is no file."""

    def reopen(self) -> None:
        """Does nothing: there is no file."""

    def close(self) -> None:
        """Does nothing: there is no file."""


def _require_step(global_step: int | None) -> None:
    if global_step is not None and global_step < 0:
        raise ValueError(f"Invalid global_step {global_step}.")


def assert_summary(
    expected_tags: Iterable[str], expected_simple_values: Mapping[str, float], summary_proto: Any
) -> None:
    """Compares a summary with what a test expects.

    Args:
        expected_tags: all its tags.
        expected_simple_values: the simple values of some of them, to two decimal places.
        summary_proto: a ``Summary``.

    Raises:
        AssertionError: a value differs.
        ValueError: the tags differ.
    """
    for value in summary_proto.value:
        expected = expected_simple_values.get(value.tag, value.simple_value)
        if not abs(value.simple_value - expected) < 0.015:
            raise AssertionError(f"{value.tag}: {value.simple_value} is not {expected} to 2 decimal places")
    tags = {value.tag for value in summary_proto.value}
    if set(expected_tags) != tags:
        raise ValueError(f"Expected tags {set(expected_tags)}, got {tags}.")


def to_summary_proto(summary_str: bytes) -> Any:
    """Returns the ``Summary`` of its bytes.

    Args:
        summary_str: what a summary op returns.
    """
    return _Summary.FromString(summary_str)


def latest_event_file(base_dir: str) -> str | None:
    """Returns the newest event file of a folder; None where it has none.

    Args:
        base_dir: the folder.
    """
    files = _glob.glob(_os.path.join(_glob.escape(base_dir), "events.*"))
    return max(files, default=None)


def latest_events(base_dir: str) -> list[Any]:
    """Returns the events of the newest event file of a folder.

    Args:
        base_dir: the folder.
    """
    file = latest_event_file(base_dir)
    return [] if file is None else list(_summary_iterator(file))


def latest_summaries(base_dir: str) -> list[Any]:
    """Returns the events of the newest event file of a folder that hold summaries.

    Args:
        base_dir: the folder.
    """
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, float]:
    """Returns the simple value of each tag at its last step.

    Args:
        events: events.
        tags: the tags asked for.

    Raises:
        ValueError: a summary of such a tag has no simple value.
    """
    wanted = set(tags)
    found: dict[str, tuple[int, float]] = {}
    for event in events:
        for value in event.summary.value:
            if value.tag not in wanted:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if value.tag not in found or event.step > found[value.tag][0]:
                found[value.tag] = (event.step, value.simple_value)
    return {tag: number for tag, (_, number) in found.items()}
