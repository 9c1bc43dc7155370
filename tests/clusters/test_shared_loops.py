"""Loops whose bodies are on several tasks: the values that one process gives, and what ends them."""

import numpy as np
import pytest

import gpuplace as tf
from tests.clusters.running import running_step, servers

pytest.importorskip("distributed")

DEVICES = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
LIMIT = tf.ConfigProto(operation_timeout_in_ms=8_000)


@pytest.fixture(scope="module")
def tasks():
    with servers(ps=1, worker=2) as started:
        yield started


@pytest.fixture(autouse=True)
def new_graph(tasks):
    with tf.Graph().as_default():
        yield
    tf.Session.reset(tasks["ps", 0].target)


def power(at=DEVICES):
    """x to the n, on a task for each of what is decided, counted and multiplied."""
    x, n = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.int32, [], name="n")

    def goes_on(i, a):
        with tf.device(at[0]):
            return i < n

    def body(i, a):
        with tf.device(at[1]):
            i = i + 1
        with tf.device(at[2]):
            return i, a * x

    with tf.device(at[1]):
        _, found = tf.while_loop(goes_on, body, [0, 1.0])
    return x, n, found


def on_one(tensors, feeds):
    """What one process gives."""
    with tf.Graph().as_default() as alone:
        tf.import_graph_def(tensors[0].graph.as_graph_def(), name="")
        for op in alone.get_operations():
            op._set_device("")
        with tf.Session(graph=alone) as session:
            session.run([op for op in alone.get_operations() if op.type == "Assign"])
            return session.run([tensor.name for tensor in tensors], {key.name: feeds[key] for key in feeds})


def test_what_is_counted_decided_and_computed_on_three_tasks(tasks):
    x, n, found = power()
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        for count in (0, 1, 5, 0, 3):
            assert session.run(found, {x: 2.0, n: count}) == 2.0**count
        assert session.placement[found.op.inputs[0].op.name].startswith("/job:worker/replica:0/task:0")
        assert session.placement["while/mul"].startswith("/job:worker/replica:0/task:1")


def test_gradients_through_a_loop_on_two_tasks(tasks):
    x, n, found = power([DEVICES[0], DEVICES[0], DEVICES[2]])
    with tf.device(DEVICES[0]):
        gradient = tf.gradients(found, x)[0]
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        for count in (0, 1, 4):
            assert session.run(gradient, {x: 3.0, n: count}) == count * 3.0 ** max(count - 1, 0)


def test_branches_in_a_loop(tasks):
    n = tf.placeholder(tf.int32, [], name="n")

    def body(i, a):
        def even():
            with tf.device(DEVICES[2]):
                return a * 2.0

        def odd():
            with tf.device(DEVICES[0]):
                return a + 1.0

        with tf.device(DEVICES[1]):
            chosen = tf.cond(tf.equal(i % 2, 0), even, odd)
        with tf.device(DEVICES[2]):
            return i + 1, chosen - 0.5

    with tf.device(DEVICES[0]):
        _, found = tf.while_loop(lambda i, a: i < n, body, [0, 1.0])
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        for count in (0, 1, 6, 7):
            assert session.run(found, {n: count}) == on_one([found], {n: count})[0]


def test_a_loop_in_a_branch(tasks):
    choice = tf.placeholder(tf.bool, [], name="choice")

    def looped():
        def body(i, a):
            with tf.device(DEVICES[2]):
                return i + 1, a * 2.0

        with tf.device(DEVICES[1]):
            return tf.while_loop(lambda i, a: i < 3, body, [0, 1.0])[1]

    with tf.device(DEVICES[0]):
        found = tf.cond(choice, looped, lambda: tf.constant(-1.0)) + 0.5
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        assert [session.run(found, {choice: value}) for value in (True, False, False, True)] == [
            8.5, -0.5, -0.5, 8.5,
        ]  # fmt: skip
    assert not any(one.steps for one in sessions_of(tasks))


