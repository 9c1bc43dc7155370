"""Time per node of the placer, beside TensorFlow 2.21's C++ placer where that is installed.

    python -m tests.benchmarks.bench_placer [--nodes 1000 10000 100000] [--gpus 0 4] [--oracle]

The graph is a training graph: layers of reference variables with initialisers, reads, products, gradients and updates,
spread over towers; about a third of the nodes have a `_class` or a reference edge. Times are the fastest of
several runs, without reading the graph. `--oracle` needs tensorflow==2.21.0 and g++.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from dataclasses import replace

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer, place_graph
from tests.oracle.node_specs import NodeSpec, graph_def, node, placement_graph

TOWERS = 4


def training_graph(count: int) -> list[NodeSpec]:
    """A training graph of about `count` nodes."""
    specs: list[NodeSpec] = [
        node("x", "Placeholder", dtype="float32"),
        node("rate", "Const", dtype="float32"),
    ]
    layer = 0
    last = ["x"] * TOWERS
    while len(specs) < count:
        tower = layer % TOWERS
        device = f"/gpu:{tower}"
        w = f"tower_{tower}/layer_{layer}"
        specs += [
            node(f"{w}/w", "VariableV2", dtype="float32", device=device),
            node(f"{w}/shape", "Const", dtype="int32", groups=f"{w}/w"),
            node(
                f"{w}/init", "RandomStandardNormal", f"{w}/shape", T="int32", dtype="float32", groups=f"{w}/w"
            ),
            node(f"{w}/Assign", "Assign", f"{w}/w", f"{w}/init", T="float32", groups=f"{w}/w", device=device),
            node(f"{w}/read", "Identity", f"{w}/w", T="float32", groups=f"{w}/w", device=device),
            node(f"{w}/MatMul", "MatMul", last[tower], f"{w}/read", T="float32", device=device),
            node(f"{w}/Relu", "Relu", f"{w}/MatMul", T="float32", device=device),
            node(f"{w}/Shape", "Shape", f"{w}/Relu", T="float32", device=device),
            node(f"{w}/Cast", "Cast", f"{w}/Shape", SrcT="int32", DstT="float32"),
            node(f"{w}/scale", "Const", dtype="float32"),
            node(f"{w}/mul", "Mul", f"{w}/Cast", f"{w}/scale", T="float32"),
            node(f"{w}/grad", "MatMul", f"{w}/Relu", f"{w}/MatMul", T="float32", device=device),
            node(f"{w}/grad_id", "Identity", f"{w}/grad", T="float32"),
            node(
                f"{w}/update",
                "ApplyGradientDescent",
                f"{w}/w",
                "rate",
                f"{w}/grad_id",
                T="float32",
                groups=f"{w}/w",
            ),
            node(f"{w}/group", "NoOp", f"^{w}/update"),
        ]
        last[tower] = f"{w}/Relu"
        layer += 1
    return specs


def local(gpus: int) -> list[str]:
    """A local machine's device names."""
    prefix = "/job:localhost/replica:0/task:0/device:"
    return [f"{prefix}CPU:0", *(f"{prefix}GPU:{i}" for i in range(gpus))]


def best(function, repeat: int) -> float:
    """Fastest of some runs, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Prints a row per size and machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--gpus", type=int, nargs="+", default=[0, 4, 64])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--oracle", action="store_true")
    arguments = parser.parse_args()
    catalogue = default_catalogue("2.21")
    print("   nodes  gpus  place us/node  what-if us/node  C++ us/node  KiB/node")
    for count in arguments.nodes:
        specs = training_graph(count)
        graph = placement_graph(specs, catalogue)
        data = graph_def(specs) if arguments.oracle else b""
        for gpus in arguments.gpus:
            devices = DeviceSet([DeviceAttributes(name) for name in local(gpus)])

            # A copy forgets what an earlier placement has worked out.
            def place(graph: PlacementGraph = graph, devices: DeviceSet = devices) -> None:
                place_graph(replace(graph), devices, catalogue, soft=True, rules="2.21")

            placer = Placer(graph, catalogue, rules="2.21")
            first = best(place, arguments.repeat)
            again = best(
                lambda placer=placer, devices=devices: placer.place(devices, soft=True), arguments.repeat
            )
            tracemalloc.start()
            place()
            memory = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            scale = 1e6 / len(graph)
            theirs = "-"
            if arguments.oracle:
                from tests.oracle.tensorflow_placer import seconds

                theirs = f"{seconds(data, local(gpus), soft=True, repeat=arguments.repeat) * scale:.2f}"
            row = f"{len(graph):8} {gpus:5} {first * scale:14.2f} {again * scale:16.2f} {theirs:>12}"
            print(f"{row} {memory / 1024 / len(graph):9.2f}", flush=True)


if __name__ == "__main__":
    main()
