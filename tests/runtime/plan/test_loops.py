"""Loops: graphs of Enter, Merge, Switch, Exit and NextIteration, also those that no Python function makes."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op


def enter(value, frame="loop", **attrs):
    return apply_op("Enter", data=value, frame_name=frame, **attrs).outputs[0]


def close(merge, value):
    """Ends a loop: the merge takes ``value`` in the next iteration."""
    merge.op._update_input(1, apply_op("NextIteration", data=value).outputs[0])


def loop(first, condition, body, frame="loop", last=None):
    """The values that a loop gives, built from its nodes; ``first`` are its variables before."""
    entered = [enter(tf.convert_to_tensor(value), frame) for value in first]
    with tf.control_dependencies(None):
        merged = [apply_op("Merge", inputs=[one, one]).outputs[0] for one in entered]
        with tf.control_dependencies([merged[0].op]):
            predicate = apply_op("LoopCond", input=condition(*merged)).outputs[0]
        switched = [apply_op("Switch", data=one, pred=predicate).outputs for one in merged]
        left = [last(other) if last else other for other, _ in switched]
        exits = [apply_op("Exit", data=one).outputs[0] for one in left]
        inside = [tf.identity(taken) for _, taken in switched]
        with tf.control_dependencies([inside[0].op]):
            results = [tf.convert_to_tensor(result) for result in body(*inside)]
        for merge, result in zip(merged, results, strict=True):
            close(merge, result)
    return exits


@pytest.fixture(params=["cpu", "2x Tesla K40c"])
def machine(request):
    tf.use_machine(request.param)


def source_of(session, fetches):
    structure = [fetches] if isinstance(fetches, tf.Tensor) else list(fetches)
    session.run(structure)
    return session._plans[tuple(structure), (), ()].code.source


def test_a_loop_of_one_predicate_is_a_while_with_one_question():
    total, index = loop([1.0, 0], lambda t, i: i < 5, lambda t, i: (t * 2.0, i + 1))
    with tf.Session() as session:
        source = source_of(session, [total, index])
        assert session.run([total, index]) == [32.0, 5]
    lines = source.splitlines()
    inside = lines[lines.index(" while True:") + 1 :]
    questions = [line for line in inside if line.startswith("  if")]
    assert questions == ["  if session.is_closed: stop()", "  if g1:"]
    assert source.count("break") == 1 and source.count("while") == 1


@pytest.mark.usefixtures("machine")
def test_what_is_done_with_the_last_value_before_it_leaves():
    (total,) = loop([1.0], lambda t: t < 100.0, lambda t: [t * 3.0], last=tf.negative)
    with tf.Session() as session:
        assert session.run(total) == -243.0


@pytest.mark.usefixtures("machine")
def test_loops_in_loops_take_everything_in_by_enter():
    def body(i, t):
        outer = enter(tf.identity(i), "inner", is_constant=True)
        j, s = loop([tf.identity(i) * 0, t], lambda j, s: j < outer, lambda j, s: (j + 1, s + j), "inner")
        return i + 1, s + j

    i, t = loop([0, 10], lambda i, t: i < 4, body)
    with tf.Session() as session:
        expected = 10 + sum(sum(range(i)) + i for i in range(4))
        assert session.run([i, t]) == [4, expected]
        assert session.run([i, t]) == [4, expected]


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("is_traced", [False, True])
def test_a_loop_in_the_branch_that_is_not_taken_does_not_run(is_traced):
    taken = tf.placeholder(tf.bool, [])
    x = tf.constant(2.0)
    other, inside = apply_op("Switch", data=x, pred=taken).outputs
    (result,) = loop([inside], lambda t: t < 50.0, lambda t: [t * t])
    merged, position = apply_op("Merge", inputs=[tf.negative(other), result]).outputs
    metadata = tf.RunMetadata()
    options = {"options": tf.RunOptions(trace_level=3), "run_metadata": metadata} if is_traced else {}
    with tf.Session() as session:
        assert session.run([merged, position], {taken: True}, **options) == [256.0, 1]
        assert session.run([merged, position], {taken: False}, **options) == [-2.0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
            session.run(result, {taken: False})
    if is_traced:
        names = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
        assert "Enter" not in names and "Neg" in names


@pytest.mark.usefixtures("machine")
def test_values_of_different_predicates():
    """Two values that end in different iterations: no plain loop."""
    exits = []
    for first, last in ((0.0, 3.0), (0.5, 6.0)):
        entered = enter(tf.constant(first))
        merge = apply_op("Merge", inputs=[entered, entered]).outputs[0]
        with tf.control_dependencies([merge.op]):
            limit, one = tf.constant(last), tf.constant(1.0)
        other, taken = apply_op("Switch", data=merge, pred=merge < limit).outputs
        exits.append(apply_op("Exit", data=other).outputs[0])
        close(merge, tf.add(taken, one))
    with tf.Session() as session:
        assert session.run(exits) == [3.0, 6.5]
        assert session.run(exits) == [3.0, 6.5]


def test_a_value_that_is_there_in_the_first_iteration_only():
    start, once = enter(tf.constant(0.0)), enter(tf.constant(100.0))
    merge = apply_op("Merge", inputs=[start, start]).outputs[0]
    with tf.control_dependencies([merge.op]):
        limit = tf.constant(3.0)
    other, taken = apply_op(
        "Switch", data=merge, pred=apply_op("LoopCond", input=merge < limit).outputs[0]
    ).outputs
    close(merge, tf.add(taken, once))
    total = apply_op("Exit", data=other).outputs[0]
    with tf.Session() as session:
        assert session.run(total) == 100.0
        limited = {limit: 1000.0}
        with pytest.raises(tf.errors.InvalidArgumentError, match="different frames"):
            session.run(total, limited)


def test_the_merge_says_which_input_it_took():
    entered = enter(tf.constant(0))
    merge = apply_op("Merge", inputs=[entered, entered])
    value, index = merge.outputs
    total = enter(tf.constant(0))
    totals = apply_op("Merge", inputs=[total, total]).outputs[0]
    with tf.control_dependencies([value.op]):
        limit, one = tf.constant(4), tf.constant(1)
    predicate = apply_op("LoopCond", input=value < limit).outputs[0]
    _, taken = apply_op("Switch", data=value, pred=predicate).outputs
    other, going = apply_op("Switch", data=tf.add(totals, index), pred=predicate).outputs
    close(value, taken + one)
    close(totals, tf.identity(going))
    with tf.Session() as session:
        assert session.run(apply_op("Exit", data=other).outputs[0]) == 4


@pytest.mark.usefixtures("machine")
def test_variables_change_in_every_iteration_and_devices_may_differ():
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0, use_resource=False)

    def body(i, t):
        with tf.device("/cpu:0"):
            with tf.control_dependencies(None):
                inside = apply_op(
                    "RefEnter", data=v.op.outputs[0], frame_name="loop", is_constant=True
                ).outputs[0]
            with tf.control_dependencies([i.op]):
                add = apply_op("AssignAdd", ref=inside, value=t)
        with tf.control_dependencies([add]):
            return i + 1, t * 2.0

    i, t = loop([0, 1.0], lambda i, t: i < 3, body)
    with tf.control_dependencies([t.op]):
        after = tf.identity(v.op.outputs[0])
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as session:
        session.run(v.initializer)
        assert session.run([i, t, after]) == [3, 8.0, 8.0]


def test_every_iteration_is_in_the_trace():
    (total,) = loop([1.0], lambda t: t < 100.0, lambda t: [tf.multiply(t, 3.0, name="triple")])
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        assert session.run(total, options=tf.RunOptions(trace_level=3), run_metadata=metadata) == 243.0
    names = [
        n.node_name
        for d in metadata.step_stats.dev_stats
        if d.device.startswith("/job")
        for n in d.node_stats
    ]
    counts = {name: names.count(name) for name in ("Enter", "Merge", "LoopCond", "Switch", "triple", "Exit")}
    assert counts == {"Enter": 1, "Merge": 6, "LoopCond": 6, "Switch": 6, "triple": 5, "Exit": 1}


def endless():
    return loop([1.0], lambda t: t < 10.0, lambda t: [t * 1.0])[0]


def test_an_endless_loop_ends_when_its_time_is_up():
    total = endless()
    with tf.Session() as session:
        started = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification"):
            session.run(total, options=tf.RunOptions(timeout_in_ms=50))
        assert time.monotonic() - started < 20


def test_an_endless_loop_ends_when_its_session_is_closed():
    total, failures = endless(), []
    session = tf.Session()
    began = threading.Event()

    def run():
        began.set()
        try:
            session.run(total)
        except tf.errors.OpError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    began.wait()
    time.sleep(0.1)
    session.close()
    thread.join(20)
    assert not thread.is_alive()
    assert [type(error) for error in failures] == [tf.errors.CancelledError]
    assert failures[0].message == "Run call was cancelled"


def test_what_fails_in_a_loop_is_named_with_its_line():
    fed = tf.placeholder(tf.float32, [None])
    entered = enter(fed, is_constant=True)
    (total,) = loop(
        [[1.0, 2.0]], lambda t: tf.reduce_sum(t) < 9.0, lambda t: [tf.add(t, entered, name="added")]
    )
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(total, {fed: [1.0, 1.0]}), [4.0, 5.0])
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(total, {fed: [1.0, 1.0, 1.0]})
    assert "Incompatible shapes: [2] vs. [3]" in caught.value.message
    assert "node added (defined at" in caught.value.message and "test_loops.py" in caught.value.message


def test_memory_of_a_simulated_gpu_is_that_of_one_iteration():
    tf.use_machine("1x Tesla K40c")
    size = 1 << 20
    x = tf.ones([size])
    (total,) = loop([x], lambda t: tf.reduce_sum(t) < 50.0 * size, lambda t: [t + t * 0.5])
    with tf.Session() as session:
        session.run(tf.reduce_sum(total))
        allocator = session.allocators["/job:localhost/replica:0/task:0/device:GPU:0"]
        before = allocator.stats().bytes_in_use
        session.run(tf.reduce_sum(total))
        assert allocator.stats().bytes_in_use == before
        assert allocator.stats().peak_bytes_in_use < 40 * size


def test_a_loop_in_a_partial_run_runs_as_a_whole():
    start, more = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    (total,) = loop([start], lambda t: t < 100.0, lambda t: [t * 3.0])
    result = total + more
    with tf.Session() as session:
        handle = session.partial_run_setup([total, result], [start, more])
        assert session.partial_run(handle, total, {start: 2.0}) == 162.0
        assert session.partial_run(handle, result, {more: 1.0}) == 163.0


def test_a_partial_run_of_a_loop_and_its_gradient():
    x, more = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    total = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x), [0, x])[1]
    gradient = tf.gradients(total, x)[0]
    with tf.Session() as session:
        handle = session.partial_run_setup([total, gradient, total + more], [x, more])
        assert session.partial_run(handle, [total, gradient], {x: 2.0}) == [16.0, 32.0]


@pytest.mark.parametrize(("around", "carried_on"), [("/cpu:0", "/gpu:0"), ("/gpu:0", "/cpu:0")])
def test_an_integer_is_carried_on_between_the_host_memories_of_two_devices(around, carried_on):
    tf.use_machine("1x Tesla K40c")

    def body(number, total):
        with tf.device(carried_on):
            return number + 1, total + 1.5

    with tf.device(around):
        results = tf.while_loop(lambda number, total: number < 3, body, [0, 0.0])
    for op in tf.get_default_graph().get_operations():
        if op.type == "NextIteration":
            op._set_device(carried_on)
    with tf.Session() as session:
        assert session.run(list(results)) == [3, 4.5]


def test_a_loop_on_several_devices_copies_in_every_iteration():
    tf.use_machine("2x Tesla K40c")
    x = tf.placeholder(tf.float32, [3], name="x")

    def body(i, v, w):
        with tf.device("/gpu:1"):
            w = tf.add(w * 1.5, v, name="there")
        with tf.device("/cpu:0"):
            v = v + tf.reduce_sum(w)
        with tf.device("/gpu:0"):
            return i + 1, v * 0.5, w

    with tf.device("/gpu:0"):
        result = tf.while_loop(lambda i, *_: i < 4, body, [0, x, tf.ones([3])])
        gradient = tf.gradients(result[1], x)[0]
    v, w = np.float32([1, 2, 3]), np.ones(3, np.float32)
    for _ in range(4):
        w = w * np.float32(1.5) + v
        v = (v + w.sum()) * np.float32(0.5)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=3, output_partition_graphs=True)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        plain = session.run([*result, gradient], {x: [1, 2, 3]})
        traced = session.run([*result, gradient], {x: [1, 2, 3]}, options=options, run_metadata=metadata)
    for one, other in zip(plain, traced, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(plain[1], v, rtol=1e-6)
    np.testing.assert_allclose(plain[2], w, rtol=1e-6)
    devices = {device.device: device.node_stats for device in metadata.step_stats.dev_stats}
    on_gpu_1 = [node.timeline_label for node in devices["/job:localhost/replica:0/task:0/device:GPU:1"]]
    received = [label for label in on_gpu_1 if "_Recv(" in label and "while/Identity_1" in label]
    assert len(received) == 4 and len(set(received)) == 1
    assert sum("= AddV2(" in label or "= Add(" in label for label in on_gpu_1) >= 4
    assert len(metadata.partition_graphs) == 3


# What TensorFlow refuses


def test_a_fetch_inside_a_loop_is_an_error_in_the_second_iteration():
    entered = enter(tf.constant(1.0))
    merge = apply_op("Merge", inputs=[entered, entered], name="merge").outputs[0]
    with tf.control_dependencies([merge.op]):
        limit = tf.constant(3.0)
    predicate = apply_op("LoopCond", input=merge < limit).outputs[0]
    other, taken = apply_op("Switch", data=merge, pred=predicate).outputs
    close(merge, tf.add(taken, taken, name="twice"))
    total = apply_op("Exit", data=other).outputs[0]
    with tf.Session() as session:
        assert session.run([total, entered]) == [4.0, 1.0]
        for fetch, name in ((merge, "merge"), (taken, "Switch"), ([total, taken], "Switch")):
            with pytest.raises(tf.errors.InternalError) as caught:
                session.run(fetch)
            output = taken.value_index if name == "Switch" else 0
            place = 1 if isinstance(fetch, list) else 0
            assert caught.value.message == (
                f"Retval[{place}] has already been set.\n\t [[{{{{node _retval_{name}_{output}_{place}}}}}]]"
            )
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"has inputs from different frames"):
            session.run(total, {taken: 1.0})


def test_a_fetch_inside_a_loop_that_goes_round_once():
    (total,) = loop([1.0], lambda t: t < 1.0, lambda t: [t * 2.0])
    merge = tf.get_default_graph().get_tensor_by_name("Merge:0")
    taken = tf.get_default_graph().get_tensor_by_name("Switch:1")
    with tf.Session() as session:
        assert session.run([merge, total]) == [1.0, 1.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
            session.run(taken)


def test_exit_without_enter():
    left = apply_op("Exit", data=tf.constant(1.0)).outputs[0]
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="Invalid Exit op: Cannot find a corresponding Enter op."
        ):
            session.run(left)


def test_inputs_of_different_frames_are_named():
    added = tf.add(enter(tf.constant(1.0, name="c")), tf.constant(2.0, name="d"), name="sum")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(added)
    message = caught.value.message
    assert message.startswith("node sum (defined at ")
    assert "has inputs from different frames. The input node Enter (defined at" in message
    assert "is in frame 'loop'. The input node d (defined at" in message and message.endswith(
        "is in frame ''."
    )


def test_two_predicates_of_one_loop():
    (total,) = loop([1.0], lambda t: t < 3.0, lambda t: [t * 2.0])
    less = tf.get_default_graph().get_tensor_by_name("Less:0")
    other = apply_op("LoopCond", input=less, name="other")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run([total, other])
    assert 'Loop "loop" has more than one LoopCond node: node other (' in caught.value.message


def test_frames_of_one_name_in_different_loops():
    def body(t):
        inner = enter(t, "again")
        return [apply_op("Exit", data=inner).outputs[0]]

    (total,) = loop([1.0], lambda t: t > 3.0, body)
    outside = apply_op("Exit", data=enter(tf.constant(1.0), "again")).outputs[0]
    with tf.Session() as session, pytest.raises(tf.errors.InternalError) as caught:
        session.run([total, outside])
    assert 'Mismatched parent frames for "again":' in caught.value.message


def test_a_loop_of_the_outermost_frame_is_refused():
    c = tf.constant(1.0)
    merge = apply_op("Merge", inputs=[c, c]).outputs[0]
    close(merge, tf.identity(merge))
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="contains a cycle with"),
    ):
        session.run(merge)


def test_next_iteration_that_nothing_takes():
    go_on = apply_op("NextIteration", data=enter(tf.constant(1.0)))
    with tf.Session() as session:
        assert session.run(go_on) is None


# Against plain Python

_VALUES = st.integers(-3, 3)
_STATEMENTS = st.deferred(
    lambda: st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(0, 2), st.integers(0, 2)),
            st.tuples(st.just("double"), st.integers(0, 2)),
            st.tuples(st.just("if"), st.integers(0, 2), _STATEMENTS, _STATEMENTS),
            st.tuples(st.just("while"), st.integers(1, 3), _STATEMENTS),
        ),
        max_size=3,
    )
)


def interpret(statements, values):
    """What a program does, in Python."""
    values = list(values)
    for kind, *rest in statements:
        if kind == "add":
            values[rest[0]] = int(np.int32(values[rest[0]]) + np.int32(values[rest[1]]) - np.int32(1))
        elif kind == "double":
            values[rest[0]] = values[rest[0]] * 2 % 1000
        elif kind == "if":
            values = interpret(rest[1] if values[rest[0]] > 1 else rest[2], values)
        else:
            for _ in range(rest[0]):
                values = interpret(rest[1], values)
    return values


def conditional(predicate, values, yes, no):
    switched = [apply_op("Switch", data=value, pred=predicate).outputs for value in values]
    pivots = [tf.identity(switched[0][side]) for side in (0, 1)]
    with tf.control_dependencies([pivots[1].op]):
        taken = yes([tf.identity(one[1]) for one in switched])
    with tf.control_dependencies([pivots[0].op]):
        other = no([tf.identity(one[0]) for one in switched])
    return [apply_op("Merge", inputs=[a, b]).outputs[0] for a, b in zip(other, taken, strict=True)]


class Builder:
    """Writes a program as nodes."""

    def __init__(self):
        self.frames = 0

    def build(self, statements, values):
        values = list(values)
        for kind, *rest in statements:
            if kind == "add":
                values[rest[0]] = values[rest[0]] + values[rest[1]] - 1
            elif kind == "double":
                values[rest[0]] = values[rest[0]] * 2 % 1000
            elif kind == "if":
                branches = [lambda inner, part=part: self.build(part, inner) for part in rest[1:]]
                values = conditional(values[rest[0]] > 1, values, *branches)
            else:
                self.frames += 1
                count = tf.zeros_like(values[0])
                times = rest[0]
                _, *values = loop(
                    [count, *values],
                    lambda i, *_, times=times: i < times,
                    lambda i, *inner, part=rest[1]: [i + 1, *self.build(part, inner)],
                    f"frame{self.frames}",
                )
        return values


@settings(max_examples=25, deadline=None)
@given(_STATEMENTS, st.lists(_VALUES, min_size=3, max_size=3), st.booleans())
def test_programs_do_what_python_does(statements, first, is_traced):
    expected = interpret(statements, first)
    with tf.Graph().as_default():
        given_values = [tf.placeholder(tf.int32, []) for _ in first]
        results = [tf.identity(one) for one in Builder().build(statements, given_values)]
        feed = dict(zip(given_values, first, strict=True))
        options = {}
        if is_traced:
            options = {"options": tf.RunOptions(trace_level=3), "run_metadata": tf.RunMetadata()}
        with tf.Session() as session:
            assert session.run(results, feed, **options) == expected


# On stand-ins for real GPUs


@pytest.mark.parametrize("fake", range(3), indirect=True)
def test_loops_on_real_gpus(fake):
    x = tf.placeholder(tf.float32, [3])

    def body(i, v, w):
        with tf.device("/gpu:1"):
            w = tf.cond(tf.reduce_sum(v) > 2.5, lambda: w * 0.5 + v, lambda: w - v)
        with tf.device("/cpu:0"):
            v = v + w
        with tf.device("/gpu:0"):
            return i + 1, v * 0.5, w

    with tf.device("/gpu:0"):
        result = tf.while_loop(lambda i, *_: i < 4, body, [0, x, tf.ones([3])])
        gradient = tf.gradients(result[1], x)[0]
    feed = {x: np.float32([0.5, 1.0, 1.25])}
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        found = session.run([*result, gradient], feed)
        again = session.run([*result, gradient], feed)
        traced = session.run(
            [*result, gradient], feed, options=tf.RunOptions(trace_level=3), run_metadata=tf.RunMetadata()
        )
    v, w = feed[x], np.ones(3, np.float32)
    for _ in range(4):
        w = w * np.float32(0.5) + v if v.sum() > 2.5 else w - v
        v = (v + w) * np.float32(0.5)
    np.testing.assert_allclose(found[1], v, rtol=1e-5)
    np.testing.assert_allclose(found[2], w, rtol=1e-5)
    for one, other, third in zip(found, again, traced, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)
    fake.drain()
