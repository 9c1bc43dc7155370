"""Feeds, loops, values and bad input of ``step_shapes``."""

import io
import lzma
import tarfile
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.cost.node_work import step_work
from gpuplace.cost.shapes.step_shapes import step_shapes
from gpuplace.graph.apply_op import apply_op
from gpuplace.graphdef.messages import GraphDef
from gpuplace.shapes import TensorShape
from gpuplace.tf1.stand_in.framework.function import Defun

FUNCTIONS = Path(__file__).resolve().parents[1] / "data" / "functions-1.15.tar.xz"


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def shape(found, name):
    return found[name].as_list()


@pytest.mark.parametrize(
    "given",
    [
        (64, 8),
        [64, 8],
        "64,8",
        "[64, 8]",
        "(64, ?)",
        np.zeros([64, 8], np.float32),
        TensorShape([64, None]),
        (64, -1),
    ],
)
@pytest.mark.parametrize("key", ["x", "x:0"])
def test_forms_of_feeds(graph, key, given):
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    tf.matmul(x, x, transpose_b=True, name="y")
    found = step_shapes(graph, {key: given})
    assert shape(found, "y") == [64, 64] and found.assumed == ()
    assert shape(step_shapes(graph, {x: given}), "y:0") == [64, 64]


def test_sizes_as_array_and_a_number_for_a_scalar(graph):
    tf.placeholder(tf.float32, [None, 4, 4, 3], name="images")
    count = tf.placeholder(tf.int32, [], name="count")
    tf.zeros([count, 2], name="zeros")
    found = step_shapes(graph, {"images": np.array([16, 4, 4, 3]), "count": 5})
    assert shape(found, "images") == [16, 4, 4, 3]
    assert shape(found, "zeros") == [5, 2]


def test_any_tensor_can_be_fed(graph):
    parts = tf.split(tf.placeholder(tf.float32, [None, 6]), 2, axis=1, name="parts")
    tf.identity(parts[1], name="second")
    assert shape(step_shapes(graph, {"parts:1": (7, 3)}), "second") == [7, 3]


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({"imags": (1, 8)}, ["imags", "is not in the graph", "nearest", "images", "labels (?,)"]),
        ({"images": (1, 9)}, ["Cannot feed value of shape (1, 9) for Tensor 'images:0'", "(?, 8)"]),
        ({"images:1": (1, 8)}, ["'images' has 1 output", "feed images:0"]),
        ({"images": "wide"}, ["neither a shape nor an array"]),
        ({"images": (1.5, 8)}, ["neither a shape nor an array"]),
        ({"images": (-2, 8)}, ["at least 0"]),
        ({"images": (2, 8), "images:0": (3, 8)}, ["is fed twice"]),
        ({3: (1, 8)}, ["Cannot interpret feed key 3"]),
        ({"images": (2, 8), "labels": (3,)}, ["must be equal", "labels:0 (3,)", "images:0 (2, 8)"]),
    ],
)
def test_bad_feeds(graph, feeds, words):
    images = tf.placeholder(tf.float32, [None, 8], name="images")
    labels = tf.placeholder(tf.float32, [None], name="labels")
    tf.concat([images, tf.expand_dims(labels, 1)], 1)
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        step_shapes(graph, feeds)
    for word in words:
        assert word in str(error.value)


def test_an_unknown_batch_is_one_and_said(graph):
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    y = tf.matmul(x, tf.ones([8, 2]), name="y")
    other = tf.ones([3], name="other")
    found = step_shapes(graph)
    assert shape(found, "y") == [1, 2]
    assert found.assumed == ("Unknown sizes of 'x' (Placeholder) are assumed to be 1: its shape is (?, 8)",)
    index = found.graph.index
    assert (
        "x" in found.assumption_of_node[index[y.op.name]]
        and index[other.op.name] not in found.assumption_of_node
    )
    unknown = step_shapes(graph, assume=None)
    assert shape(unknown, "y") == [None, 2] and unknown.assumed == ()
    assert shape(step_shapes(graph, assume=32), "y") == [32, 2]


