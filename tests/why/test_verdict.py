"""Verdicts: one rule and one culprit per node, the same wherever they are told, and the cause of where the node is."""

import random
from dataclasses import replace

import numpy as np
import pytest

from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.jupyter.explorer.details import detail_of
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.placer.placing import place_nodes
from gpuplace.views.page.data import page_data
from gpuplace.views.picture.colouring import colouring
from gpuplace.views.picture.drawing import draw
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.rows import node_rows
from gpuplace.why.place import place_again
from gpuplace.why.rules import FOLLOWING, RULES, Rule
from gpuplace.why.verdict import verdicts_of
from gpuplace.why.what_if import anyway, undone, with_missing_kernels
from tests.placer.corpus_files import CASES, FUNCTION_CASES, load
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import node, placement_graph

ALL_CASES = [("corpus", *case) for case in CASES] + [("functions", *case) for case in FUNCTION_CASES]
BY_REQUEST = {Rule.REQUEST, Rule.YIELDS_TO_SOURCE, Rule.REQUESTS_DROPPED}


def placements(placer, gpus=(1, 2, 4)):
    for count in gpus:
        devices = Machine.simulated(gpus=count, gpu="Tesla K20m").device_set(environ={})
        for soft in (False, True):
            yield place_again(placer, devices, soft=soft, on_error="keep")


def placed(specs, machine="2x Tesla K40c", rules="1.15", soft=False, **options):
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(specs, catalogue), catalogue, rules=rules)
    devices = Machine.parse(machine).device_set(environ={})
    return place_again(placer, devices, soft=soft, on_error="keep", **options)


def verdict(placement, name):
    found = placement.explain(name)
    return found.rule, found.decided_by, found.anyway


def check_told_alike(placement, nodes):
    """Every view of a placement names the verdict's rule and culprit."""
    names, verdicts = placement.graph.names, placement.verdicts
    rules = [RULES[number] for number in verdicts.rule.tolist()]
    culprits = [names[culprit] for culprit in verdicts.culprit.tolist()]
    assert all(rule.settles for rule in rules)
    frame = placement.frame()
    assert frame["rule"].tolist() == [rule.value for rule in rules]
    assert frame["decided_by"].tolist() == culprits
    view = view_of(placement)
    found = colouring(view, "cause")
    assert [found.categories[number].label for number in found.category.tolist()] == frame["rule"].tolist()
    assert [(row.rule, row.decided_by) for row in node_rows(view)] == list(
        zip(frame["rule"], culprits, strict=True)
    )
    drawing = draw(view)
    for position in nodes:
        explanation = placement.explain(names[position])
        assert (explanation.rule, explanation.decided_by) == (rules[position], culprits[position])
        card = detail_of(placement, drawing, names[position])
        assert (card["rule"], card["decided_by"]) == (rules[position].value, culprits[position])
        assert explanation.because and explanation.because in str(explanation)
    for kind in ("GPU", "CPU"):
        for row in placement.blame(kind):
            position = placement.graph.index[row.example]
            assert (row.rule, row.decided_by) == (rules[position], culprits[position])


def check_diff(before, after):
    """Both verdicts on every node that moves are those of the two placements."""
    for move in before.diff(after):
        there, here = (side.graph.index[move.node] for side in (before, after))
        assert (move.cause_before, move.cause) == (
            before.verdicts.rule_of(there),
            after.verdicts.rule_of(here),
        )
        assert move.decided_by_before == before.graph.names[before.verdicts.culprit[there]]
        assert move.decided_by == after.graph.names[after.verdicts.culprit[here]]


def check_page(placement):
    """The report page's data name the same."""
    data = page_data(placement)["verdicts"]
    assert [data["rules"][number] for number in data["rule"]] == placement.frame()["rule"].tolist()
    assert data["culprit"] == placement.verdicts.culprit.tolist()


def undone_as_a_whole(placement, rule, culprit):
    """The placement of the graph in which a verdict's cause is undone, made by the placer itself."""
    graph, placer = placement.graph, placement.placer
    if rule in BY_REQUEST:
        device = graph.device.copy()
        device[culprit] = 0
        changed = Placer(graph.changed(device=device), placer.catalogue, rules=placer.rules)
    else:
        # The culprit alone has its signature, and that has the kernels which it lacks.
        own = int(graph.signature[culprit])
        is_alone = int((graph.signature == own).sum()) == 1
        number = own if is_alone else len(graph.signatures)
        signature = graph.signature.copy()
        signature[culprit] = number
        signatures = graph.signatures if is_alone else (*graph.signatures, graph.signatures[own])
        changed = Placer(
            graph.changed(signature=signature, signatures=signatures), placer.catalogue, rules=placer.rules
        )
        types = tuple(kind for kind, _ in placement.device_set.prioritized_types())
        facts = list(changed.facts(types))
        facts[number] = replace(facts[number], supported=with_missing_kernels(placement, culprit))
        changed._facts[types] = tuple(facts)
    return place_nodes(changed, placement.device_set, soft=placement.soft, keep=True)


