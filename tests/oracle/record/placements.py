"""Records what TensorFlow's placers answer to the graphs of `corner_graphs`, for the tests that need no TensorFlow.

    python -m tests.oracle.record.placements --python PATH

run in an environment with tensorflow==2.21.0 and g++; PATH is a Python 3.7 with TensorFlow 1.15.5. Writes
`tests/data/placements.json.gz`: for each rule set, graph, number of devices and setting of soft placement the device of
every node, or the error's class and first sentence.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import graph_def

TARGET = Path(__file__).parents[2] / "data" / "placements.json.gz"
MACHINES = {
    "0 GPU": (1, 0),
    "1 GPU": (1, 1),
    "2 GPU": (1, 2),
    "4 GPU": (1, 4),
    "8 GPU": (1, 8),
    "2 CPU, 11 GPU": (2, 11),
}


def first_sentence(message: str) -> str:
    """The first line of a message, without what names the machine that recorded it."""
    line = message.split("\n")[0].replace(", /job:master/replica:0/task:0/device:XLA_CPU:0", "")
    return line.split(" in binary running on")[0].strip()


def main() -> None:
    """Asks and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    arguments = parser.parse_args()
    from tests.oracle import tensorflow_placer, tensorflow_placer_1_15

    old = tensorflow_placer_1_15.Oracle(arguments.python)
    recorded: dict[str, Any] = {}
    for rules, ask in (("1.15", old.ask), ("2.21", tensorflow_placer.ask)):
        before = tensorflow_placer_1_15.MASTER_DEVICES[:1] if rules == "1.15" else ()
        answers: dict[str, Any] = {}
        for name, specs in GRAPHS.items():
            data = graph_def(specs)
            for machine, (cpus, gpus) in MACHINES.items():
                for soft in (False, True):
                    devices = tensorflow_placer.local_devices(cpus, gpus)
                    answer = ask(data, devices, soft)
                    all_devices = [*before, *devices]
                    if isinstance(answer, dict):
                        value: Any = {node: all_devices.index(device) for node, device in answer.items()}
                    else:
                        value = [answer[0], first_sentence(answer[1])]
                    answers.setdefault(name, {}).setdefault(machine, []).append(value)
        recorded[rules] = {
            "before": list(before),
            "answers": answers,
        }
    TARGET.parent.mkdir(exist_ok=True)
    text = json.dumps({"machines": MACHINES, "rules": recorded}, separators=(",", ":"), sort_keys=True)
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(GRAPHS)} graphs, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