def test_loops_in_loops(tasks):
    n = tf.placeholder(tf.int32, [], name="n")

    def outer(i, a):
        def inner(j, b):
            with tf.device(DEVICES[2]):
                return j + 1, b + tf.cast(i, tf.float32)

        with tf.device(DEVICES[1]):
            _, b = tf.while_loop(lambda j, b: j < i, inner, [0, a])
        with tf.device(DEVICES[0]):
            return i + 1, b * 1.5

    with tf.device(DEVICES[0]):
        _, found = tf.while_loop(lambda i, a: i < n, outer, [0, 1.0])
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        for count in (0, 1, 2, 5):
            assert session.run(found, {n: count}) == on_one([found], {n: count})[0]


@pytest.mark.parametrize("seed", range(8))
def test_bodies_at_random(tasks, seed):
    rng = np.random.default_rng(seed)
    x = tf.placeholder(tf.float32, [2, 2], name="x")

    def at_random(values, count):
        values = list(values)
        for _ in range(count):
            a, b = (values[number] for number in rng.integers(0, len(values), 2))
            with tf.device(DEVICES[rng.integers(3)]):
                values.append(rng.choice([tf.add, tf.subtract, tf.maximum])(a, b))
        return values

    def body(i, a, b, c):
        values = at_random([a, b, c, x], 8)
        with tf.device(DEVICES[rng.integers(3)]):
            return i + 1, values[-1] * 0.5, values[-2], values[-3]

    def goes_on(i, a, b, c):
        with tf.device(DEVICES[rng.integers(3)]):
            return tf.logical_and(i < 6, tf.reduce_sum(a) < 1e6)

    found = tf.while_loop(goes_on, body, [0, x, x + 1.0, x * 2.0])
    last = at_random(found[1:], 4)
    value = np.float32([[1, 2], [3, 4]])
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        ours = [session.run(last, {x: value}) for _ in range(2)]
    theirs = on_one(last, {x: value})
    for values in ours:
        np.testing.assert_array_equal(values, theirs)


def test_state_changes_once_an_iteration(tasks):
    with tf.device(DEVICES[0]):
        count = tf.get_variable("count", initializer=0)

    def body(i, seen):
        with tf.device(DEVICES[0]), tf.control_dependencies([i]):
            counted = tf.assign_add(count, 1)
        with tf.device(DEVICES[2]):
            return i + 1, seen + counted

    with tf.device(DEVICES[1]):
        _, seen = tf.while_loop(lambda i, seen: i < 5, body, [0, 0])
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        session.run(count.initializer)
        assert [session.run(seen), session.run(count), session.run(seen)] == [15, 5, 40]


def test_an_error_in_an_iteration_ends_the_loop_everywhere(tasks):
    x = tf.placeholder(tf.float32, [], name="x")

    def body(i, a):
        with tf.device(DEVICES[2]):
            checked = tf.check_numerics(a / (3.0 - tf.cast(i, tf.float32)), "no number", name="checked")
        with tf.device(DEVICES[0]):
            return i + 1, checked + x

    with tf.device(DEVICES[1]):
        _, found = tf.while_loop(lambda i, a: i < 1_000_000_000, body, [0, 1.0])
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="no number : Tensor had Inf") as error:
                session.run(found, {x: 1.0})
            assert "/job:worker/replica:0/task:1" in error.value.message
            assert error.value.op.name.endswith("checked")
        assert session.run(x + 1, {x: 1.0}) == 2
    assert not any(one.steps for one in sessions_of(tasks))


