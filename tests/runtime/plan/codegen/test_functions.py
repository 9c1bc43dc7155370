"""The code of plans: one line a kernel, names given up in time, constants and copies."""

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op


@pytest.fixture(autouse=True)
def _graph():
    tf.use_machine("2x Tesla K40c")
    with tf.Graph().as_default():
        yield


def plan_of(session, fetches, feed_dict=None):
    session.run(fetches, feed_dict)
    (plan,) = session._plans.values()
    return plan


def test_a_line_per_kernel_and_names_that_are_taken_over():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2])
        y = x
        for _ in range(3):
            y = tf.add(y, x)
    with tf.Session() as session:
        code = plan_of(session, y, {x: [1, 2]}).code
    assert [line.partition(" = ")[0] for line in code.source.splitlines()] == [
        "def step(f0):", " t0", " t0", " t0", " return [t0]",
    ]  # fmt: skip


def test_large_results_are_written_over_values_that_nothing_else_needs():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None, 5000])
        y = tf.exp(tf.nn.relu(tf.tanh(x) * 2 + tf.constant(np.ones(5000, np.float32))))
    given = np.linspace(-1, 1, 10000, dtype=np.float32).reshape(2, 5000)
    kept = given.copy()
    with tf.Session() as session:
        source = plan_of(session, y, {x: given}).code.source
        found = session.run(y, {x: given})
        assert source.count("out=t0") == 4 and "copied" not in source
        np.testing.assert_allclose(found, np.exp(np.maximum(np.tanh(given) * 2 + 1, 0)), rtol=1e-6)
        np.testing.assert_array_equal(session.run(y, {x: given}), found)
    np.testing.assert_array_equal(given, kept)


@pytest.mark.parametrize(
    "use", ["fetched", "reshaped", "read twice", "broadcast", "fed", "constant", "other type"]
)
def test_values_that_something_else_needs_stay(use):
    given = np.linspace(-1, 1, 10000, dtype=np.float32).reshape(1, 10000)
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, given.shape)
        a = {"fed": x, "constant": tf.constant(given)}.get(use, tf.negative(x))
        b = tf.add(a, tf.constant(np.ones((2, 1), np.float32))) if use == "broadcast" else tf.abs(a)
        if use == "other type":
            b = tf.greater(a, x)
        others = {"fetched": [a], "reshaped": [tf.reshape(a, [-1])], "read twice": [tf.exp(a)]}.get(use, [])
    with tf.Session() as session:
        found = session.run([b, *others], {x: given})
        assert "out=" not in next(iter(session._plans.values())).code.source
    assert not np.shares_memory(found[0], given)
    np.testing.assert_array_equal(given, np.linspace(-1, 1, 10000, dtype=np.float32).reshape(1, 10000))
    if others:
        np.testing.assert_array_equal(
            found[1], np.exp(-given) if use == "read twice" else -given.reshape(others[0].shape)
        )


def test_dead_values_are_dropped_at_once():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2])
        a, b = tf.add(x, x), tf.multiply(x, x)
        c = tf.add(a, b)
    with tf.Session() as session:
        assert " del t" in plan_of(session, c, {x: [1, 2]}).code.source


def test_a_host_value_of_two_devices_is_one_value():
    x = tf.placeholder(tf.int32, [2], name="shape")
    with tf.device("/gpu:0"):
        a = tf.reshape(tf.constant([1.0, 2.0]), x)
    with tf.device("/cpu:0"):
        b = tf.add(x, x)
    with tf.Session() as session:
        values = session.run([a, b], {x: [2, 1]})
        assert values[0].tolist() == [[1], [2]] and values[1].tolist() == [4, 2]


def allocator(session, number=0):
    gc.collect()
    return list(session._devices.allocators.values())[number].stats()


def test_a_step_gives_its_memory_back_and_variables_keep_theirs():
    with tf.device("/gpu:0"):
        variable = tf.Variable(np.zeros([64, 64], np.float32))
        product = tf.matmul(variable, variable)
        update = tf.assign_add(variable, product)
    session = tf.Session()
    session.run(variable.initializer)
    size = 64 * 64 * 4
    assert allocator(session).bytes_in_use == 2 * size  # the constant and the variable
    for _ in range(5):
        session.run([product, update.op])
    assert allocator(session).bytes_in_use == 2 * size
    assert allocator(session).peak_bytes_in_use == 3 * size
    assert allocator(session, 1).num_allocs == 0
    session.close()
    assert allocator(session).bytes_in_use == 0


def test_views_take_no_memory_of_their_own():
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [64, 64])
        product = tf.matmul(x, x)
        same = tf.identity(tf.reshape(product, [-1]))
    session = tf.Session()
    session.run(same, {x: np.ones([64, 64])})
    assert allocator(session).num_allocs == 2
    session.close()


