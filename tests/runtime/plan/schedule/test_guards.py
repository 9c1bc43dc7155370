"""Conditionals: one branch runs, the other does not, and a merge takes what is there."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from gpuplace.runtime.plan.schedule.guards import Guards


@pytest.fixture(params=["cpu", "2x Tesla K40c"])
def machine(request):
    tf.use_machine(request.param)


def switch(data, pred):
    """Outputs for false and for true."""
    return apply_op("Switch", data=data, pred=pred).outputs


def merge(*inputs):
    return apply_op("Merge", inputs=list(inputs)).outputs


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("is_traced", [False, True])
def test_nested_conditionals(is_traced):
    outer, inner = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.Variable([1.0, 2.0])
    other, taken = switch(x, outer)
    inner_other, inner_taken = switch(other, inner)
    with tf.control_dependencies([tf.identity(inner_other)]):
        five = tf.constant(5.0)
    inside, _ = merge(tf.negative(inner_other) * five, tf.square(inner_taken))
    value, position = merge(inside, tf.add(taken, 10.0))
    after = value + 1.0
    options = {"options": tf.RunOptions(trace_level=3), "run_metadata": tf.RunMetadata()} if is_traced else {}
    expected = {
        (False, False): ([-4.0, -9.0], 0),
        (False, True): ([2.0, 5.0], 0),
        (True, False): ([12.0, 13.0], 1),
        (True, True): ([12.0, 13.0], 1),
    }
    with tf.Session() as session:
        session.run(x.initializer)
        for (is_outer, is_inner), (values, index) in expected.items():
            got = session.run([after, position], {outer: is_outer, inner: is_inner}, **options)
            np.testing.assert_array_equal(got[0], values)
            assert got[1] == index and got[1].dtype == np.int32


@pytest.mark.usefixtures("machine")
def test_only_the_taken_branch_changes_a_variable():
    pred = tf.placeholder(tf.bool, [])
    v = tf.Variable(1.0)
    other, taken = switch(pred, pred)
    with tf.control_dependencies([tf.identity(taken)]):
        add = tf.assign_add(v, 10.0).op
    with tf.control_dependencies([tf.identity(other)]):
        double = tf.assign(v, v * 2.0).op
    with tf.Session() as session:
        session.run(v.initializer)
        values = []
        for is_true in (True, False, False, True):
            session.run([add, double], {pred: is_true})
            values.append(float(session.run(v)))
    assert values == [11.0, 22.0, 44.0, 54.0]


def test_a_value_needs_both_of_two_conditionals():
    first, second = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.constant(3.0)
    both = switch(x, first)[1] * switch(x, second)[1]
    value, _ = merge(both, switch(tf.constant(-1.0), tf.logical_and(first, second))[0])
    with tf.Session() as session:
        got = [session.run(value, {first: a, second: b}) for a in (0, 1) for b in (0, 1)]
    assert got == [-1.0, -1.0, -1.0, 9.0]


def test_fetching_what_is_not_there():
    pred = tf.placeholder(tf.bool, [])
    other, taken = switch(tf.constant([1.0]), pred)
    other, taken = tf.exp(other), tf.negative(taken)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run([taken, other], {pred: True})
        assert caught.value.message == "Retval[1] does not have value"
        assert caught.value.facts == {"fetch": "Exp:0"}
        np.testing.assert_array_equal(session.run(taken, {pred: True}), [-1.0])


def test_an_error_in_a_branch_names_its_node():
    pred, n = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    checked = tf.check_numerics(switch(n, pred)[1], "bad", name="checked")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had Inf") as caught:
            session.run(checked.op, {pred: True, n: np.inf})
        assert caught.value.op is checked.op
        session.run(checked.op, {pred: False, n: np.inf})


def test_guards_of_equal_conditions_are_shared():
    lines = []
    guards = Guards(lines.append)
    other, taken = guards.branches("p", "x", None)
    assert guards.branches("p", "y", None) == (other, taken)
    inner = guards.branches("q", "z", taken)
    assert lines == ["g0 = bool(x)", "g1 = not g0", "g2 = g0 and bool(z)", "g3 = g0 and not g2"]
    assert guards.all_of([taken, inner[0], None]) == inner[0]
    assert guards.any_of(inner) == taken
    assert guards.any_of([*inner, other]) is None
    assert guards.any_of([inner[0], other]) == "g4" == guards.any_of([other, inner[0]])
    assert lines[4:] == ["g4 = g1 or g3"]


def test_a_switch_of_many_has_a_guard_for_each_output():
    lines = []
    guards = Guards(lines.append)
    first, second, last = guards.cases("index", "n", 3, None)
    assert lines == ["g0 = bool(n == 0)", "g1 = not g0", "g2 = g1 and bool(n == 1)", "g3 = g1 and not g2"]
    assert (first, second, last) == ("g0", "g2", "g3")
    assert guards.cases("index", "n", 3, None) == [first, second, last] and len(lines) == 4
    assert guards.any_of([first, second, last]) is None
    assert guards.any_of([second, last]) == "g1"
    assert guards.cases("one", "n", 1, "g0") == ["g0"]
