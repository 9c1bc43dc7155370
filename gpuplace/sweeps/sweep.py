"""`gpuplace.sweep`: places, estimates or advises many graphs on many machines with many configs.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.ops.array.constant import placeholder
>>> with Graph().as_default() as graph, graph.device("/gpu:1"):
...     _ = placeholder("float32", name="x")
>>> frame = sweep({"net": graph}, ["2x K80", "cpu"])  # doctest: +SKIP
>>> frame[["graph", "machine", "on_gpu", "error"]]  # doctest: +SKIP
  graph machine  on_gpu                 error
0   net  2x K80       1
1   net     cpu       0  InvalidArgumentError
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from gpuplace.callers import warn
from gpuplace.display import above
from gpuplace.errors import OpError
from gpuplace.progress import track
from gpuplace.release import DEFAULT_RELEASE
from gpuplace.sweeps.cases import Setting, key_of, settings
from gpuplace.sweeps.evaluation import CASE, Row, query_of
from gpuplace.sweeps.graphs import NamedGraph, named_graphs
from gpuplace.sweeps.runner import Work, check_installed, run
from gpuplace.sweeps.sweep_file import SweepFile
from gpuplace.typing import DataFrame

__all__ = ["sweep"]

_ACTIVITIES = {"place": "placing", "estimate": "estimating", "advise": "advising"}
_LEAST_TRACKED = 3
"""Minimal number of cases for which a progress bar is shown after a second."""


def sweep(
    graphs: Any,
    machines: Any = None,
    configs: Any = None,
    what: str = "place",
    client: object = None,
    *,
    releases: str | Iterable[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    on_row: Callable[[Row], None] | None = None,
    workers: int | None = None,
    visible_devices: Any = None,
    **options: Any,
) -> DataFrame:
    """Place, estimate or advise each graph on each machine with each config, on all cores; returns a row for each case.

    The row of a failed case contains its error. Ctrl-C ends the sweep and returns the completed rows. Rows are ordered
    by graph, machine, config and release.

    Args:
        graphs: graphs as in `gpuplace.place`, glob patterns of paths, several of them, or a dict from names to them.
        machines: `Machine` objects or their texts, one or several, or a dict from names to them; None: the process's.
        configs: ``ConfigProto`` messages or dicts of their fields, one or several, or a dict from names to them.
        what: ``"place"``: numbers of nodes per device; ``"estimate"``: cost of a step; ``"advise"``: possible
            improvement of the placement.
        client: a ``distributed.Client`` or the address of a dask scheduler; None: this process, and local worker
            processes if the work takes longer than starting them.
        releases: TensorFlow releases to behave like, one or several; None: the process's, otherwise the one that wrote
            each graph.
        resume: a Parquet file in which rows are saved as they complete. Cases in the file are not evaluated again, so
            an interrupted sweep can be continued.
        on_row: called with each row, a dict, as it completes; rows of `resume` come first.
        workers: maximal number of local processes; None: one per core; 1: only this process.
        visible_devices: as in `gpuplace.place`.
        **options: options of `gpuplace.place` (`tags`, `signature`, `function`, `clear_devices`, `soft_placement`), of
            `gpuplace.estimate` (`fetches`, `feeds`, `trip_counts`) or `gpuplace.advise` (`objective`, `seconds`,
            `seed`, `steps`, `keep`), the same for all cases.

    Returns:
        A DataFrame with a row for each case; `gpuplace.jupyter.frames.sweep_frames` describes its columns. Its
        ``attrs["cases"]`` is the number of cases, even if the sweep was interrupted.

    Raises:
        ImportError: the extra ``gpuplace[cluster]`` is not installed.
        NotFoundError: no file matches a pattern.
        DataLossError: the file of `resume` is not a sweep, or is damaged.
        FailedPreconditionError: it is a sweep with another `what`; workers of the cluster do not have this package.
        UnavailableError: the cluster has no workers, or the connection is lost.
        TypeError, ValueError: an argument has the wrong type or value.
        OSError: the file of `resume` cannot be read or written.
    """
    check_installed()
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ValueError(f"workers must be a number of processes, at least 1; got {workers!r}")
    query = query_of(what, options)
    named, placed_with = named_graphs(graphs), settings(machines, configs, releases, visible_devices)
    count = len(named) * len(placed_with)
    file = SweepFile(resume, what) if resume is not None else None
    keys = _keys(query.text, named, placed_with) if file is not None else [""] * count
    collector = _Collector(named, placed_with, file, on_row)
    was_interrupted = False
    try:
        collector.add_saved(keys)
        remaining = [number for number in range(count) if number not in collector.rows]
        rows = run(Work(query, named, placed_with, remaining), client, workers)
        for number, row in track(rows, len(remaining), _ACTIVITIES[what], " cases", least=_LEAST_TRACKED):
            collector.add(number, row, keys[number])
    except KeyboardInterrupt:
        was_interrupted = True
        collector.report()  # a row may have been saved but not reported
    finally:
        if file is not None:
            file.write()
    if was_interrupted:
        more = f"; resume={os.fspath(resume)!r} continues it" if resume is not None else ""
        warn(f"the sweep ended after {len(collector.rows):,} of {count:,} cases{more}", RuntimeWarning)
    sweep_frame = above("gpuplace.jupyter.frames.sweep_frames", "sweep_frame")
    frame: DataFrame = sweep_frame([collector.rows[number] for number in sorted(collector.rows)], what)
    frame.attrs["cases"] = count
    return frame


class _Collector:
    """Collects rows: saves each to the file, then passes it to the callback.

    Args:
        graphs: graphs of the sweep.
        placed_with: settings of the sweep.
        file: file of the sweep; None: rows are not saved.
        on_row: callback, or None.
    """

    def __init__(
        self,
        graphs: list[NamedGraph],
        placed_with: list[Setting],
        file: SweepFile | None,
        on_row: Callable[[Row], None] | None,
    ) -> None:
        self.rows: dict[int, Row] = {}
        """Rows by case number."""
        self._graphs, self._settings, self._file, self._on_row = graphs, placed_with, file, on_row
        self._unreported: list[Row] = []

    def add_saved(self, keys: list[str]) -> None:
        """Add the rows of the completed cases in the file.

        Args:
            keys: key of each case, ``""`` for none.
        """
        if self._file is None:
            return
        for number, key in enumerate(keys):
            if key and (row := self._file.done(key)) is not None:
                self.add(
                    number, {name: value for name, value in row.items() if name not in ("case", *CASE[:-1])}
                )

    def add(self, number: int, row: Row, key: str = "") -> None:
        """Add the row of a case.

        Args:
            number: number of the case.
            row: row without the names of the case.
            key: key in the file; ``""``: the row is not saved.
        """
        graph, setting_number = divmod(number, len(self._settings))
        setting = self._settings[setting_number]
        release = setting.release or DEFAULT_RELEASE
        names = (self._graphs[graph].name, setting.machine, setting.config_name, release)
        self.rows[number] = {"case": number, **dict(zip(CASE, names, strict=True)), **row}
        self._unreported.append(self.rows[number])
        if self._file is not None and key:  # before the callback, which may end the sweep
            self._file.add(key, self.rows[number])
        self.report()

    def report(self) -> None:
        """Pass the rows to the callback that have not been passed yet."""
        while self._unreported:
            row = self._unreported.pop()
            if self._on_row is not None:
                self._on_row(row)


def _keys(query: str, graphs: list[NamedGraph], placed_with: list[Setting]) -> list[str]:
    """Return the key of each case; ``""`` if the graph cannot be read: such cases are always evaluated again."""
    digests = [setting.digest for setting in placed_with]
    keys: list[str] = []
    for graph in graphs:
        try:
            digest = graph.sent().digest
        except OpError:
            keys += [""] * len(digests)
            continue
        keys += [key_of(query, digest, setting) for setting in digests]
    return keys
