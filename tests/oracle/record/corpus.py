"""Records the graphs of `corpus` and what TensorFlow's placers answer to them, for the tests that need no TensorFlow.

    python -m tests.oracle.record.corpus --python PATH [--graphs FOLDER]

run in an environment with tensorflow==2.21.0 and g++; PATH is a Python 3.7 with TensorFlow 1.15.5. Both build the
programs (`--graphs` takes what an earlier run left there); 2.21 is asked about the graphs of both, 1.15.5 about its
own. Writes into `tests/data`: `corpus-1.15.tar.xz`, `corpus-2.21.tar.xz` and `corpus-answers.json.xz`, where a
placement is one character a node, the device's position in the machine's list in base 36, and an error its class and
first sentence. Graphs with functions, in `functions-*.tar.xz`, are placed as they are after their functions were
written out: their nodes come by name, and `names` holds a checksum of the names.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import Any

from tests.oracle.record.placements import first_sentence

DATA = Path(__file__).parents[2] / "data"
ROOT = Path(__file__).parents[3]
KINDS = {"corpus": [], "functions": ["--functions"]}
"""Kind of graphs -> what the builder wants to be told."""
WRITERS = ("1.15", "2.21")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
GPUS = (0, 1, 2, 4, 8)
CLUSTER = [
    f"/job:{job}/replica:0/task:{task}/device:{device}"
    for job, device in (("ps", "CPU:0"), ("worker", "CPU:0"), ("worker", "GPU:0"), ("worker", "GPU:1"))
    for task in (0, 1)
]
"""Two parameter servers and two workers; TensorFlow 1.15's oracle knows no such machine."""


def build(writer: str, kind: str, python: str, folder: Path) -> None:
    """Has one TensorFlow write its graphs of one kind."""
    interpreter = python if writer == "1.15" else sys.executable
    target = folder.resolve() / kind / writer
    command = [interpreter, "-m", "tests.oracle.corpus", str(target), *KINDS[kind]]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=600, cwd=ROOT)


def graph_def(path: Path) -> Any:
    """The GraphDef of a file or of a SavedModel's folder."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.core.protobuf import saved_model_pb2

    if path.is_dir():
        model = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
        return model.meta_graphs[0].graph_def
    return graph_pb2.GraphDef.FromString(path.read_bytes())


def encoded(answer: Any, nodes: list[str], devices: list[str]) -> Any:
    """A placement as a string, an error as a pair."""
    if not isinstance(answer, dict):
        return [answer[0], first_sentence(answer[1])]
    if set(answer) != set(nodes):
        raise ValueError(f"TensorFlow placed other nodes: {sorted(set(answer) ^ set(nodes))[:5]}")
    return "".join(DIGITS[devices.index(answer[name])] for name in nodes)


def checksum(names: list[str]) -> int:
    """A number that tells one list of names from another."""
    return zlib.crc32("\n".join(names).encode())


def pack(folder: Path, target: Path) -> None:
    """A folder as an archive without dates and owners."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(folder.rglob("*.pb")):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size = path.stat().st_size
            archive.addfile(entry, io.BytesIO(path.read_bytes()))
    target.write_bytes(lzma.compress(buffer.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def signatures(path: Path, machines: dict[str, list[str]]) -> dict[str, Any]:
    """Signature of a SavedModel -> checksum of the nodes' names, and 2.21's answers for each machine."""
    from tensorflow.core.protobuf import saved_model_pb2

    from gpuplace.graphdef.load import load_graph_def
    from tests.oracle import tensorflow_placer

    model = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    found: dict[str, Any] = {}
    for key in sorted(model.meta_graphs[0].signature_def):
        data = load_graph_def(path, signature=key).SerializeToString()
        answers: dict[str, Any] = {}
        nodes: list[str] = []
        for machine, devices in machines.items():
            given = [tensorflow_placer.ask(data, devices, soft) for soft in (False, True)]
            for answer in given:
                nodes = sorted(answer) if isinstance(answer, dict) else nodes
            answers[machine] = [encoded(answer, nodes, devices) for answer in given]
        found[key] = [checksum(nodes), answers]
    return found


def main() -> None:
    """Builds, asks and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python 3.7 with TensorFlow 1.15.5")
    parser.add_argument("--graphs", type=Path, help="where the graphs are or shall be")
    arguments = parser.parse_args()
    folder = arguments.graphs or Path(tempfile.mkdtemp())
    for kind in KINDS:
        for writer in WRITERS:
            if not (folder / kind / writer).exists():
                build(writer, kind, arguments.python, folder)
    from tests.oracle import tensorflow_placer, tensorflow_placer_1_15

    old = tensorflow_placer_1_15.Oracle(arguments.python)
    local = {f"{gpus} GPU": tensorflow_placer.local_devices(1, gpus) for gpus in GPUS}
    recorded: dict[str, Any] = {
        "machines": {**local, "cluster": CLUSTER},
        "before": {"1.15": list(tensorflow_placer_1_15.MASTER_DEVICES[:1]), "2.21": []},
        "answers": {},
        "functions": {},
        "names": {},
        "signatures": {},
    }
    for writer in WRITERS:
        for rules, ask in (("1.15", old.ask), ("2.21", tensorflow_placer.ask)):
            if (writer, rules) == ("2.21", "1.15"):
                continue
            key = f"{writer} {rules}"
            for kind, part in (("corpus", "answers"), ("functions", "functions")):
                answers: dict[str, Any] = {}
                names: dict[str, int] = {}
                for path in sorted((folder / kind / writer).iterdir()):
                    message = graph_def(path)
                    data = message.SerializeToString()
                    nodes = [node.name for node in message.node]
                    machines = dict(local)
                    if rules == "2.21" and any("/job:" in node.device for node in message.node):
                        machines["cluster"] = CLUSTER
                    for machine, devices in machines.items():
                        everything = [*recorded["before"][rules], *devices]
                        given = [ask(data, devices, soft) for soft in (False, True)]
                        for answer in given:
                            if kind == "functions" and isinstance(answer, dict):
                                nodes = sorted(answer)
                                names[path.stem] = checksum(nodes)
                        pair = [encoded(answer, nodes, everything) for answer in given]
                        answers.setdefault(path.stem, {})[machine] = pair
                recorded[part][key] = answers
                if names:
                    recorded["names"][key] = names
                print(f"{kind} written by {writer}, placed by {rules}: {len(answers)} graphs")
    old.close()
    for path in sorted((folder / "functions" / "2.21").iterdir()):
        if path.is_dir():
            recorded["signatures"][path.stem] = signatures(path, local)
    for writer in WRITERS:
        for kind in KINDS:
            pack(folder / kind / writer, DATA / f"{kind}-{writer}.tar.xz")
    text = json.dumps(recorded, separators=(",", ":"), sort_keys=True)
    (DATA / "corpus-answers.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    print(
        {
            path.name: path.stat().st_size
            for path in sorted([*DATA.glob("corpus-*"), *DATA.glob("functions-*")])
        }
    )


if __name__ == "__main__":
    main()
