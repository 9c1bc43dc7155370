"""Random graphs over the real catalogue, placed by gpuplace and by TensorFlow 2.21, and compared node by node.

    python -m tests.oracle.fuzz --count 10000 --seed 1

run in an environment with tensorflow==2.21.0 and g++; `--release 1.15 --python PATH` asks 1.15.5 (see
`tensorflow_placer_1_15`) instead. Graphs have explicit devices (partial, absent and malformed ones
too), colocations, reference and resource edges, int32, strings, control edges and several CPUs and GPUs. Prints each
disagreement as Python source that `node_specs` understands, and the totals; exits with 1 if there was any.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.dtypes import DType
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.why.place import place_graph
from tests.support.node_specs import NodeSpec, graph_def, placement_graph
from tests.support.random_graphs import RandomGraph, usable_ops

CLUSTER = [
    f"/job:{job}/replica:0/task:{task}/device:{device}"
    for job, task in (("localhost", 0), ("localhost", 1), ("worker", 0), ("a", 0))
    for device in ("CPU:0", "CPU:1", "GPU:0", "GPU:3")
]
ODD_ASSIGNMENTS = ["/job:localhost/replica:0/task:0/device:GPU:50", "/gpu:0", "nonsense"]


def ours(
    specs: list[NodeSpec],
    devices: Sequence[str],
    soft: bool,
    rules: str = "2.21",
    assigned: Mapping[str, str] | None = None,
    preferred: str = "",
) -> Any:
    """What gpuplace says, in the oracle's form."""
    catalogue = default_catalogue(rules)
    try:
        device_set = DeviceSet([DeviceAttributes(name) for name in devices])
        graph = placement_graph(specs, catalogue)
        known = {name: device for name, device in (assigned or {}).items() if name in graph.index}
        return dict(
            place_graph(
                graph,
                device_set,
                catalogue,
                soft=soft,
                rules=rules,
                assigned=known,
                default_local_device=preferred or None,
            )
        )
    except OpError as error:
        return type(error).__name__, error.message


def comparable(answer: Any) -> Any:
    """An answer without what may differ: of an error the class and the first line, host names and lists cut off."""
    if isinstance(answer, dict):
        return answer
    kind, message = answer
    first = message.split("\n")[0].replace(", /job:master/replica:0/task:0/device:XLA_CPU:0", "")
    for cut in (
        " in binary running on",
        "with these attrs",
        " in node: {",
        "; Op<",
        "; NodeDef",
        "All available devices",
    ):
        first = first.split(cut)[0]
    return kind, first.strip()


def source_of(specs: list[NodeSpec]) -> str:
    """The graph as text."""
    lines = []
    for spec in specs:
        parts = [repr(spec.name), repr(spec.op), *map(repr, spec.inputs)]
        if spec.device:
            parts.append(f"device={spec.device!r}")
        if spec.groups:
            parts.append(f"groups={spec.groups!r}")
        for name, value in spec.attrs.items():
            if isinstance(value, DType):
                parts.append(f"{name}={value.name!r}")
            elif isinstance(value, tuple) and value and isinstance(value[0], DType):
                parts.append(f"{name}={tuple(item.name for item in value)!r}")
        lines.append(f"    node({', '.join(parts)}),")
    return "[\n" + "\n".join(lines) + "\n]"


Judge = Callable[[list[NodeSpec]], tuple[Any, Any]]
"""Gives TensorFlow's answer and ours for a graph."""


def shrunk(specs: list[NodeSpec], judge: Judge) -> list[NodeSpec]:
    """A smaller graph with the same kind of disagreement."""

    def disagrees(candidate: list[NodeSpec]) -> bool:
        known = {spec.name for spec in candidate}
        for spec in candidate:
            if any(text.lstrip("^").split(":")[0] not in known for text in spec.inputs):
                return False
        theirs, mine = judge(candidate)
        return bool(theirs != mine) and "XLA_CPU" not in str(theirs)

    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(specs))):
            candidate = specs[:i] + specs[i + 1 :]
            if disagrees(candidate):
                specs, changed = candidate, True
        for i in range(len(specs)):
            for change in (
                {"device": ""},
                {"groups": specs[i].groups[:-1]},
                {"inputs": tuple(text for text in specs[i].inputs if not text.startswith("^"))},
            ):
                simpler = replace(specs[i], **change)
                candidate = [*specs[:i], simpler, *specs[i + 1 :]]
                if simpler != specs[i] and disagrees(candidate):
                    specs, changed = candidate, True
    return specs


