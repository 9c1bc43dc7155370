"""Which steps a GPU computes together."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from gpuplace.plan import compile as plan_maker
from gpuplace.plan.schedule import elementwise_groups
from gpuplace.plan.schedule.elementwise_groups import FusedStep, calls_of, fused
from tests.stand_ins.elementwise_ops import ELEMENTWISE_OPS, operations

pytestmark = pytest.mark.usefixtures("elementwise_ops_are_fused")


@pytest.fixture
def groups(fake, monkeypatch):
    """A function that gives the names of the members of every group of a step."""
    found = []
    monkeypatch.setattr(plan_maker, "fused", lambda *given: found.append(fused(*given)) or found[-1])

    def groups_of(*fetches):
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            inputs = [op.outputs[0] for op in session.graph.get_operations() if op.type == "Placeholder"]
            session._plan((fetches, (), tuple(inputs)))
        steps = found[-1].steps
        return [[member.name for member in step.steps] for step in steps if isinstance(step, FusedStep)]

    with tf.device("/gpu:0"):
        yield groups_of


def placeholder(*shape, dtype="float32"):
    return tf.placeholder(dtype, shape)


def test_every_op_can_be_written_down_for_some_type():
    assert {op.type for _, op in operations()} == ELEMENTWISE_OPS


def test_chains_and_diamonds(groups):
    x = placeholder(None, 3)
    start = tf.tanh(x, name="start")
    left, right = tf.exp(start, name="left"), tf.negative(start, name="right")
    end = tf.add(left, right, name="end")
    assert groups(end) == [["start", "left", "right", "end"]]


def test_a_way_through_the_outside_keeps_steps_apart(groups):
    """``end`` needs the sum of what ``start`` gives: they cannot run at once."""
    x = placeholder(4, 3)
    start = tf.add(tf.tanh(x, name="tanh"), 1.0, name="start")
    total = tf.reduce_sum(start, axis=0, keepdims=True)
    middle = tf.multiply(start, 2.0, name="middle")
    end = tf.subtract(middle, total, name="end")
    last = tf.negative(end, name="last")
    assert groups(last) == [["tanh", "start", "middle"], ["end", "last"]]


def test_groups_never_wait_for_each_other(groups):
    """Two chains of which each needs the other's sum: joined naively, both groups would need each other."""
    x, y = placeholder(4, 3), placeholder(4, 3)
    a1, b1 = tf.tanh(x, name="a1"), tf.tanh(y, name="b1")
    a2 = tf.add(a1, tf.reduce_sum(b1, axis=0, keepdims=True), name="a2")
    b2 = tf.add(b1, tf.reduce_sum(a1, axis=0, keepdims=True), name="b2")
    a3, b3 = tf.negative(a2, name="a3"), tf.negative(b2, name="b3")
    found = groups(a3, b3)
    homes = {name: number for number, names in enumerate(found) for name in names}
    assert homes["a2"] == homes["a3"] and homes["b2"] == homes["b3"]
    assert not (homes.get("a1") == homes["a2"] and homes.get("b1") == homes["b2"])


def test_two_groups_do_not_become_one_around_a_product(groups):
    x, w = placeholder(4, 4), placeholder(4, 4)
    first = tf.sigmoid(x, name="first")
    second = tf.sigmoid(tf.matmul(first, w), name="second")
    assert groups(tf.add(first, second, name="both")) == [["first"], ["second", "both"]]


def test_what_comes_before_a_group_later_comes_before_those_behind_it(groups):
    """``b`` lies behind ``a``, and ``a2`` puts ``c`` before both: ``c2``, behind ``b``, is too late for ``c``."""
    x, y, w = placeholder(4, 4), placeholder(4, 4), placeholder(4, 4)
    a = tf.sigmoid(x, name="a")
    b = tf.sigmoid(tf.matmul(a, w), name="b")
    c = tf.sigmoid(y, name="c")
    a2 = tf.add(a, tf.matmul(c, w), name="a2")
    c2 = tf.add(c, tf.matmul(b, w), name="c2")
    assert sorted(groups(a2, c2)) == [["a", "a2"], ["b"], ["c"]]


