"""Records what TensorFlow makes of the scripts of ``tests/scenarios/scripts``.

    python -m tests.oracle.record.scenarios --python PATH [SCRIPT ...]

run in an environment with tensorflow==2.21.0 and g++; PATH is a Python 3.7 with TensorFlow 1.15.5. Without SCRIPT all
are recorded. Writes ``tests/data/scenarios.json.gz``, for each script:

- ``text``: what it prints under 1.15.5;
- ``text_2_21``: what it prints under 2.21, null where that release cannot run it;
- ``graphs``: the nodes of its graphs under 1.15.5, see ``run_scenario.node_rows``;
- ``placements``: for the rules of 1.15 and 2.21, each machine, hard and soft placement, and each graph: positions of
  the nodes' devices, or the error's class and first sentence.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.oracle.record.placements import first_sentence

SCRIPTS = Path(__file__).parents[2] / "scenarios" / "scripts"
TARGET = Path(__file__).parents[2] / "data" / "scenarios.json.gz"
MACHINES = {"0 GPU": 0, "1 GPU": 1, "2 GPU": 2, "4 GPU": 4}
WITHOUT_2_21 = {
    "estimators": "tf.estimator is gone from 2.16 on",
    "layer_classes": "tf.layers is gone from the installations with Keras 3",
    "layers_and_losses": "tf.layers is gone from the installations with Keras 3",
    "recurrent_nets": "tf.nn.rnn_cell is gone from the installations with Keras 3",
    "sequence_classifier": "it uses tf.contrib",
    "slim_net": "it uses tf.contrib",
}


def run(python: str, path: Path) -> Any:
    """The answers of one script in another interpreter."""
    command = [python, str(Path(__file__).parents[1] / "run_scenario.py"), str(path.relative_to(Path.cwd()))]
    environment = {key: value for key, value in os.environ.items() if key != "TF2_BEHAVIOR"}  # set by 2.21
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    return json.loads(done.stdout)[path.stem]


def answer(placed: Any, nodes: list[Any], devices: list[str]) -> Any:
    """Positions of the devices in the order of the nodes, or the error."""
    if not isinstance(placed, dict):
        return [placed[0], first_sentence(placed[1])]
    return [devices.index(placed[node[0]]) for node in nodes]


def main() -> None:
    """Asks and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    parser.add_argument("scripts", nargs="*", help="names of scripts")
    arguments = parser.parse_args()
    from tests.oracle import tensorflow_placer, tensorflow_placer_1_15

    old = tensorflow_placer_1_15.Oracle(arguments.python)
    before = list(tensorflow_placer_1_15.MASTER_DEVICES[:1])
    paths = sorted(SCRIPTS.glob("*.py"))
    recorded: dict[str, Any] = {}
    if arguments.scripts:
        recorded = json.loads(gzip.decompress(TARGET.read_bytes()))["scripts"]
        recorded = {path.stem: recorded[path.stem] for path in paths if path.stem in recorded}
        paths = [path for path in paths if path.stem in arguments.scripts]
    for path in paths:
        answers = run(arguments.python, path)
        placements: dict[str, Any] = {"1.15": {}, "2.21": {}}
        for machine, gpus in MACHINES.items():
            devices = tensorflow_placer.local_devices(1, gpus)
            for rules, ask, known in (
                ("1.15", old.ask, before + devices),
                ("2.21", tensorflow_placer.ask, devices),
            ):
                placements[rules][machine] = [
                    [
                        answer(ask(base64.b64decode(data), devices, soft), nodes, known)
                        for data, nodes in zip(answers["graph_defs"], answers["graphs"])
                    ]
                    for soft in (False, True)
                ]
        new = None if path.stem in WITHOUT_2_21 else run(sys.executable, path)
        recorded[path.stem] = {
            "text": answers["text"],
            "text_2_21": new and new["text"],
            "graphs": answers["graphs"],
            "placements": placements,
        }
        print(path.stem, sum(map(len, answers["graphs"])), "nodes")
    content = {"before": before, "machines": MACHINES, "scripts": recorded}
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(recorded)} scripts, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
