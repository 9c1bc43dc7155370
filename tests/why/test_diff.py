"""What moves between two placements, and by which difference between them."""

import itertools

import pytest

from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.why.deciding import deciding_rule
from gpuplace.why.moved_by import Comparer
from gpuplace.why.rules import Rule
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import node, placement_graph
from tests.support.training_graph import training_graph

GPU0, GPU1, CPU0 = (f"/job:localhost/replica:0/task:0/device:{name}" for name in ("GPU:0", "GPU:1", "CPU:0"))
FOLLOWS = {Rule.GENERATOR, Rule.METADATA, Rule.IDENTITY}
TIES = {Rule.REFERENCE_EDGE, Rule.RESOURCE_EDGE, Rule.DATASET_EDGE, Rule.COLOCATION, Rule.YIELDS_TO_SOURCE}


def placed(specs, machine, rules="1.15", soft=False, **options):
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(specs, catalogue), catalogue, rules=rules)
    return placer.place(Machine.parse(machine).device_set(environ={}), soft=soft, **options)


def const(name, dtype="float32", **options):
    return node(name, "Const", dtype=dtype, **options)


def neg(name, source, dtype="float32", **options):
    return node(name, "Neg", source, T=dtype, **options)


def told(change):
    return {move.node: (move.cause, move.note) for move in change}


def test_without_the_gpu():
    graph = GRAPHS["guide: product"]
    change = placed(graph, "1x Tesla K40c").diff(placed(graph, "cpu"))
    assert told(change) == {
        "a": (Rule.MISSING_DEVICE, "follows m"),
        "b": (Rule.MISSING_DEVICE, "follows m"),
        "m": (Rule.MISSING_DEVICE, ""),
    }
    assert str(change).startswith("missing device (3): the machine no longer has the device\n")
    assert f"  a: {GPU0} -> {CPU0}  (follows m)" in str(change)


def test_with_a_gpu_more():
    graph = [const("a"), neg("n", "a", device="/gpu:1"), neg("m", "a", device="/gpu:0")]
    change = placed(graph, "1x Tesla K40c", soft=True).diff(placed(graph, "2x Tesla K40c", soft=True))
    # The constant stays: its consumers are on two devices now, and GPU:0 is its first choice.
    assert told(change) == {"n": (Rule.NEW_DEVICE, "asks for '/gpu:1'")}


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
        "v": (Rule.MISSING_DEVICE, "asks for '/gpu:1'"),
        "w": (Rule.MISSING_DEVICE, "v, tied to it, asks for '/gpu:1'"),
        "s": (Rule.MISSING_DEVICE, "follows v"),
    }


def test_another_machine_has_other_names():
    graph = [const("a"), neg("n", "a")]
    remote = "/job:worker/replica:0/task:0/device:CPU:0"
    before, after = placed(graph, "cpu"), Machine.from_devices([remote]).device_set()
    change = before.diff(before.placer.place(after))
    assert {move.cause for move in change} == {Rule.MISSING_DEVICE}
    assert {move.after for move in change} == {remote}


def test_soft_placement_on_and_off():
    graph = [
        const("a", "int32"),
        node("p", "Pow", "a", "a", T="int32", device="/gpu:0"),
        neg("n", "p", "int32"),
    ]
    hard, soft = (placed(graph, "1x Tesla K40c", soft=soft, on_error="keep") for soft in (False, True))
    assert told(hard.diff(soft)) == {
        "p": (Rule.SOFT_PLACEMENT, "asks for '/gpu:0'"),
        "a": (Rule.GENERATOR, "follows p"),
    }
    assert told(soft.diff(hard)) == {
        "p": (Rule.SOFT_PLACEMENT, "asks for '/gpu:0', and soft placement is off"),
        "a": (Rule.GENERATOR, "no longer follows p"),
    }
    assert f"p: {CPU0} -> no device" in str(soft.diff(hard))


def test_soft_placement_drops_requests():
    graph = GRAPHS["colocation, ids clash"]
    hard, soft = (placed(graph, "2x Tesla K40c", soft=soft, on_error="keep") for soft in (False, True))
    assert told(hard.diff(soft)) == {"b": (Rule.REQUESTS_DROPPED, "tied to a: they ask for '/device:GPU:*'")}
    assert told(soft.diff(hard)) == {
        "b": (Rule.REQUESTS_DROPPED, "no longer tied to a: asks for '/device:GPU:1'")
    }


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("identity follows", {"i": (Rule.IDENTITY, "follows p")}),
        ("kernels of bfloat16", {"e": (Rule.KERNEL, "no GPU kernel for Equal with T=bfloat16 in 1.15")}),
        (
            "sparse handles",
            {
                "u": (Rule.KERNEL, "ResourceSparseApplyFtrl has no GPU kernel in 1.15"),
                "v": (Rule.KERNEL, "u, tied to it: ResourceSparseApplyFtrl has no GPU kernel in 1.15"),
            },
        ),
        ("queue on a GPU", {"q": (Rule.KERNEL, "FIFOQueueV2 has no GPU kernel in 1.15")}),
        ("list of strings", {"p": (Rule.HOST_DATA, "p reads a list of strings or handles")}),
        ("colocation chain", {"c": (Rule.COLOCATION, "tied to a: they ask for '/device:CPU:0'")}),
        (
            "job against type",
            {"v": (Rule.YIELDS_TO_SOURCE, "its group asks for '/job:localhost/device:GPU:1'")},
        ),
    ],
)
def test_between_the_releases(name, moved):
    old, new = (placed(GRAPHS[name], "2x Tesla K40c", rules, soft=True) for rules in ("1.15", "2.21"))
    assert moved.items() <= told(old.diff(new)).items()
    back = told(new.diff(old))
    assert {node: back[node][0] for node in moved} == {node: cause for node, (cause, _) in moved.items()}


