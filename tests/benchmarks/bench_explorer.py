"""How long the explorer's kernel works on a large graph, and what is shown of its placement.

    python -m tests.benchmarks.bench_explorer [--nodes N ...] [--rounds N] [--graph]

A training graph of four towers, on four GPUs and, to compare, on two. Median seconds:

- compare: which nodes move, each with its cause, grouped (`explorer.compare(...)` before anything is drawn);
- sort: the table by name for the first time; search: the table by a regular expression;
- repr: what a notebook shows of the placement, HTML and text, without its picture's layout;
- load: `gpuplace.explore` of the graph's file until there is a widget; with `--graph` also of a `Graph`.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpuplace
from gpuplace.device.machine import Machine
from gpuplace.graphdef.load import load_placement_graph
from gpuplace.jupyter.explorer import row_sources
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.views.tables.moves import moves_between
from gpuplace.views.tables.placement_view import view_of
from gpuplace.why.place import place_again
from tests.benchmarks.bench_drawing import forget
from tests.support.node_specs import graph_def
from tests.support.training_graph import training_graph


def median(act: Callable[[], Any], rounds: int) -> float:
    """Median seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def towers(nodes: int) -> gpuplace.Graph:
    """A `Graph` of about so many nodes: variables, products and sums in layers on four towers."""
    graph = gpuplace.Graph()
    with graph.as_default():
        ends = [gpuplace.ones([8, 8], name="x")] * 4
        layer = 0
        while len(graph.get_operations()) < nodes:
            tower = layer % 4
            with gpuplace.name_scope(f"tower_{tower}/layer_{layer}/"), gpuplace.device(f"/gpu:{tower}"):
                for _ in range(4):
                    weights = gpuplace.Variable(gpuplace.ones([8, 8]), name="w")
                    ends[tower] = gpuplace.nn.relu(gpuplace.matmul(ends[tower], weights) + 1.0)
            layer += 1
    return graph


def measure(nodes: int, rounds: int, *, with_graph: bool) -> dict[str, float]:
    data = graph_def(training_graph(nodes))
    catalogue = default_catalogue("1.15")
    placer = Placer(load_placement_graph(data, catalogue, "1.15"), catalogue, rules="1.15")

    def placed(machine: str) -> Any:
        return place_again(placer, Machine.parse(machine).device_set(environ={}), soft=True)

    def compare() -> None:
        moves = moves_between(placed("4x Tesla K20m"), placed("2x Tesla K20m"))
        moves.by_cause()

    placing = median(lambda: (placed("4x Tesla K20m"), placed("2x Tesla K20m")), rounds)
    found = {"compare": median(compare, rounds) - placing}

    def sort() -> None:
        row_sources._RANKS.clear()
        row_sources.NodeRows(view_of(placement)).arrange(column=0)

    placement = placed("4x Tesla K20m")
    found["sort"] = median(sort, rounds)
    found["search"] = median(
        lambda: row_sources.NodeRows(view_of(placement)).arrange(pattern="layer_9.*MatMul"), rounds
    )

    def show() -> None:
        forget()
        placed("4x Tesla K20m")._repr_mimebundle_()

    found["repr"] = median(show, rounds) - placing / 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.pb")
        path.write_bytes(data)

        def explore(source: Any) -> None:
            forget()
            gpuplace.explore(source, machine="4x Tesla K20m")

        found["place"] = median(
            lambda: gpuplace.place(path, machine="4x Tesla K20m", on_error="keep"), rounds
        )
        found["load"] = median(lambda: explore(path), rounds)
        if with_graph:
            graph = towers(nodes)
            found["graph"] = median(lambda: explore(graph), rounds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--graph", action="store_true", help="also explore a Graph")
    arguments = parser.parse_args()
    for nodes in arguments.nodes:
        found = measure(nodes, arguments.rounds, with_graph=arguments.graph)
        print(f"{nodes:>9,} nodes  " + "  ".join(f"{name} {seconds:.3f}" for name, seconds in found.items()))


if __name__ == "__main__":
    main()
