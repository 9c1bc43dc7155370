"""What TensorFlow 1.15.5's own tests rely on, in programs of our own; the answers are TensorFlow's."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.gradients.indexed_slices import IndexedSlicesValue


def slices(values=(1.0, 2.0), indices=(0, 1), shape=None):
    dense = None if shape is None else tf.constant(shape)
    return tf.IndexedSlices(tf.constant(list(values)), tf.constant(list(indices)), dense)


EMPTY = [
    (lambda: tf.zeros([0, 2]), (0, 2), "float32"),
    (lambda: tf.zeros([0]), (0,), "float32"),
    (lambda: tf.ones([3, 0], tf.int32), (3, 0), "int32"),
    (lambda: tf.zeros([2, 0], tf.string), (2, 0), "object"),
    (lambda: tf.constant([], tf.string), (0,), "object"),
    (lambda: tf.constant([[], []], tf.string), (2, 0), "object"),
    (lambda: tf.constant(1, shape=[0]), (0,), "float32"),
    (lambda: tf.constant(["a"], tf.string, shape=[0, 3]), (0, 3), "object"),
    (lambda: tf.constant([1, 2], tf.int8, shape=[0]), (0,), "int8"),
    (lambda: tf.zeros([0], tf.bool), (0,), "bool"),
    (lambda: tf.get_variable("empty", [0, 3]).initial_value, (0, 3), "float32"),
]


@pytest.mark.parametrize("number", range(len(EMPTY)))
def test_constants_without_elements(number):
    make, shape, dtype = EMPTY[number]
    tensor = make()
    with tf.Session() as session:
        value = session.run(tensor)
    assert (value.shape, value.dtype.name) == (shape, dtype)
    assert tensor.shape.as_list() == list(shape)
    np.testing.assert_array_equal(tf.make_ndarray(tf.make_tensor_proto(value)), value)


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_step_of_training_is_an_operation(use_resource):
    v = tf.Variable(1.0, use_resource=use_resource)
    step = tf.Variable(0, trainable=False, name="step", use_resource=use_resource)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    for made in (
        optimizer.minimize(v * v, global_step=step),
        optimizer.apply_gradients([(tf.constant(1.0), v)], global_step=step),
    ):
        assert isinstance(made, tf.Operation)
        with tf.Session():
            tf.global_variables_initializer().run()
            assert made.run() is None
            assert step.eval() == 1


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_loss_may_be_a_function(use_resource):
    v, other = (tf.Variable(2.0, use_resource=use_resource) for _ in range(2))
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    ((_, found),) = optimizer.compute_gradients(lambda: v * v)
    assert found is v is not other
    with tf.Session() as session:
        step = optimizer.minimize(lambda: v * v, var_list=[v])
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run([v, other]) == [0.0, 2.0]


def test_slices_in_tuples_dependencies_and_colocation():
    given = slices(shape=[4])
    done = []
    wait = tf.py_func(lambda: done.append(1), [], [])
    together, one = tf.tuple([given, tf.constant(1)], control_inputs=[wait])
    after = tf.with_dependencies([wait], slices())
    with tf.colocate_with(given), tf.control_dependencies([given]):
        near = tf.constant(1)
    assert near.op.colocation_groups() == [b"loc:@" + given.values.op.name.encode()]
    assert near.op.control_inputs == [given.values.op]
    with tf.Session() as session:
        value, _, rows = session.run([together, one, after])
        assert value.values.tolist() == [1.0, 2.0] and value.dense_shape.tolist() == [4]
        assert rows.indices.tolist() == [0, 1] and rows.dense_shape is None
    assert done


def test_slices_in_loops_and_branches():
    given = slices()
    doubled = lambda x: tf.IndexedSlices(x.values * 2, x.indices)  # noqa: E731
    _, loop = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, doubled(x)), [0, given])
    branch = tf.cond(tf.constant(False), lambda: given, lambda: doubled(given))
    with tf.Session() as session:
        values = [one.values.tolist() for one in session.run([loop, branch])]
    assert values == [[8.0, 16.0], [2.0, 4.0]]


def test_values_of_slices_can_be_fed_to_slices():
    fed = tf.IndexedSlices(tf.placeholder(tf.float32), tf.placeholder(tf.int32))
    whole = tf.IndexedSlices(*(tf.placeholder(kind) for kind in (tf.float32, tf.int32, tf.int32)))
    with tf.Session() as session:
        assert session.run(fed.values + 1, {fed: IndexedSlicesValue([1.0], [0])}).tolist() == [2.0]
        assert session.run(fed.values + 1, {fed: ([1.0], [0])}).tolist() == [2.0]
        value = IndexedSlicesValue([1.0], [0], [3])
        assert session.run(whole.dense_shape, {whole: value}).tolist() == [3]
        with pytest.raises(ValueError):
            session.run(fed.values, {fed: value})


def test_attributes_may_be_messages():
    shape = tf.AttrValue()
    shape.shape.dim.add().size = 2
    attrs = {"dtype": tf.AttrValue(type=1), "shape": shape}
    op = tf.get_default_graph().create_op("Placeholder", [], [tf.float32], attrs=attrs)
    assert op.get_attr("dtype") is tf.float32
    assert op.outputs[0].shape.as_list() == [2]
    op._set_attr("_note", tf.AttrValue(i=7))
    assert op.node_def.attr["_note"].i == 7


def test_names_may_be_bytes():
    graph = tf.get_default_graph()
    assert tf.constant(1, name=b"abc").op.name == "abc"
    assert graph.unique_name(b"abc") == "abc_1"
    assert graph.create_op("NoOp", [], name=b"go").name == "go"
    with tf.name_scope(b"scope") as scope:
        assert scope == "scope/"


def test_an_assertion_that_is_known_to_fail_fails_when_it_runs():
    check = tf.Assert(False, ["why"])
    assert [op.name for op in (check, check.inputs[0].op, check.inputs[1].op)] == [
        "Assert/Assert",
        "Assert/Assert/condition",
        "Assert/Assert/data_0",
    ]
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[why\]"),
    ):
        session.run(check)


def test_variables_that_are_read_together_are_not_trained():
    on_read = tf.VariableSynchronization.ON_READ
    assert not tf.Variable(1.0, synchronization=on_read).trainable
    assert not tf.get_variable("v", [2], synchronization=on_read).trainable
    assert not tf.trainable_variables()
    with pytest.raises(ValueError, match="ON_READ only for non-trainable variables"):
        tf.Variable(1.0, trainable=True, synchronization=on_read)
    with pytest.raises(ValueError, match="Invalid variable synchronization mode"):
        tf.Variable(1.0, synchronization=3)


@pytest.mark.parametrize("use_resource", [False, True])
def test_adagrad_of_a_variable_of_unknown_shape(use_resource):
    start = tf.placeholder_with_default(tf.ones([2]), None)
    v = tf.Variable(start, validate_shape=False, use_resource=use_resource)
    step = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(v), [0.9046537, 0.9046537], rtol=1e-6)


def test_gradients_of_rows_of_a_resource_in_a_loop():
    v = tf.Variable(np.ones((3, 2), np.float32), use_resource=True)
    _, total = tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, x + tf.reduce_sum(tf.nn.embedding_lookup(v, [i]))),
        [0, 0.0],
    )
    (slope,) = tf.gradients(total, v)
    with tf.Session() as session:
        session.run(v.initializer)
        value, found = session.run([total, slope])
        assert value == 6.0
        assert session.run(tf.convert_to_tensor(slope)).tolist() == [[1, 1]] * 3
        assert found.indices.tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize(
    ("given", "wanted"), [(["1"], "int32"), (["a"], "float32"), ([1], "string"), ([True], "string")]
)
def test_texts_are_not_cast(given, wanted):
    cast = tf.cast(tf.constant(given), wanted)
    source = cast.op.inputs[0].dtype.name
    with tf.Session() as session:
        with pytest.raises(tf.errors.UnimplementedError, match=f"Cast {source} to {wanted} is not supported"):
            session.run(cast)


def test_solving_for_a_vector():
    matrix = tf.eye(2)
    with pytest.raises(ValueError, match="Shape must be at least rank 2 but is rank 1"):
        tf.matrix_solve(matrix, [1.0, 2.0])
    unknown = tf.placeholder(tf.float32)
    with tf.Session() as session:
        for rhs, words in (([1.0, 2.0], "same rank"), ([[1.0], [2.0], [3.0]], "incompatible")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(tf.matrix_solve(matrix, unknown), {unknown: rhs})


@pytest.mark.parametrize(
    ("raised", "becomes"),
    [
        (ValueError, "InvalidArgumentError"),
        (TypeError, "InvalidArgumentError"),
        (UnicodeError, "InvalidArgumentError"),
        (StopIteration, "OutOfRangeError"),
        (MemoryError, "ResourceExhaustedError"),
        (NotImplementedError, "UnimplementedError"),
        (RuntimeError, "UnknownError"),
        (ArithmeticError, "UnknownError"),
        (KeyError, "UnknownError"),
    ],
)
def test_what_a_python_function_raises(raised, becomes):
    def fails():
        raise raised("in the function")

    with tf.Session() as session, pytest.raises(tf.errors.OpError) as caught:
        session.run(tf.py_func(fails, [], []))
    assert type(caught.value).__name__ == becomes
    assert caught.value.message.startswith(f"{raised.__name__}: ")
    assert "in the function" in caught.value.message
    assert "in fails" in caught.value.message


def test_unknown_inputs_are_named_as_they_are_written():
    for text in ("A", "A:0", "A:1", "^A"):
        graph = tf.GraphDef()
        node = graph.node.add(name="B", op="Identity", input=[text])
        node.attr["T"].type = 1
        if text.startswith("^"):
            node.op = "NoOp"
            del node.attr["T"]
        with pytest.raises(ValueError) as caught:
            tf.import_graph_def(graph)
        assert str(caught.value).startswith(f"Node 'B': Unknown input node '{text}'")


def test_raw_ops():
    with tf.Session() as session:
        assert session.run(tf.raw_ops.Add(x=1.0, y=2.0)) == 3.0
        values, indices = session.run(tf.raw_ops.TopKV2(input=[1.0, 3.0], k=1))
        assert (values.tolist(), indices.tolist()) == ([3.0], [1])
        assert isinstance(tf.raw_ops.NoOp(), tf.Operation)
        parts = tf.raw_ops.Split(split_dim=0, value=[1, 2], num_split=2)
        assert [part.tolist() for part in session.run(parts)] == [[1], [2]]
    with pytest.raises(AttributeError):
        tf.raw_ops.NoSuchOp  # noqa: B018


def test_nest():
    structure = {"b": [1, (2, 3)], "a": 4}
    flat = tf.nest.flatten(structure)
    assert flat == [4, 1, 2, 3]
    assert tf.nest.pack_sequence_as(structure, flat) == structure
    assert tf.nest.map_structure(lambda x, y: x + y, structure, structure) == {"b": [2, (4, 6)], "a": 8}
    assert tf.nest.is_nested(structure) and not tf.nest.is_nested("text")
    tf.nest.assert_same_structure([1, (2,)], [3, [4]], check_types=False)
    with pytest.raises(TypeError):
        tf.nest.assert_same_structure([1, (2,)], [3, [4]])
    with pytest.raises(ValueError, match="at least one structure"):
        tf.nest.map_structure(len)
    with pytest.raises(ValueError, match="Only valid keyword"):
        tf.nest.map_structure(len, [1], check=True)
    with pytest.raises(TypeError, match="must be callable"):
        tf.nest.map_structure(1, [1])
    assert len(tf.nest.flatten(slices(), expand_composites=True)) == 2


def test_graphs_are_of_no_function():
    graph = tf.get_default_graph()
    assert graph.building_function is False
    graph.switch_to_thread_local()
