"""What moves between two placements, and by which difference between them."""

import pytest

from gpuplace.device.machine import Machine
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.why.place import place_again
from gpuplace.why.rules import Rule
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import node, placement_graph

GPU0, GPU1, CPU0 = (f"/job:localhost/replica:0/task:0/device:{name}" for name in ("GPU:0", "GPU:1", "CPU:0"))


def placed(specs, machine, rules="1.15", soft=False, **options):
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(specs, catalogue), catalogue, rules=rules)
    return place_again(placer, Machine.parse(machine).device_set(environ={}), soft=soft, **options)


def const(name, dtype="float32", **options):
    return node(name, "Const", dtype=dtype, **options)


def neg(name, source, dtype="float32", **options):
    return node(name, "Neg", source, T=dtype, **options)


def told(change):
    return {move.node: (move.cause, move.note) for move in change}


def test_without_the_gpu():
    graph = GRAPHS["guide: product"]
    change = placed(graph, "1x Tesla K40c").diff(placed(graph, "cpu"))
    only = "the machine has no other device"
    assert told(change) == {
        "a": (Rule.ONLY_DEVICE, f"{only}; before: follows m"),
        "b": (Rule.ONLY_DEVICE, f"{only}; before: follows m"),
        "m": (Rule.ONLY_DEVICE, f"{only}; before: GPU comes before CPU"),
    }
    assert str(change).startswith("only device (3): the machine has no other device\n")
    assert f"  a: {GPU0} -> {CPU0}  ({only}; before: follows m)" in str(change)


def test_both_verdicts_are_told():
    graph = [const("a"), neg("n", "a")]
    (move, _) = placed(graph, "1x Tesla K40c").diff(placed(graph, "cpu"))
    assert (move.node, move.before, move.after) == ("a", GPU0, CPU0)
    assert (move.cause, move.decided_by) == (Rule.ONLY_DEVICE, "a")
    assert (move.cause_before, move.decided_by_before) == (Rule.GENERATOR, "n")


def test_with_a_gpu_more():
    graph = [const("a"), neg("n", "a", device="/gpu:1"), neg("m", "a", device="/gpu:0")]
    change = placed(graph, "1x Tesla K40c", soft=True).diff(placed(graph, "2x Tesla K40c", soft=True))
    # The constant stays: its consumers are on two devices now, and GPU:0 is its first choice.
    before = "asks for '/gpu:1', which the machine does not have"
    assert told(change) == {"n": (Rule.REQUEST, f"asks for '/gpu:1'; before: {before}")}


def test_a_hidden_gpu_takes_the_whole_group_and_its_followers():
    graph = [
        node("v", "VariableV2", dtype="float32", device="/gpu:1"),
        const("x"),
        node("w", "Assign", "v", "x", T="float32", device="/cpu:0"),
        node("s", "Shape", "v", T="float32"),
        neg("n", "x", device="/gpu:0"),
    ]
    change = placed(graph, "2x Tesla K40c", soft=True).diff(placed(graph, "1x Tesla K40c", soft=True))
    assert told(change) == {
        "v": (
            Rule.SOFT_RESOURCE,
            "asks for '/gpu:1', which the machine does not have; before: asks for '/gpu:1'",
        ),
        "w": (
            Rule.SOFT_RESOURCE,
            "v, tied to it, asks for '/gpu:1', which the machine does not have; before: asks for '/cpu:0', but yields "
            "to v, which asks for '/gpu:1'",
        ),
        "s": (Rule.METADATA, "follows v"),
    }


def test_soft_placement_on_and_off():
    graph = [
        const("a", "int32"),
        node("p", "Pow", "a", "a", T="int32", device="/gpu:0"),
        neg("n", "p", "int32"),
    ]
    hard, soft = (placed(graph, "1x Tesla K40c", soft=soft, on_error="keep") for soft in (False, True))
    there = told(hard.diff(soft))
    assert there["p"][0] is Rule.SOFT_PLACEMENT and there["a"][0] is Rule.GENERATOR
    assert there["p"][1].startswith(
        "asks for '/gpu:0', but there is no GPU kernel for Pow with T=int32; before: Cannot"
    )
    back = told(soft.diff(hard))
    assert back["p"][0] is Rule.FAILED and back["a"] == (
        Rule.TYPE_PRIORITY,
        "GPU comes before CPU; before: follows p",
    )
    assert f"p: {CPU0} -> no device" in str(soft.diff(hard))


