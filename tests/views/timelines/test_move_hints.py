"""What to move: each hint was placed again, and none is made up."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.views.timelines.reader import step_timeline
from tests.views.timelines.steps import entry, step_of, tower_step

LOCAL = "/job:localhost/replica:0/task:0/device:"


@pytest.fixture(autouse=True)
def machine():
    tf.use_machine("2x Tesla K40c")


def step(build, **feeds):
    with tf.Graph().as_default():
        fetches = build()
        with tf.Session() as session:
            return session.timeline(fetches, {f"{name}:0": value for name, value in feeds.items()} or None)


def test_what_is_copied_can_be_made_where_it_is_needed():
    def build():
        with tf.device("/cpu:0"):
            a = tf.constant(np.ones([256, 256], np.float32), name="a")
        x = tf.placeholder(tf.float32, [], name="x")
        with tf.device("/gpu:0"):
            return tf.reduce_sum(tf.multiply(a, x, name="product"), name="sum")

    hint = next(hint for hint in step(build, x=2.0).hints if hint.node == "a")
    assert (hint.op, hint.before, hint.after) == ("Const", f"{LOCAL}CPU:0", f"{LOCAL}GPU:0")
    assert (hint.copy.tensor, hint.copy.nbytes, hint.waits) == ("a", 262144, "product")
    assert hint.wait_us == pytest.approx(hint.copy.end_us - hint.copy.start_us)
    assert (hint.was.copies, hint.was.nbytes) == (3, 262144 + 8)
    assert (hint.now.copies, hint.now.nbytes) == (2, 8)
    for part in (
        "product on GPU:0 waits ",
        "for a 256.0 KiB copy of a from CPU:0.",
        "a could request /device:GPU:0: Const has a kernel there and took ",
        "With this request: 2 instead of 3 copies, 8 B instead of 256.0 KiB.",
    ):
        assert part in hint.text


def test_what_it_says_is_so():
    """The change is made, and the step that runs then has the copies that were told."""

    def build(device):
        def build_it():
            with tf.device(device):
                a = tf.constant(np.ones([64, 64], np.float32), name="a")
            x = tf.placeholder(tf.float32, [], name="x")
            with tf.device("/gpu:0"):
                return tf.multiply(a, x, name="product")

        return build_it

    hint = next(hint for hint in step(build("/gpu:1"), x=2.0).hints if hint.node == "a")
    changed = step(build(hint.request), x=2.0)
    assert (len(changed.copies), sum(copy.nbytes for copy in changed.copies)) == (
        hint.now.copies,
        hint.now.nbytes,
    )


def test_what_moves_along_is_named():
    def build():
        with tf.device("/cpu:0"):
            v = tf.placeholder_with_default(np.ones([64, 64], np.float32), [64, 64], name="v")
        with tf.device("/gpu:0"):
            return tf.reduce_sum(tf.square(v, name="square"), name="sum")

    hints = {hint.node: hint for hint in step(build).hints}
    assert "v/input" not in hints
    if "v" in hints:
        assert "with it" in hints["v"].text or not hints["v"].also


def test_no_kernel_no_hint():
    def build():
        with tf.device("/cpu:0"):
            text = tf.as_string(tf.constant([1.0, 2.0], name="numbers"), name="text")
            size = tf.strings.length(text, name="length") if hasattr(tf.strings, "length") else tf.size(text)
            numbers = tf.cast(size, tf.float32, name="cast")
        with tf.device("/gpu:0"):
            return tf.square(numbers, name="square")

    assert all(hint.node not in ("text", "length") for hint in step(build).hints)


def test_what_is_fed_cannot_be_made_elsewhere():
    def build():
        x = tf.placeholder(tf.float32, [64, 64], name="x")
        with tf.device("/gpu:0"):
            return tf.reduce_sum(tf.matmul(x, x, name="product"), name="sum")

    assert all(hint.node != "x" for hint in step(build, x=np.ones([64, 64])).hints)


def test_nothing_is_copied_nothing_is_told():
    def build():
        with tf.device("/cpu:0"):
            return tf.square(tf.constant(3.0), name="square")

    assert step(build).hints == ()


def test_nothing_goes_to_the_cpu_that_takes_longer_than_the_copy():
    timeline = tower_step()
    took = timeline.end_us - timeline.start_us
    for hint in timeline.hints:
        if hint.after.endswith("CPU:0"):
            assert hint.took_us <= hint.copy.end_us - hint.copy.start_us
            assert hint.took_us == pytest.approx(took[list(timeline.names).index(hint.node)])


def test_no_hints_of_another_placement():
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            a = tf.constant(np.ones([64, 64], np.float32), name="a")
        with tf.device("/gpu:0"):
            tf.negative(a, name="b")
    ran = step_of(
        CPU_0=[entry("a", "a = Const()", 100, 5, [16384])],
        GPU_0=[entry("b", "b = Neg(a/_1)", 120, 5, [16384])],
    )
    assert [hint.node for hint in step_timeline(ran, tf.place(graph)).hints] == ["a", "b"]
    soft = tf.ConfigProto(allow_soft_placement=True)
    assert step_timeline(ran, tf.place(graph, machine="cpu", config=soft)).hints == ()
    assert step_timeline(ran).hints == ()
