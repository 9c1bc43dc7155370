"""Shapes of whole graphs beside those that TensorFlow infers (``tests/oracle/record/shapes.py``)."""

import base64
import io
import json
import lzma
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from gpuplace.cost.node_work import step_work
from gpuplace.cost.shapes.step_shapes import step_shapes
from gpuplace.graphdef.load import load_graph_def, load_placement_graph
from gpuplace.kernels.registry import default_catalogue

DATA = Path(__file__).resolve().parents[1] / "data"
ARCHIVES = {"corpus-1.15": 0.95, "corpus-2.21": 0.95, "functions-1.15": 0.96, "functions-2.21": 0.98}
"""Archive -> least share of shapes that are just TensorFlow's; the others are known better here."""


@pytest.fixture(scope="module")
def recorded():
    return json.loads(lzma.decompress((DATA / "shapes.json.xz").read_bytes()))


def graphs_in(archive, every=slice(None)):
    with tarfile.open(
        fileobj=io.BytesIO(lzma.decompress((DATA / f"{archive}.tar.xz").read_bytes()))
    ) as files:
        members = [member for member in files.getmembers() if member.name.endswith(".pb")]
        for member in members[every]:
            yield member.name, files.extractfile(member).read()


def inferred(graph_def, release, feeds=None, assume=None):
    for node in graph_def.node:
        if "_output_shapes" in node.attr:
            del node.attr["_output_shapes"]
    catalogue = default_catalogue(release)
    placed = load_placement_graph(graph_def, catalogue, release)
    return step_shapes(placed, feeds, assume=assume, catalogue=catalogue)


def compared(ours, theirs):
    """``"equal"``, ``"better"`` (known here, not there), ``"worse"`` or ``"wrong"``."""
    if ours is not None:
        ours = list(ours)
    if ours == theirs:
        return "equal"
    if theirs is None:
        return "better"
    if ours is None:
        return "worse"
    if len(ours) != len(theirs):
        return "wrong"
    pairs = list(zip(ours, theirs))
    if any(None not in pair and pair[0] != pair[1] for pair in pairs):
        return "wrong"
    return "worse" if any(a is None and b is not None for a, b in pairs) else "better"


def verdicts(found, theirs, wrong):
    counts = Counter()
    for name, shapes in theirs.items():
        node = found.graph.index.get(name)
        if node is None:  # what it was inlined to has other names
            continue
        assert len(found.sizes[node]) == len(shapes), name
        for output, (ours, other) in enumerate(zip(found.sizes[node], shapes)):
            verdict = compared(ours, other)
            counts[verdict] += 1
            if verdict in ("wrong", "worse"):
                wrong.append((verdict, found.kinds[node].op_type, name, output, ours, other))
    return counts


@pytest.mark.parametrize("archive", ARCHIVES)
def test_shapes_are_tensorflows(archive, recorded):
    counts, wrong = Counter(), []
    release = archive.rpartition("-")[2]
    for name, data in graphs_in(archive, slice(0, None, 2)):  # the others are fed, below
        counts += verdicts(inferred(load_graph_def(data), release), recorded[archive][name]["shapes"], wrong)
    assert [one for one in wrong if one[0] == "wrong"] == []
    assert {one[1] for one in wrong} <= {"Substr"}  # its broadcast of unknown shapes has a rank there
    assert counts["equal"] > ARCHIVES[archive] * counts.total()
    assert counts["better"]


def test_shapes_and_flops_of_what_is_fed(recorded):
    """The graphs of the corpus fed 3 wherever a size is unknown."""
    counts, wrong, flops = Counter(), [], 0
    for name, data in graphs_in("corpus-2.21", slice(1, None, 2)):
        entry = recorded["corpus-2.21"][name]
        if "flops" not in entry:
            continue
        found = inferred(
            load_graph_def(data),
            "2.21",
            {f"{key}:0": tuple(sizes) for key, sizes in entry.get("feeds", {}).items()},
        )
        if "fed" in entry:
            counts += verdicts(found, entry["fed"], wrong)
        works = step_work(found)
        for node, count in entry["flops"].items():
            at = found.graph.index[node]
            if "Backprop" in found.kinds[at].op_type:
                assert 0.3 * count < works[at].flops <= count, (
                    name,
                    node,
                )  # there windows over the edge count, which do not exist
            else:
                assert works[at].flops == count, (name, node)
            flops += 1
    assert [one for one in wrong if one[0] == "wrong"] == []
    assert counts["equal"] > 0.95 * counts.total()
    assert counts["worse"] <= 2
    assert flops > 100


def test_ops_that_are_not_computed(recorded):
    counts, wrong = Counter(), []
    graph_def = load_graph_def(base64.b64decode(recorded["ops"]["graph"]))
    counts += verdicts(inferred(graph_def, "2.21"), recorded["ops"]["shapes"], wrong)
    assert wrong == []
    assert counts["equal"] > 0.97 * counts.total()
