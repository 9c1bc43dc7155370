"""Scripts for TensorFlow 1, unchanged: what they print, the graphs they build, and where every node goes.

The scripts of ``scripts/`` run as ``gpuplace run`` runs them. What is expected was recorded from TensorFlow 1.15.5 and,
for numbers and placements, from 2.21: see ``tests/oracle/record/scenarios.py``.
"""

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuplace.cli.main import main
from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.graph.stacks import reset_default_graph
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.from_graph import placement_graph_of
from gpuplace.runtime.memory.process_state import reset_runtime
from gpuplace.tf1.stand_in import names
from gpuplace.why.place import place_graph
from tests.ops.test_graphs_as_tensorflow import rows
from tests.placer.test_recorded_placements import PREFIX, comparable

SCRIPTS = Path(__file__).parent / "scripts"
RECORDED = json.loads(gzip.decompress((SCRIPTS.parent.parent / "data" / "scenarios.json.gz").read_bytes()))
NAMES = sorted(RECORDED["scripts"])
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
RELATIVE = 3e-4
"""By how much numbers may differ: sums are in another order, and training repeats them."""
LOSSES = re.compile("loss|cost")
RELATIVE_OF_LOSSES = 1e-5
"""By how much losses may differ, which are printed in full."""

DRAWN_OTHERWISE = {"mlp_adam", "random_seeds", "sampled_losses"}
"""Scripts whose seeds 2.21 derives from other numbers of nodes than 1.15 does."""
OUR_OWN_LINES = {
    "catching_errors": ("truth", "iterate", "Incompatibleshapes"),
}
"""First words of the lines in which that, or another sentence, shows."""

WITHOUT_2_21 = {
    "estimators",
    "layer_classes",
    "layers_and_losses",
    "recurrent_nets",
    "sequence_classifier",
    "slim_net",
}
"""Scripts that 2.21 cannot run: it has no contrib, and its Keras no layers and cells."""

WORDS_OF_2_21 = {
    "feeding": {"Graph execution error", "Tensor b"},
    "tensorboard_basics": {"Graph execution error"},
    "frozen_graph": {"dest_nodes must be an iterable"},
    "variable_sharing": {"_LazyEvalTensor"},
    "word_ids": {"Graph execution error"},
}
"""Words by which to know the lines that 2.21 says in another way."""


TOWERS_THAT_DEQUEUE = {"cifar_towers"}
"""Which tower takes which batch is up to the threads, so sums over towers differ in their last digit."""


@dataclass
class Run:
    """What became of a script."""

    text: str
    graphs: list[Graph]


@pytest.fixture
def run_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """`run_script(name, machine)` runs a script by the command line's own code, in this process."""
    graphs: list[Graph] = []
    make = Graph.__init__

    def remember(self: Graph, *args: object, **kwargs: object) -> None:
        make(self, *args, **kwargs)
        if type(self) is Graph:  # no body of a function
            graphs.append(self)

    def run(name: str, machine: str) -> Run:
        monkeypatch.setattr(Graph, "__init__", remember)
        monkeypatch.setenv("GPUPLACE_MACHINE", machine)
        reset_default_graph()
        reset_runtime()
        graphs.clear()
        capsys.readouterr()
        try:
            code = main(["run", f"tests/scenarios/scripts/{name}.py", "--machine", machine])
        except SystemExit as leaving:
            code = leaving.code
        finally:
            names.uninstall()
        captured = capsys.readouterr()
        assert not code, captured.err
        return Run(captured.out, [graph for graph in graphs if graph.get_operations()])

    monkeypatch.chdir(SCRIPTS.parent.parent.parent)
    return run


def lines_of(text: str) -> list[tuple[str, list[float]]]:
    """Line by line the words without blanks and brackets, and the numbers.

    NumPy 2 writes `np.float32(1.0)` where older ones write `1.0`, and where an array's lines break depends on how its
    numbers are rounded.
    """
    text = re.sub(r"np\.(?:float|int)\d+\(([^()]*)\)", r"\1", text)
    text = re.sub(r"\n\s+(?=[-\[\d])", " ", text)
    return [
        (re.sub(r"[\s\[\]]", "", NUMBER.sub("#", line)), [*map(float, NUMBER.findall(line))])
        for line in text.splitlines()
    ]