def test_what_is_behind_a_part_is_behind_the_whole(groups):
    x, y, w = placeholder(4, 4), placeholder(4, 4), placeholder(4, 4)
    a, b = tf.sigmoid(x, name="a"), tf.sigmoid(y, name="b")
    behind_a, behind_b = tf.matmul(a, w), tf.matmul(b, w)
    both = tf.add(a, b, name="both")
    ends = tf.sigmoid(tf.add(both, behind_a), name="c"), tf.sigmoid(tf.add(both, behind_b), name="d")
    assert groups(*ends) == [["a", "b", "both"], ["Add", "c"], ["Add_1", "d"]]


def test_two_groups_become_one_where_they_meet(groups):
    x, y = placeholder(None, 3), placeholder(None, 3)
    end = tf.add(tf.exp(tf.tanh(x)), tf.exp(tf.tanh(y)), name="end")
    assert [len(group) for group in groups(end)] == [5]


def test_shapes_and_devices_have_groups_of_their_own(groups):
    x, small = placeholder(4, 3), placeholder(3)
    scale = tf.sigmoid(tf.multiply(small, 2.0, name="double"), name="scale")
    y = tf.tanh(tf.multiply(x, scale, name="scaled"), name="y")
    with tf.device("/gpu:1"):
        z = tf.negative(tf.exp(y, name="far"), name="farther")
    assert groups(z) == [["double", "scale"], ["scaled", "y"], ["far", "farther"]]


def test_a_single_step_is_left_alone_unless_it_makes_several_launches(groups):
    x = placeholder(4, 3)
    assert groups(tf.tanh(x)) == []
    assert groups(tf.sigmoid(x, name="sigmoid")) == [["sigmoid"]]


def test_control_edges_are_ways(groups):
    x = placeholder(4, 3)
    start = tf.tanh(x, name="start")
    total = tf.reduce_sum(start)
    with tf.control_dependencies([total]):
        end = tf.exp(start, name="end")
    with tf.control_dependencies([start]):
        near = tf.negative(start, name="near")
    assert groups(end, near) == [["start", "near"]]


def test_variables_are_read_and_written_in_order(groups):
    """``after`` reads what is assigned from ``before``; without control edges, but that is the order of a plan."""
    with tf.device("/gpu:0"):
        v = tf.Variable(np.ones((4, 3), np.float32))
        before = tf.tanh(v.read_value(), name="before")
        update = tf.assign(v, before)
        after = tf.add(v.read_value(), before, name="after")
    assert groups(update, tf.negative(after, name="last")) == [["after", "last"]]


def test_integers_in_host_memory_stay_there(groups):
    x = placeholder(4, dtype="int32")
    assert groups(tf.add(tf.add(x, 1), 2)) == []


def test_groups_have_a_largest_size(groups, monkeypatch):
    monkeypatch.setattr(elementwise_groups, "MAX_CALLS", 10)
    x = placeholder(4)
    y = x
    for _ in range(25):
        y = tf.tanh(y)
    assert [len(group) for group in groups(y)] == [10, 10, 5]
    monkeypatch.setattr(elementwise_groups, "MAX_CALLS", 1000)
    monkeypatch.setattr(elementwise_groups, "MAX_ARRAYS", 6)
    total = x
    for _ in range(12):
        total = total + placeholder(4)
    assert [len(group) for group in groups(total)] == [4, 4, 4]


def test_calls_are_counted_once_a_type():
    with tf.Graph().as_default():
        x = placeholder(4)
        found = [calls_of(tensor.op) for tensor in (tf.tanh(x), tf.sigmoid(x), tf.nn.softplus(x), x % x)]
        assert found == [1, 4, 6, None]
        text = apply_op("StringJoin", inputs=[tf.constant("a"), tf.constant("b")])
        assert calls_of(text) is None


def test_many_steps_are_searched_quickly(groups):
    """2,000 layers of a chain: the search goes once through them."""
    x = placeholder(2, 2)
    y = x
    for _ in range(1000):
        y = tf.nn.relu(tf.matmul(y, x) + 1.0)
    found = groups(y)
    assert len(found) == 1000 and all(len(group) == 2 for group in found)
