"""What may move alone, what is held together at each level, and the clock that all of them share."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.advisor.steps.advise import _case
from gpuplace.advisor.steps.levels import is_split_of, levels_of
from gpuplace.advisor.steps.quick_clock import QuickClock
from gpuplace.advisor.steps.step_problem import step_problem


def layers(count=4, width=2048):
    with tf.Graph().as_default() as graph:
        top = tf.Variable(tf.ones([4096, width]), trainable=False, name="rows")
        for number in range(count):
            with tf.variable_scope(f"layer_{number}"):
                top = tf.nn.relu(tf.matmul(top, tf.get_variable("w", (width, width))))
        loss = tf.reduce_mean(tf.square(top - tf.reduce_mean(top, [1], keepdims=True)))
        tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    return graph


def case_of(graph, machine="2x K80"):
    return _case(graph, "train", None, machine, "step_time", None, None, None, None, None)[0]


@pytest.fixture(scope="module")
def layered():
    case = case_of(layers())
    return case, step_problem(case.rehearsal)


def test_each_kernel_of_a_gradient_is_a_unit_of_its_op(layered):
    units = layered[0].rehearsal.units
    of = dict(zip(units.names, units.ops, strict=True))
    for kernel in ("MatMul", "MatMul_1"):
        assert of[f"gradients/layer_1/MatMul_grad/{kernel}"] == "layer_1/MatMul"
    together = next(region for region in units.regions if region.scope == "layer_1/MatMul")
    assert sorted(units.names[unit] for unit in together.units) == [
        "gradients/layer_1/MatMul_grad/MatMul",
        "gradients/layer_1/MatMul_grad/MatMul_1",
        "layer_1/MatMul",
    ]


def test_a_level_holds_together_what_the_one_before_does_not(layered):
    case, made = layered
    levels = levels_of(case.rehearsal, made)
    counts = [level.group_count for level in levels]
    assert len(levels) >= 3 and counts == sorted(set(counts)) and levels[-1] is made.problem
    for coarse, fine in zip(levels, levels[1:], strict=False):
        split = np.random.default_rng(0).integers(0, 2, coarse.group_count)[coarse.groups]
        assert is_split_of(coarse, split) and is_split_of(fine, split)
    alone = np.arange(made.problem.group_count)[made.problem.groups] % 2
    assert not is_split_of(levels[0], alone)


@pytest.mark.parametrize("machine", ["2x P100", "1x V100, 1x K80"])
def test_the_quick_clock_tells_what_the_estimate_does(machine):
    case = case_of(layers(2, 512), machine)
    rehearsal = case.rehearsal
    clock = QuickClock(rehearsal, step_problem(rehearsal), False)
    random = np.random.default_rng(1)
    for _ in range(4):
        device_of = random.integers(0, 3, len(rehearsal.units.names))
        assert clock.score(device_of)[1] == pytest.approx(rehearsal.score(device_of).value, rel=1e-9)
