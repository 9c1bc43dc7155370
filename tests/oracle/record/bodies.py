"""Records how TensorFlow 2.21 places functions' bodies as graphs of their own, for the tests that need no TensorFlow.

    python -m tests.oracle.record.bodies

run in an environment with tensorflow==2.21.0 and g++. The functions are those of the recorded graphs in
`tests/data/functions-2.21.tar.xz`; writes `tests/data/bodies.json.xz` in the form of `corpus-answers.json.xz`. The
placer is asked about our graph of a body, in which it inlines and places the calls by itself.
"""

from __future__ import annotations

import json
import lzma
from typing import Any

from tests.oracle.record.corpus import DATA, checksum, encoded

MACHINES = (0, 1, 2)
"""Numbers of GPUs."""


def bodies(path: Any, machines: dict[str, list[str]]) -> dict[str, Any]:
    """Function of a graph's library -> checksum of the nodes' names, and the answers for each machine."""
    from gpuplace.errors import OpError
    from gpuplace.graphdef.load import load_graph_def, open_model
    from tests.oracle import tensorflow_placer

    model = open_model(path)
    found: dict[str, Any] = {}
    for name in model.functions(model.part().tags):
        try:
            data = load_graph_def(model, function=name).SerializeToString()
        except OpError:  # it has attributes that only a call gives it
            continue
        answers: dict[str, Any] = {}
        nodes: list[str] = []
        for machine, devices in machines.items():
            given = [tensorflow_placer.ask(data, devices, soft) for soft in (False, True)]
            for answer in given:
                nodes = sorted(answer) if isinstance(answer, dict) else nodes
            answers[machine] = [encoded(answer, nodes, devices) for answer in given]
        found[name] = [checksum(nodes), answers]
    return found


def main() -> None:
    """Asks and writes."""
    from gpuplace.release import set_release
    from tests.oracle import tensorflow_placer
    from tests.placer.corpus_files import folder

    set_release("2.21")
    machines = {f"{gpus} GPU": tensorflow_placer.local_devices(1, gpus) for gpus in MACHINES}
    root = folder("functions", "2.21")
    models = [path for path in sorted(root.iterdir()) if path.is_dir() or path.suffix == ".pb"]
    recorded = {
        "machines": machines,
        "bodies": {path.stem: found for path in models if (found := bodies(path, machines))},
    }
    text = json.dumps(recorded, separators=(",", ":"), sort_keys=True)
    (DATA / "bodies.json.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{sum(map(len, recorded['bodies'].values()))} functions of {len(recorded['bodies'])} graphs")


if __name__ == "__main__":
    main()