def test_the_most_that_there_can_be(graph):
    x = tf.constant([0.0, 1.0, 2.0, 0.0])
    places = tf.where(x > tf.placeholder(tf.float32, []), name="places")
    tf.gather_nd(x, places, name="taken")
    found = step_shapes(graph)
    assert shape(found, "places") == [4, 1] and shape(found, "taken") == [4]
    assert "the largest possible number" in found.assumed[0]


def test_values_through_shape_arithmetic(graph):
    x = tf.placeholder(tf.float32, [None, 6, 4], name="x")
    sizes = tf.shape(x)
    flat = tf.reshape(x, tf.stack([sizes[0], tf.reduce_prod(sizes[1:])]), name="flat")
    tf.reshape(flat, tf.concat([sizes[:1] * 2, [12]], 0), name="doubled")
    tf.fill(tf.gather(sizes, [1, 0]), 0.0, name="turned")
    tf.zeros(tf.cast(tf.cast(sizes[1:], tf.float32) * 0.5, tf.int32), name="halves")
    tf.tile(x, tf.where(tf.equal(sizes, 4), [1, 1, 1], [1, 1, 2]), name="tiled")
    tf.range(0, sizes[0] // 2 + 1, name="counted")
    found = step_shapes(graph, {"x": (10, 6, 4)})
    assert shape(found, "flat") == [10, 24] and shape(found, "doubled") == [20, 12]
    assert shape(found, "turned") == [6, 10] and shape(found, "halves") == [3, 2]
    assert shape(found, "tiled") == [10, 6, 4 * 2] or shape(found, "tiled")[:2] == [10, 6]
    assert shape(found, "counted") == [6]
    partly = step_shapes(graph, assume=None)
    assert shape(partly, "flat") == [None, 24] and shape(partly, "turned") == [6, None]
    assert shape(partly, "doubled") == [None, 12] and shape(partly, "halves") == [3, 2]


def test_a_counted_loop_and_its_gradient(graph):
    x = tf.placeholder(tf.float32, [None, 5], name="x")
    w = tf.get_variable("w", [5, 5])
    _, y = tf.while_loop(
        lambda i, y: i < 7, lambda i, y: (i + 2, tf.tanh(tf.matmul(y, w))), [1, x], name="loop"
    )
    (grad,) = tf.gradients(y, w)
    found = step_shapes(graph, {"x": (3, 5)})
    assert found.trips == {"loop/while_context": 3, "gradients/loop/while_context": 3}
    assert found.assumed == () and found.assumption_of_node == {}
    product = found.graph.index["loop/MatMul"]
    assert found.frames[product] == "loop/while_context" and found.runs(product) == 3
    assert found.shape(product).as_list() == [3, 5] and found[grad.name].as_list() == [5, 5]
    assert found.runs(found.graph.index["x"]) == 1


@pytest.mark.parametrize(
    ("begin", "condition", "step", "trips"),
    [
        (0, lambda i: i < 10, 1, 10),
        (0, lambda i: i <= 10, 1, 11),
        (10, lambda i: i > 0, -3, 4),
        (10, lambda i: tf.greater_equal(i, 0), -5, 3),
        (0, lambda i: tf.less(i, 0), 1, 0),
        (0, lambda i: tf.not_equal(i, 6), 2, 3),
        (0, lambda i: tf.greater(8, i), 2, 4),
        (0, lambda i: tf.logical_and(i < 10, i < 4), 1, 4),
        (0, lambda i: tf.logical_not(i >= 5), 1, 5),
    ],
)
def test_trips(graph, begin, condition, step, trips):
    tf.while_loop(condition, lambda i: i + step, [begin], name="loop")
    found = step_shapes(graph)
    assert found.trips["loop/while_context"] == trips and found.assumed == ()


def test_a_loop_without_a_bound(graph):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.while_loop(lambda x: x < 10.0, lambda x: x * 2.0, [x], name="loop")
    found = step_shapes(graph)
    assert found.trips["loop/while_context"] == 1
    assert "one trip is assumed; set trip_counts" in found.assumed[0]
    for key in ("loop", "loop/while_context"):
        given = step_shapes(graph, trip_counts={key: 20})
        assert given.trips["loop/while_context"] == 20 and given.assumed == ()
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="no loop of the graph has the frame 'lop'"
    ) as error:
        step_shapes(graph, trip_counts={"lop": 20})
    assert "loop/while_context" in str(error.value)
    for count in (-1, float("nan"), "many"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be between 0 and"):
            step_shapes(graph, trip_counts={"loop": count})


def test_a_bound_beside_another_condition(graph):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.while_loop(
        lambda i, x: x < 10.0, lambda i, x: [i + 1, x * 2.0], [0, x], maximum_iterations=25, name="loop"
    )
    found = step_shapes(graph)
    assert found.trips["loop/while_context"] == 25
    assert found.assumed == ("Loop 'loop/while_context' is assumed to run to its bound of 25 trips",)


def test_nested_loops(graph):
    def outer(i, total):
        _, total = tf.while_loop(lambda j, t: j < 4, lambda j, t: (j + 1, t + 1.0), [0, total], name="inner")
        return i + 1, total

    tf.while_loop(lambda i, t: i < 3, outer, [0, tf.zeros([2])], name="outer")
    found = step_shapes(graph)
    inner = next(frame for frame in found.trips if "inner" in frame)
    inside = {found.kinds[at].op_type: at for at, frame in enumerate(found.frames) if frame == inner}
    assert found.outer_frames[inner] == "outer/while_context"
    assert found.runs(inside["Enter"]) == 3 and found.runs(inside["Merge"]) == 12


def test_a_loop_up_to_the_counter_of_another(graph):
    def outer(i, total):
        _, total = tf.while_loop(lambda j, t: j < i, lambda j, t: [j + 1, t + 1.0], [0, total], name="inner")
        return i + 1, total

    tf.while_loop(lambda i, t: i < 5, outer, [0, 0.0], name="outer")
    found = step_shapes(graph)
    assert found.trips == {"outer/while_context": 5, "outer/inner/while_context": 2}  # 0, 1, 2, 3 and 4 times
    assert found.assumed == ("Loop 'outer/inner/while_context' is assumed to run to its bound of 2 trips",)


def test_arrays_of_tensors(graph):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.map_fn(lambda row: tf.stack([row, row], axis=1), x, name="map")
    total = tf.scan(lambda a, row: a + row, x)
    (grad,) = tf.gradients(y, x)
    found = step_shapes(graph, {"x": (9, 3)})
    assert found[y.name].as_list() == [9, 3, 2] and found[total.name].as_list() == [9, 3]
    assert found[grad.name].as_list() == [9, 3]
    assert set(found.trips.values()) <= {9, 8} and found.assumed == ()


def test_a_recurrent_net_over_sequences(graph):
    x = tf.placeholder(tf.float32, [None, None, 4], name="x")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    output, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(6), x, lengths, dtype=tf.float32)
    (grad,) = tf.gradients(tf.reduce_sum(output), x)
    found = step_shapes(graph, {"x": (2, 11, 4), "lengths": (2,)})
    assert found[output.name].as_list() == [2, 11, 6] and found[grad.name].as_list() == [2, 11, 4]
    assert set(found.trips.values()) == {11}
    assert "is assumed to run to its bound of 11 trips" in found.assumed[0]
    known = step_shapes(graph, {"x": (2, 11, 4), "lengths": np.array([5, 7], np.int32)})
    assert set(known.trips.values()) == {7} and known.assumed == ()