def test_out_of_memory_names_tensor_device_and_node_and_leaves_nothing_behind():
    with tf.device("/gpu:1"):
        x = tf.placeholder(tf.float32, [64, 64])
        small = tf.matmul(x, x)
        big = tf.fill([60000, 60000], 1.0, name="big")
        product = tf.matmul(big, big)
    session = tf.Session()
    with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        session.run([small, product], {x: np.ones([64, 64])})
    device = "/job:localhost/replica:0/task:0/device:GPU:1"
    lines = caught.value.message.splitlines()
    assert lines[0] == (
        f"OOM when allocating tensor with shape[60000,60000] and type float on {device} by allocator GPU_1_bfc"
    )
    assert lines[1].startswith("\t [[node big (defined at ")
    assert lines[2].startswith(
        "Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor"
    )
    held = caught.value  # a caller may keep the error
    constants = [
        value.nbytes
        for (_, name, on_host), value in session._compiler._constants.items()
        if name == device and not on_host
    ]
    assert allocator(session, 1).bytes_in_use == sum(-(-nbytes // 256) * 256 for nbytes in constants)
    assert session.run(small, {x: np.ones([64, 64])})[0, 0] == 64
    assert held.op is big.op
    session.close()
    del caught, held
    assert allocator(session, 1).bytes_in_use == 0


def test_memory_is_freed_when_a_kernel_fails():
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32)
        y = tf.placeholder(tf.float32)
        doubled = tf.add(x, x)
        total = tf.add(doubled, y)
    session = tf.Session()
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(total, {x: np.ones([100]), y: np.ones([3])})
    assert allocator(session).bytes_in_use == 0
    assert caught.value.facts["inputs"] == "float32[100], float32[3]"
    session.close()


def test_a_plan_is_made_once_for_a_signature():
    x = tf.placeholder(tf.float32, [])
    y = tf.add(x, 1.0)
    with tf.Session() as session:
        for value in range(3):
            assert session.run(y, {x: value}) == value + 1
            assert session.run([y], {x: value}) == [value + 1]
        assert len(session._plans) == 1
        session.run(y.op, {x: 1})
        assert len(session._plans) == 2


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 9), st.integers(0, 2)), max_size=25
    )
)
def test_any_graph_gives_the_same_on_any_devices(steps):
    """Random sums, products and views on three devices, fetched all at once, beside NumPy; all memory comes back."""
    tf.use_machine("2x Tesla K40c")
    value = np.arange(4, dtype=np.float32).reshape(2, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        tensors, expected = [tf.placeholder(tf.float32, [2, 2])], [value]
        for kind, left, right, device in steps:
            a, b = left % len(tensors), right % len(tensors)
            with tf.device(("/cpu:0", "/gpu:0", "/gpu:1")[device]):
                made, truth = {
                    0: (tf.add, np.add),
                    1: (tf.subtract, np.subtract),
                    2: (tf.maximum, np.maximum),
                    3: (lambda x, y: tf.identity(x), lambda x, y: x),
                    4: (lambda x, y: tf.reshape(x, [2, 2]), lambda x, y: x),
                    5: (lambda x, y: tf.transpose(x), lambda x, y: x.T),
                }[kind]
                tensors.append(made(tensors[a], tensors[b]))
            expected.append(truth(expected[a], expected[b]))
        for _ in range(2):
            found = session.run(tensors, {tensors[0]: value})
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
                assert not np.shares_memory(one, value)
            for one in found:
                one[:] = 0  # the caller's own
        np.testing.assert_array_equal(value, expected[0])
        allocators = list(session._devices.allocators.values())
    assert [allocator.stats().bytes_in_use for allocator in allocators] == [0, 0]


def test_what_does_nothing_has_no_line():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2])
        variable = tf.Variable([1.0, 2.0])
        with tf.control_dependencies([tf.no_op()]):
            y = tf.stop_gradient(tf.identity(tf.add(x, variable)))
            z = tf.identity(y)
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run([y, z], {x: [1, 2]})[1].tolist() == [2, 4]
        code = list(session._plans.values())[-1].code
        assert code.source.splitlines()[1:-1] == [" t0 = c0.value", " t0 = k1(f0, t0)"]
        metadata = tf.RunMetadata()
        session.run(y, {x: [1, 2]}, tf.RunOptions(trace_level=3), metadata)
    names = [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
    assert {"Identity", "StopGradient", "Variable", "NoOp"} <= set(names)


def test_a_fetched_value_that_was_only_passed_on_is_the_callers_own():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2])
        a = tf.add(x, x)
        values = [a, tf.identity(a), tf.identity(tf.identity(a)), tf.identity(x)]
        variable = tf.Variable([1.0, 2.0])
        values += [variable, tf.identity(variable)]
    given = np.float32([1, 2])
    with tf.Session() as session:
        session.run(variable.initializer)
        found = session.run(values, {x: given})
        for one in found:
            one[:] = -1
        assert given.tolist() == [1, 2] and session.run(variable).tolist() == [1, 2]
        assert [one.tolist() for one in session.run(values, {x: given})] == [[2, 4]] * 3 + [[1, 2]] * 3
    for position, one in enumerate(found):
        assert not any(np.shares_memory(one, other) for other in found[position + 1 :])


@pytest.mark.parametrize("is_taken", [False, True])
def test_an_identity_in_a_branch_leaves_the_value_to_others(is_taken):
    with tf.device("/cpu:0"):
        pred, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
        value = tf.add(x, x)
        other, taken = apply_op("Switch", data=pred, pred=pred).outputs
        with tf.control_dependencies([tf.identity(taken)]):
            inside = tf.identity(value)
        with tf.control_dependencies([tf.identity(other)]):
            instead = tf.constant(0.0)
        merged = apply_op("Merge", inputs=[instead, tf.negative(inside)]).outputs[0]
        total = merged + value
    with tf.Session() as session:
        assert session.run(total, {pred: is_taken, x: 3.0}) == (0.0 if is_taken else 6.0)
