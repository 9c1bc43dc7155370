"""What moves together is one entry: regions of one scope, towers that move alike, towers that change places."""

import math

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.advisor.steps.advise import _case
from gpuplace.advisor.steps.moves import MovedRegions, moves_of, regions_together
from tests.advisor.step_graphs import graph_of

MACHINE = "4x P100"


def layered_towers(count=4, names=None):
    """Towers on GPUs of which the first layer is on the CPU; returns a function that builds them."""

    def build():
        losses = []
        for number in range(count):
            name = names[number] if names else f"tower_{number}"
            with tf.device(f"/gpu:{number}"), tf.name_scope(f"{name}/"):
                with tf.device("/cpu:0"):
                    rows = tf.ones([512, 512], name="rows")
                    with tf.name_scope("first"):
                        top = tf.matmul(rows, rows, name="product")
                for layer in ("second", "third"):
                    with tf.name_scope(layer):
                        top = tf.tanh(tf.matmul(top, top, name="product"), name="tanh")
                losses.append(tf.reduce_sum(top, name="loss"))
        with tf.device("/cpu:0"):
            tf.add_n(losses, name="train")

    return build


def rehearsal_of(build, machine=MACHINE):
    options = {"fetches": "train"}
    return _case(graph_of(build), machine, "step_time", None, None, None, {}, options, None)[0].scorer


def choice_of(scorer, device):
    """A choice by a function of a unit's name that gives a device's label; ``""`` for units that are left alone."""
    labels = list(scorer.candidates.placement.device_labels)
    found = [device(name) for name in scorer.units.names]
    return np.array([labels.index(label) if label else -1 for label in found])


def moved(scorer, choice):
    labels = scorer.candidates.placement.device_labels
    regions = regions_together(scorer, choice)
    return {one.text: [labels[target] for target in one.targets] for one in regions}


def number_of(name):
    return int(name.partition("/")[0].rpartition("_")[2])


def test_towers_whose_layer_goes_to_their_own_gpu_are_one_move():
    scorer = rehearsal_of(layered_towers())
    choice = choice_of(scorer, lambda name: f"GPU:{number_of(name)}" if "/first/" in name else "")
    gpus = [f"GPU:{number}" for number in range(4)]
    assert moved(scorer, choice) == {"{tower_0, tower_1, tower_2 and 1 more}/first": gpus}
    (move,) = moves_of(scorer, choice, 8)
    assert (move.source, move.target) == ("CPU:0", ", ".join(gpus)) and len(move.nodes) == 4
    alone = scorer.score(np.full_like(choice, -1)).value - scorer.score(choice).value
    assert move.saves == pytest.approx(alone)


def test_a_tower_that_moves_otherwise_is_a_move_of_its_own():
    scorer = rehearsal_of(layered_towers())
    where = {0: "GPU:0", 1: "GPU:1", 2: "GPU:3", 3: "GPU:0"}
    choice = choice_of(scorer, lambda name: where[number_of(name)] if "/first/" in name else "")
    assert moved(scorer, choice) == {
        "{tower_0, tower_1}/first": ["GPU:0", "GPU:1"],
        "tower_2/first": ["GPU:3"],
        "tower_3/first": ["GPU:0"],
    }


def test_towers_that_take_each_others_place_are_one_move_that_saves_nothing():
    scorer = rehearsal_of(layered_towers(), "4x V100")

    def exchanged(name):
        if name.startswith("tower_") and "/first/" not in name and "rows" not in name:
            return f"GPU:{(number_of(name) + 1) % 4}"
        return ""

    choice = choice_of(scorer, exchanged)
    assert list(moved(scorer, choice)) == ["{tower_0, tower_1, tower_2 and 1 more}/{second, third, loss}"]
    (move,) = moves_of(scorer, choice, 8)
    assert len(move.nodes) == 4 * 6
    assert abs(move.saves) < 0.02 * scorer.score(choice).value and move.why == "it saves nothing by itself"