def test_a_shape_that_changes_in_a_loop(graph):
    _, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.concat([y, y], 0)),
        [0, tf.zeros([1, 2])],
        shape_invariants=[TensorShape([]), TensorShape([None, 2])],
        name="loop",
    )
    found = step_shapes(graph, assume=None)
    assert found[y.name].as_list() == [None, 2]


def test_queues_and_variables_of_shapes_that_are_set_later(graph):
    queue = tf.FIFOQueue(5, [tf.float32])
    queue.enqueue([tf.zeros([4, 2])])
    got = queue.dequeue()
    variable = tf.get_variable(
        "v",
        initializer=tf.placeholder(tf.float32, [None, 3], name="x"),
        validate_shape=False,
        use_resource=True,
    )
    read = variable.read_value()
    found = step_shapes(graph, {"x": (6, 3)})
    assert found[got.name].as_list() == [4, 2] and found[read.name].as_list() == [6, 3]


def test_a_known_branch(graph):
    y = tf.cond(tf.constant(True), lambda: tf.ones([2]), lambda: tf.ones([3]), name="cond")
    unknown = tf.cond(tf.placeholder(tf.bool, []), lambda: tf.ones([2]), lambda: tf.ones([3]), name="open")
    found = step_shapes(graph, assume=None)
    assert found[y.name].as_list() == [2]
    assert found[unknown.name].as_list() == [None]
    assert set(found.taken.values()) == {True} and found.taken