def check_causal(placement, nodes):
    """Undo a verdict's cause and place again: the device changes, or the record says that it does not."""
    seen = set()
    for position in nodes:
        rule, culprit = placement.verdicts.rule_of(position), int(placement.verdicts.culprit[position])
        device = int(placement.devices[position])
        held = anyway(placement, position)
        if rule in BY_REQUEST or rule is Rule.KERNEL:
            there = int(undone_as_a_whole(placement, rule, culprit).devices[position])
            assert undone(placement, rule, culprit).device(position) == there
            assert (there == device) == bool(held)
        elif rule in FOLLOWING:
            first = placement.chooser.candidates(placement.constraints(position)).first
            assert (first == device) == bool(held)
            assert placement.devices[culprit] == device
        else:
            assert rule in RULES and rule.settles
        seen.add(rule)
    return seen


def sampled(placement, generator, each=2):
    """Some nodes for every rule, of those that are their own culprit and of others."""
    kinds = {}
    for position, (rule, culprit) in enumerate(
        zip(placement.verdicts.rule.tolist(), placement.verdicts.culprit.tolist(), strict=True)
    ):
        kinds.setdefault((rule, culprit == position), []).append(position)
    return [n for nodes in kinds.values() for n in generator.sample(nodes, min(each, len(nodes)))]


@pytest.mark.parametrize("kind, writer, rules, name", ALL_CASES)
def test_one_verdict_told_everywhere(kind, writer, rules, name):
    graph = load(kind, writer, rules, name)
    generator = random.Random(f"{writer} {rules} {name}")
    found = list(placements(Placer(graph, default_catalogue(rules), rules=rules)))
    for placement in found:
        nodes = sampled(placement, generator)
        check_told_alike(placement, nodes)
        check_causal(placement, nodes)
    check_page(found[-1])
    check_diff(found[0], found[-1])
    check_diff(found[-1], found[0])


@pytest.mark.parametrize("rules", ["1.15", "2.21"])
def test_corner_cases(rules):
    seen = set()
    for specs in GRAPHS.values():
        try:
            found = [
                placed(specs, machine, rules, soft) for machine in ("2x Tesla K40c", "cpu") for soft in (0, 1)
            ]
        except OpError:  # refused before placing
            continue
        for placement in found:
            nodes = range(len(placement.graph))
            check_told_alike(placement, nodes)
            if placement.decisions is not None:
                seen |= check_causal(placement, nodes)
        for before in found:
            check_diff(before, found[0])
    assert seen >= {Rule.REQUEST, Rule.KERNEL, Rule.YIELDS_TO_SOURCE, Rule.REQUESTS_DROPPED, *FOLLOWING[:2]}


def const(name, dtype="float32", **options):
    return node(name, "Const", dtype=dtype, **options)


def neg(name, source, dtype="float32", **options):
    return node(name, "Neg", source, T=dtype, **options)


def test_a_generator_that_asks_for_its_device_itself_does_not_follow():
    placement = placed([const("max", device="/cpu:0"), neg("n", "max", device="/cpu:0")])
    assert verdict(placement, "max") == (Rule.REQUEST, "max", True)
    assert placement.explain("max").held_by == "it follows n"


def test_a_request_for_the_default_says_that_it_changes_nothing():
    placement = placed([const("a"), neg("n", "a", device="/gpu:0")])
    assert verdict(placement, "n") == (Rule.REQUEST, "n", True)
    assert placement.explain("n").held_by == "its first choice"
    assert "here anyway" in str(placement.explain("n"))


def test_who_is_tied_to_the_culprit_names_it():
    specs = [
        const("i", "int32"),
        node("p", "Pow", "i", "i", T="int32"),
        const("x"),
        neg("n", "x", groups="p"),
        node("v", "VariableV2", dtype="float32", device="/gpu:1"),
        node("w", "Assign", "v", "x", T="float32"),
    ]
    placement = placed(specs)
    assert verdict(placement, "n") == (Rule.KERNEL, "p", False)
    assert placement.explain("n").because == "p, tied to it: no GPU kernel for Pow with T=int32"
    assert verdict(placement, "w") == (Rule.REQUEST, "v", False)
    assert placement.explain("w").ties == ("reference edge v -> w",)
    assert verdict(placement, "i") == (Rule.GENERATOR, "p", False)