def test_what_an_exchange_explains_is_no_gain_of_what_moves_beside_it():
    scorer = rehearsal_of(layered_towers(2), "2x V100")

    def device(name):
        if "/first/" in name:
            return f"GPU:{number_of(name)}"
        return f"GPU:{1 - number_of(name)}" if name.startswith("tower_") and "rows" not in name else ""

    moves = moves_of(scorer, choice_of(scorer, device), 8)
    assert len(moves) == 2
    gain = scorer.score(np.full(len(scorer.units.names), -1)).value
    assert all(move.saves < gain for move in moves) and moves[0].saves >= moves[1].saves


def test_the_first_of_equal_scopes_has_no_number():
    scorer = rehearsal_of(layered_towers(2, names=("tower", "tower_1")), "2x V100")
    own = {"tower": "GPU:0", "tower_1": "GPU:1"}
    choice = choice_of(scorer, lambda name: own[name.partition("/")[0]] if "/first/" in name else "")
    assert moved(scorer, choice) == {"{tower, tower_1}/first": ["GPU:0", "GPU:1"]}


def test_layers_that_go_to_different_devices_stay_apart():
    def build():
        top = tf.ones([256, 256], name="rows")
        for layer in range(4):
            with tf.name_scope(f"layer_{layer}"):
                top = tf.tanh(tf.matmul(top, top, name="product"), name="tanh")
        tf.reduce_sum(top, name="train")

    scorer = rehearsal_of(build)

    def device(name):
        return {"layer_1": "GPU:1", "layer_2": "GPU:2", "layer_3": "GPU:2"}.get(name.partition("/")[0], "")

    assert moved(scorer, choice_of(scorer, device)) == {
        "layer_1": ["GPU:1"],
        "{layer_2, layer_3}": ["GPU:2"],
    }

    def products(name):
        return "" if "product" not in name else device(name)

    assert moved(scorer, choice_of(scorer, products)) == {
        "layer_1/product": ["GPU:1"],
        "{layer_2, layer_3}/product": ["GPU:2"],
    }


def test_the_gradient_kernels_of_a_layer_are_one_move():
    def build():
        rows = tf.ones([256, 256], name="rows")
        for layer in range(2):
            with tf.name_scope(f"layer_{layer}"):
                weights = tf.Variable(tf.ones([256, 256]), name="weights")
                rows = tf.tanh(tf.matmul(rows, weights, name="product"), name="tanh")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(rows), name="train")

    scorer = rehearsal_of(build)

    def gradients(name):
        return "GPU:1" if "layer_1/" in name and "_grad/" in name else ""

    assert moved(scorer, choice_of(scorer, gradients)) == {
        "gradients/layer_1/{product_grad, tanh_grad}/{MatMul, MatMul_1, TanhGrad}": ["GPU:1"]
    }


@pytest.mark.parametrize("seed", range(8))
def test_every_unit_that_moves_is_in_one_entry(seed):
    scorer = rehearsal_of(layered_towers())
    rng = np.random.default_rng(seed)
    choice = rng.integers(-1, len(scorer.candidates.placement.device_set), len(scorer.units.names))
    regions = regions_together(scorer, choice)
    of_group = scorer.units.of_group
    moves = (of_group >= 0) & (scorer.requested_homes(choice) != scorer.stay)
    units = [unit for one in regions for unit in one.units]
    assert sorted(units) == sorted(set(of_group[moves].tolist()))
    for one in regions:
        assert set(choice[list(one.units)].tolist()) == set(one.targets)
    found = moves_of(scorer, choice, 4)
    assert len({move.scope for move in found}) == len(found)
    assert [move.saves for move in found] == sorted((move.saves for move in found), reverse=True)
    assert all(math.isfinite(move.saves) for move in found)


def test_names_of_several_regions():
    assert MovedRegions(("a/x",), (0,), (1,)).text == "a/x"
    assert MovedRegions(("a/x", "a/y", "b/x"), (0, 1, 2), (1,)).text == "{a, b}/{x, y}"
    assert MovedRegions(tuple("abcde"), (0,), (1,)).text == "{a, b, c and 2 more}"
    assert MovedRegions(("a", "b/x", "b/y/z"), (0, 1, 2), (1,)).text == "{a, b}"
