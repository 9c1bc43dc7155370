"""Sessions of graphs with functional control flow: devices, pieces of steps, graphs that grow."""

import threading

import numpy as np
import pytest

import gpuplace as tf

LOCAL = "/job:localhost/replica:0/task:0/device:"


@pytest.fixture(autouse=True)
def two_gpus():
    tf.use_machine("2x Tesla K40c")
    tf.enable_control_flow_v2()


def devices_of(session, fetches, feeds):
    """Node -> short names of the devices on which it ran."""
    metadata = tf.RunMetadata()
    session.run(fetches, feeds, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    found = {}
    for device in metadata.step_stats.dev_stats:
        if device.device.startswith(LOCAL):
            for node in device.node_stats:
                found.setdefault(node.node_name, set()).add(device.device.removeprefix(LOCAL))
    return found


def test_nodes_of_branches_and_loops_run_on_their_devices():
    x, p = tf.placeholder(tf.float32, [2], "x"), tf.placeholder(tf.bool, [], "p")

    def far():
        with tf.device("/gpu:1"):
            return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.nn.relu(v) * 2.0), [0, x])[1]

    def here():
        with tf.device("/cpu:0"):
            return tf.tanh(x)

    y = tf.cond(p, far, here, name="cond")
    with tf.Session() as session:
        assert session.run(y, {x: [1.0, 2.0], p: True}).tolist() == [8.0, 16.0]
        ran = devices_of(session, y, {x: [1.0, 2.0], p: True})
        placed = {name: device.removeprefix(LOCAL) for name, device in session.placement.items()}
        assert {name: {placed[name]} for name in ran if name in placed} == {
            name: where for name, where in ran.items() if name in placed
        }
        assert [where for name, where in ran.items() if name.endswith("/Relu")] == [{"GPU:1"}]
        assert not any(name.endswith("/Tanh") for name in ran)
        ran = devices_of(session, y, {x: [1.0, 2.0], p: False})
        assert [where for name, where in ran.items() if name.endswith("/Tanh")] == [{"CPU:0"}]
        assert set(placed.values()) == {"CPU:0", "GPU:0", "GPU:1"}


def test_a_step_in_pieces():
    x, n = tf.placeholder(tf.float32, [2], "x"), tf.placeholder(tf.int32, [], "n")
    first = tf.cond(x[0] > 0, lambda: x * 2.0, lambda: -x)
    second = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v + first), [0, x])[1]
    with tf.Session() as session:
        handle = session.partial_run_setup([first, second], [x, n])
        assert session.partial_run(handle, first, {x: [1.0, 2.0]}).tolist() == [2.0, 4.0]
        tf.constant(1.0, name="more")  # the graph grows meanwhile
        assert session.run("more:0") == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"The fetch more:0 was not specified"):
            session.partial_run(handle, "more:0")
        assert session.partial_run(handle, second, {n: 3}).tolist() == [7.0, 14.0]


def test_state_stays_when_the_graph_grows():
    weight = tf.get_variable("weight", initializer=1.0, use_resource=True)
    dice = tf.cond(weight > 0, lambda: tf.random_uniform([], seed=3), lambda: 0.0, name="dice")
    add = tf.cond(weight > 0, lambda: weight.assign_add(2.0), lambda: weight.read_value(), name="add")
    with tf.Session() as session:
        session.run(weight.initializer)
        assert session.run(add) == 3.0
        rolled = [session.run(dice)]
        again = tf.while_loop(lambda i: i < 3, lambda i: i + tf.cast(weight, tf.int32), [0], name="again")
        assert session.run(again) == 3
        assert "again/LoopCond" in " ".join(session.placement)
        rolled += [session.run(tf.identity(dice)), session.run(dice)]
        assert len(set(rolled)) == 3
        assert (session.run(add), session.run(weight)) == (5.0, 5.0)
    with tf.Session() as session:
        session.run(weight.initializer)
        assert [session.run(dice) for _ in range(3)] == rolled


def test_callables_and_an_interactive_session():
    x = tf.placeholder(tf.float32, [2], "x")
    y = tf.switch_case(tf.cast(x[0], tf.int32), [lambda: x * 2.0, lambda: x + 1.0])
    session = tf.InteractiveSession()
    call = session.make_callable([y, x], [x])
    np.testing.assert_array_equal(call(np.float32([1.0, 5.0])), [[2.0, 6.0], [1.0, 5.0]])
    assert y.eval({x: [0.0, 5.0]}).tolist() == [0.0, 10.0]
    assert y.eval({x: [9.0, 5.0]}).tolist() == [10.0, 6.0]  # the last branch has all other numbers
    assert tf.identity(y).eval({y: [4.0, 4.0]}).tolist() == [4.0, 4.0]
    session.close()


def test_of_an_operation_with_several_outputs_one_is_fed():
    x, p = tf.placeholder(tf.float32, [4], "x"), tf.placeholder(tf.bool, [], "p")
    left, right = tf.split(x, 2)
    y = tf.cond(p, lambda: left * right, lambda: left - right)
    session = tf.InteractiveSession()
    assert y.eval({x: [1.0, 2.0, 3.0, 4.0], left: [5.0, 5.0], p: True}).tolist() == [15.0, 20.0]
    session.close()


def test_every_call_is_inlined_where_the_options_say_so():
    @tf.function
    def double(x):
        return tf.multiply(x, 2.0, name="twice")

    y = double(tf.constant([1.0, 2.0]))
    config = tf.ConfigProto()
    with tf.Session(config=config) as session:
        assert not any(name.endswith("/twice") for name in devices_of(session, y, {}))
    config.graph_options.optimizer_options.do_function_inlining = True
    with tf.Session(config=config) as session:
        (name,) = [name for name in devices_of(session, y, {}) if "twice" in name and "/y" not in name]
        assert session.placement[name] == f"{LOCAL}GPU:0"
        assert session.run(y).tolist() == [2.0, 4.0]


def test_a_device_that_is_not_there_is_an_error_where_a_branch_asks_for_it():
    tf.use_machine("cpu")

    def far():
        with tf.device("/gpu:0"):
            return tf.constant(1.0, name="far")

    y = tf.cond(tf.placeholder_with_default(False, []), far, lambda: 2.0, name="cond")
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError, match="Cannot assign a device for operation cond/then/_0/far"
        ) as caught,
    ):
        session.run(y)
    assert caught.value.op is None and "test_lowered_sessions.py" in str(caught.value)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(y) == 2.0


def test_a_loop_ends_when_its_session_is_closed():
    going = threading.Event()
    report = tf.py_func(going.set, [], [], stateful=True)

    def body(i):
        with tf.control_dependencies([report]):
            return i + 1

    loop = tf.while_loop(lambda i: True, body, [0])
    session = tf.Session()
    caught = []

    def run():
        try:
            session.run(loop)
        except tf.errors.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert going.wait(30)
    session.close()
    thread.join(30)
    assert not thread.is_alive() and len(caught) == 1
