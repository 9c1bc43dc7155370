"""Long plans in pieces: the same results, errors, traces and memory as in one function."""

import gc
import itertools
import random

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from gpuplace.runtime.plan.codegen import pieces as plan_pieces
from gpuplace.runtime.plan.codegen.pieces import MAX_STEPS, MIN_STEPS, piece_starts


@pytest.fixture(autouse=True)
def _graph():
    tf.use_machine("2x Tesla K40c")
    with tf.Graph().as_default():
        yield


@pytest.fixture
def in_small_pieces(monkeypatch):
    monkeypatch.setattr(plan_pieces, "MIN_STEPS", 2)
    monkeypatch.setattr(plan_pieces, "MAX_STEPS", 6)


def plan_of(session):
    """The plan that was made last."""
    return list(session._plans.values())[-1]


def training(device):
    """A net of many layers; its input, and what a step fetches: losses, values on the way, the update."""
    with tf.device(device):
        x = tf.placeholder(tf.float32, [4, 3], name="x")
        hidden, seen = x, []
        for number in range(5):
            start = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3) * (number + 1)
            weights = tf.Variable(start, name=f"weights{number}")
            hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(hidden, weights), tf.constant([0.1, 0.2, 0.3])))
            hidden = tf.identity(hidden)
            seen.append(hidden)
        loss = tf.reduce_mean(tf.square(hidden - x))
    return x, [loss, seen[1], x, seen[4], *tf.trainable_variables()[:2]], loss


def steps_of(device, options=None, config=None):
    """Results of three training steps, and the number of functions of the plan."""
    with tf.Graph().as_default():
        x, fetches, loss = training(device)
        update = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
        value = np.random.default_rng(0).standard_normal([4, 3]).astype(np.float32)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            found = []
            for _ in range(3):
                metadata = tf.RunMetadata() if options else None
                found.append(session.run([*fetches, update], {x: value}, options, metadata)[:-1])
            plans = session._other_plans if options else session._plans
            peak = [allocator.stats().peak_bytes_in_use for allocator in session.allocators.values()]
            return found, len(list(plans.values())[-1].code.texts), peak


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:1"])
@pytest.mark.parametrize("kind", ["plain", "traced", "timed"])
def test_pieces_compute_the_same_bits_in_the_same_memory(device, kind, monkeypatch):
    options = {
        "plain": None,
        "traced": tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE),
        "timed": tf.RunOptions(timeout_in_ms=60_000),
    }[kind]
    expected, count, peak = steps_of(device, options)
    assert count == 1
    monkeypatch.setattr(plan_pieces, "MIN_STEPS", 2)
    monkeypatch.setattr(plan_pieces, "MAX_STEPS", 6)
    found, count, peak_in_pieces = steps_of(device, options)
    assert count > 8 and peak_in_pieces == peak
    for ours, theirs in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
        assert np.array_equal(ours, theirs) and ours.dtype == theirs.dtype


def test_equal_pieces_are_compiled_once():
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [2])
        total = x
        for _ in range(3000):
            total = tf.tanh(tf.add(total, x))
    with tf.Session() as session:
        found = session.run(total, {x: [1, 2]})
        code = plan_of(session).code
    assert len(code.texts) >= 6 and len(set(code.texts)) <= 4
    assert len({id(text) for text in code.texts}) == len(set(code.texts))
    expected = np.float32([1, 2])
    for _ in range(3000):
        expected = np.tanh(expected + np.float32([1, 2]))
    assert np.array_equal(found, expected)


class Step:
    def __init__(self, op_type):
        self.op_type = op_type


@pytest.mark.parametrize("period", [1, 2, 7, 40, 333, 900])
def test_repetitions_are_cut_at_the_same_place(period):
    chosen = random.Random(0)
    kinds = [f"Op{chosen.randrange(12)}" for _ in range(period)]
    starts = piece_starts([Step(kinds[number % period]) for number in range(20 * MAX_STEPS)])
    sizes = [end - start for start, end in itertools.pairwise(starts)]
    assert all(MIN_STEPS <= size <= MAX_STEPS for size in sizes)
    phases = {start % period for start in starts[2:]}
    assert len(phases) == 1


