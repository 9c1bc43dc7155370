"""Reasons of all nodes, interned: every explanation can be written out again from the numbers."""

import pytest

import gpuplace as tf
from gpuplace.views.page.reasons import reasons_of, template
from gpuplace.why.placement import Placement
from tests.jupyter.programs import layered


def written_out(reasons, placement, node):
    """(rule, note, devices) of each step, and the remedies, of the node at a position."""
    steps, remedies, ties, because, held_by, refused, _ = reasons.records.values[reasons.of_node[node]]
    name = placement.graph.names[node]
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
        for node, name in enumerate(placement.graph.names):
            assert written_out(reasons, placement, node) == as_told(placement.explain(name))
        assert len(reasons.records.values) < len(placement.graph) / 2


def training():
    """Four equal layers in two towers with Momentum, on nodes whose names are words of explanations as well."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [8, 8], name="input")
        tf.shape(x, name="Shape")
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        tower_gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                y = x
                for layer in range(4):
                    with tf.variable_scope(f"layer_{layer}", reuse=tower > 0), tf.device("/cpu:0"):
                        w = tf.get_variable("w", [8, 8])
                    with tf.name_scope(f"layer_{layer}"):
                        y = tf.tanh(tf.matmul(y, w)) + 1.0
                tower_gradients.append(optimizer.compute_gradients(tf.reduce_mean(y)))
        with tf.device("/cpu:0"):
            pairs = [
                (tf.add_n([g for g, _ in pair]), pair[0][1]) for pair in zip(*tower_gradients, strict=True)
            ]
        optimizer.apply_gradients(pairs)
    return graph


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_one_explanation_serves_the_twins_of_a_node(release, monkeypatch):
    soft = tf.ConfigProto(allow_soft_placement=True)
    placement = tf.place(training(), "2x Tesla K40c", soft, release=release)
    expected = [as_told(placement.explain(name)) for name in placement.graph.names]
    explained = []
    explain = Placement.explain
    monkeypatch.setattr(
        Placement, "explain", lambda self, name: explained.append(name) or explain(self, name)
    )
    reasons = reasons_of(placement)
    assert [written_out(reasons, placement, node) for node in range(len(placement.graph))] == expected
    assert len(explained) < 0.4 * len(placement.graph)


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
