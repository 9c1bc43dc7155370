"""Records how TensorFlow 2.21 and 1.15.5 place the graphs of `lowering_graphs`, added nodes included.

Usage: python -m tests.oracle.record.lowering --python PYTHON3.7_WITH_TENSORFLOW_1.15.5    (needs the `oracle` extra)
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
from pathlib import Path
from typing import Any

from tests.oracle.record.placements import first_sentence

TARGET = Path(__file__).parents[2] / "data" / "lowering.json.gz"
GPUS = (0, 2)


def main() -> None:
    """Asks and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    arguments = parser.parse_args()
    from tests.oracle import tensorflow_placer, tensorflow_placer_1_15
    from tests.oracle.lowering_graphs import GRAPHS, graph_def

    old = tensorflow_placer_1_15.Oracle(arguments.python)
    recorded: dict[str, Any] = {}
    for name in GRAPHS:
        data = graph_def(name)
        answers: dict[str, Any] = {}
        for rules, ask in (("1.15", old.ask), ("2.21", tensorflow_placer.ask)):
            before = tensorflow_placer_1_15.MASTER_DEVICES[:1] if rules == "1.15" else ()
            for gpus in GPUS:
                devices = tensorflow_placer.local_devices(1, gpus)
                for soft in (False, True):
                    answer = ask(data, devices, soft)
                    if isinstance(answer, dict):
                        known = [*before, *devices]
                        value: Any = {node: known.index(device) for node, device in answer.items()}
                    else:
                        value = [answer[0], first_sentence(answer[1])]
                    answers.setdefault(rules, {}).setdefault(str(gpus), []).append(value)
        recorded[name] = {"graph": base64.b64encode(data).decode(), "answers": answers}
    old.close()
    text = json.dumps(recorded, separators=(",", ":"), sort_keys=True)
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(recorded)} graphs, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
