"""Time per node of the placer, beside TensorFlow 2.21's C++ placer where that is installed.

    python -m tests.benchmarks.bench_placer [--nodes 1000 10000 100000 1000000] [--gpus 0 4 64] [--oracle] [--memory]

The graph is a training graph: layers of reference variables with initialisers, reads, products, gradients and updates,
spread over towers; about a third of the nodes have a `_class` or a reference edge. Times are the fastest of several
runs. `read` is the time from the bytes of the GraphDef to the placer's arrays, which the others leave out. `--oracle`
needs tensorflow==2.21.0 and g++.

`--memory` measures instead, each in a process of its own, by how much the resident memory rises from before the bytes
of the GraphDef are read until the graph is placed, at its highest.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.graphdef.load import load_placement_graph
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer
from gpuplace.why.place import place_again, place_graph
from tests.support.node_specs import graph_def, placement_graph
from tests.support.training_graph import local_devices, training_graph


def best(function: Callable[[], object], repeat: int) -> float:
    """Fastest of some runs, in seconds; the collector of cycles waits, or it would walk over the benchmark's graph."""
    times = []
    gc.collect()
    gc.disable()
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    gc.enable()
    return min(times)


def place_bytes(data: bytes, gpus: int) -> None:
    """Reads and places a GraphDef here."""
    catalogue = default_catalogue("2.21")
    devices = DeviceSet([DeviceAttributes(name) for name in local_devices(gpus)])
    place_graph(load_placement_graph(data, catalogue, "2.21"), devices, catalogue, soft=True, rules="2.21")


def place_bytes_there(data: bytes, gpus: int) -> None:
    """The same in TensorFlow's C++."""
    from tests.oracle.tensorflow_placer import seconds

    seconds(data, local_devices(gpus), soft=True, repeat=1)


def highest_memory() -> int:
    """Peak of the resident memory of this process, in KiB; `getrusage` would count that of its parent as well."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def peak_of(
    function: Callable[[bytes, int], None], path: str, gpus: int, answer: multiprocessing.Queue
) -> None:
    """Puts the rise of the resident memory, in KiB, into `answer`; runs in a process of its own."""
    function(graph_def(training_graph(100)), gpus)
    before = highest_memory()
    function(Path(path).read_bytes(), gpus)
    answer.put(highest_memory() - before)


def memory(counts: list[int], gpus: list[int], *, oracle: bool) -> None:
    """Prints a row per size and machine."""
    context = multiprocessing.get_context("spawn")
    functions = [place_bytes, *([place_bytes_there] if oracle else [])]
    print("   nodes  gpus  KiB/node" + ("  C++ KiB/node" if oracle else ""))
    for count in counts:
        with tempfile.NamedTemporaryFile(suffix=".pb") as file:
            specs = training_graph(count)
            Path(file.name).write_bytes(graph_def(specs))
            nodes = len(specs)
            del specs
            for number in gpus:
                row = f"{nodes:8} {number:5}"
                for function, width in zip(functions, (9, 13), strict=False):
                    answer = context.Queue()
                    process = context.Process(target=peak_of, args=(function, file.name, number, answer))
                    process.start()
                    row += f" {answer.get() / nodes:{width}.2f}"
                    process.join()
                print(row, flush=True)


def main() -> None:
    """Prints a row per size and machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--gpus", type=int, nargs="+", default=[0, 4, 64])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--oracle", action="store_true")
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    if arguments.memory:
        memory(arguments.nodes, arguments.gpus, oracle=arguments.oracle)
        return
    catalogue = default_catalogue("2.21")
    print("   nodes  gpus  read us/node  place us/node  what-if us/node  C++ us/node  KiB/node")
    for count in arguments.nodes:
        specs = training_graph(count)
        graph = placement_graph(specs, catalogue)
        data = graph_def(specs)
        read = best(lambda data=data: load_placement_graph(data, catalogue, "2.21"), arguments.repeat)
        for gpus in arguments.gpus:
            devices = DeviceSet([DeviceAttributes(name) for name in local_devices(gpus)])

            # A copy forgets what an earlier placement has worked out.
            def place(graph: PlacementGraph = graph, devices: DeviceSet = devices) -> None:
                place_graph(replace(graph), devices, catalogue, soft=True, rules="2.21")

            placer = Placer(graph, catalogue, rules="2.21")
            first = best(place, arguments.repeat)
            again = best(
                lambda placer=placer, devices=devices: place_again(placer, devices, soft=True),
                arguments.repeat,
            )
            tracemalloc.start()
            place()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            scale = 1e6 / len(graph)
            theirs = "-"
            if arguments.oracle:
                from tests.oracle.tensorflow_placer import seconds

                theirs = (
                    f"{seconds(data, local_devices(gpus), soft=True, repeat=arguments.repeat) * scale:.2f}"
                )
            row = f"{len(graph):8} {gpus:5} {read * scale:13.2f} {first * scale:14.2f} {again * scale:16.3f}"
            print(f"{row} {theirs:>12} {peak / 1024 / len(graph):9.2f}", flush=True)


if __name__ == "__main__":
    main()
