"""``tf.contrib.testing``: an in-memory summary writer and readers of event files, for tests.

Source: tensorflow/contrib/testing/python/framework/fake_summary_writer.py and util.py, release 1.15 (names,
arguments, rejected arguments).
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
    """A writer that keeps summaries in memory, where a ``FileWriter`` would write them to a file.

    >>> import gpuplace as tf
    >>> writer = FakeSummaryWriter("logs")
    >>> writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)]), 3)
    >>> [summary.value[0].tag for summary in writer.summaries[3]]
    ['loss']

    Args:
        logdir: the folder that a real writer would write to.
        graph: its graph, or None.
    """

    _replaced: ClassVar[Any] = None

    @classmethod
    def install(cls) -> None:
        """Make `FileWriterCache` return writers of this class from now on.

        Raises:
            ValueError: it is already installed.
        """
        if cls._replaced is not None:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced = _file_writer.FileWriter
        _file_writer.FileWriter = cls  # type: ignore[assignment, misc]

    @classmethod
    def uninstall(cls) -> None:
        """Undo `install`.

        Raises:
            ValueError: it is not installed.
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
        """Compare the additions with those that a test expects; None: no comparison.

        Args:
            test_case: a ``unittest.TestCase``.
            expected_logdir: the folder.
            expected_graph: the graph, compared by identity.
            expected_summaries: step -> tag -> simple value; the rate ``global_step/sec`` is ignored.
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
            actual = {value.tag: value.simple_value for value in values if value.tag != "global_step/sec"}
            test_case.assertEqual(expected, actual)
        for expected_items, added in (
            (expected_added_graphs, self._added_graphs),
            (expected_added_meta_graphs, self._added_meta_graphs),
            (expected_session_logs, self._added_session_logs),
        ):
            if expected_items is not None:
                test_case.assertEqual(list(expected_items), added)

    def add_summary(self, summ: Any, current_global_step: Any) -> None:
        """Keep a summary.

        Args:
            summ: a ``Summary``, or its serialized bytes.
            current_global_step: its step.
        """
        summary = _Summary.FromString(summ) if isinstance(summ, bytes) else summ
        self._summaries.setdefault(current_global_step, []).append(summary)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Keep a graph.

        Args:
            graph: the graph.
            global_step: its step, or None.
            graph_def: not supported.

        Raises:
            ValueError: the step is negative, or there is a ``graph_def``.
        """
        _require_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Keep a meta graph.

        Args:
            meta_graph_def: it.
            global_step: its step, or None.

        Raises:
            ValueError: the step is negative.
        """
        _require_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Keep a session log.

        Args:
            session_log: the session log.
            global_step: its step, which is not kept.
        """
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Keep the metadata of a run.

        Args:
            run_metadata: the metadata.
            tag: its name.
            global_step: its step, or None.

        Raises:
            ValueError: the step is negative.
        """
        _require_step(global_step)
        self._added_run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Do nothing: there is no file."""

    def reopen(self) -> None:
        """Do nothing: there is no file."""

    def close(self) -> None:
        """Do nothing: there is no file."""


def _require_step(global_step: int | None) -> None:
    if global_step is not None and global_step < 0:
        raise ValueError(f"Invalid global_step {global_step}.")


def assert_summary(
    expected_tags: Iterable[str], expected_simple_values: Mapping[str, float], summary_proto: Any
) -> None:
    """Compare a summary with the values that a test expects.

    Args:
        expected_tags: all of its tags.
        expected_simple_values: the simple values of some of them, to two decimal places.
        summary_proto: a ``Summary``.

    Raises:
        AssertionError: a value is different.
        ValueError: the tags are different.
    """
    for value in summary_proto.value:
        expected = expected_simple_values.get(value.tag, value.simple_value)
        if not abs(value.simple_value - expected) < 0.015:
            raise AssertionError(f"{value.tag}: {value.simple_value} is not {expected} to 2 decimal places")
    tags = {value.tag for value in summary_proto.value}
    if set(expected_tags) != tags:
        raise ValueError(f"Expected tags {set(expected_tags)}, got {tags}.")


def to_summary_proto(summary_str: bytes) -> Any:
    """Parse the bytes of a ``Summary``.

    Args:
        summary_str: the result of a summary op.
    """
    return _Summary.FromString(summary_str)


def latest_event_file(base_dir: str) -> str | None:
    """Return the newest event file of a folder; None if there is none.

    Args:
        base_dir: the folder.
    """
    files = _glob.glob(_os.path.join(_glob.escape(base_dir), "events.*"))
    return max(files, default=None)


def latest_events(base_dir: str) -> list[Any]:
    """Return the events of the newest event file of a folder.

    Args:
        base_dir: the folder.
    """
    file = latest_event_file(base_dir)
    return [] if file is None else list(_summary_iterator(file))


def latest_summaries(base_dir: str) -> list[Any]:
    """Return the summary events of the newest event file of a folder.

    Args:
        base_dir: the folder.
    """
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, float]:
    """Return the simple value of each tag at its last step.

    Args:
        events: events.
        tags: the tags.

    Raises:
        ValueError: a summary with one of the tags has no simple value.
    """
    tag_set = set(tags)
    latest: dict[str, tuple[int, float]] = {}
    for event in events:
        for value in event.summary.value:
            if value.tag not in tag_set:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if value.tag not in latest or event.step > latest[value.tag][0]:
                latest[value.tag] = (event.step, value.simple_value)
    return {tag: number for tag, (_, number) in latest.items()}
