"""What a sweep asks of each case, and the row that it gets: on a worker, or in this process.

The columns of each question are in `COLUMNS`. A case that fails has its error's class and text in its row, and nothing
in the columns that are not known.
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
from gpuplace.why.placement import Placement
from gpuplace.why.rules import RULES, Rule

Row = dict[str, Any]

CASE = ("graph", "machine", "config", "release")
"""The columns that say which case a row is of."""
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
"""What may be asked -> its columns and what they hold."""
OUTCOME = {"seconds": float, "error": str, "message": str}
"""The last columns: how long the case took, and the class and text of what went wrong."""

_PLACED = ("tags", "signature", "function", "whole_graph", "clear_devices", "soft_placement")
_STEP = (*_PLACED, "fetches", "feeds", "trip_counts")
OPTIONS = {
    "place": _PLACED,
    "estimate": _STEP,
    "advise": (*_STEP, "objective", "seconds", "seed", "keep", "steps"),
}
"""What may be asked -> the options that it takes: those of the function of that name."""
_SOFT = (Rule.SOFT_PLACEMENT, Rule.SOFT_RESOURCE, Rule.REQUESTS_DROPPED)
_KEPT = 2
"""Graphs that a worker keeps for the next batch."""
_SETTINGS_KEPT = 1000
"""Settings that a worker keeps."""


class Question(NamedTuple):
    """What is asked of every case."""

    what: str
    """``"place"``, ``"estimate"`` or ``"advise"``."""
    options: dict[str, Any]
    """Its options."""

    @property
    def text(self) -> str:
        """What tells it from other questions."""
        return repr((self.what, sorted((name, _told(value)) for name, value in self.options.items())))


def question_of(what: str, options: Mapping[str, Any]) -> Question:
    """What is asked, checked.

    Args:
        what: ``"place"``, ``"estimate"`` or ``"advise"``.
        options: of the function of that name; tensors may be given as names of them.

    Raises:
        ValueError: there is no such question.
        TypeError: it has no such option.
    """
    if what not in OPTIONS:
        raise ValueError(f"what is one of {', '.join(map(repr, OPTIONS))}; got {what!r}")
    unknown = [name for name in options if name not in OPTIONS[what]]
    if unknown:
        raise TypeError(
            f"sweep(what={what!r}) has no option {unknown[0]!r}: there are {', '.join(OPTIONS[what])}"
        )
    given = {name: value for name, value in options.items() if value is not None}
    if "fetches" in given:
        given["fetches"] = fetch_names(given["fetches"])
    if "feeds" in given:
        given["feeds"] = {feed_name(key): _fed(shape) for key, shape in single_feeds(given["feeds"]).items()}
    return Question(what, given)


def _fed(shape: Any) -> Any:
    return shape if isinstance(shape, np.ndarray) else fed_sizes(shape)


def _told(value: Any) -> Any:
    """A value as a text of its content."""
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, Mapping):
        return sorted((str(key), _told(one)) for key, one in value.items())
    return value


class Answers:
    """Answers cases; keeps the graphs of the last ones, so that cases of one graph read it once.

    Args:
        question: what is asked.
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self._graphs: OrderedDict[bytes, _Asked] = OrderedDict()

    def row(self, graph: SentGraph | OpError, key: bytes, setting: Setting) -> Row:
        """The row of a case, without its names.

        Args:
            graph: the graph, or why there is none.
            key: what tells the graph from others.
            setting: all but the graph.
        """
        row: Row = dict.fromkeys((*COLUMNS[self.question.what], *OUTCOME))
        begin = time.perf_counter()
        try:
            if isinstance(graph, OpError):
                raise graph
            asked = self._asked(graph, key)
            row["release"] = resolve(setting.release, asked.model.release)
            row.update(asked.answer(setting._replace(release=row["release"])))
        except Exception as error:  # whatever goes wrong in a case is what its row says
            raise_of_signal_handler(error)
            row["error"], row["message"] = type(error).__name__, str(error)
        row["seconds"] = time.perf_counter() - begin
        return row

    def _asked(self, graph: SentGraph, key: bytes) -> _Asked:
        found = self._graphs.get(key)
        if found is None:
            while len(self._graphs) >= _KEPT:
                self._graphs.popitem(last=False)
            found = self._graphs[key] = _Asked(self.question, graph)
        self._graphs.move_to_end(key)
        return found


