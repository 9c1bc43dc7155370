"""CUDA graphs: what is captured and what is not. With a GPU: the answers of the kernels one by one."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from gpuplace.plan import cuda_graphs
from gpuplace.plan.cuda_graphs import MIN_KERNELS, RUNS_BEFORE, CapturingPlan
from tests.stand_ins import fake_cuda

MANY = MIN_KERNELS + 4


pytestmark = pytest.mark.usefixtures("steps_are_captured")  # groups of them are in test_fused_elementwise


def chain(x, count=MANY):
    total = x
    for _ in range(count):
        total = tf.add(total, x)
    return total


def fed_chain(build=chain, shape=(2, 2)):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, shape)
        return x, build(x)


def plan_of(session):
    (plan,) = session._plans.values()
    return plan


def launches(fake):
    return len([event for event in fake.events if event[0] == "launch"])


def run_often(session, fetches, x, times=RUNS_BEFORE + 3, shape=(2, 2)):
    values = []
    for number in range(times):
        values.append(session.run(fetches, {x: np.full(shape, number, np.float32)}))
    return values


def test_after_a_few_runs_a_step_is_one_launch(fake):
    x, total = fed_chain()
    with tf.Session() as session:
        values = run_often(session, total, x)
    assert [value[0, 0] for value in values] == [number * (MANY + 1) for number in range(len(values))]
    assert launches(fake) == 3
    assert [event for event in fake.events if event[0] == "captured"] == [("captured", MANY)]
    assert (fake.current, fake.stream) == (0, "default")


@pytest.mark.parametrize("experiments", ["graphs", "graphs,copy_streams"])
@pytest.mark.parametrize("fake", range(8), indirect=True)
def test_launches_wait_for_their_inputs_in_whatever_order_streams_work(fake, monkeypatch, experiments):
    monkeypatch.setenv("GPUPLACE_GPU_EXPERIMENTS", experiments)
    x, total = fed_chain(lambda x: chain(x) + tf.transpose(x))
    with tf.device("/gpu:0"):
        variable = tf.Variable([[5.0, 6.0], [7.0, 8.0]])
    with tf.Session() as session:
        values = run_often(session, total, x)
        session.run(variable.initializer)  # takes memory that no graph may have
        values += run_often(session, total, x)
        assert session.run(variable).tolist() == [[5, 6], [7, 8]]
    expected = [number * (MANY + 2) for number in range(len(values) // 2)] * 2
    assert [value.tolist() for value in values] == [[[one, one], [one, one]] for one in expected]
    assert launches(fake) == len(values) - RUNS_BEFORE
    fake.assert_one_arena()


def test_what_other_threads_queue_meanwhile_is_not_captured(fake):
    x, total = fed_chain()
    with tf.device("/gpu:0"):
        y = tf.placeholder(tf.float32, [3])
        product = tf.multiply(y, y)
    met = []
    with tf.Session() as session, tf.Session() as other:
        begin = fake_cuda.Stream.begin_capture

        def begin_and_let_others_run(stream):
            begin(stream)
            with ThreadPoolExecutor(1) as pool:
                met.append(pool.submit(other.run, product, {y: [1, 2, 3]}).result())

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fake_cuda.Stream, "begin_capture", begin_and_let_others_run)
            values = run_often(session, total, x)
    assert [value.tolist() for value in met] == [[1, 4, 9]]
    assert ("captured", MANY) in fake.events and launches(fake) == 3
    assert [value[0, 0] for value in values] == [number * (MANY + 1) for number in range(len(values))]


def test_every_shape_has_its_graph(fake):
    x, total = fed_chain(shape=[None])
    with tf.Session() as session:
        for size in (1, 2, 1, 2, 1, 2, 1, 2):
            value = session.run(total, {x: np.ones(size, np.float32)})
            assert value.tolist() == [MANY + 1] * size
    assert launches(fake) == 8 - 2 * RUNS_BEFORE
    assert len([event for event in fake.events if event[0] == "captured"]) == 2


def test_constants_are_copied_once_and_fetches_are_the_callers_own(fake):
    with tf.device("/cpu:0"):
        one = tf.constant([[1.0, 1.0], [1.0, 1.0]])
    x, total = fed_chain(lambda x: chain(x) + one)
    with tf.Session() as session:
        values = run_often(session, [total, total.op], x)
    for number, (value, nothing) in enumerate(values):
        assert value.tolist() == np.full((2, 2), number * (MANY + 1) + 1).tolist() and nothing is None
        value[...] = 0
    assert launches(fake) == 3


def test_a_variable_with_another_array_is_read_again(fake):
    with tf.device("/gpu:0"):
        variable = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        update = tf.assign(variable, variable + 1.0)
    x, total = fed_chain(lambda x: chain(x) + variable)
    feed = {x: np.zeros((2, 2), np.float32)}
    with tf.Session() as session:
        session.run(variable.initializer)
        for _ in range(RUNS_BEFORE + 2):
            assert session.run(total, feed).tolist() == [[1, 2], [3, 4]]
        assert launches(fake) == 2
        session.run(update.op)
        for _ in range(2):
            assert session.run(total, feed).tolist() == [[2, 3], [4, 5]]
        assert launches(fake) == 4
        for step in range(cuda_graphs.MAX_CAPTURES + 1):
            session.run(update.op)
            assert session.run(total, feed).tolist() == [[3 + step, 4 + step], [5 + step, 6 + step]]
        plan = session._plans[(total,), (), (x,)]
        assert plan.not_captured == "variables or shapes change in nearly every run"


@pytest.mark.parametrize(
    "build",
    [
        lambda x: chain(x, 3),
        lambda x: chain(x) + tf.random_uniform([2, 2], seed=1),
        lambda x: tf.assign_add(tf.Variable(np.zeros((2, 2), np.float32)), chain(x)),
        lambda x: chain(tf.reshape(x, tf.placeholder_with_default(np.array([2, 2]), [2]))),
    ],
    ids=["few kernels", "random numbers", "a variable is assigned", "a shape that may be fed"],
)
def test_what_is_never_captured(fake, build):
    x, total = fed_chain(build)
    with tf.Session() as session:
        assert not isinstance(session._plan(((total,), (), (x,))), CapturingPlan)
        assert isinstance(session._plan(((fed_chain()[1],), (), ())), CapturingPlan)


def test_a_conditional_is_not_captured(fake):
    x, total = fed_chain()
    with tf.device("/gpu:0"):
        switch = apply_op("Switch", data=total, pred=tf.constant(True))
        taken = tf.identity(switch.outputs[1])
    with tf.Session() as session:
        run_often(session, taken, x)
    assert launches(fake) == 0


def test_a_kernel_that_refuses_makes_the_plan_run_kernel_by_kernel(fake):
    fake.refused = frozenset({"multiply"})
    x, total = fed_chain(lambda x: chain(x) * x)
    with tf.Session() as session:
        values = run_often(session, total, x)
        assert plan_of(session).not_captured == "NotImplementedError: multiply cannot be captured"
    assert values[-1][0, 0] == (MANY + 1) * (len(values) - 1) ** 2
    assert launches(fake) == 0 and fake.capture is None
    assert (fake.current, fake.stream) == (0, "default")


def test_a_graph_of_much_memory_is_not_kept(fake, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "MAX_BYTES", 100)
    x, total = fed_chain()
    with tf.Session() as session:
        assert run_often(session, total, x)[-1][0, 0] == (MANY + 1) * (RUNS_BEFORE + 2)
        assert "more than 100 bytes" in plan_of(session).not_captured


def test_a_failing_launch_is_reported(fake):
    x, total = fed_chain()
    with tf.Session() as session:
        run_often(session, total, x)
        (graph,) = plan_of(session)._graphs.values()

        def broken(stream):
            raise fake.cuda.runtime.CUDARuntimeError(700, "cudaErrorIllegalAddress")

        graph._launch = broken
        with pytest.raises(
            tf.errors.InternalError, match="GPU:0 failed in a CUDA graph: cudaErrorIllegalAddress"
        ):
            session.run(total, {x: np.ones((2, 2), np.float32)})
    assert (fake.current, fake.stream) == (0, "default")


def test_an_uninitialized_variable_fails_as_ever(fake):
    with tf.device("/gpu:0"):
        variable = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    x, total = fed_chain(lambda x: chain(x) + variable)
    feed = {x: np.zeros((2, 2), np.float32)}
    with tf.Session() as session:
        for _ in range(RUNS_BEFORE + 2):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                session.run(total, feed)
        session.run(variable.initializer)
        for _ in range(RUNS_BEFORE + 2):
            assert session.run(total, feed).tolist() == [[1, 2], [3, 4]]
    assert launches(fake) > 0


def test_nothing_is_captured_unless_the_environment_asks_for_it(fake, monkeypatch):
    monkeypatch.delenv("GPUPLACE_GPU_EXPERIMENTS")
    x, total = fed_chain()
    with tf.Session() as session:
        run_often(session, total, x)
    assert launches(fake) == 0


@pytest.mark.gpu
def test_a_captured_chain_on_a_real_gpu():
    tf.use_machine(tf.Machine.local())
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x, total = fed_chain(lambda x: tf.reduce_sum(tf.tanh(chain(x, 100)) * 2.0, axis=0), shape=[None, 3])
        for number in range(8):
            value = np.full((2 + number % 2, 3), number / 1000, np.float32)
            expected = 2 * np.tanh(101 * value).sum(axis=0)
            np.testing.assert_allclose(session.run(total, {x: value}), expected, rtol=1e-5)
        assert plan_of(session).not_captured == ""
        assert any(isinstance(found, cuda_graphs._Graph) for found in plan_of(session)._graphs.values())