def test_a_size_that_a_conditional_computes(graph):
    """The padding of public vision transformers: the window is no larger than the image."""
    rows = tf.placeholder(tf.float32, [None, 12, 3], name="rows")
    size = tf.shape(rows)[1]
    window = tf.cond(size <= 7, lambda: size, lambda: tf.constant(7), name="window")
    padding = (window - size % window) % window
    padded = tf.pad(rows, [[0, 0], [0, padding], [0, 0]])
    nested = tf.cond(
        window > 5, lambda: tf.cond(size > 20, lambda: tf.ones([1]), lambda: tf.ones([4])), lambda: rows[0, 0]
    )
    found = step_shapes(graph, assume=None)
    assert found[padded.name].as_list() == [None, 14, 3]
    assert found[nested.name].as_list() == [4]


def test_a_branch_that_changes_from_iteration_to_iteration(graph):
    def body(number, rows):
        wide = tf.cond(tf.shape(rows)[0] > 1, lambda: tf.ones([5]), lambda: tf.ones([3]))
        return number + 1, wide

    shapes = [TensorShape([]), TensorShape([None])]
    _, rows = tf.while_loop(lambda number, rows: number < 4, body, [0, tf.ones([1])], shape_invariants=shapes)
    again = tf.cond(tf.shape(rows)[0] > 1, lambda: tf.ones([6]), lambda: tf.ones([7]))
    found = step_shapes(graph, assume=None)
    assert found[rows.name].as_list() == [None]
    assert found[again.name].as_list() == [None]


def test_what_a_functional_conditional_keeps_for_its_gradient(graph):
    """Optionals carry intermediate results of each branch to the gradient, where the same branch reads them."""
    tf.enable_control_flow_v2()
    x = tf.placeholder(tf.float32, [None, 4], name="x")

    def branch(units):
        wide = tf.get_variable(f"wide{units}", [4, units], use_resource=True)
        narrow = tf.get_variable(f"narrow{units}", [units, 4], use_resource=True)
        return lambda: tf.matmul(tf.nn.relu(tf.matmul(x, wide)), narrow)

    y = tf.cond(tf.placeholder(tf.bool, [], name="flag"), branch(16), branch(8))
    variables = tf.trainable_variables()
    slopes = tf.gradients(tf.reduce_sum(y), variables)
    found = step_shapes(graph, {"x": (5, 4), "flag": ()})
    kept = [node for node, kind in enumerate(found.kinds) if kind.op_type == "OptionalGetValue"]
    for place, units in (("/then/", 16), ("/else/", 8)):
        sizes = {found.sizes[node][0] for node in kept if place in found.graph.names[node]}
        assert sizes == {(units, 4), (5, units), (4, units)}
    assert [found[slope.name] for slope in slopes] == [variable.shape for variable in variables]
    assert not found.assumed


@pytest.mark.parametrize(
    ("bounded", "size"),
    [
        (lambda n: tf.minimum(10, tf.maximum(n, 10)), 10),
        (lambda n: tf.maximum(tf.minimum(4, n), 6), 6),
        (lambda n: tf.minimum(tf.maximum(12, n), 10), 10),
        (lambda n: tf.minimum(10, tf.maximum(n, 7)), None),
        (lambda n: tf.minimum(10, tf.minimum(n, 12)), None),
    ],
)
def test_a_number_between_two_bounds(graph, bounded, size):
    n = tf.placeholder(tf.int32, [], name="n")
    y = tf.zeros(bounded(n)[None])
    found = step_shapes(graph, assume=None)
    assert found[y.name].as_list() == [size]