def fuzz_options(what: str | None, nodes: int) -> argparse.ArgumentParser:
    """The options that comparisons of random graphs have in common.

    Args:
        what: what is compared.
        nodes: how large the graphs get by default.
    """
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=nodes)
    parser.add_argument("--show", type=int, default=5, help="disagreements to print")
    parser.add_argument("--release", choices=("1.15", "2.21"), default="2.21")
    parser.add_argument("--python", help="Python 3.7 with TensorFlow 1.15.5")
    return parser


def oracle_of(arguments: argparse.Namespace) -> tuple[Callable[..., Any], Sequence[str]]:
    """What places as the release of the options does, and the devices that it has before those it is given."""
    if arguments.release == "1.15":
        from tests.oracle.tensorflow_placer_1_15 import MASTER_DEVICES, Oracle

        # The oracle's process has an XLA_CPU device, whose kernels the catalogue does not list.
        return Oracle(arguments.python).ask, MASTER_DEVICES[:1]
    from tests.oracle.tensorflow_placer import ask

    return ask, ()


def main() -> int:
    """Runs the comparison."""
    parser = fuzz_options(__doc__, nodes=14)
    parser.add_argument("--assigned", action="store_true", help="some nodes have devices already (2.21 only)")
    parser.add_argument("--cluster", action="store_true", help="machines of several jobs and tasks")
    arguments = parser.parse_args()
    from tests.oracle.tensorflow_placer import local_devices

    ask, before = oracle_of(arguments)
    ops = usable_ops(arguments.release)
    totals: Counter[str] = Counter()
    start = time.time()
    for number in range(arguments.count):
        rng = random.Random(f"{arguments.seed}:{number}")
        specs = RandomGraph(rng, ops).grow(rng.randint(2, arguments.nodes))
        devices = local_devices(rng.choice([1, 1, 2]), rng.choice([0, 1, 2, 4, 11]))
        soft = rng.random() < 0.5
        if arguments.cluster:
            devices = rng.sample(CLUSTER, rng.randint(1, len(CLUSTER)))

        assigned: dict[str, str] = {}
        preferred = ""
        if arguments.assigned:
            chosen = rng.sample(specs, rng.randint(0, min(4, len(specs))))
            assigned = {
                spec.name: rng.choice(ODD_ASSIGNMENTS if rng.random() < 0.02 else devices) for spec in chosen
            }
            preferred = rng.choice(["", *devices])

        def judge(
            graph: list[NodeSpec],
            devices: list[str] = devices,
            soft: bool = soft,
            assigned: dict[str, str] = assigned,
            preferred: str = preferred,
        ) -> tuple[Any, Any]:
            extra = {"assigned": assigned, "preferred": preferred} if arguments.assigned else {}
            theirs = ask(graph_def(graph), devices, soft, **extra)
            mine = ours(graph, [*before, *devices], soft, arguments.release, **extra)
            return comparable(theirs), comparable(mine)

        theirs, mine = judge(specs)
        totals["graphs"] += 1
        only_xla = arguments.release == "1.15" and "No OpKernel" in str(mine) and theirs != mine
        if "XLA_CPU" in str(theirs) or only_xla:
            totals["skipped, on XLA_CPU"] += 1
            continue
        totals["errors" if isinstance(theirs, tuple) else "placed"] += 1
        if theirs == mine:
            continue
        totals["disagreements"] += 1
        if totals["disagreements"] <= arguments.show:
            small = shrunk(specs, judge)
            print(
                f"--- seed {arguments.seed}:{number} soft={soft} devices={len(devices)} {assigned} {preferred}"
            )
            print(source_of(small))
            print("theirs", judge(small)[0])
            print("ours  ", judge(small)[1], flush=True)
    print(dict(totals), f"{time.time() - start:.0f} s")
    return 1 if totals["disagreements"] else 0


if __name__ == "__main__":
    sys.exit(main())