def agree(ours: tuple[str, list[float]], theirs: tuple[str, list[float]]) -> bool:
    """Whether two lines say the same."""
    relative = RELATIVE_OF_LOSSES if LOSSES.search(ours[0]) else RELATIVE
    return ours[0] == theirs[0] and ours[1] == pytest.approx(theirs[1], rel=relative, abs=relative)


@pytest.mark.parametrize("name", NAMES)
def test_prints_what_tensorflow_prints_and_builds_its_graph(name, run_script):
    run = run_script(name, "cpu")
    recorded = RECORDED["scripts"][name]
    own = OUR_OWN_LINES.get(name, ())
    ours, theirs = (
        [line for line in lines_of(text) if not line[0].startswith(own)] if own else lines_of(text)
        for text in (run.text, recorded["text"])
    )
    for our_line, their_line in zip(ours, theirs):
        assert agree(our_line, their_line)
    assert len(ours) == len(theirs)
    assert len(run.graphs) == len(recorded["graphs"])
    for graph, nodes in zip(run.graphs, recorded["graphs"]):
        found = rows(graph)
        for our_node, their_node in zip(found, nodes):
            assert our_node == their_node
        assert len(found) == len(nodes)
        placed_as_recorded(graph, name, run.graphs.index(graph))


def placed_as_recorded(graph: Graph, name: str, position: int) -> None:
    """Compares every node's device with TensorFlow's, on all recorded machines, or the error."""
    for rules, machines in RECORDED["scripts"][name]["placements"].items():
        before = RECORDED["before"] if rules == "1.15" else []
        catalogue = default_catalogue(rules)
        placement_graph = placement_graph_of(graph, catalogue)
        for machine, answers in machines.items():
            local = [f"{PREFIX}CPU:0", *(f"{PREFIX}GPU:{i}" for i in range(RECORDED["machines"][machine]))]
            devices = [*before, *local]
            device_set = DeviceSet([DeviceAttributes(device) for device in devices])
            for soft in (False, True):
                expected = answers[soft][position]
                try:
                    placed = place_graph(placement_graph, device_set, catalogue, soft=soft, rules=rules)
                except OpError as error:
                    first_line = error.message.split("\n")[0].split(" in binary running on")[0].strip()
                    assert comparable([type(error).__name__, first_line]) == comparable(expected)
                    continue
                found = {node: devices.index(device) for node, device in placed.items()}
                assert isinstance(expected[0], int), f"TensorFlow does not place it: {expected}"
                names = [op.name for op in graph.get_operations()]
                assert found == dict(zip(names, expected, strict=True)), (rules, machine, soft)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"devices", "catching_errors"}))
def test_prints_the_same_on_a_machine_with_gpus(name, run_script):
    """All but the devices' own script, and the one with a gather that does not check its indices on a GPU."""
    there, here = (lines_of(run_script(name, machine).text) for machine in ("2x Tesla K40c", "cpu"))
    if name in TOWERS_THAT_DEQUEUE:
        assert len(there) == len(here)
        assert all(map(agree, there, here))
    else:
        assert there == here


def test_devices_of_a_machine_with_gpus(run_script):
    lines = run_script("devices", "2x Tesla K40c").text.splitlines()
    assert lines[:2] == ["GPUs: ['/device:GPU:0', '/device:GPU:1']", "available: True '/device:GPU:0'"]
    local = "/job:localhost/replica:0/task:0/device:"
    assert lines[3] == str([(f"{local}{d}", d[:3]) for d in ("CPU:0", "GPU:0", "GPU:1")])


@pytest.mark.parametrize("name", sorted(set(NAMES) - DRAWN_OTHERWISE - {"catching_errors"}))
def test_both_releases_of_tensorflow_print_the_same_numbers(name):
    """So the numbers that ours are compared with do not depend on the release; errors are put in other words."""
    recorded = RECORDED["scripts"][name]
    if recorded["text_2_21"] is None:
        assert name in WITHOUT_2_21
        return
    old, new = lines_of(recorded["text"]), recorded["text_2_21"]
    assert len(old) == len(lines_of(new))
    for their_line, our_line, text in zip(old, lines_of(new), new.splitlines()):
        known = WORDS_OF_2_21.get(name, ())
        assert agree(our_line, their_line) or any(re.sub(r"\s", "", word) in our_line[0] for word in known), (
            text
        )


def test_every_script_is_recorded():
    assert set(NAMES) == {path.stem for path in SCRIPTS.glob("*.py")}
