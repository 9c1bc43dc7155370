"""Records what TensorFlow answers to the graphs and programs of `tests/notebooks/claim_programs.py`.

    python -m tests.oracle.record.lesson_claims PYTHON_1_15 PYTHON_2_21

PYTHON_1_15 is a Python 3.7 with tensorflow-gpu 1.15.5, PYTHON_2_21 one with tensorflow 2.21.0, g++ and this package.
Writes `tests/data/lesson_claims.json`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.notebooks.claim_programs import GRAPHS, PROGRAMS, shown
from tests.oracle import tensorflow_placer, tensorflow_placer_1_15
from tests.support.node_specs import graph_def

ROOT = Path(__file__).resolve().parents[3]
TARGET = ROOT / "tests" / "data" / "lesson_claims.json"
BEGIN = "import tensorflow\ntf = tensorflow.compat.v1\ntf.disable_v2_behavior()\n"


def main(python_1_15: str, python_2_21: str) -> None:
    """Asks both releases and writes their answers."""
    os.environ["PYTHONPATH"] = str(ROOT)
    oracles = {
        "1.15": tensorflow_placer_1_15.Oracle(python_1_15),
        "2.21": tensorflow_placer_1_15.Oracle(python_2_21, tensorflow_placer.__file__),
    }
    devices = tensorflow_placer.local_devices(1, 2)
    graphs = {
        name: {release: oracle.ask(graph_def(specs), devices) for release, oracle in oracles.items()}
        for name, specs in GRAPHS.items()
    }
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    programs: dict[str, dict[str, list[str]]] = {}
    for name, program in PROGRAMS.items():
        for release, python in (("1.15", python_1_15), ("2.21", python_2_21)):
            done = subprocess.run(
                [python, "-c", BEGIN + program], env=env, stdout=subprocess.PIPE, text=True, check=True
            )
            programs.setdefault(name, {})[release] = shown(done.stdout)
    TARGET.write_text(json.dumps({"graphs": graphs, "programs": programs}, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
