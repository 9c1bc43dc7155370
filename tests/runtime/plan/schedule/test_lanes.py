"""Lanes: devices that work at the same time, with the results of one line."""

import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.runtime.plan import compile as plan_maker
from gpuplace.runtime.plan.parallel_plan import Exchange, ParallelPlan, _Stopped
from gpuplace.runtime.plan.schedule import lanes

GPUS = [f"/job:localhost/replica:0/task:0/device:GPU:{index}" for index in range(2)]


@pytest.fixture(autouse=True)
def _graph(monkeypatch):
    monkeypatch.setattr(plan_maker, "available_cores", lambda: 4)
    tf.use_machine("4 CPU, 2x Tesla K40c")
    with tf.Graph().as_default():
        yield


def towers(size, steps=2, shape=None):
    """Products on two devices, and their sum on a third one."""
    x = tf.placeholder(tf.float32, shape or [size, size], name="x")
    ends = []
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            y = tf.multiply(x, 1.0 + index)
            for step in range(steps):
                y = tf.matmul(tf.tanh(y), x, name=f"tower_{index}/product_{step}")
            ends.append(y)
    with tf.device("/cpu:0"):
        return x, tf.add_n(ends, name="total"), ends


def only_plan(session):
    (plan,) = session._plans.values()
    return plan


def serial(**options):
    return tf.ConfigProto(inter_op_parallelism_threads=1, **options)


def test_large_work_gets_lanes_and_small_work_a_single_line():
    x, total, _ = towers(400)
    with tf.Session() as session:
        session.run(total, {x: np.eye(400)})
        plan = only_plan(session)
        assert isinstance(plan, ParallelPlan) and len(plan.codes) == 3
        assert " give(" in plan.codes[1].source and " = take(" in plan.codes[0].source
    with tf.Session(config=serial()) as session:
        session.run(total, {x: np.eye(400)})
        assert not isinstance(only_plan(session), ParallelPlan)
    with tf.Graph().as_default(), tf.Session() as session:
        x, total, _ = towers(4)
        session.run(total, {x: np.eye(4)})
        assert type(only_plan(session)).__name__ == "Plan"


def test_a_single_core_has_a_single_line(monkeypatch):
    monkeypatch.setattr(plan_maker, "available_cores", lambda: 1)
    x, total, _ = towers(400)
    with tf.Session() as session:
        session.run(total, {x: np.eye(400)})
        assert type(only_plan(session)).__name__ == "Plan"


def test_a_thousand_runs_are_bit_equal_to_the_single_line():
    x, total, ends = towers(160)
    rng = np.random.default_rng(1)
    value = rng.standard_normal([160, 160], np.float32)
    with tf.Session(config=serial()) as session:
        expected = session.run([total, *ends], {x: value})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lanes, "MIN_LANE_US", 10.0)
        patch.setattr(lanes, "HANDOFF_US", 0.0)
        with tf.Session() as session:
            for _ in range(1000):
                found = session.run([total, *ends], {x: value})
                assert all(map(np.array_equal, found, expected))
            assert isinstance(only_plan(session), ParallelPlan)
            used = [allocator.stats().bytes_in_use for allocator in session.allocators.values()]
    assert used == [256, 256]  # the factors of both towers


def test_the_trace_shows_devices_at_work_at_the_same_time():
    x, total, _ = towers(600, steps=3)
    metadata = tf.RunMetadata()
    value = np.random.default_rng(0).standard_normal([600, 600], np.float32)
    with tf.Session() as session:
        session.run(total, {x: value})
        overlaps = 0
        for _ in range(10):
            session.run(total, {x: value}, tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE), metadata)
            spans = {}
            for device in metadata.step_stats.dev_stats:
                for node in device.node_stats:
                    if "product" in node.node_name and "/_" not in node.node_name:
                        span = spans.setdefault(device.device, [])
                        span.append((node.all_start_nanos, node.all_start_nanos + node.all_end_rel_nanos))
            assert len(spans) >= 2 and {len(span) for span in spans.values()} == {3}
            first, second = (spans[name] for name in GPUS)
            overlaps += any(max(a, c) < min(b, d) for a, b in first for c, d in second)
        assert overlaps >= 8
        starts = [node.all_start_nanos for node in metadata.step_stats.dev_stats[0].node_stats]
        assert len(starts) > 3


def test_unknown_shapes_are_measured_first():
    x, total, _ = towers(700, shape=[None, None])
    value = np.random.default_rng(0).standard_normal([700, 700], np.float32)
    with tf.Session(config=serial()) as session:
        expected = session.run(total, {x: value})
    with tf.Session() as session:
        call = session.make_callable(total, [x])
        for _ in range(4):
            assert np.array_equal(call(value), expected)
        plan = only_plan(session)
        assert isinstance(plan._other, ParallelPlan)
        assert np.array_equal(
            session.run(total, {x: value[:10, :10]}), session.run(total, {x: value[:10, :10]})
        )
        metadata = tf.RunMetadata()
        session.run(total, {x: value}, tf.RunOptions(trace_level=3), metadata)
        assert isinstance(next(iter(session._other_plans.values())), ParallelPlan)
    with tf.Session() as session:
        for _ in range(4):
            session.run(total, {x: value[:4, :4]})
        assert only_plan(session)._other is None


