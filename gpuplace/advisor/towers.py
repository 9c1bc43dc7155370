"""Towers: the device of their variables and averaged gradients, and the number of towers that is worthwhile.

A program with another number of towers is another graph, so the program is built again for each number; nothing is run.

>>> from gpuplace.ops.array.constant import placeholder
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.graph.convert import get_default_graph
>>> def build(count, home):
...     for number in range(count):
...         with get_default_graph().device(f"/gpu:{number}"):
...             rows = placeholder("float32", [4096, 4096], name=f"rows_{number}")
...             apply_op("MatMul", f"product_{number}", a=rows, b=rows)
>>> choices = tower_choices(build, machine="2x V100", examples=4096)
>>> [(row.towers, row.variables) for row in choices.rows][:2], round(choices.best.speedup)
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
"""Function from a variable's name to its device, where its gradients are averaged too."""
PLACES = ("CPU", "GPU:0", "spread")
"""Devices of variables: the CPU, the first GPU, or each variable on the next GPU in turn."""


class TowerRow(NamedTuple):
    """Prediction for a number of towers, with their variables in one place."""

    towers: int
    """Number of towers."""
    variables: str
    """One of `PLACES`."""
    step_time: float
    """Seconds per step."""
    speedup: float
    """Examples per second, relative to the best single tower."""
    rate: float
    """Examples per second; NaN if the examples per tower are unknown."""
    peak_memory: float | None
    """Peak bytes on the fullest device; None if unknown."""
    fits: bool | None
    """Whether the step fits on all GPUs; None if unknown."""


@dataclass(frozen=True, eq=False)
class TowerChoices:
    """Predictions by number of towers and place of variables, as `tower_choices` returns them."""

    rows: tuple[TowerRow, ...]
    """A row for each number of towers and place."""
    machine: str
    """The machine."""

    @property
    def best(self) -> TowerRow:
        """The row with the most examples per second among those that fit; among equal rows, the fewest towers.

        If none is known to fit, among those that may fit.
        """
        order = (False, None, True)
        return max(self.rows, key=lambda row: (order.index(row.fits), row.speedup * (1 - 1e-3 * row.towers)))

    def frame(self) -> DataFrame:
        """Return the rows as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.advice_frames` for the columns."""
        tower_frame = above("gpuplace.jupyter.frames.advice_frames", "tower_frame")

        return tower_frame(self)

    def svg(self, theme: str = "light", width: int = 720) -> str:
        """Return the chart: speedup over the number of towers, a line for each place.

        Args:
            theme: ``"light"`` or ``"dark"``.
            width: in pixels.

        Raises:
            ValueError: The theme is unknown.
        """
        tower_svg = above("gpuplace.views.timelines.tradeoff_plot", "tower_svg")

        return tower_svg(self, theme, width)

    @property
    def text(self) -> str:
        """Summary in one line."""
        best, most = self.best, max(row.towers for row in self.rows)
        text = (
            f"{best.towers} {'tower' if best.towers == 1 else 'towers'}, variables on {_place(best.variables)}: "
            f"{best.speedup:.2f} times as fast as one tower, {seconds_text(best.step_time)} per step."
        )
        return text if best.towers == most else f"{text} More towers are not worthwhile."

    def explain(self) -> str:
        """Return all rows as sentences."""
        lines = [self.text]
        for row in self.rows:
            fits = {True: "", False: "; it does not fit", None: "; it is unknown whether it fits"}[row.fits]
            size = "" if row.peak_memory is None else f", {size_text(row.peak_memory)} on the fullest device"
            lines.append(
                f"{row.towers} with variables on {_place(row.variables)}: {seconds_text(row.step_time)} per step, "
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
    """Predict a program with several numbers of towers, and its variables in several places.

    Args:
        build: function that builds the program in the default graph: ``build(count, home)`` builds ``count`` towers,
            puts each variable on ``home(name)``, and averages its gradients there.
        machine: as for `gpuplace.estimate`.
        towers: numbers of towers; None for 1, 2, 4 and so on, up to the number of GPUs.
        examples: number of examples per tower and step, for rates.
        fetches, config, cost_model: as for `gpuplace.estimate`.
        feeds: as for `gpuplace.estimate`, or a function of the number of towers.

    Returns:
        A `TowerChoices`.

    Raises:
        InvalidArgumentError: The machine has no GPU, a number of towers is not between 1 and its number of GPUs, or as
            for `gpuplace.estimate`.
    """
    target = current_machine() if machine is None else as_machine(machine)
    gpus = len(target.gpus)
    counts = list(towers) if towers is not None else [1 << power for power in range(gpus.bit_length())]
    if towers is None and counts and counts[-1] > gpus:
        counts.pop()
    if not gpus:
        raise InvalidArgumentError.of(f"Towers need GPUs: {target} has none", hint="machine='4x V100'")
    if not counts or any(not 1 <= count <= gpus for count in counts):
        raise InvalidArgumentError.of(
            f"each number in towers must be between 1 and {gpus}, the number of GPUs of {target}; got {towers!r}"
        )
    predictions = []
    for count in dict.fromkeys(counts):
        for place in PLACES[: 2 if count == 1 else 3]:
            with Graph().as_default() as graph:
                build(count, _home(place, count))
            fed = feeds(count) if callable(feeds) else feeds
            step = estimate(graph, fetches, fed, target, config, cost_model=cost_model)
            predictions.append((count, place, step))
    rates = [count / step.step_time if step.step_time else 0.0 for count, _, step in predictions]
    fewest = min(count for count, *_ in predictions)
    base_rates = [rate for rate, (count, *_) in zip(rates, predictions, strict=True) if count == fewest]
    single_tower_rate = max(base_rates) / fewest or 1.0
    rows = tuple(
        TowerRow(
            count,
            place,
            step.step_time,
            rate / single_tower_rate,
            math.nan if examples is None else examples * rate,
            fullest(step.peak_memory),
            step.memory.fits,
        )
        for rate, (count, place, step) in zip(rates, predictions, strict=True)
    )
    return TowerChoices(rows, str(target))


def _home(place: str, count: int) -> Home:
    """Return the device of each variable; the same name gets the same device in every tower."""
    if place == "CPU":
        return lambda name: "/cpu:0"
    if place == "GPU:0":
        return lambda name: "/gpu:0"
    device_of: dict[str, str] = {}
    return lambda name: device_of.setdefault(name, f"/gpu:{len(device_of) % count}")
