"""Evaluation of the cases of a sweep, on a worker or in this process.

The columns of each query are in `COLUMNS`. The row of a failed case contains the class and text of its error, and None
in the unknown columns.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.advisor.steps.advise import advise
from gpuplace.callers import raise_of_signal_handler
from gpuplace.cost.batches import batch_of
from gpuplace.cost.estimate import estimate
from gpuplace.cost.grid import fed_shapes, grid_row
from gpuplace.cost.shapes.feeds import fed_sizes
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.device.device_set import DeviceSet
from gpuplace.errors import OpError
from gpuplace.graphdef.messages import ConfigProto
from gpuplace.model.subject.step_part import single_feeds
from gpuplace.model.subject.subject import feed_name, fetch_names
from gpuplace.release import resolve
from gpuplace.runtime.session.place import inlines_all, place
from gpuplace.sweeps.cases import Setting
from gpuplace.sweeps.graphs import SentGraph
from gpuplace.typing import ShapeLike
from gpuplace.why.placement import Placement
from gpuplace.why.rules import RULES, Rule

Row = dict[str, Any]

CASE = ("graph", "machine", "config", "release")
"""Columns that identify the case of a row."""
COLUMNS: Mapping[str, Mapping[str, type]] = {
    "place": {
        "nodes": int,
        "on_gpu": int,
        "devices": dict,
        "soft_placed": int,
        "warnings": int,
        "errors": int,
    },
    "estimate": {
        "step_time": float,
        "batch": int,
        "rate": float,
        "peak": int,
        "peak_memory": dict,
        "fits": bool,
        "busy": float,
        "copied": float,
        "guessed": float,
    },
    "advise": {
        "before": float,
        "after": float,
        "bound": float,
        "moves": int,
        "fits": bool,
        "peak_memory": dict,
    },
}
"""Columns and their types, by kind of query."""
OUTCOME = {"seconds": float, "error": str, "message": str}
"""Last columns: duration of the evaluation, and class and text of the error."""

_PLACED = ("tags", "signature", "function", "whole_graph", "clear_devices", "soft_placement")
_STEP = (*_PLACED, "fetches", "feeds", "trip_counts")
OPTIONS = {
    "place": _PLACED,
    "estimate": _STEP,
    "advise": (*_STEP, "objective", "seconds", "seed", "keep", "steps"),
}
"""Options by kind of query: those of the function of the same name."""
_SOFT = (Rule.SOFT_PLACEMENT, Rule.SOFT_RESOURCE, Rule.REQUESTS_DROPPED)
_GRAPHS_KEPT = 2
"""Maximal number of graphs that a worker caches."""
_SETTINGS_KEPT = 1000
"""Maximal number of settings that a worker caches."""


class Query(NamedTuple):
    """Quantity to compute for each case."""

    what: str
    """``"place"``, ``"estimate"`` or ``"advise"``."""
    options: dict[str, Any]
    """Options of the function of that name."""

    @property
    def text(self) -> str:
        """Text that identifies the query."""
        return repr((self.what, sorted((name, _content_of(value)) for name, value in self.options.items())))


def query_of(what: str, options: Mapping[str, Any]) -> Query:
    """Return a validated query.

    Args:
        what: ``"place"``, ``"estimate"`` or ``"advise"``.
        options: options of the function of that name; tensors may be given by name.

    Raises:
        ValueError: `what` is none of these.
        TypeError: there is no such option.
    """
    if what not in OPTIONS:
        raise ValueError(f"what must be one of {', '.join(map(repr, OPTIONS))}; got {what!r}")
    unknown = [name for name in options if name not in OPTIONS[what]]
    if unknown:
        raise TypeError(
            f"sweep(what={what!r}) has no option {unknown[0]!r}: choose from {', '.join(OPTIONS[what])}"
        )
    used = {name: value for name, value in options.items() if value is not None}
    if "fetches" in used:
        used["fetches"] = fetch_names(used["fetches"])
    if "feeds" in used:
        used["feeds"] = {feed_name(key): _fed(shape) for key, shape in single_feeds(used["feeds"]).items()}
    return Query(what, used)


def _fed(shape: ShapeLike) -> Any:
    return shape if isinstance(shape, np.ndarray) else fed_sizes(shape)


def _content_of(value: object) -> Any:
    """Return a printable key of a value's content."""
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, Mapping):
        return sorted((str(key), _content_of(item)) for key, item in value.items())
    return value