def test_two_requests_that_say_the_same_hold_each_other():
    specs = [
        node("v", "VariableV2", dtype="float32", device="/gpu:1"),
        const("x"),
        node("w", "Assign", "v", "x", T="float32", device="/gpu:1"),
    ]
    why = placed(specs).explain("v")
    assert (why.rule, why.decided_by, why.held_by) == (Rule.REQUEST, "v", "w, tied to it, asks for '/gpu:1'")


def test_a_request_that_lost_names_the_one_that_won():
    yields = [
        node("v", "VariableV2", dtype="float32", device="/gpu:1"),
        const("x"),
        node("w", "Assign", "v", "x", T="float32", device="/cpu:0"),
    ]
    assert verdict(placed(yields), "w") == (Rule.YIELDS_TO_SOURCE, "v", False)
    dropped = [node("a", "NoOp", device="/gpu:0"), node("b", "NoOp", device="/gpu:1", groups="a")]
    assert verdict(placed(dropped, soft=True), "b") == (Rule.REQUESTS_DROPPED, "a", False)
    assert verdict(placed(dropped, soft=True), "a") == (Rule.REQUEST, "a", False)


def test_soft_placement_names_who_asked_and_why_not():
    specs = [
        const("a", "int32"),
        node("p", "Pow", "a", "a", T="int32", device="/gpu:0"),
        const("b", device="/gpu:9"),
    ]
    placement = placed(specs, soft=True)
    assert verdict(placement, "p") == (Rule.SOFT_PLACEMENT, "p", False)
    assert (
        placement.explain("p").because == "asks for '/gpu:0', but there is no GPU kernel for Pow with T=int32"
    )
    assert placement.explain("b").because == "asks for '/gpu:9', which the machine does not have"


def test_nodes_that_come_with_a_device():
    device = "/job:localhost/replica:0/task:0/device:GPU:1"
    placement = placed([const("a"), neg("n", "a"), neg("m", "n")], assigned={"n": device})
    assert verdict(placement, "n") == (Rule.ASSIGNED, "n", False)
    assert verdict(placement, "a") == (Rule.GENERATOR, "n", False)
    default = device.replace("GPU:1", "GPU:0")
    assert placed([neg("n", "a"), const("a")], assigned={"n": default}).explain("n").anyway


def test_preferences():
    free = [const("a"), neg("n", "a")]
    assert verdict(placed(free), "n") == (Rule.TYPE_PRIORITY, "n", False)
    assert verdict(placed(free, "cpu"), "n") == (Rule.ONLY_DEVICE, "n", False)
    assert verdict(placed(free, "2 CPU"), "n") == (Rule.NAME_ORDER, "n", False)
    cpu = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert verdict(placed(free, default_local_device=cpu), "n") == (Rule.DEFAULT_DEVICE, "n", False)
    prefetch = placed(GRAPHS["prefetch prefers the CPU"], rules="2.21")
    assert prefetch.explain("p").rule is Rule.KERNEL_PRIORITY


def test_nodes_without_a_device():
    placement = placed([node("a", "NoOp", device="/gpu:7"), node("b", "NoOp"), node("c", "NoOp", groups="a")])
    assert verdict(placement, "a") == (Rule.FAILED, "a", False)
    assert verdict(placement, "c") == (Rule.FAILED, "a", False)


def test_an_empty_graph():
    found = verdicts_of(placed([], "cpu"))
    assert len(found.rule) == len(found.culprit) == 0


def test_a_training_graph_of_many_nodes_is_judged_at_once():
    specs = [neg(f"n{i}", f"n{i - 1}" if i else "a", device=f"/gpu:{i % 2}") for i in range(3000)]
    found = verdicts_of(placed([const("a"), *specs]))
    assert np.all(found.rule[1:] == RULES.index(Rule.REQUEST))
    assert np.array_equal(found.culprit[1:], np.arange(1, 3001))


def test_every_rule_has_a_sentence():
    assert all(rule.meaning for rule in Rule)
    assert {rule for rule in Rule if not rule.settles} == {
        Rule.REFERENCE_EDGE, Rule.RESOURCE_EDGE, Rule.DATASET_EDGE, Rule.COLOCATION, Rule.COLOCATION_IGNORED,
        Rule.GROUP, Rule.CONFLICT,
    }  # fmt: skip
