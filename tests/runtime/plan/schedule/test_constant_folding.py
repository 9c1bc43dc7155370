"""Constant folding: where TensorFlow folds, and what is seen of it. The expected names are those of TensorFlow 1.15."""

import numpy as np
import pytest

import gpuplace as tf

CPU0, CPU1 = (f"/job:localhost/replica:0/task:0/device:CPU:{index}" for index in (0, 1))


@pytest.fixture(autouse=True)
def _graph():
    tf.use_machine("2 CPU, 1x Tesla K40c")
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        yield


def config(level=0, grappler=True, **options):
    made = tf.ConfigProto(**options)
    made.graph_options.optimizer_options.opt_level = level
    if not grappler:
        made.graph_options.rewrite_options.constant_folding = 2
    return made


def nodes_run(fetches, feed_dict=None, options=None):
    """Value, names of the nodes in the partition graphs in their order, and their op types."""
    metadata = tf.RunMetadata()
    with tf.Session(config=options) as session:
        value = session.run(fetches, feed_dict, tf.RunOptions(output_partition_graphs=True), metadata)
    types = {node.name: node.op for graph in metadata.partition_graphs for node in graph.node}
    return value, [name for name in types if not name.startswith("_")], types


def product_and_sum():
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="a")
    b = tf.constant([[1.0, 0.0], [0.0, 1.0]], name="b")
    return tf.add(tf.matmul(a, b, name="c"), a, name="d")


@pytest.mark.parametrize(
    "level, grappler, names",
    [
        (0, True, ["d"]),
        (-1, True, ["d"]),
        (0, False, ["d/_0__cf__0"]),
        (-1, False, ["a", "b", "c", "d"]),
    ],
)
def test_both_foldings_have_to_be_switched_off(level, grappler, names):
    value, found, types = nodes_run(product_and_sum(), options=config(level, grappler))
    assert value.tolist() == [[2, 4], [6, 8]]
    assert found == names
    assert types[names[-1]] == ("Const" if len(names) == 1 else "Add")


def test_a_traced_step_has_every_node():
    metadata = tf.RunMetadata()
    total = product_and_sum()
    with tf.Session() as session:
        session.run(total)
        session.run(total, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    labels = {node.timeline_label for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert {"c = MatMul(a, b)", "d = Add(c, a)"} <= labels


def test_the_meta_optimizer_is_grapplers_switch_too():
    options = config(-1)
    options.graph_options.rewrite_options.disable_meta_optimizer = True
    assert nodes_run(product_and_sum(), options=options)[1] == ["a", "b", "c", "d"]


def test_what_is_fetched_as_well_is_a_constant_too():
    d = product_and_sum()
    c = d.op.inputs[0]
    (value, total), names, _ = nodes_run([c, d])
    assert value.tolist() == [[1, 2], [3, 4]] and total.tolist() == [[2, 4], [6, 8]]
    assert names == ["c", "d"]
    value[:] = 0  # the caller's own
    assert nodes_run(c)[0].tolist() == [[1, 2], [3, 4]]


def test_a_folded_value_stays_on_its_device():
    with tf.device("/cpu:1"):
        d = product_and_sum()
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    _, names, _ = nodes_run(tf.matmul(d, x, name="e"), {x: np.eye(2)}, config(device_count={"CPU": 2}))
    assert [name for name in names if "/_" not in name] in (["d", "e"], ["e", "d"])
    assert sum("/_" in name for name in names) == 2  # sent and received


def test_what_is_fed_is_not_folded():
    inner = tf.add(tf.constant(1.0), tf.constant(2.0), name="inner")
    outer = tf.multiply(inner, tf.constant(4.0, name="four"), name="outer")
    with tf.Session() as session:
        assert [session.run(outer), session.run(outer, {inner: 7.0}), session.run(outer)] == [12, 28, 12]
    assert nodes_run(outer, {inner: 7.0})[1] == ["four", "outer"]


def test_random_ops_and_variables_are_not_folded():
    noise = tf.add(tf.random_uniform([2]), 1.0)
    variable = tf.Variable(tf.add([1.0, 2.0], [3.0, 4.0], name="start"), name="v", use_resource=False)
    with tf.Session() as session:
        assert session.run(noise).tolist() != session.run(noise).tolist()
        session.run(variable.initializer)
        session.run(tf.assign_add(variable, [1.0, 1.0]))
        assert session.run(variable).tolist() == [5, 7]
        session.run(variable.initializer)
        assert session.run(variable).tolist() == [4, 6]
    _, names, types = nodes_run(variable.initializer)
    assert sorted(names) == ["start", "v", "v/Assign"] and types["start"] == "Const"


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: tf.gather([1.0, 2.0, 3.0], tf.add([2], [2]), name="bad"), "indices[0] = 4 is not in [0, 3)"),
        (lambda: tf.floordiv(tf.constant(1), tf.constant(0), name="bad"), "Integer division by zero"),
        (
            lambda: tf.check_numerics(tf.divide(tf.constant(1.0), tf.constant(0.0)), "m", name="bad"),
            "m : Tensor had Inf values",
        ),
        (lambda: tf.Assert(tf.equal(1, 2), ["no"], name="bad"), "assertion failed: [no]"),
    ],
)
def test_what_fails_fails_in_the_step_and_names_its_node(make, sentence):
    bad = make()
    bad = getattr(bad, "op", bad)
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(bad)
            assert caught.value.message.startswith(sentence) and caught.value.op is bad