def test_counts_of_a_length_that_is_set(graph):
    counts = tf.bincount(tf.placeholder(tf.int32, [None], name="x"), minlength=7, maxlength=7)
    found = step_shapes(graph, {"x": (100,)})
    assert found[counts.name].as_list() == [7] and found.assumed == ()


def test_as_many_rows_of_words_as_there_are_texts(graph):
    words = tf.string_split(tf.placeholder(tf.string, [None], name="texts"))
    ids = tf.string_to_hash_bucket_fast(words.values, 100)
    rows = apply_op(
        "RaggedTensorToTensor",
        None,
        shape=tf.constant([-1, 20], tf.int64),
        values=ids,
        default_value=tf.constant(0, tf.int64),
        row_partition_tensors=[words.dense_shape[0], words.indices[:, 0]],
        row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
    ).outputs[0]
    assert rows.shape.as_list() == [None, 20]
    assert step_shapes(graph, {"texts": (32,)})[rows.name].as_list() == [32, 20]


def test_a_cycle_is_an_error():
    message = GraphDef()
    for name, other in (("a", "b"), ("b", "a")):
        node = message.node.add(name=name, op="Identity")
        node.input.append(other)
        node.attr["T"].type = 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 nodes in a cycle"):
        step_shapes(message)


@pytest.mark.parametrize("inputs", [["x"], ["x", "^two"], []])
def test_a_node_that_lacks_an_input_is_an_error(graph, inputs):
    tf.realdiv(tf.placeholder(tf.float32, [4], name="x"), tf.constant([2.0], name="two"), name="y")
    message = graph.as_graph_def()
    del message.node[-1].input[:]
    message.node[-1].input.extend(inputs)
    given = len(inputs[:1])
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"'float, float' do not match {given} inputs"):
        tf.estimate(message, ["y"], {"x": (4,)}, machine="1 CPU")
    fed = tf.estimate(message, ["y"], {"y": (4,)}, machine="1 CPU")
    assert fed.shapes["y"].as_list() == [4]


def test_a_node_of_a_function_that_lacks_an_input_is_an_error():
    @Defun(tf.float32, tf.float32, noinline=True)
    def ratio(one, other):
        return tf.realdiv(one, other, name="y")

    with tf.Graph().as_default() as graph:
        tf.identity(ratio(tf.ones([4]), tf.ones([4])), name="out")
    message = graph.as_graph_def()
    del message.library.function[0].node_def[0].input[1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'float, float' do not match 1 inputs"):
        tf.estimate(message, ["out"], machine="1 CPU")


@pytest.mark.parametrize("condition", [True, False, None], ids=["true", "false", "unknown"])
def test_a_called_function_counts_one_branch_of_its_conditional(condition):
    @Defun(tf.float32, tf.bool, noinline=True)
    def either(rows, unknown):
        chosen = unknown if condition is None else tf.constant(condition)
        return tf.cond(
            chosen, lambda: tf.matmul(rows, rows), lambda: tf.matmul(rows, tf.concat([rows, rows], 1))
        )

    with tf.Graph().as_default():
        rows, unknown = tf.placeholder(tf.float32, [64, 64]), tf.placeholder(tf.bool, [])
        step = tf.estimate(either(rows, unknown), machine="1 CPU")
    one_product, frame = 2 * 64**3, step.frame("nodes")
    assert frame["flops"].sum() == one_product * (2 if condition is False else 1)
    assert frame["guessed"].str.contains("assumed to take the branch for True").any() == (condition is None)


def test_tensors_without_elements(graph):
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.matmul(x, tf.ones([4, 3]))
    found = step_shapes(graph, {"x": (0, 4)})
    assert found[y.name].as_list() == [0, 3] and found.nbytes(found.graph.index[y.op.name]) == 0


def test_calls_in_a_graph_of_ours(graph):
    """Calls that are not inlined, in a graph that was imported, and in one that was not."""
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(FUNCTIONS.read_bytes()))) as files:
        data = files.extractfile("called_functions.pb").read()
    message = GraphDef.FromString(data)
    tf.import_graph_def(message, name="")
    ours, theirs = step_shapes(graph), step_shapes(data)
    calls = [node for node, kind in enumerate(ours.kinds) if kind.op_type == "PartitionedCall"]
    assert calls
    for node in calls:
        name = ours.graph.names[node]
        assert ours.shape(node).is_fully_defined() and ours.shape(node) == theirs[name]
    assert all(work.model == "call" and work.flops > 0 for work in map(step_work(ours).__getitem__, calls))