def test_a_loop_without_end_is_given_up(tasks):
    def body(i):
        with tf.device(DEVICES[2]):
            return i + 1

    with tf.device(DEVICES[0]):
        begins = tf.FIFOQueue(1, tf.bool, shapes=[[]], shared_name="begins")
        with tf.control_dependencies([begins.enqueue(True)]):
            first = tf.identity(0)
        endless = tf.while_loop(lambda i: i >= 0, body, [first])
        begun, three = begins.dequeue(), tf.constant(1) + 2
    session = tf.Session(tasks["worker", 0].target, config=LIMIT)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(endless, options=tf.RunOptions(timeout_in_ms=100))
    assert session.run([three, begun]) == [3, True]
    with running_step(session, endless) as errors, tf.Session(tasks["ps", 0].target) as other:
        other.run(begun)
        session.close()
    assert isinstance(errors[0], tf.errors.CancelledError)


def test_a_loop_that_may_not_run_in_another_one(tasks):
    n = tf.placeholder(tf.int32, [], name="n")

    def body(i):
        def inner():
            def step(j):
                with tf.device(DEVICES[2]):
                    return j + 2

            return tf.while_loop(lambda j: j < i, step, [0])

        with tf.device(DEVICES[0]):
            return tf.cond(i % 3 < 2, inner, lambda: i) + 1

    found = tf.while_loop(lambda i: i < n, body, [0])
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        for count in (0, 1, 2, 3, 9):
            assert session.run(found, {n: count}) == on_one([found], {n: count})[0]
    assert not any(one.steps for one in sessions_of(tasks))


@pytest.mark.parametrize("seed", [1, 2, 7, 13, 21, 24, 29, 31, 57])
def test_branches_and_loops_in_each_other_at_random(tasks, seed):
    """Every second one with its gradient: what one process gives."""
    rng = np.random.default_rng(seed)
    x = tf.placeholder(tf.float32, [], name="x")

    def some_device():
        return tf.device(DEVICES[rng.integers(3)])

    def computed(values):
        for _ in range(3):
            a, b = (values[number] for number in rng.integers(0, len(values), 2))
            with some_device():
                values = [*values, rng.choice([tf.add, tf.subtract, tf.maximum])(a, b) * 0.5]
        return values

    def flow(values, depth):
        *_, b, a = values = computed(values)
        if depth == 0:
            return a
        if rng.random() < 0.5:
            with some_device():
                choice = tf.less(a, b + float(rng.normal()))
            with some_device():
                found = tf.cond(
                    choice, lambda: flow([a, b], depth - 1) + 0.0, lambda: flow([b], depth - 1) - a
                )
            return computed([found, a])[-1]
        with some_device():
            limit = (
                tf.cast(tf.abs(a) * 2, tf.int32) % 4 if rng.random() < 0.5 else tf.constant(rng.integers(4))
            )

        def body(i, c, d):
            with some_device():
                i = i + 1
            c = flow([c, d, a], depth - 1)
            with some_device():
                return i, c, d * 0.5 + b

        with some_device():
            found = tf.while_loop(lambda i, c, d: i < limit, body, [tf.zeros([], limit.dtype), a, b])
        return computed(found[1:])[-1]

    found = flow([x, x + 1.0], 3)
    wanted = [found, tf.gradients(found, x)[0]] if seed % 2 else [found]
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        for value in (0.3, -1.7, 2.9, 0.3):
            np.testing.assert_allclose(session.run(wanted, {x: value}), on_one(wanted, {x: value}), 1e-6)
    assert not any(one.steps for one in sessions_of(tasks))


def test_a_traced_step_has_the_copies_of_every_iteration(tasks):
    x, n, found = power()
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        timeline = session.timeline(found, {x: 2.0, n: 3})
    decisions = [
        copy
        for copy in timeline.copies
        if (copy.tensor, copy.target) == ("while/LoopCond", "/job:ps/replica:0/task:0/device:CPU:0")
    ]
    assert len(decisions) == 4
    for before, after in zip(decisions, decisions[1:], strict=False):
        assert before.start_us < after.start_us and before.end_us < after.end_us
    assert sum(copy.end_us > copy.start_us for copy in decisions) > 1  # each has an arrival of its own


def sessions_of(tasks):
    return [one for server in tasks.values() for one in server._running.task._sessions.values()]