def test_another_program():
    before = placed([const("a"), neg("n", "a"), neg("m", "a", groups="n")], "1x Tesla K40c")
    after = placed([const("a"), neg("n", "a", device="/cpu:0"), neg("m", "a", groups="n")], "1x Tesla K40c")
    assert told(before.diff(after)) == {
        "n": (Rule.REQUEST, "asks for '/cpu:0', before for none"),
        "m": (Rule.GROUP, "n, tied to it, asks for '/cpu:0'"),
        "a": (Rule.GENERATOR, "follows n"),
    }


def test_nodes_that_come_with_a_device():
    graph = [const("a"), neg("n", "a")]
    before = placed(graph, "2x Tesla K40c")
    after = placed(graph, "2x Tesla K40c", assigned={"n": GPU1})
    assert told(before.diff(after)) == {
        "n": (Rule.ASSIGNED, f"came with {GPU1}"),
        "a": (Rule.GENERATOR, "follows n"),
    }


def test_the_default_device():
    graph = [const("a"), neg("n", "a")]
    change = placed(graph, "1x Tesla K40c").diff(placed(graph, "1x Tesla K40c", default_local_device=CPU0))
    assert told(change)["n"] == (Rule.DEFAULT_DEVICE, "")


SETTINGS = {
    "soft": ({"soft": False}, {"soft": True}),
    "release": ({"rules": "1.15", "soft": True}, {"rules": "2.21", "soft": True}),
    "machine": ({"machine": "2x Tesla K40c"}, {"machine": "cpu"}),
}
ALLOWED = {
    "soft": {Rule.SOFT_PLACEMENT, Rule.SOFT_RESOURCE, Rule.REQUESTS_DROPPED, *FOLLOWS},
    "release": {Rule.KERNEL, Rule.HOST_DATA, *TIES, *FOLLOWS},
    "machine": {Rule.MISSING_DEVICE, Rule.NEW_DEVICE},
}


@pytest.mark.parametrize("what", SETTINGS)
def test_the_cause_is_what_was_changed(what):
    moves = 0
    for specs in GRAPHS.values():
        try:
            here, there = (
                placed(specs, **{"machine": "2x Tesla K40c", "on_error": "keep", **given})
                for given in SETTINGS[what]
            )
        except OpError:
            continue
        for first, second in ((here, there), (there, here)):
            for move in first.diff(second):
                assert move.cause in ALLOWED[what], move
                if "follows " in move.note and move.cause in FOLLOWS and "no longer" not in move.note:
                    leader = move.note.partition("follows ")[2]
                    assert second.get(leader) == move.after
                moves += 1
    assert moves > 50


def test_nothing_moves():
    placement = placed(GRAPHS["guide: product"], "cpu")
    assert str(placement.diff(placement)) == "no node moves"
    assert not list(placement.diff(placement))


def test_graphs_with_other_nodes():
    before = placed([node("a", "NoOp"), node("b", "NoOp")], "cpu")
    after = placed([node("b", "NoOp"), node("c", "NoOp")], "cpu")
    change = before.diff(after)
    assert (change.only_before, change.only_after, len(change)) == (("a",), ("c",), 0)


def test_many_moves_have_the_causes_that_each_has():
    """Causes found for classes of nodes are those found one node at a time."""
    machines = ("2x Tesla K40c", "1x Tesla K40c", "cpu")
    settings = [(m, rules, soft) for m in machines for rules in ("1.15", "2.21") for soft in (False, True)]
    seen = set()
    for name, specs in {**GRAPHS, "towers": training_graph(60)}.items():
        found = []
        for machine, rules, soft in settings:
            try:
                found.append(placed(specs, machine, rules, soft, on_error="keep"))
            except OpError:  # refused before placing
                continue
        for before, after in itertools.permutations(found, 2):
            comparer = Comparer(before, after)
            for move in before.diff(after):
                old, new = before.graph.index[move.node], after.graph.index[move.node]
                alone = comparer.cause(old, new) or (deciding_rule(after, new), "")
                assert (move.cause, move.note) == alone, (name, move.node)
                seen.add(move.cause)
    assert len(seen) > 10


def test_many_moves_of_nodes_that_came_with_a_device():
    graph = [*(const(f"c{i}") for i in range(4)), *(neg(f"n{i}", f"c{i}") for i in range(4))]
    before = placed(graph, "2x Tesla K40c", assigned={"n0": GPU0, "n1": GPU1, "n2": CPU0})
    after = placed(graph, "2x Tesla K40c", assigned={"n0": GPU1, "n3": CPU0, "n2": GPU0})
    assert told(before.diff(after)) == {
        "c0": (Rule.GENERATOR, "follows n0"),
        "n0": (Rule.ASSIGNED, f"came with {GPU1}"),
        "c1": (Rule.GENERATOR, "follows n1"),
        "n1": (Rule.ASSIGNED, "came without a device"),
        "c2": (Rule.GENERATOR, "follows n2"),
        "n2": (Rule.ASSIGNED, f"came with {GPU0}"),
        "c3": (Rule.GENERATOR, "follows n3"),
        "n3": (Rule.ASSIGNED, f"came with {CPU0}"),
    }