def test_threads_are_limited_by_the_config():
    x = tf.placeholder(tf.float32, [400, 400])
    ends = []
    for device in ("/gpu:0", "/gpu:1", "/cpu:1", "/cpu:2"):
        with tf.device(device):
            ends.append(tf.matmul(x, x))
    with tf.device("/cpu:0"):
        total = tf.add_n(ends)
    for threads, lanes_made in ((0, 5), (2, 3), (3, 4)):
        config = tf.ConfigProto(
            inter_op_parallelism_threads=threads, use_per_session_threads=True, device_count={"CPU": 4}
        )
        with tf.Session(config=config) as session:
            assert np.array_equal(session.run(total, {x: np.eye(400)}), 4 * np.eye(400))
            assert len(only_plan(session).codes) == lanes_made
            names = {thread.name for thread in threading.enumerate()}
            assert any(name.startswith("gpuplace-lane") for name in names)


def heavy_pair(value=None):
    """Two tensors that take long, on two devices, to force lanes."""
    x = tf.placeholder(tf.float32, [400, 400], name="x")
    made = []
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            made.append(tf.matmul(x, x))
    return x, made


@pytest.mark.parametrize("use_resource", [False, True])
def test_uses_of_a_variable_keep_their_order(use_resource):
    x, made = heavy_pair()
    variable = tf.Variable(np.zeros([400, 400], np.float32), use_resource=use_resource)
    results = []
    with tf.device("/gpu:0"):
        before = tf.add(variable.read_value() if use_resource else tf.identity(variable), 0.0)
    with tf.control_dependencies([before.op]):
        update = tf.assign_add(variable, made[1])
    with tf.control_dependencies([update.op if hasattr(update, "op") else update]):
        after = variable.read_value()
    with tf.device("/gpu:1"):
        results = [before, tf.add(after, made[0])]
    with tf.Session() as session:
        for _ in range(30):
            session.run(variable.initializer)
            first, second = session.run(results, {x: np.eye(400)})
            assert not first.any() and np.array_equal(second, 2 * np.eye(400))
        assert any(isinstance(plan, ParallelPlan) for plan in session._plans.values())


def test_the_error_of_a_lane_is_the_nodes_and_the_session_stays_usable():
    x, made = heavy_pair()
    n = tf.placeholder(tf.int32, [], name="n")
    with tf.device("/gpu:0"):
        bad = tf.reshape(made[0], tf.stack([n, -1]), name="bad")
    with tf.device("/cpu:0"):
        total = tf.add(tf.reduce_sum(bad), tf.reduce_sum(made[1]), name="total")
    with tf.Session() as session:
        for _ in range(20):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(total, {x: np.eye(400), n: 7})
            assert "Input to reshape" in caught.value.message and caught.value.op is bad.op
            assert caught.value.facts["device"] == GPUS[0]
            del caught
            assert session.run(total, {x: np.eye(400), n: 4}) == 800
        assert isinstance(only_plan(session), ParallelPlan)
        used = [allocator.stats().bytes_in_use for allocator in session.allocators.values()]
    assert used == [0, 0]


def test_of_two_errors_the_first_in_the_graph_is_raised():
    x, made = heavy_pair()
    n = tf.placeholder(tf.int32, [1], name="n")
    ends = []
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            ends.append(tf.reshape(made[index], n, name=f"bad_{index}"))
    with tf.Session() as session:
        for _ in range(20):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(ends, {x: np.eye(400), n: [7]})
            assert caught.value.op.name in ("bad_0", "bad_1")