class CaseEvaluator:
    """Evaluates cases and caches the last graphs, so that each graph is read once for all its cases.

    Args:
        query: the query.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self._graphs: OrderedDict[bytes, _GraphEvaluator] = OrderedDict()

    def row(self, graph: SentGraph | OpError, key: bytes, setting: Setting) -> Row:
        """Evaluate a case and return its row without the columns `CASE`.

        Args:
            graph: the graph, or the error with which it could not be read.
            key: key that identifies the graph.
            setting: machine, config and release.
        """
        row: Row = dict.fromkeys((*COLUMNS[self.query.what], *OUTCOME))
        begin = time.perf_counter()
        try:
            if isinstance(graph, OpError):
                raise graph
            evaluator = self._evaluator_of(graph, key)
            row["release"] = resolve(setting.release, evaluator.model.release)
            row.update(evaluator.evaluate(setting._replace(release=row["release"])))
        except Exception as error:  # any failure of a case is reported in its row
            raise_of_signal_handler(error)
            row["error"], row["message"] = type(error).__name__, str(error)
        row["seconds"] = time.perf_counter() - begin
        return row

    def _evaluator_of(self, graph: SentGraph, key: bytes) -> _GraphEvaluator:
        evaluator = self._graphs.get(key)
        if evaluator is None:
            while len(self._graphs) >= _GRAPHS_KEPT:
                self._graphs.popitem(last=False)
            evaluator = self._graphs[key] = _GraphEvaluator(self.query, graph)
        self._graphs.move_to_end(key)
        return evaluator


class _GraphEvaluator:
    """Evaluates the cases of one graph."""

    def __init__(self, query: Query, graph: SentGraph) -> None:
        self.query, self.graph = query, graph
        self.model = graph.model()
        options = {**dict(graph.part), **query.options}
        self.part = {name: options.pop(name) for name in _PLACED[:-1] if name in options}
        self.soft = options.pop("soft_placement", None)
        self.fetches = options.pop("fetches", None) or ([graph.trains] if graph.trains else None)
        self.options = options
        self._placements: dict[Any, Placement] = {}
        self._steps: dict[Any, StepEstimate] = {}

    def evaluate(self, setting: Setting) -> Row:
        if isinstance(setting.devices, OpError):
            raise setting.devices
        config = None if setting.config is None else ConfigProto.FromString(setting.config)
        compute: Callable[[Setting, DeviceSet, Any], Row] = getattr(self, f"_{self.query.what}")
        return compute(setting, setting.devices, config)

    def _placed(self, setting: Setting, devices: DeviceSet, config: Any) -> Placement:
        """Place as much of the graph as possible; it is read once per release."""
        key = setting.release, inlines_all(config)
        cached = self._placements.get(key)
        source, part = (self.model, self.part) if cached is None else (cached, {})
        placement = place(source, devices, config, setting.release, "keep", soft_placement=self.soft, **part)
        self._placements.setdefault(key, placement)
        return placement

    def _place(self, setting: Setting, devices: DeviceSet, config: Any) -> Row:
        placement = self._placed(setting, devices, config)
        counts = placement.counts()
        rules = np.bincount(placement.verdicts.rule, minlength=len(RULES)).tolist()
        row: Row = {
            "nodes": len(placement.graph),
            "on_gpu": sum(
                count for label, count in counts.items() if "GPU:" in label and "XLA_" not in label
            ),
            "devices": counts,
            "soft_placed": sum(rules[RULES.index(rule)] for rule in _SOFT),
            "warnings": rules[RULES.index(Rule.YIELDS_TO_SOURCE)],
            "errors": len(placement.faults),
        }
        if placement.faults:
            row["error"], row["message"] = type(placement.errors[0]).__name__, str(placement.errors[0])
        return row

    def _estimate(self, setting: Setting, devices: DeviceSet, config: Any) -> Row:
        key = setting.release, setting.config
        cached = self._steps.get(key)
        if cached is not None:
            step = cached.what_if(devices, soft_placement=self.soft)
        else:
            placement = self._placed(setting, devices, config)
            if placement.errors:
                raise placement.errors[0]
            step = self._steps[key] = estimate(
                placement, self.fetches, config=config, release=setting.release, **self.options
            )
        columns = grid_row(step, "", batch_of(fed_shapes(step.request.feeds)))._asdict()
        row = {name: columns[name] for name in COLUMNS["estimate"] if name in columns}
        row["rate"] = None if row["rate"] != row["rate"] else row["rate"]
        return {**row, "peak_memory": dict(step.peak_memory)}

    def _advise(self, setting: Setting, devices: DeviceSet, config: Any) -> Row:
        placement = self._placed(setting, devices, config)
        advice = advise(
            placement,
            self.fetches,
            machine=devices,
            config=config,
            release=setting.release,
            **self.options,
        )
        if advice.was_stopped:  # a search ends on Ctrl-C without an error
            raise KeyboardInterrupt
        return {
            "before": advice.before,
            "after": advice.value,
            "bound": advice.bound,
            "moves": len(advice.moves),
            "fits": advice.fits,
            "peak_memory": dict(advice.estimate.peak_memory),
        }


_of_thread = threading.local()


class _WorkerState(NamedTuple):
    """State that a worker keeps between batches, so that the query and settings are read once."""

    query: bytes
    evaluator: CaseEvaluator
    settings: dict[bytes, Setting]


def evaluate_batch(
    query: bytes, settings: int, batch: bytes, held: Sequence[int], *contents: SentGraph | OpError
) -> bytes:
    """Evaluate some cases on a worker and return their rows, pickled and in order.

    All data other than scattered graphs is passed as bytes, which dask neither searches for futures nor measures.

    Args:
        query: the query, pickled by ``distributed.protocol.pickle``.
        settings: number of settings of the sweep.
        batch: pickled tuple of the case numbers, the pickled settings by number, and the graphs sent along by number.
        held: numbers of the scattered graphs.
        *contents: the scattered graphs.
    """
    from distributed.protocol.pickle import dumps, loads

    state: _WorkerState | None = getattr(_of_thread, "known", None)
    if state is None or state.query != query:
        state = _of_thread.known = _WorkerState(query, CaseEvaluator(loads(query)), {})
    numbers, sent, graphs = loads(batch)
    placed_with: dict[int, Setting] = {}
    for number, data in sent.items():
        if data not in state.settings:
            if len(state.settings) >= _SETTINGS_KEPT:
                state.settings.clear()
            state.settings[data] = loads(data)
        placed_with[number] = state.settings[data]
    graphs |= zip(held, contents, strict=True)
    keys = {number: graph.digest if isinstance(graph, SentGraph) else b"" for number, graph in graphs.items()}
    rows = []
    for case in numbers:
        graph, setting = divmod(case, settings)
        rows.append(state.evaluator.row(graphs[graph], keys[graph], placed_with[setting]))
    packed: bytes = dumps(rows)
    return packed