class _Asked:
    """One graph of which several cases are asked."""

    def __init__(self, question: Question, graph: SentGraph) -> None:
        self.question, self.graph = question, graph
        self.model = graph.model()
        options = {**dict(graph.part), **question.options}
        self.part = {name: options.pop(name) for name in _PLACED[:-1] if name in options}
        self.soft = options.pop("soft_placement", None)
        self.fetches = options.pop("fetches", None) or ([graph.trains] if graph.trains else None)
        self.options = options
        self._placements: dict[Any, Placement] = {}
        self._steps: dict[Any, StepEstimate] = {}

    def answer(self, setting: Setting) -> Row:
        if isinstance(setting.devices, OpError):
            raise setting.devices
        config = None if setting.config is None else ConfigProto.FromString(setting.config)
        ask: Callable[[Setting, DeviceSet, Any], Row] = getattr(self, f"_{self.question.what}")
        return ask(setting, setting.devices, config)

    def _placed(self, setting: Setting, devices: DeviceSet, config: Any) -> Placement:
        """The graph placed as far as it can be; read only once for a release."""
        key = setting.release, inlines_all(config)
        known = self._placements.get(key)
        given, part = (self.model, self.part) if known is None else (known, {})
        placement = place(given, devices, config, setting.release, "keep", soft_placement=self.soft, **part)
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
        known = self._steps.get(key)
        if known is not None:
            step = known.what_if(devices, soft_placement=self.soft)
        else:
            placement = self._placed(setting, devices, config)
            if placement.errors:
                raise placement.errors[0]
            step = self._steps[key] = estimate(
                placement, self.fetches, config=config, release=setting.release, **self.options
            )
        found = grid_row(step, "", batch_of(fed_shapes(step.request.feeds)))._asdict()
        row = {name: found[name] for name in COLUMNS["estimate"] if name in found}
        row["rate"] = None if row["rate"] != row["rate"] else row["rate"]
        return {**row, "peak_memory": dict(step.peak_memory)}

    def _advise(self, setting: Setting, devices: DeviceSet, config: Any) -> Row:
        placement = self._placed(setting, devices, config)
        found = advise(
            placement,
            self.fetches,
            machine=devices,
            config=config,
            release=setting.release,
            **self.options,
        )
        if found.was_stopped:  # Ctrl-C, which a search takes for its end
            raise KeyboardInterrupt
        return {
            "before": found.before,
            "after": found.value,
            "bound": found.bound,
            "moves": len(found.moves),
            "fits": found.fits,
            "peak_memory": dict(found.estimate.peak_memory),
        }


_of_thread = threading.local()


class _Known(NamedTuple):
    """What a worker keeps from one batch to the next, so that a sweep's question and settings are read once."""

    question: bytes
    answers: Answers
    settings: dict[bytes, Setting]


def answer_batch(
    question: bytes, settings: int, batch: bytes, held: Sequence[int], *contents: SentGraph | OpError
) -> bytes:
    """The rows of some cases, in their order; what runs on a worker.

    All that is not content of the cluster travels as bytes, which dask neither searches for futures nor measures.

    Args:
        question: the question, as ``distributed.protocol.pickle`` has it.
        settings: how many settings the sweep has.
        batch: as bytes too: numbers of the cases; number of each setting -> it as bytes; number of each graph that
            came along -> the graph.
        held: numbers of those that the cluster holds.
        *contents: these graphs.
    """
    from distributed.protocol.pickle import dumps, loads

    known: _Known | None = getattr(_of_thread, "known", None)
    if known is None or known.question != question:
        known = _of_thread.known = _Known(question, Answers(loads(question)), {})
    numbers, sent, graphs = loads(batch)
    placed_with: dict[int, Setting] = {}
    for number, data in sent.items():
        if data not in known.settings:
            if len(known.settings) >= _SETTINGS_KEPT:
                known.settings.clear()
            known.settings[data] = loads(data)
        placed_with[number] = known.settings[data]
    graphs |= zip(held, contents, strict=True)
    keys = {number: graph.digest if isinstance(graph, SentGraph) else b"" for number, graph in graphs.items()}
    rows = []
    for case in numbers:
        graph, setting = divmod(case, settings)
        rows.append(known.answers.row(graphs[graph], keys[graph], placed_with[setting]))
    packed: bytes = dumps(rows)
    return packed