@pytest.fixture
def hears_interrupts():
    """A shell's background jobs ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_keyboard_interrupts_a_step(hears_interrupts):
    x, made = heavy_pair()
    started = threading.Event()

    def slow(value):
        started.set()
        time.sleep(0.5)
        return value

    with tf.device("/cpu:1"):
        late = tf.py_func(slow, [made[0]], tf.float32)
    with tf.device("/cpu:0"):
        total = tf.add(late, made[1])
    with tf.Session() as session:
        plan_signature = session.run(total, {x: np.eye(400)})
        assert plan_signature[0, 0] == 2
        started.clear()

        def interrupt():
            started.wait()
            signal.raise_signal(signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(total, {x: np.eye(400)})
            time.sleep(5)
        thread.join()
        assert session.run(total, {x: np.eye(400)})[0, 0] == 2


def test_conditionals_stay_in_one_line():
    x, made = heavy_pair()
    predicate = tf.placeholder(tf.bool, [])
    graph = tf.get_default_graph()
    switch = graph.create_op("Switch", [made[0], predicate], attrs={"T": tf.float32})
    merged = graph.create_op(
        "Merge",
        [tf.negative(switch.outputs[0]), tf.square(switch.outputs[1])],
        attrs={"T": tf.float32, "N": 2},
    ).outputs[0]
    with tf.Session() as session:
        value = session.run(tf.add(merged, made[1]), {x: np.eye(400), predicate: False})
        assert not value.any()
        assert not any(isinstance(plan, ParallelPlan) for plan in session._plans.values())


def test_an_exchange_that_failed_lets_everyone_go():
    exchange = Exchange(2)
    exchange.give(0, "value")
    exchange.fail()
    for number in range(2):
        with pytest.raises(_Stopped):
            exchange.take(number)
    exchange.give(1, "late")  # nobody is there any more
    sound = Exchange(1)
    sound.give(0)
    with pytest.raises(RuntimeError):
        sound.give(0)


def test_the_first_session_that_asks_limits_the_threads_of_products():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def now():
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    before = now()
    tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1))
    assert set(now()) == {1}
    tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2))
    assert set(now()) == {1}
    tf.reset_runtime()
    assert now() == before


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 30), st.integers(0, 30), st.integers(0, 3)), max_size=30
    ),
    st.integers(1, 4),
)
def test_any_graph_gives_the_same_in_lanes(steps, most):
    """Random sums, products, views and assignments on four devices, with and without lanes."""
    tf.use_machine("2 CPU, 2x Tesla K40c")
    value = np.arange(4, dtype=np.float32).reshape(2, 2)
    with tf.Graph().as_default():
        tensors = [tf.placeholder(tf.float32, [2, 2])]
        variable = tf.Variable(value, use_resource=False)
        for kind, left, right, device in steps:
            a, b = tensors[left % len(tensors)], tensors[right % len(tensors)]
            with tf.device(("/cpu:0", "/cpu:1", "/gpu:0", "/gpu:1")[device]):
                if kind == 0:
                    tensors.append(tf.add(a, b))
                elif kind == 1:
                    tensors.append(tf.matmul(a, tf.minimum(b, 1.0)))
                elif kind == 2:
                    tensors.append(tf.transpose(a))
                elif kind == 3:
                    tensors.append(tf.identity(a))
                elif kind == 4:
                    with tf.control_dependencies([b.op]):
                        tensors.append(tf.add(a, tf.constant([[1.0, 2.0], [3.0, 4.0]])))
                elif kind == 5:
                    with tf.control_dependencies([b.op]):
                        tensors.append(tf.identity(tf.assign(variable, a)))
                else:
                    with tf.control_dependencies([b.op]):
                        tensors.append(tf.add(variable, a))
        found = []
        for threads in (1, most + 1):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(lanes, "MIN_LANE_US", 0.0)
                patch.setattr(lanes, "MIN_GAIN", 1e9)
                patch.setattr(plan_maker, "available_cores", lambda: 8)
                config = tf.ConfigProto(inter_op_parallelism_threads=threads, device_count={"CPU": 2})
                with tf.Session(config=config) as session:
                    session.run(variable.initializer)
                    found.append([session.run(tensors, {tensors[0]: value}) for _ in range(2)])
                    allocators = list(session.allocators.values())
        for one, other in zip(*found, strict=True):
            for left, right in zip(one, other, strict=True):
                np.testing.assert_array_equal(left, right)
    assert [allocator.stats().bytes_in_use for allocator in allocators] == [0, 0]


def test_a_steps_pool_of_threads_says_how_many_lanes_it_has():
    x, total, _ = towers(400)
    value = np.random.default_rng(0).standard_normal([400, 400], np.float32)
    config = tf.ConfigProto()
    for threads in (0, 1, 2):
        config.session_inter_op_thread_pool.add(num_threads=threads)
    with tf.Session(config=config) as session:
        expected = session.run(total, {x: value})
        assert len(only_plan(session).codes) == 3
        lanes = {}
        for pool in (-1, 1, 2):
            options = tf.RunOptions(inter_op_thread_pool=pool)
            assert np.array_equal(session.run(total, {x: value}, options), expected)
            plan = session._other_plans.popitem()[1]
            lanes[pool] = len(plan.codes) if isinstance(plan, ParallelPlan) else 1
        assert lanes == {-1: 1, 1: 1, 2: 3}
    config.session_inter_op_thread_pool[0].num_threads = 1
    with tf.Session(config=config) as session:
        assert np.array_equal(session.run(total, {x: value}), expected)
        assert not isinstance(only_plan(session), ParallelPlan)
