"""Plans with real GPUs, on a stand-in that does what is queued late and in any order that waits allow."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.runtime.plan.codegen import pieces as plan_pieces
from tests.stand_ins.gpu_programs import PROGRAMS, assert_same, numbers, random_program

SEEDS = range(12)


orders = pytest.mark.parametrize("fake", SEEDS, indirect=True)


@orders
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_are_right_in_whatever_order_streams_work(fake, program):
    assert_same(program)
    fake.drain()
    fake.assert_one_arena()


@pytest.mark.parametrize("fake", range(100, 130), indirect=True)
def test_values_of_random_programs_are_right(fake, request):
    assert_same(random_program(request.node.callspec.params["fake"]))
    fake.drain()
    fake.assert_one_arena()


@pytest.mark.parametrize("fake", range(100, 130), indirect=True)
def test_values_of_plans_in_pieces_are_right(fake, request, monkeypatch):
    monkeypatch.setattr(plan_pieces, "MIN_STEPS", 2)
    monkeypatch.setattr(plan_pieces, "MAX_STEPS", 6)
    assert_same(random_program(request.node.callspec.params["fake"]))
    for program in PROGRAMS:
        assert_same(program)
    fake.drain()
    fake.assert_one_arena()


@orders
def test_several_sessions_and_threads_share_the_gpus(fake):
    programs = [random_program(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(assert_same, programs))
    fake.assert_one_arena()


@orders
def test_threads_of_one_session_have_their_own_steps(fake):
    x = tf.placeholder(tf.float32, [16])
    with tf.device("/gpu:0"):
        first = x + 1.0
    with tf.device("/gpu:1"):
        second = first * 2.0
    with tf.device("/cpu:0"):
        third = second - first
    with tf.device("/gpu:0"):
        last = third + second
    with tf.Session() as session:
        started = threading.Barrier(3)

        def steps(thread):
            started.wait()
            for step in range(6):
                value = numbers((16,), 10 * thread + step)
                found = session.run(last, {x: value})
                np.testing.assert_array_equal(found, 3 * (value + 1))

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(steps, range(3)))


@orders
def test_what_was_fetched_may_be_fed_and_then_written_to(fake):
    x = tf.placeholder(tf.float32, [16])
    with tf.device("/gpu:0"):
        doubled = x * 2.0
        variable = tf.Variable(np.zeros(16, np.float32))
        assigned = tf.assign(variable, x + 0.0)
    with tf.Session() as session:
        session.run(variable.initializer)
        for step in range(4):
            fetched = session.run(doubled, {x: numbers((16,), step)})
            session.run(assigned.op, {x: fetched})
            fetched.fill(-1)
            np.testing.assert_array_equal(session.run(variable), 2 * numbers((16,), step))


@orders
def test_a_step_may_run_another_one(fake):
    x = tf.placeholder(tf.float32, [16])
    with tf.device("/gpu:1"):
        inner = x + 1.0
    with tf.device("/gpu:0"):
        first = x * 2.0
    with tf.device("/cpu:0"):
        called = tf.py_func(lambda value: other.run(inner, {x: value}), [x], tf.float32)
    with tf.device("/gpu:0"), tf.control_dependencies([called]):
        last = (first + first) + called
    with tf.Session() as session, tf.Session() as other:
        for step in range(3):
            value = numbers((16,), step)
            np.testing.assert_array_equal(session.run(last, {x: value}), 5 * value + 1)
            assert (fake.current, fake.stream) == (0, "default")
    fake.assert_one_arena()


def step_that_fails():
    """What is fed, and a fetch that fails on the host unless a shape is right; copies are under way when it does."""
    x = tf.placeholder(tf.float32, [16])
    shape = tf.placeholder(tf.int32, [1])
    with tf.device("/gpu:0"):
        first = x + 1.0
    with tf.device("/gpu:1"):
        second = first + x
    with tf.device("/cpu:0"):
        shaped = tf.reshape(x, shape, name="shaped")
        third = second + shaped
    with tf.device("/gpu:1"):
        return x, shape, [third * 1.0, second, first]


@orders
def test_a_step_that_fails_gives_back_the_device(fake):
    x, shape, fetches = step_that_fails()
    with tf.Session() as session:
        for step in range(5):
            value = numbers((16,), step)
            with pytest.raises(tf.errors.InvalidArgumentError, match="node shaped"):
                session.run(fetches, {x: value, shape: [5]})
            assert (fake.current, fake.stream) == (0, "default")
            found = session.run(fetches, {x: value, shape: [16]})
            for one, expected in zip(found, [3 * value + 1, 2 * value + 1, value + 1], strict=True):
                np.testing.assert_array_equal(one, expected)


@orders
def test_a_step_that_runs_out_of_time_is_followed_by_right_ones(fake):
    x = tf.placeholder(tf.float32, [16])
    with tf.device("/gpu:0"):
        first = x + 1.0
    with tf.device("/cpu:0"):
        slow = tf.py_func(lambda value: threading.Event().wait(0.02) or value, [first], tf.float32)
    with tf.device("/gpu:1"):
        second = slow + first
    options = tf.RunOptions(timeout_in_ms=5)
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(second, {x: numbers((16,))}, options=options)
        options = tf.RunOptions(timeout_in_ms=60_000)
        found = session.run(second, {x: numbers((16,))}, options=options)
        np.testing.assert_array_equal(found, 2 * numbers((16,)) + 2)


@pytest.mark.parametrize("kind", ["to host", "peer"])
def test_a_copy_that_fails_names_the_node_whose_value_it_was(fake, kind):
    way = "GPU->CPU" if kind == "to host" else "GPU->GPU"
    what = f"{way} Memcpy from /job:localhost/replica:0/task:0/device:GPU:0"
    x = tf.placeholder(tf.float32, [16])
    with tf.device("/gpu:0"):
        first = tf.add(x, 1.0, name="first")
    with tf.device("/gpu:1"):
        second = tf.add(first, 1.0, name="second")
    with tf.device("/cpu:0"):
        third = tf.add(first, 1.0, name="third")
    fake.failing_copy = kind
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InternalError, match=f"{what} failed: cudaErrorIllegalAddress"
        ) as caught:
            session.run(third if kind == "to host" else second, {x: numbers((16,))})
        assert "{{node first}}" in caught.value.message or "node first " in caught.value.message
        assert (fake.current, fake.stream) == (0, "default")


@orders
def test_traced_steps_give_the_same(fake):
    x = tf.placeholder(tf.float32, [16])
    with tf.device("/gpu:0"):
        first = x + 1.0
    with tf.device("/gpu:1"):
        second = first + x
    with tf.device("/cpu:0"):
        third = second + first
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        for step in range(3):
            value, metadata = numbers((16,), step), tf.RunMetadata()
            found = session.run(third, {x: value}, options=options, run_metadata=metadata)
            np.testing.assert_array_equal(found, 3 * value + 2)
            traced = {node.node_name for one in metadata.step_stats.dev_stats for node in one.node_stats}
            assert {first.op.name, second.op.name, third.op.name} <= traced


@orders
def test_partial_runs_give_the_same(fake):
    a, b = (tf.placeholder(tf.float32, [16]) for _ in range(2))
    with tf.device("/gpu:0"):
        first = a + a
    with tf.device("/gpu:1"):
        second = first + b
    with tf.Session() as session:
        handle = session.partial_run_setup([first, second], [a, b])
        np.testing.assert_array_equal(
            session.partial_run(handle, first, {a: numbers((16,))}), 2 * numbers((16,))
        )
        found = session.partial_run(handle, second, {b: numbers((16,), 1)})
        np.testing.assert_array_equal(found, 2 * numbers((16,)) + numbers((16,), 1))


@pytest.fixture
def session():
    tf.use_machine(tf.Machine.local())
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        yield session


@pytest.mark.gpu
def test_copies_and_products_on_a_real_gpu(session):
    big = np.random.default_rng(0).integers(0, 3, (1024, 1024)).astype(np.float32)
    with tf.device("/gpu:0"):
        x, y = (tf.placeholder(tf.float32, [1024, 1024]) for _ in range(2))
        product = tf.matmul(x, x)
        total = tf.transpose(product + y)
    with tf.device("/cpu:0"):
        halved = product * 0.5
    expected = big @ big
    for step in range(10):
        other = np.roll(big, step)
        found, half = session.run([total, halved], {x: big, y: other})
        np.testing.assert_array_equal(found, (expected + other).T)
        np.testing.assert_array_equal(half, expected * 0.5)


@pytest.mark.gpu
def test_towers_on_two_real_gpus():
    machine = tf.Machine.local()
    tf.use_machine(machine)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        if sum(device.device_type == "GPU" for device in session.list_devices()) < 2:
            pytest.skip("there is one GPU")
        x = tf.placeholder(tf.float32, [256, 256])
        found = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"):
                found.append(tf.matmul(x, x) + float(tower))
        with tf.device("/gpu:1"):
            both = found[0] + found[1]
        with tf.device("/cpu:0"):
            mean = (found[0] + found[1]) * 0.5
        for step in range(5):
            value = numbers((256, 256), step)
            expected = value @ value
            for one, right in zip(session.run([both, mean], {x: value}), [2 * expected + 1, expected + 0.5]):
                np.testing.assert_array_equal(one, right)
