"""Towers: where their variables live and their gradients are averaged, and how many of them pay.

A program with towers is another graph for every number of them, so it is built anew for each; nothing is run.

>>> from gpuplace.ops.array.constant import placeholder
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.graph.convert import get_default_graph
>>> def build(count, home):
...     for number in range(count):
...         with get_default_graph().device(f"/gpu:{number}"):
...             rows = placeholder("float32", [4096, 4096], name=f"rows_{number}")
...             apply_op("MatMul", f"product_{number}", a=rows, b=rows)
>>> found = tower_choices(build, machine="2x V100", examples=4096)
>>> [(row.towers, row.variables) for row in found.rows][:2], round(found.best.speedup)
([(1, 'CPU'), (1, 'GPU:0')], 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import estimate
from gpuplace.cost.memory.step_memory import fullest
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.device.machine import Machine, as_machine
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.runtime.memory.process_state import current_machine
from gpuplace.typing import ConfigLike, DataFrame

Home = Callable[[str], str]
"""Name of a variable -> the device that it is to live on, and where its gradients are averaged."""
PLACES = ("CPU", "GPU:0", "spread")
"""Where variables may live: on the CPU, on the first GPU, or each on the next GPU in turn."""


class TowerRow(NamedTuple):
    """A number of towers with their variables in one place."""

    towers: int
    """How many."""
    variables: str
    """One of `PLACES`."""
    step_time: float
    """Seconds of a step."""
    speedup: float
    """Examples a second, as a multiple of what the best single tower does."""
    rate: float
    """Examples a second; NaN where nobody said how many a tower takes."""
    peak_memory: float | None
    """Bytes at the peak of the fullest device; None where that is not known."""
    fits: bool | None
    """Whether all GPUs have room for it; None where that is not known."""


@dataclass(frozen=True, eq=False)
class TowerChoices:
    """Towers by their number and by where variables live; `tower_choices` makes it."""

    rows: tuple[TowerRow, ...]
    """A row a number of towers and a place."""
    machine: str
    """The machine."""

    @property
    def best(self) -> TowerRow:
        """The row with most examples a second, of those that fit; the fewest towers of equal ones.

        Where none is known to fit, of those that may.
        """
        order = (False, None, True)
        return max(self.rows, key=lambda row: (order.index(row.fits), row.speedup * (1 - 1e-3 * row.towers)))

    def frame(self) -> DataFrame:
        """The rows as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.advice_frames` for the columns."""
        tower_frame = above("gpuplace.jupyter.frames.advice_frames", "tower_frame")

        return tower_frame(self)

    def svg(self, theme: str = "light", width: int = 720) -> str:
        """The picture: towers to the right, how many times as fast upwards, a line for each place.

        Args:
            theme: ``"light"`` or ``"dark"``.
            width: in pixels.

        Raises:
            ValueError: an unknown theme.
        """
        tower_svg = above("gpuplace.views.timelines.tradeoff_plot", "tower_svg")

        return tower_svg(self, theme, width)

    @property
    def text(self) -> str:
        """The answer in a line."""
        best, most = self.best, max(row.towers for row in self.rows)
        told = (
            f"{best.towers} {'tower' if best.towers == 1 else 'towers'}, variables on {_place(best.variables)}: "
            f"{best.speedup:.2f} times as fast as one tower, {seconds_text(best.step_time)} a step."
        )
        return told if best.towers == most else f"{told} More towers do not pay."

    def explain(self) -> str:
        """All rows in sentences."""
        lines = [self.text]
        for row in self.rows:
            fits = {True: "", False: "; it does not fit", None: "; it is not known whether it fits"}[row.fits]
            size = "" if row.peak_memory is None else f", {size_text(row.peak_memory)} on the fullest device"
            lines.append(
                f"{row.towers} with variables on {_place(row.variables)}: {seconds_text(row.step_time)} a step, "
                f"{row.speedup:.2f} times as fast{size}{fits}."
            )
        return "\n".join(lines)

    @with_safe_text
    def __repr__(self) -> str:
        return f"<TowerChoices on {self.machine}: {self.text}>"

    @with_safe_text
    def __str__(self) -> str:
        return self.explain()

    _repr_mimebundle_ = notebook_view


def _place(name: str) -> str:
    return "all GPUs in turn" if name == "spread" else name


def tower_choices(
    build: Callable[[int, Home], Any],
    machine: Machine | str | None = None,
    towers: Sequence[int] | None = None,
    *,
    examples: float | None = None,
    fetches: Any = None,
    feeds: Mapping[Any, Any] | Callable[[int], Mapping[Any, Any]] | None = None,
    config: ConfigLike | None = None,
    cost_model: CostModel | None = None,
) -> TowerChoices:
    """Predicts a program with towers for several numbers of them, and its variables in several places.

    Args:
        build: builds the program in the default graph: ``build(count, home)`` makes ``count`` towers, each variable on
            ``home(name)``, and averages its gradients there.
        machine: as of `gpuplace.estimate`.
        towers: how many; 1, 2, 4 and so on, up to the machine's GPUs, if None.
        examples: how many examples one tower takes in a step, for rates.
        fetches, config, cost_model: as of `gpuplace.estimate`.
        feeds: the same; or a function of the number of towers.

    Returns:
        A `TowerChoices`.

    Raises:
        InvalidArgumentError: the machine has no GPU, a number of towers is none of 1 up to its GPUs, or as of
            `gpuplace.estimate`.
    """
    known = current_machine() if machine is None else as_machine(machine)
    gpus = len(known.gpus)
    counts = list(towers) if towers is not None else [1 << power for power in range(gpus.bit_length())]
    if towers is None and counts and counts[-1] > gpus:
        counts.pop()
    if not gpus:
        raise InvalidArgumentError.of(f"Towers need GPUs: {known} has none", hint="machine='4x V100'")
    if not counts or any(not 1 <= count <= gpus for count in counts):
        raise InvalidArgumentError.of(
            f"towers is {towers!r}; each is one of 1 to {gpus}, the GPUs of {known}"
        )
    found = []
    for count in dict.fromkeys(counts):
        for place in PLACES[: 2 if count == 1 else 3]:
            with Graph().as_default() as graph:
                build(count, _home(place, count))
            fed = feeds(count) if callable(feeds) else feeds
            step = estimate(graph, fetches, fed, known, config, cost_model=cost_model)
            found.append((count, place, step))
    rates = [count / step.step_time if step.step_time else 0.0 for count, _, step in found]
    fewest = min(count for count, *_ in found)
    one = max(rate for rate, (count, *_) in zip(rates, found, strict=True) if count == fewest) / fewest or 1.0
    rows = tuple(
        TowerRow(
            count,
            place,
            step.step_time,
            rate / one,
            math.nan if examples is None else examples * rate,
            fullest(step.peak_memory),
            step.memory.fits,
        )
        for rate, (count, place, step) in zip(rates, found, strict=True)
    )
    return TowerChoices(rows, str(known))


def _home(place: str, count: int) -> Home:
    """Where variables live: the same name gets the same device in every tower."""
    if place == "CPU":
        return lambda name: "/cpu:0"
    if place == "GPU:0":
        return lambda name: "/gpu:0"
    known: dict[str, str] = {}
    return lambda name: known.setdefault(name, f"/gpu:{len(known) % count}")
