"""How long pictures of large graphs take in Python and Graphviz, from a placement to SVG.

    python -m tests.benchmarks.bench_drawing [--nodes N ...] [--rounds N]

A training graph of four towers. "first" is the first picture, with name scopes read and boxes laid out; "switch"
another placement of the same graph, as after a flipped switch, whose boxes stay where they are; "unfold" opens a tower
of many layers, which is laid out anew. The others are colourings and marks of one placement. The aims are 0.15 s for
the first picture at 10,000 nodes, 2 s at 100,000, and much less for what is drawn again. Median seconds.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from gpuplace.device.machine import Machine
from gpuplace.jupyter import render
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.views.tables import scopes
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement
from tests.support.node_specs import placement_graph
from tests.support.training_graph import training_graph

MACHINES = ("4x Tesla K20m", "2x Tesla K20m")


def forget() -> None:
    """Lays out and reads names anew."""
    render.layout.cache_clear()
    scopes._TREES.clear()


def median(make: Callable[[], Any], draw: Callable[[Any], Any], rounds: int) -> float:
    """Median seconds of `draw` on what `make` gives; making it does not count."""
    times = []
    for _ in range(rounds):
        given = make()
        start = time.perf_counter()
        draw(given)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(nodes: int, rounds: int) -> dict[str, float]:
    catalogue = default_catalogue("1.15")
    placer = Placer(placement_graph(training_graph(nodes), catalogue), catalogue, rules="1.15")

    def placed(machine: str = MACHINES[0]) -> Placement:
        return place_again(placer, Machine.parse(machine).device_set(environ={}), soft=True)

    def anew() -> Placement:
        forget()
        placement = placed()
        placement.graph.__dict__.pop("_tensor_facts", None)
        return placement

    found = {"first": median(anew, lambda placement: placement.picture().svg, rounds)}
    found["switch"] = median(lambda: placed(MACHINES[1]), lambda placement: placement.picture().svg, rounds)
    opened = ["tower_0", *(f"tower_0/layer_{4 * number}" for number in range(4 if nodes > 500 else 1))]
    found["unfold"] = median(
        lambda: render.layout.cache_clear() or placed(), lambda p: p.picture(open=opened).svg, rounds
    )
    for name in ("type", "group", "memory", "cause"):
        found[name] = median(placed, lambda placement, name=name: placement.picture(colour=name).svg, rounds)
    found["path"] = median(placed, lambda placement: placement.picture(critical_path=True).svg, rounds)
    found["find"] = median(placed, lambda placement: placement.picture(find="layer_9/MatMul").svg, rounds)
    earlier = placed()
    found["moved"] = median(
        lambda: placed(MACHINES[1]), lambda placement: placement.picture(against=earlier).svg, rounds
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    measure(100, 1)  # what Python loads once
    for nodes in arguments.nodes:
        found = measure(nodes, arguments.rounds)
        print(f"{nodes:>8} nodes  " + "  ".join(f"{name} {seconds:.3f}" for name, seconds in found.items()))


if __name__ == "__main__":
    main()