@pytest.mark.parametrize(
    ("begin", "condition", "following", "trips"),
    [
        (1, lambda i: i < 1000, lambda i: i * 2, 10),
        (100, lambda i: i > 0, lambda i: i // 2, 7),
        (100.0, lambda i: i > 1.0, lambda i: i / 2, 7),
        (10, lambda i: 0 < i, lambda i: 10 - i, 1),
        (1, lambda i: tf.logical_or(i < 10, i * i < 300), lambda i: i + 1, 17),
        (1, lambda i: tf.not_equal(i, 7), lambda i: i * 3 % 10, 3),
        (27, lambda i: i > 1, lambda i: tf.where(tf.equal(i % 2, 0), i // 2, 3 * i + 1), 111),
        ([1, 2], lambda i: tf.reduce_any(i < 20), lambda i: i * 2, 5),
        (0, lambda i: tf.logical_and(i * i < 40, i < 100), lambda i: i + 2, 4),
    ],
)
def test_trips_of_counters_that_do_more_than_count(graph, begin, condition, following, trips):
    rows = tf.placeholder(tf.float32, [None, 4], name="rows")
    tf.while_loop(lambda i, a: condition(i), lambda i, a: (following(i), a * 2), [tf.constant(begin), rows])
    found = step_shapes(graph, {"rows": (20, 4)})
    assert list(found.trips.values()) == [trips] and not found.assumed


def test_trips_up_to_a_shape_or_to_another_counter(graph):
    rows = tf.placeholder(tf.float32, [None, 4], name="rows")
    tf.while_loop(
        lambda i, a: i * i < tf.shape(a)[0] * 2,
        lambda i, a: (i + 1, a),
        [tf.constant(0), rows],
        name="squares",
    )
    start = [tf.constant(0), tf.constant(20)]
    tf.while_loop(lambda i, j: i < j, lambda i, j: (i + 1, j - 1), start, name="meeting")
    found = step_shapes(graph, {"rows": (50, 4)})
    assert found.trips == {"squares/while_context": 10, "meeting/while_context": 10} and not found.assumed


def test_loops_whose_end_is_not_known_say_what_is_assumed(graph):
    rows = tf.placeholder(tf.float32, [None, 4], name="rows")

    def loop(name, condition, following):
        tf.while_loop(condition, lambda i, a: (following(i), a * 2), [tf.constant(1), rows], name=name)

    loop("bounded", lambda i, a: tf.logical_and(i < 100, tf.reduce_sum(a) < 9.0), lambda i: i * 3)
    loop("data", lambda i, a: tf.reduce_sum(a) < 9.0, lambda i: i + 1)
    loop("standing", lambda i, a: i < 9, lambda i: i * 1)
    found = step_shapes(graph, {"rows": (2, 4)})
    assert [found.trips[f"{name}/while_context"] for name in ("bounded", "data", "standing")] == [5, 1, 1]
    said = "\n".join(found.assumed)
    assert "'bounded/while_context' is assumed to run to its bound of 5 trips" in said
    assert "because 'data/Less' depends on values that the loop computes: one trip is assumed" in said
    assert "'standing/while_context' does not end within 1 trips" in said


@pytest.mark.parametrize("use_resource", [False, True])
def test_what_is_restored_is_shaped_like_the_variable(graph, use_resource):
    tf.get_variable("weights", [512, 256], use_resource=use_resource)
    tf.get_variable("bias", [256], use_resource=use_resource)
    tf.train.Saver()
    found = step_shapes(graph)
    restored = found.graph.index["save/RestoreV2"]
    assert found.sizes[restored] == ((256,), (512, 256)) and not found.assumed
    assert step_work(found)[restored].bytes_written == (512 * 256 + 256) * 4
    assert not step_work(found)[restored].assumed
    assert step_shapes(graph, assume=None).sizes[restored] == (None, None)  # as TensorFlow knows it


def test_a_branch_that_does_not_run_may_not_fit(graph):
    rows = tf.placeholder(tf.float32, [None, None], name="rows")
    wide = tf.placeholder(tf.bool, [], name="wide")
    tf.cond(wide, lambda: tf.matmul(rows, tf.ones([3, 4])), lambda: tf.matmul(rows, tf.ones([5, 4])))
    for feeds in ({"rows": (2, 3)}, {"rows": (2, 3), "wide": np.array(True)}):
        found = step_shapes(graph, feeds)
        assert any(
            "MatMul_1' has invalid shapes, but is in a branch that does not run" in s for s in found.assumed
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Dimensions must be equal"):
        step_shapes(graph, {"rows": (2, 3), "wide": np.array(False)})
    step = tf.estimate(graph, feeds={"rows": (2, 3)}, machine="1x K40c")
    assert not step.memory.assumed  # memory and time are of the same branch


def test_numbers_without_a_sign_that_are_not_known(graph):
    tf.concat([tf.placeholder(tf.uint16, [2]), tf.constant([1, 2], tf.uint16)], 0, name="joined")
    assert step_shapes(graph)["joined"] == TensorShape([4])


def test_sums_and_stacks_that_are_lowered(graph):
    rows = tf.placeholder(tf.float32, [None, 4], name="rows")
    tf.accumulate_n([rows, rows], shape=[3, 4], name="sum")
    stacked = tf.parallel_stack([tf.ones([2]), tf.zeros([2])])
    found = step_shapes(graph, {"rows": (3, 4)})
    assert found["sum"] == TensorShape([3, 4]) and found[stacked.name] == TensorShape([2, 2])


def test_lists_that_one_functional_loop_fills_and_the_next_reads(graph):
    """The nodes that leave an inlined loop come before its body in the graph: what they give out is known after it."""
    tf.enable_control_flow_v2()
    x = tf.placeholder(tf.float32, [6, None, 4], name="x")

    def recurrent_layer(rows, units, name):
        """A layer whose element shapes are declared without the batch, as Keras declares them."""
        batch, width = tf.shape(rows)[1], int(rows.shape[2])
        weights = tf.ones([width + units, units])
        taken = tf.TensorArray(tf.float32, 6, element_shape=[None, width]).unstack(rows)
        filled = tf.TensorArray(tf.float32, 6, element_shape=[None, units])

        def body(i, state, filled):
            state = tf.matmul(tf.concat([taken.read(i), state], 1), weights)
            return i + 1, state, filled.write(i, state)

        start = [0, tf.zeros([batch, units]), filled]
        invariants = [TensorShape([]), TensorShape([None, units]), TensorShape([])]
        _, _, filled = tf.while_loop(lambda i, *_: i < 6, body, start, shape_invariants=invariants, name=name)
        return filled.stack()

    y = recurrent_layer(recurrent_layer(x, 5, "first"), 7, "second")
    (slope,) = tf.gradients(y, x)
    step = tf.estimate(graph, [y, slope], {"x": (6, 3, 4)}, machine="1 CPU")
    assert "While" in [op.type for op in graph.get_operations()]
    assert step.shapes[y.name].as_list() == [6, 3, 7] and step.shapes[slope.name].as_list() == [6, 3, 4]
    assert set(step.shapes.trips.values()) == {6} and step.guessed == 0
    forward = 2 * 6 * 3 * ((4 + 5) * 5 + (5 + 7) * 7)  # and as much for the slope: the weights are constants
    assert sum(row.flops for row in step.rows("nodes") if row.op == "MatMul") == 2 * forward


def test_an_attribute_of_another_type_is_a_fault_of_the_node():
    """``output_types`` is a text, whose length is the number of shapes by chance."""
    with tf.Graph().as_default() as graph:
        tf.data.Dataset.from_tensors(0.0).make_one_shot_iterator().get_next()
    message = graph.as_graph_def()
    [node] = [node for node in message.node if node.op == "IteratorGetNext"]
    node.attr["output_types"].s = b"\x00"
    placement = tf.place(message, machine="1 CPU")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="The attributes of 'IteratorGetNext' are not those"
    ):
        tf.estimate(placement, [node.name])
    assert placement[node.name].endswith("CPU:0")
