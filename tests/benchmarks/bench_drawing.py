"""How long it takes to decide what a picture of a large graph shows, and to lay it out.

    python -m tests.benchmarks.bench_drawing [--layers N ...] [--rounds N]

A training graph of four towers, folded by name scope: about 80 nodes a layer. The aims are 0.3 s from a switch to the
repainted page at 10,000 nodes, and a first picture within 1.5 s at 10,000 and 4 s at 100,000; drawing and layout are
the share of that which Python and Graphviz have.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

from gpuplace.jupyter.render import render_svg
from gpuplace.report.dot import dot_text
from gpuplace.report.drawing import draw
from tests.report.views import training


def median_seconds(function: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, nargs="+", default=[125, 1250])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'nodes':>8}  {'boxes':>5}  {'draw':>8}  {'again':>8}  {'layout':>8}   (median seconds)")
    for layers in arguments.layers:
        view = training(towers=4, layers=layers)
        drawing = draw(view)
        first = median_seconds(lambda view=view: draw(view), arguments.rounds)
        again = median_seconds(lambda view=view, opened=drawing.opened: draw(view, opened), arguments.rounds)
        text = dot_text(drawing)
        numbers = itertools.count()  # a new text each time: pictures are remembered
        layout = median_seconds(
            lambda text=text, numbers=numbers: render_svg(f"// {next(numbers)}\n{text}"), arguments.rounds
        )
        print(f"{len(view):>8}  {len(drawing.boxes):>5}  {first:8.3f}  {again:8.3f}  {layout:8.3f}")


if __name__ == "__main__":
    main()
