"""Records how TensorFlow 2.21 and 1.15.5 place the graphs of `call_graphs`, added nodes included.

Usage: python -m tests.oracle.record_calls --python PYTHON3.7_WITH_TENSORFLOW_1.15.5    (needs the `oracle` extra)

Writes `tests/data/calls.json.gz`: for each graph, rule set, number of GPUs and setting of soft placement the device of
every node, or the error's class and message.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "data" / "calls.json.gz"
GPUS = (0, 2)


def told(message: str) -> str:
    """A message up to the lists of kernels and of group members, which come in no order, without this machine."""
    for cut in ("\nColocation Debug Info:", "\nRegistered devices:", "\n\t [[", " in node: {", "; Op<"):
        message = message.split(cut)[0]
    return message.replace(", /job:master/replica:0/task:0/device:XLA_CPU:0", "").strip()


def main() -> None:
    """Asks and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    arguments = parser.parse_args()
    from tests.oracle import tensorflow_placer, tensorflow_placer_1_15
    from tests.oracle.call_graphs import GRAPHS, graph_def

    old = tensorflow_placer_1_15.Oracle(arguments.python)
    recorded: dict[str, Any] = {}
    for name in GRAPHS:
        data = graph_def(name).SerializeToString()
        for rules, ask in (("1.15", old.ask), ("2.21", tensorflow_placer.ask)):
            before = tensorflow_placer_1_15.MASTER_DEVICES[:1] if rules == "1.15" else ()
            for gpus in GPUS:
                devices = tensorflow_placer.local_devices(1, gpus)
                known = [*before, *devices]
                for soft in (False, True):
                    answer = ask(data, devices, soft)
                    if isinstance(answer, dict):
                        value: Any = {node: known.index(device) for node, device in answer.items()}
                    else:
                        value = [answer[0], told(answer[1])]
                    answers = recorded.setdefault(name, {}).setdefault(rules, {})
                    answers.setdefault(str(gpus), []).append(value)
    old.close()
    text = json.dumps(recorded, separators=(",", ":"), sort_keys=True)
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(recorded)} graphs, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
