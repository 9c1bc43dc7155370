"""Side effects that tensors get afterwards; graphs recorded from TensorFlow 1.15.5."""

import collections

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.flow.subscribe import subscribe

Pair = collections.namedtuple("Pair", ["first", "second"])


def nodes(*left_out):
    found = tf.get_default_graph().as_graph_def().node
    return [(node.name, node.op, list(node.input)) for node in found if node.op not in left_out]


def test_a_tensor_gets_further_ones():
    with tf.device("/cpu:0"):
        c = tf.add(tf.constant(1, name="a"), tf.constant(2, name="b"), name="c")
    with tf.control_dependencies([c]):
        d = tf.constant(3, name="d")
    tf.multiply(c, c, name="e")
    tf.subtract(d, c, name="f")
    new = subscribe(c, lambda t: [tf.negative(t, name="seen")])
    more = [lambda t: [tf.square(t, name="again")], lambda t: [tf.no_op(name="also")]]
    assert all(one is new for one in subscribe([c, new], more))
    assert new.device == "/device:CPU:0" and tf.Session().run(new) == 3
    new_controls = ["again", "again_1", "also", "also_1", "seen"]
    assert nodes() == [
        ("a", "Const", []),
        ("b", "Const", []),
        ("c", "Add", ["a", "b"]),
        ("d", "Const", ["^c/subscription/Identity"]),
        ("e", "Mul", ["c/subscription/Identity", "c"]),
        ("f", "Sub", ["d", "c/subscription/Identity"]),
        ("c/subscription/seen", "Neg", ["c"]),
        ("c/subscription/Identity", "Identity", ["c", *(f"^c/subscription/{one}" for one in new_controls)]),
        ("c/subscription/again", "Square", ["c"]),
        ("c/subscription/also", "NoOp", []),
        ("c/subscription/again_1", "Square", ["c"]),
        ("c/subscription/also_1", "NoOp", []),
    ]


def test_variables_branches_and_several_outputs():
    v = tf.Variable(1.0, name="v")
    p = tf.placeholder(tf.float32, [], name="p")
    y = tf.cond(p > 0.0, lambda: tf.negative(p, name="n"), lambda: v + 0.0, name="cond")
    z = tf.split(tf.constant([1.0, 2.0], name="x"), 2, name="z")
    with tf.control_dependencies(z):
        tf.identity(v, name="w")
    n = tf.get_default_graph().get_tensor_by_name("cond/n:0")
    got = subscribe({"a": Pair(v, n), "z": tuple(z)}, lambda t: [tf.square(t, name="seen")])
    assert type(got["a"]) is Pair and got["a"].second.name == "cond/n/subscription/Identity:0"
    assert n.op._get_control_flow_context() is got["a"].second.op._get_control_flow_context()
    assert [one.name for one in got["z"]] == ["z/subscription/Identity:0", "z/subscription/Identity_1:0"]
    made = {name: (kind, inputs) for name, kind, inputs in nodes()}
    assert made["cond/add/Switch"] == ("Switch", ["v/read/subscription/Identity", "cond/pred_id"])
    assert made["cond/Merge"] == ("Merge", ["cond/add", "cond/n/subscription/Identity"])
    waits = ["^z/subscription/Identity", "^z/subscription/Identity_1"]
    assert made["w"] == ("Identity", ["v/read/subscription/Identity", *waits])
    assert list(made)[-8:] == [
        *("v/read/subscription/seen", "v/read/subscription/Identity"),
        *("cond/n/subscription/seen", "cond/n/subscription/Identity"),
        *("z/subscription/seen", "z/subscription/Identity"),
        *("z/subscription/seen_1", "z/subscription/Identity_1"),
    ]
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(y, {p: 2.0}) == -2.0 and session.run(y, {p: -2.0}) == 1.0


def test_each_use_of_it_triggers_them():
    seen = []
    c = tf.constant(1) + 1
    n = -c
    new = subscribe(c, lambda t: [tf.py_func(lambda x: seen.append(int(x)) or np.int32(0), [t], tf.int32)])
    with tf.Session() as session:
        assert session.run(n) == -2 and session.run(new) == 2 and session.run(c) == 2
    assert seen == [2, 2]


def test_what_has_none():
    handle = tf.get_variable("r", [], use_resource=True).handle
    assert subscribe(handle, lambda t: []) is handle
    with pytest.raises(TypeError, match=r"^_recursive_apply argument 'c' has invalid type <class 'str'>$"):
        subscribe("c", lambda t: [])
