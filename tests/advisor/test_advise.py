"""Advice on graphs: it is what the placer does, it fits, it is never worse, and it says why."""

import json
import math

import pytest

import gpuplace as tf
from gpuplace.errors import InvalidArgumentError
from tests.advisor.step_graphs import branches, graph_of, large, stack, towers
from tests.support.advised_programs import build_as_advised, comparable_nodes, is_part

CASES = {
    "towers": (towers(), "2x V100"),
    "stack": (stack(), "2x V100"),
    "mixed": (branches(blocks=1), "1x K40c, 1x P100"),
    "large": (large(), "2x GTX 1050"),
}


@pytest.fixture(scope="module", params=CASES)
def advised(request):
    build, machine = CASES[request.param]
    graph = graph_of(build)
    return build, graph, machine, tf.advise(graph, "train", machine=machine, steps=30)


def test_the_written_graph_is_placed_as_promised(advised):
    _, graph, machine, advice = advised
    placed = tf.place(advice.graph_def(), machine)
    assert dict(placed) == dict(advice.placement)
    assert set(placed) == {op.name for op in graph.get_operations()}


def test_it_is_better_than_the_program_and_fits(advised):
    _, graph, machine, advice = advised
    before = tf.estimate(graph, "train", machine=machine)
    assert advice.before == (before.step_time if before.memory.fits else math.inf)
    assert advice.bound <= advice.value == advice.estimate.step_time < advice.before
    assert advice.fits and advice.estimate.memory.fits
    again = tf.estimate(advice.graph_def(), "train", machine=machine)
    assert again.step_time == pytest.approx(advice.value) and again.memory.fits


def test_the_python_gives_the_same_placement(advised):
    build, _, machine, advice = advised
    promised = comparable_nodes(advice.graph_def(), advice.placement)
    for is_text in (True, False):
        with tf.Graph().as_default() as graph:
            if is_text:
                build_as_advised(tf, advice.as_python(), build)
            else:
                with tf.device(advice.device_function()):
                    build()
        found = comparable_nodes(graph.as_graph_def(), tf.place(graph, machine))
        assert promised == {name: at for name, at in found.items() if name in promised or not is_part(name)}


def test_moves_say_what_they_save(advised):
    advice = advised[3]
    assert advice.moves and len(advice.frame("moves")) == len(advice.moves)
    moved = {name for move in advice.moves for name in move.nodes}
    rows = {row.node: row for row in advice.rows()}
    in_step = set(advice.estimate.part.graph.names)
    assert moved == {name for name, row in rows.items() if row.moves and name in in_step}
    best = advice.moves[0]
    assert best.saves > 0 or "short of memory" in best.why
    assert best.why.startswith("otherwise ") and best.why in advice.explain()


def test_a_part_of_it_can_be_applied(advised):
    advice = advised[3]
    assert not advice.apply([]).has_gain
    whole = advice.apply(advice.moves)
    assert whole.value == pytest.approx(advice.value)
    first = advice.apply([advice.moves[0].scope])
    assert {name for move in first.moves for name in move.nodes} == set(advice.moves[0].nodes)
    with pytest.raises(InvalidArgumentError, match="There is no recommended move of 'nowhere'"):
        advice.apply(["nowhere"])


def test_the_numbers_can_be_judged_outside(advised):
    advice = advised[3]
    found = json.loads(advice.to_json())
    names = {node["name"] for node in found["nodes"]}
    assert {edge["source"] for edge in found["edges"]} | {edge["reader"] for edge in found["edges"]} <= names
    for node in found["nodes"]:
        assert advice.placement[node["name"]] == node["device"]
        position = [device["name"] for device in found["devices"]].index(node["device"])
        assert node["seconds"][position] is not None
    homes = {}
    for node in found["nodes"]:
        assert homes.setdefault(node["group"], node["device"]) == node["device"]