def test_soft_placement_drops_requests():
    graph = GRAPHS["colocation, ids clash"]
    hard, soft = (placed(graph, "2x Tesla K40c", soft=soft, on_error="keep") for soft in (False, True))
    lost, own = "asks for '/gpu:1', but a, tied to it, asks for '/gpu:0'", "asks for '/gpu:1'"
    assert told(hard.diff(soft)) == {"b": (Rule.REQUESTS_DROPPED, f"{lost}; before: {own}")}
    assert told(soft.diff(hard)) == {"b": (Rule.REQUEST, f"{own}; before: {lost}")}


@pytest.mark.parametrize(
    ("name", "node", "before", "after"),
    [
        ("identity follows", "i", "GPU comes before CPU", "follows p"),
        ("kernels of bfloat16", "e", "no GPU kernel for Equal with T=bfloat16", "GPU comes before CPU"),
        ("sparse handles", "u", "ResourceSparseApplyFtrl has no GPU kernel", "GPU comes before CPU"),
        (
            "sparse handles",
            "v",
            "u, tied to it: ResourceSparseApplyFtrl has no GPU kernel",
            "GPU comes before CPU",
        ),
        ("queue on a GPU", "q", "asks for '/gpu:0', but FIFOQueueV2 has no GPU kernel", "asks for '/gpu:0'"),
    ],
)
def test_between_the_releases(name, node, before, after):
    old, new = (placed(GRAPHS[name], "2x Tesla K40c", rules, soft=True) for rules in ("1.15", "2.21"))
    assert told(old.diff(new))[node][1] == f"{after}; before: {before}"
    assert told(new.diff(old))[node][1] == f"{before}; before: {after}"


def test_another_program():
    before = placed([const("a"), neg("n", "a"), neg("m", "a", groups="n")], "1x Tesla K40c")
    after = placed([const("a"), neg("n", "a", device="/cpu:0"), neg("m", "a", groups="n")], "1x Tesla K40c")
    assert told(before.diff(after)) == {
        "n": (Rule.REQUEST, "asks for '/cpu:0'; before: GPU comes before CPU"),
        "m": (Rule.REQUEST, "n, tied to it, asks for '/cpu:0'; before: GPU comes before CPU"),
        "a": (Rule.GENERATOR, "follows n"),
    }


def test_nodes_that_come_with_a_device():
    graph = [const("a"), neg("n", "a")]
    before = placed(graph, "2x Tesla K40c")
    after = placed(graph, "2x Tesla K40c", assigned={"n": GPU1})
    assert told(before.diff(after)) == {
        "n": (Rule.ASSIGNED, f"was assigned to {GPU1} before; before: GPU comes before CPU"),
        "a": (Rule.GENERATOR, "follows n"),
    }


def test_another_machine_has_other_names():
    graph = [const("a"), neg("n", "a")]
    remote = "/job:worker/replica:0/task:0/device:CPU:0"
    before, after = placed(graph, "cpu"), Machine.from_devices([remote]).device_set()
    change = before.diff(place_again(before.placer, after))
    assert {move.cause for move in change} == {Rule.ONLY_DEVICE}
    assert {move.after for move in change} == {remote}


def test_nothing_moves():
    placement = placed(GRAPHS["guide: product"], "cpu")
    assert str(placement.diff(placement)) == "no node moves"
    assert not list(placement.diff(placement))


def test_graphs_with_other_nodes():
    before = placed([node("a", "NoOp"), node("b", "NoOp")], "cpu")
    after = placed([node("b", "NoOp"), node("c", "NoOp")], "cpu")
    change = before.diff(after)
    assert (change.only_before, change.only_after, len(change)) == (("a",), ("c",), 0)
