"""Reasons of all nodes, interned: every explanation can be written out again from the numbers."""

import gpuplace as tf
from gpuplace.views.page.reasons import reasons_of, template
from tests.jupyter.programs import layered


def written_out(reasons, placement, node):
    """(rule, note, devices) of each step, and the remedies, of the node at a position."""
    steps, remedies, ties, because, held_by, refused, made, like = reasons.records.values[
        reasons.of_node[node]
    ]
    name = placement.graph.names[node if like < 0 else like]
    strings, known = reasons.strings.values, reasons.steps.values

    def text(number):
        scope = name.rpartition("/")[0]
        return strings[number].replace("\x02", name).replace("\x01", f"{scope}/")

    return (
        [
            (text(rule), text(note), tuple(map(text, after)))
            for rule, note, after in (known[i] for i in steps)
        ],
        tuple((text(kind), text(told)) for kind, told in remedies),
        tuple(map(text, ties)),
        text(because),
        text(held_by),
        text(refused),
    )


def as_told(explanation):
    return (
        [(step.rule.value, step.note, step.after) for step in explanation.steps],
        explanation.remedy,
        explanation.ties,
        explanation.because,
        explanation.held_by,
        explanation.refused or "",
    )


def test_every_explanation_comes_back():
    soft = tf.ConfigProto(allow_soft_placement=True)
    for machine in ("2x Tesla K40c", "cpu"):
        placement = tf.place(layered(12), machine, soft)
        reasons = reasons_of(placement)
        assert reasons.exact
        for node, name in enumerate(placement.graph.names):
            assert written_out(reasons, placement, node) == as_told(placement.explain(name))
        assert len(reasons.records.values) < len(placement.graph) / 2


def test_above_the_limit_nodes_share_the_explanation_of_one_like_them():
    placement = tf.place(layered(12), "2x Tesla K40c")
    reasons = reasons_of(placement, exact_nodes=10)
    assert not reasons.exact and len(reasons.of_node) == len(placement.graph)
    assert len(reasons.records.values) < 20
    for node, name in enumerate(placement.graph.names):
        like = reasons.records.values[reasons.of_node[node]][-1]
        one = placement.explain(placement.graph.names[like])
        mine = placement.explain(name)
        assert written_out(reasons, placement, node) == as_told(one)
        assert [step.rule for step in one.steps] == [step.rule for step in mine.steps]
        assert one.device == mine.device


def test_failures_are_explained_too():
    placement = tf.place(layered(2), "1x Tesla K40c", on_error="keep")
    reasons = reasons_of(placement)
    failed = placement.graph.names.index("tower_1/x")
    assert written_out(reasons, placement, failed) == as_told(placement.explain("tower_1/x"))


def test_what_cannot_be_explained():
    assert reasons_of(object()) is None


def test_marks():
    assert template("x", "x") == "\x02"
    assert template("asked for '/gpu:1'", "a/b") == "asked for '/gpu:1'"
    assert template("a/b and a/c", "a/b") == "\x02 and \x01c"
