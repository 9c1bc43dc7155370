"""How many towers pay, and where their variables live."""

import math
from xml.etree import ElementTree

import pytest

import gpuplace as tf
from gpuplace.errors import InvalidArgumentError


def build(count, home, batch=512, width=2048):
    optimizer, found = tf.train.GradientDescentOptimizer(0.1), []
    for number in range(count):
        with tf.device(f"/gpu:{number}"), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            hidden = tf.placeholder(tf.float32, [batch, width], name=f"rows_{number}")
            for layer in range(3):
                with tf.device(home(f"weights_{layer}")):
                    weights = tf.get_variable(f"weights_{layer}", [width, width])
                hidden = tf.nn.relu(tf.matmul(hidden, weights))
            found.append(optimizer.compute_gradients(tf.reduce_mean(hidden)))
    averages = []
    for number, pairs in enumerate(zip(*found)):
        with tf.device(home(f"weights_{number}")):
            averages.append((tf.add_n([gradient for gradient, _ in pairs]) / count, pairs[0][1]))
    optimizer.apply_gradients(averages, name="train")


@pytest.fixture(scope="module")
def choices():
    return tf.tower_choices(build, "4x V100", examples=512)


def test_every_row_is_an_estimate_of_its_own_program(choices):
    assert [(row.towers, row.variables) for row in choices.rows] == [
        *[(1, "CPU"), (1, "GPU:0")],
        *[(count, place) for count in (2, 4) for place in ("CPU", "GPU:0", "spread")],
    ]
    one = max(1 / row.step_time for row in choices.rows if row.towers == 1)
    for row in choices.rows:
        homes = {"CPU": ["/cpu:0"] * 3, "GPU:0": ["/gpu:0"] * 3}.get(
            row.variables, [f"/gpu:{number % row.towers}" for number in range(3)]
        )
        with tf.Graph().as_default() as graph:
            build(row.towers, lambda name, homes=homes: homes[int(name[-1])])
        step = tf.estimate(graph, machine="4x V100")
        assert row.step_time == pytest.approx(step.step_time)
        assert row.peak_memory == max(step.peak_memory.values()) and row.fits
        assert row.speedup == pytest.approx(row.towers / step.step_time / one)
        assert row.rate == pytest.approx(512 * row.towers / step.step_time)


def test_the_best_is_said_drawn_and_tabled(choices):
    assert choices.best.speedup == pytest.approx(max(row.speedup for row in choices.rows), rel=0.01)
    assert choices.text in str(choices) and len(str(choices).splitlines()) == 1 + len(choices.rows)
    root = ElementTree.fromstring(choices.svg("dark"))
    assert len(root.findall(".//{http://www.w3.org/2000/svg}circle")) == len(choices.rows)
    assert list(choices.frame()["towers"]) == [row.towers for row in choices.rows]
    assert 'alt="Towers. ' in choices._repr_mimebundle_()["text/html"]


def test_towers_that_only_copy_do_not_pay():
    slow = "2x V100, links nvlink=none pcie=1x1"
    found = tf.tower_choices(lambda count, home: build(count, home, batch=2), slow, towers=[1, 2])
    assert found.best.towers == 1 and "More towers are not worthwhile." in found.text
    assert all(math.isnan(row.rate) for row in found.rows)


@pytest.mark.parametrize(
    ("machine", "towers", "sentence"),
    [
        ("cpu", None, "Towers need GPUs"),
        ("2x V100", [3], "between 1 and 2"),
        ("2x V100", [], "between 1 and 2"),
    ],
)
def test_wrong_numbers_are_refused(machine, towers, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        tf.tower_choices(build, machine, towers)
