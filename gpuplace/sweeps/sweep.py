"""`gpuplace.sweep`: what becomes of many graphs on many machines with many configs? A row for each case.

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
from gpuplace.sweeps.answers import CASE, Row, question_of
from gpuplace.sweeps.cases import Setting, key_of, settings
from gpuplace.sweeps.graphs import NamedGraph, named_graphs
from gpuplace.sweeps.running import Work, check_installed, run
from gpuplace.sweeps.saved import Saved
from gpuplace.typing import DataFrame

__all__ = ["sweep"]

_DOING = {"place": "placing", "estimate": "estimating", "advise": "advising"}
_BARRED = 3
"""Cases from which on there is a bar, if they take over a second."""


def sweep(
    graphs: Any,
    machines: Any = None,
    configs: Any = None,
    what: str = "place",
    client: Any = None,
    *,
    releases: str | Iterable[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    on_row: Callable[[Row], None] | None = None,
    workers: int | None = None,
    visible_devices: Any = None,
    **options: Any,
) -> DataFrame:
    """Places, estimates or advises every graph on every machine with every config, on all cores; a row for each case.

    A case that fails has its error in its row. Ctrl-C ends the sweep and gives the rows that are done. The order of the
    rows is that of the graphs, then the machines, configs and releases, whichever came first.

    Args:
        graphs: what `gpuplace.place` takes, glob patterns of paths, several of them, or a dict of names to such.
        machines: `Machine` objects or their texts, one or several, or a dict of names to such; None: the process's.
        configs: ``ConfigProto`` messages or dicts of their fields, one or several, or a dict of names to such.
        what: ``"place"``: how many nodes go where; ``"estimate"``: what a step costs; ``"advise"``: how much better it
            can be placed.
        client: a ``distributed.Client`` or the address of a dask scheduler; None: this process, and processes of this
            machine if there is more to do than they take to start.
        releases: as which TensorFlow, one or several; None: the process's, otherwise the one that wrote each graph.
        resume: a Parquet file that rows are saved in as they come. What it holds is not asked again, so that a sweep
            that was ended goes on.
        on_row: called with each row, a dict, when it is there; those of `resume` come first.
        workers: how many processes of this machine; None: one for each core; 1: this process alone.
        visible_devices: as of `gpuplace.place`.
        **options: of `gpuplace.place` (`tags`, `signature`, `function`, `clear_devices`, `soft_placement`), of
            `gpuplace.estimate` (`fetches`, `feeds`, `trip_counts`) or `gpuplace.advise` (`objective`, `seconds`,
            `seed`, `steps`, `keep`), the same for all cases.

    Returns:
        A DataFrame, a row for each case; see ``gpuplace.jupyter.frames.sweep_frames`` for its columns. Its
        ``attrs["cases"]`` says how many cases there are, of which a sweep that was ended has only some.

    Raises:
        ImportError: the extra ``gpuplace[cluster]`` is not installed.
        NotFoundError: no file matches a pattern.
        DataLossError: the file of `resume` is no sweep, or is damaged.
        FailedPreconditionError: it is one that asked something else; workers of the cluster do not have this package.
        UnavailableError: the cluster has no workers, or is lost.
        TypeError, ValueError: an argument is nothing of the kind.
        OSError: the file of `resume` cannot be read or written.
    """
    check_installed()
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ValueError(f"workers is a number of processes from 1 on; got {workers!r}")
    question = question_of(what, options)
    wanted = named_graphs(graphs)
    placed_with = settings(machines, configs, releases, visible_devices)
    count = len(wanted) * len(placed_with)
    saved = Saved(resume, what) if resume is not None else None
    keys = _keys(question.text, wanted, placed_with) if saved is not None else []
    rows: dict[int, Row] = {}
    untold: list[Row] = []

    def take(number: int, row: Row, key: str = "") -> None:
        graph, setting = divmod(number, len(placed_with))
        at = placed_with[setting]
        names = (wanted[graph].name, at.machine, at.config_name, at.release or DEFAULT_RELEASE)
        rows[number] = {"case": number, **dict(zip(CASE, names, strict=True)), **row}
        untold.append(rows[number])
        if saved is not None and key:  # before it is told: who stops the sweep then finds it in the file
            saved.add(key, rows[number])
        tell()

    def tell() -> None:
        while untold:
            found = untold.pop()
            if on_row is not None:
                on_row(found)

    is_whole = True
    try:
        for number, key in enumerate(keys):
            if saved is not None and key and (row := saved.done(key)) is not None:
                take(number, {name: value for name, value in row.items() if name not in ("case", *CASE[:-1])})
        left = [number for number in range(count) if number not in rows]
        work = Work(question, wanted, placed_with, left)
        for number, row in track(
            run(work, client, workers), len(left), _DOING[what], " cases", least=_BARRED
        ):
            take(number, row, keys[number] if saved is not None else "")
    except KeyboardInterrupt:
        is_whole = False
        tell()  # of a case that was kept just then
    finally:
        if saved is not None:
            saved.write()
    if not is_whole:
        more = f"; resume={os.fspath(resume)!r} goes on" if resume is not None else ""
        warn(f"the sweep was ended after {len(rows):,} of {count:,} cases{more}", RuntimeWarning)
    sweep_frame = above("gpuplace.jupyter.frames.sweep_frames", "sweep_frame")
    frame: DataFrame = sweep_frame([rows[number] for number in sorted(rows)], what)
    frame.attrs["cases"] = count
    return frame


def _keys(question: str, graphs: list[NamedGraph], placed_with: list[Setting]) -> list[str]:
    """The key of every case; ``""`` where the graph cannot be read, which is tried again every time."""
    digests = [setting.digest for setting in placed_with]
    found: list[str] = []
    for graph in graphs:
        try:
            digest = graph.sent().digest
        except OpError:
            found += [""] * len(digests)
            continue
        found += [key_of(question, digest, setting) for setting in digests]
    return found
