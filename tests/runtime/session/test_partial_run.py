"""Partial runs, with TensorFlow's handles and sentences."""

import pytest

import gpuplace as tf


@pytest.fixture(autouse=True)
def _graph():
    tf.use_machine("1x Tesla K40c")
    with tf.Graph().as_default():
        yield


@pytest.fixture
def graph():
    """A counter before the first fetch, and a random number that both parts use."""
    feeds = [tf.placeholder(tf.float32, [], name=name) for name in "abc"]
    a, b, c = feeds
    variable = tf.Variable(0.0, use_resource=False)
    with tf.control_dependencies([tf.assign_add(variable, 1.0, name="count")]):
        r1 = tf.add(a, b, name="r1")
    r2 = tf.multiply(r1, c, name="r2")
    noise = tf.add(tf.random_uniform([], seed=3), a, name="noise")
    r3 = tf.multiply(noise, c, name="r3")
    with tf.Session() as session:
        session.run(variable.initializer)
        yield session, feeds, variable, (r1, r2, noise, r3)


def refused(call, *arguments):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call(*arguments)
    return caught.value.message


def test_every_node_runs_once(graph):
    session, (a, b, c), variable, (r1, r2, noise, r3) = graph
    for number in (1, 2):
        handle = session.partial_run_setup([r1, r2, r3, noise], [a, b, c])
        assert handle == f"a:0,b:0,c:0->noise:0,r1:0,r2:0,r3:0//1/;{number - 1}"
        assert session.partial_run(handle, r1, {a: 1, b: 2}) == 3
        assert session.run(variable) == number
        assert session.partial_run(handle, {"x": r2}, {c: 10}) == {"x": 30}
        first = session.partial_run(handle, noise)
        assert 1 <= first <= 2
        assert session.partial_run(handle, [r3]) == [pytest.approx(10 * first)]
        assert session.run(variable) == number
        assert (
            refused(session.partial_run, handle, [r3]) == "Must run 'setup' before performing partial runs!"
        )


def test_the_sentences(graph):
    session, (a, b, c), variable, (r1, r2, noise, _) = graph
    run = session.partial_run
    handle = session.partial_run_setup([r1, r2], [a, b, c])
    fed_so_far = "can't be computed from the feeds that have been fed so far."
    assert refused(run, handle, r2, {c: 10}) == f"Fetch b:0 {fed_so_far}"
    assert run(handle, [], {a: 1}) == []
    assert refused(run, handle, r1, {a: 1}) == "The feed a:0 has already been fed."
    assert refused(run, handle, noise) == "The fetch noise:0 was not specified in partial_run_setup."
    assert (
        refused(run, handle, r1, {variable: 1})
        == "The feed Variable:0 was not specified in partial_run_setup."
    )
    assert run(handle, [r1], {b: 2}) == [3]
    assert refused(run, handle, r1) == "The fetch r1:0 has already been fetched."
    assert refused(run, "nonsense", r1) == "Must run 'setup' before performing partial runs!"
    assert (
        refused(session.partial_run_setup, [], [a]) == "Must specify at least one target to fetch or execute."
    )
    with pytest.raises(RuntimeError, match=r"partial_run\(\) requires empty target_list"):
        run(handle, r1.op)
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        run(handle, r2)


def test_operations_run_too(graph):
    session, (a, b, _), variable, (r1, *_) = graph
    total = tf.assign(variable, tf.multiply(r1, 2.0))
    handle = session.partial_run_setup([r1, total.op], [a, b])
    assert session.partial_run(handle, r1, {a: 3, b: 4}) == 7
    assert session.run(variable) == 14