def test_a_short_plan_is_one_function():
    assert piece_starts([Step("Add")] * MAX_STEPS) == [0]
    assert piece_starts([Step("Const"), Step("Add")] * MAX_STEPS) == [0]  # constants have no line
    assert len(piece_starts([Step("Const"), Step("Add")] * (MAX_STEPS + 1))) > 1


def test_an_error_names_its_node_whatever_piece_it_is_in(in_small_pieces):
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        total = x
        for _ in range(8):
            total = tf.add(total, x)
        wrong = tf.reshape(total, [7], name="wrong")
        for _ in range(8):
            wrong = tf.negative(wrong)
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="wrong") as raised:
                session.run(wrong, {x: [[1, 2], [3, 4]]})
            assert raised.value.op.name == "wrong"
        assert len(plan_of(session).code.texts) > 3
        assert np.array_equal(session.run(total, {x: [[1, 2]]}), [[9, 18]])


def test_a_failed_step_keeps_nothing(in_small_pieces):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None, 64], name="x")
        total = tf.tanh(x)
        kept = tf.exp(total)
        for _ in range(8):
            total = tf.tanh(total)
        wrong = tf.reshape(total, [7])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([wrong, kept], {x: np.ones([64, 64])})
        gc.collect()
        assert [allocator.stats().bytes_in_use for allocator in session.allocators.values()] == [0, 0]


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_conditionals_reach_over_pieces(value, monkeypatch):
    def run():
        with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as session:
            x = tf.placeholder(tf.float32, [], name="x")
            pred = tf.greater(x, 0.0)
            outer = apply_op("Switch", data=tf.exp(x), pred=pred).outputs
            ends = []
            for branch, output in enumerate(outer):
                for _ in range(5):
                    output = tf.identity(tf.add(output, x))
                inner = apply_op("Switch", data=output, pred=tf.greater(output, 2.0)).outputs
                sides = [tf.negative(tf.identity(inner[0])), tf.square(tf.identity(inner[1]))]
                output = apply_op("Merge", inputs=sides).outputs[0]
                ends.append(tf.add(output, float(branch)))
            merged = apply_op("Merge", inputs=ends).outputs
            total = merged[0] + outer[0].op.inputs[0]
            found = session.run([total, merged[1]], {x: value})
            with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
                session.run(ends[value < 0], {x: value})
            return found, len(list(session._plans.values())[0].code.texts)

    expected, count = run()
    assert count == 1
    monkeypatch.setattr(plan_pieces, "MIN_STEPS", 2)
    monkeypatch.setattr(plan_pieces, "MAX_STEPS", 6)
    found, count = run()
    assert count > 4 and list(map(float, found)) == list(map(float, expected))


def test_a_value_is_dropped_by_the_last_piece_that_reads_it(in_small_pieces):
    """On the GPU at most the first value, the last one and the one being computed are there at a time."""
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [64, 64], name="x")
        first = tf.tanh(x)
        total = first
        for _ in range(9):
            total = tf.tanh(total)
        total = tf.add(total, first)
        for _ in range(9):
            total = tf.tanh(total)
    with tf.Session() as session:
        session.run(total, {x: np.ones([64, 64])})
        assert len(plan_of(session).code.texts) > 4
        (peak, _) = [allocator.stats().peak_bytes_in_use for allocator in session.allocators.values()]
    assert peak == 3 * 64 * 64 * 4


def test_many_values_that_reach_a_piece_live_as_long_as_in_one_function(monkeypatch):
    """More than the 30 arguments of which Python would make a tuple."""

    def peak():
        with tf.Graph().as_default(), tf.device("/gpu:0"):
            start = tf.placeholder(tf.float32, [1024])
            total, made = start, [start * float(number) for number in range(50)]
            for value in made:
                total = tf.add(total, value)
            total = tf.concat([total] * 4, 0)
            total = tf.add_n([total * float(number) for number in range(25)])
            with tf.Session() as session:
                session.run(total, {start: np.ones(1024)})
                (allocator,) = [one for one in session.allocators.values() if one.stats().num_allocs]
                return len(plan_of(session).code.texts), allocator.stats().peak_bytes_in_use

    count, expected = peak()
    assert count == 1
    monkeypatch.setattr(plan_pieces, "MIN_STEPS", 100)
    monkeypatch.setattr(plan_pieces, "MAX_STEPS", 100)
    count, found = peak()
    assert count > 2 and found == expected
