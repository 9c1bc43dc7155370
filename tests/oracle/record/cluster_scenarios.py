"""Records what TensorFlow's servers make of the programs of ``tests/scenarios/cluster_scripts``.

    python -m tests.oracle.record.cluster_scenarios --python PATH [SCRIPT ...]

run in an environment with tensorflow==2.21.0 and g++; PATH is a Python 3.7 with TensorFlow 1.15.5. Every task is a
process of its own. Without SCRIPT all are recorded. Writes ``tests/data/cluster_scenarios.json.gz``, for each program:

- ``texts``: under 1.15.5 and 2.21, what each task prints that ends;
- ``graphs``: for each of these tasks the nodes of its graphs under 1.15.5, see ``run_scenario.node_rows``;
- ``placed``: under 1.15.5 and 2.21, where the masters put nodes: pairs of a name and a device, sorted;
- ``placements``: by the placer of 2.21, hard and soft, for each graph of each task: positions of the nodes' devices
  among those of its session (``cluster_tasks.Tasks.devices``), or the error's class and first sentence. (1.15's is
  asked through its servers alone.)
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.clusters.running import addresses
from tests.oracle import tensorflow_placer
from tests.oracle.record.scenarios import answer
from tests.scenarios.cluster_tasks import PROGRAMS, SCRIPTS, Tasks

TARGET = Path(__file__).parents[2] / "data" / "cluster_scenarios.json.gz"
RUNNER = Path(__file__).parents[1] / "run_scenario.py"
LIMIT_S = 240
PLACED = re.compile(r"^(?:.*\] )?([\w./-]+): \(\w+\): (/job:\S+)$", re.MULTILINE)
"""A line of log_device_placement; 2.21 writes it as a line of its log."""


def run(python: str, name: str, tasks: Tasks) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The answers of the tasks that end, and where nodes went."""
    hosts = json.dumps(addresses(**tasks.jobs))
    environment = {key: value for key, value in os.environ.items() if key != "TF2_BEHAVIOR"}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "0", "CUDA_VISIBLE_DEVICES": ""}
    script = str((SCRIPTS / f"{tasks.script or name}.py").relative_to(Path.cwd()))
    answers, placed = {}, set()
    with tempfile.TemporaryDirectory() as folder:
        processes = {}
        for job, index in tasks.started:
            command = [python, str(RUNNER), "--task", script, f"--job_name={job}", f"--task_index={index}"]
            output = Path(folder) / f"{job}:{index}"
            with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
                processes[output] = subprocess.Popen(
                    [*command, f"--hosts={hosts}"], stdout=out, stderr=err, env=environment
                )
        try:
            for output, process in processes.items():
                if output.name in tasks.ending:
                    if process.wait(LIMIT_S):
                        raise RuntimeError(
                            f"{name}, {output.name}:\n{output.with_suffix('.err').read_text()}"
                        )
                    answers[output.name] = json.loads(output.read_text().splitlines()[-1])
        finally:
            for process in processes.values():
                process.kill()
                process.wait()
        for output in processes:
            placed |= set(PLACED.findall(output.with_suffix(".err").read_text()))
    return answers, sorted(placed)


def placed_by_2_21(data: bytes, nodes: list[Any], devices: list[str], soft: bool) -> Any:
    """Positions of the nodes' devices, or the error."""
    return answer(tensorflow_placer.ask(data, devices, soft), nodes, devices)


def main() -> None:
    """Asks and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    parser.add_argument("scripts", nargs="*", help="names of programs")
    arguments = parser.parse_args()
    recorded = json.loads(gzip.decompress(TARGET.read_bytes()))["programs"] if TARGET.exists() else {}
    for name in arguments.scripts or PROGRAMS:
        tasks = PROGRAMS[name]
        answers, placed = run(arguments.python, name, tasks)
        answers_2_21, placed_2_21 = run(sys.executable, name, tasks)
        placements = {
            task: [
                [
                    answer(
                        tensorflow_placer.ask(base64.b64decode(data), tasks.devices(task), soft),
                        nodes,
                        tasks.devices(task),
                    )
                    for data, nodes in zip(found["graph_defs"], found["graphs"])
                ]
                for soft in (False, True)
            ]
            for task, found in answers.items()
        }
        recorded[name] = {
            "texts": {
                "1.15": {task: found["text"] for task, found in answers.items()},
                "2.21": {task: found["text"] for task, found in answers_2_21.items()},
            },
            "graphs": {task: found["graphs"] for task, found in answers.items()},
            "placed": {"1.15": placed, "2.21": placed_2_21},
            "placements": placements,
        }
        print(name, len(placed), "placed", len(placed_2_21), "in 2.21", flush=True)
        content = {"programs": dict(sorted(recorded.items()))}
        text = json.dumps(content, separators=(",", ":"), sort_keys=True)
        TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
