"""The bodies of functions as graphs of their own: every node where TensorFlow 2.21's placer puts it."""

import json
import lzma
import zlib

import pytest

from gpuplace.graphdef.load import load_placement_graph
from tests.placer.corpus_files import DATA, folder
from tests.placer.test_corpus import check

RECORDED = json.loads(lzma.decompress((DATA / "bodies.json.xz").read_bytes()))


@pytest.mark.parametrize("name", RECORDED["bodies"])
def test_a_body_is_placed_as_tensorflow_places_it(name):
    model = folder("functions", "2.21") / name
    path = model if model.is_dir() else model.with_name(f"{name}.pb")
    for function, (number, answers) in RECORDED["bodies"][name].items():
        graph = load_placement_graph(path, release="2.21", function=function)
        names = sorted(graph.names)
        if any(isinstance(answer, str) for pair in answers.values() for answer in pair):
            assert zlib.crc32("\n".join(names).encode()) == number, function
        check(graph, names, "2.21", answers)


def test_size_of_the_record():
    bodies = RECORDED["bodies"].values()
    assert sum(map(len, bodies)) >= 150
    assert set(RECORDED["machines"]) == {"0 GPU", "1 GPU", "2 GPU"}