def test_control_inputs_of_constants_run_before():
    variable = tf.Variable(0.0, use_resource=False)
    with tf.control_dependencies([tf.assign_add(variable, 1.0).op]):
        one = tf.constant(1.0)
    total = tf.add(one, tf.constant(2.0), name="total")
    with tf.Session() as session:
        session.run(variable.initializer)
        assert [session.run(total), session.run(total), session.run(variable)] == [3, 3, 2]


def test_a_constant_in_a_branch_belongs_to_the_branch():
    x = tf.placeholder(tf.bool, [])
    graph = tf.get_default_graph()
    switch = graph.create_op("Switch", [x, x], attrs={"T": tf.bool})
    branches = []
    for output, value in ((switch.outputs[0], 1.0), (switch.outputs[1], 2.0)):
        with tf.control_dependencies([tf.identity(output)]):
            branches.append(tf.add(tf.constant(value), tf.constant(10.0)))
    merged = graph.create_op("Merge", branches, attrs={"T": tf.float32, "N": 2}).outputs[0]
    with tf.Session() as session:
        assert [session.run(merged, {x: truth}) for truth in (False, True, False)] == [11, 12, 11]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
            session.run(branches[0], {x: True})


def test_outputs_of_one_operation_become_constants_of_their_own():
    parts = tf.unstack(tf.constant([1.0, 2.0], name="both"), name="parts")
    values, names, _ = nodes_run(parts)
    assert values == [1, 2] and names == ["parts/_0__cf__0", "parts/_1__cf__1"]
    second, names, _ = nodes_run(tf.multiply(parts[1], tf.random_uniform([], seed=1), name="scaled"))
    assert 0 <= second <= 2 and "parts/_1__cf__1" in names and "parts/_0__cf__0" not in names


def test_text_is_folded_by_the_runtime_alone():
    joined = tf.string_join([tf.constant("a", name="a"), tf.constant("b", name="b")], name="joined")
    assert nodes_run(joined)[:2] == (b"ab", ["joined/_0__cf__0"])
    assert nodes_run(joined, options=config(-1))[:2] == (b"ab", ["a", "b", "joined"])


def test_targets_of_small_graphs_run():
    negated = tf.negative(tf.constant(3.0, name="three"), name="negated")
    assert nodes_run(negated.op)[1] == ["three", "negated"]
    assert nodes_run(product_and_sum().op)[1] == ["d"]


def test_large_or_costly_nodes_run():
    big = tf.fill([2000, 2000], tf.constant(1.0), name="big")
    assert "big/dims" in nodes_run(tf.reduce_sum(big, name="sum"))[1]
    limited = config(0)
    limited.graph_options.optimizer_options.max_folded_constant_in_bytes = 1000
    small = tf.fill([20, 20], tf.constant(1.0), name="small")
    assert "small/dims" in nodes_run(small, options=limited)[1]
    assert "small/dims" not in nodes_run(small)[1]
    matrix = tf.constant(np.ones([700, 700], np.float32), name="matrix")
    assert nodes_run(tf.matmul(matrix, matrix, name="product"))[1] == ["matrix", "product"]


def test_memory_of_a_gpu_holds_the_folded_value_alone():
    with tf.device("/gpu:0"):
        d = product_and_sum()
    session = tf.Session()
    assert session.run(d).tolist() == [[2, 4], [6, 8]]
    (allocator,) = session.allocators.values()
    assert (allocator.stats().bytes_in_use, allocator.stats().num_allocs) == (256, 1)
    session.close()
    assert allocator.stats().bytes_in_use == 0


def test_values_are_computed_once_a_session():
    calls = []

    def count(x):
        calls.append(x)
        return x

    folder_graph = product_and_sum()
    shifted = tf.add(folder_graph, 1.0)
    with tf.Session() as session:
        computed = session._compiler._folder._compute
        session._compiler._folder._compute = lambda op, constant: (count(op.name), computed(op, constant))[1]
        for fetches in (shifted, [shifted, folder_graph], shifted.op):
            session.run(fetches)
    assert sorted(calls) == ["Add", "c", "d"]
