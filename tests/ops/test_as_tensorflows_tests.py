"""What TensorFlow 1.15.5's own tests rely on, in programs of our own; the answers are TensorFlow's."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.gradients.indexed_slices import IndexedSlicesValue
from gpuplace.tf1.stand_in.names import resolve


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
    assert tf.Variable(1.0, trainable=True, synchronization=on_read).trainable
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
        parts = tf.raw_ops.Split(axis=0, value=[1, 2], num_split=2)
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


def test_products_of_tensors_of_unknown_rank():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(60.0).reshape(4, 3, 5)
    left, right = tf.placeholder(tf.float64), tf.placeholder(tf.float64)
    pair = tf.placeholder(tf.int32, [2, 2])
    feeds = {left: a, right: b, pair: [[1, 2], [1, 0]]}
    with tf.Session() as session:
        for axes, expected in (
            ([[1, 2], [1, 0]], [[1, 2], [1, 0]]),
            ([[-2, -1], [1, 0]], [[1, 2], [1, 0]]),
            (pair, [[1, 2], [1, 0]]),
            (np.array([[2], [0]]), [[2], [0]]),
            (1, 1),
            (0, 0),
        ):
            found = session.run(tf.tensordot(left, right, axes), feeds)
            np.testing.assert_allclose(found, np.tensordot(a, b, expected))
    slope = tf.gradients(tf.tensordot(left, right, 1), left)[0]
    with tf.Session() as session:
        assert session.run(slope, feeds).shape == a.shape


@pytest.mark.parametrize("function", [tf.sqrt, tf.rsqrt, tf.reciprocal])
def test_second_derivatives_of_roots_and_reciprocals(function):
    x = tf.constant([0.5, 2.0], tf.float64)
    slope = tf.gradients(function(x), x)[0]
    with tf.Session() as session:
        assert tf.test.compute_gradient_error(x, [2], slope, [2], np.array([0.5, 2.0]), delta=1e-4) < 1e-5
        upstream = tf.constant([1.0, 3.0], tf.float64)
        scaled = tf.gradients(function(x), x, grad_ys=upstream)[0]
        again = tf.gradients(scaled, [x, upstream])
        plain = session.run([slope, *tf.gradients(slope, x)])
        np.testing.assert_allclose(session.run(again), [plain[1] * [1, 3], plain[0]])


def test_gradients_of_gathered_rows_are_slices():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows, elements = tf.gather_nd(x, [[2], [0], [2]]), tf.gather_nd(x, [[2, 0]])
    slope = tf.gradients(rows, x)[0]
    assert isinstance(slope, tf.IndexedSlices)
    assert isinstance(tf.gradients(elements, x)[0], tf.Tensor)
    with tf.Session() as session:
        assert session.run(tf.convert_to_tensor(slope)).tolist() == [[1, 1], [0, 0], [2, 2]]


def test_batch_dimensions_are_counted_from_the_end_of_indices():
    params, indices = np.arange(24).reshape(2, 3, 4), [[1, 0], [0, 1]]
    with tf.Session() as session:
        for given, meant in ((-1, 1), (-2, 0)):
            found, expected = session.run([tf.gather(params, indices, batch_dims=n) for n in (given, meant)])
            np.testing.assert_array_equal(found, expected)
        hidden = tf.placeholder_with_default(indices, None)
        found = session.run(tf.gather(params, hidden, axis=1, batch_dims=-1))
        np.testing.assert_array_equal(found, session.run(tf.gather(params, indices, axis=1, batch_dims=1)))


def test_reductions_of_nothing():
    with tf.Session() as session:
        assert session.run([tf.reduce_all([], 0), tf.reduce_any([], 0)]) == [True, False]
        assert session.run(tf.reduce_all([[], []], axis=1)).tolist() == [True, True]


def test_what_does_not_fit_is_said_while_building():
    with pytest.raises(ValueError, match="size_splits"):
        tf.split(np.arange(10), [2, 2, 6], num=4)
    with pytest.raises(ValueError, match="rank 1 but is rank 2"):
        tf.fill([[0, 1], [2, 3]], 1.0)
    with pytest.raises(ValueError, match="rank 0 but is rank 1"):
        tf.fill([3, 2], [1.0, 2.0])
    with pytest.raises(ValueError, match=">= 0"):
        tf.fill([2, -1], 7)


def test_shapes_as_tensors():
    with tf.Session() as session:
        for sizes in ([], [1, 2, 3]):
            tensor = tf.convert_to_tensor(tf.TensorShape(sizes))
            assert tensor.dtype is tf.int32
            assert session.run(tensor).tolist() == sizes
    assert tf.convert_to_tensor(tf.TensorShape([2**31])).dtype is tf.int64


def test_slices_with_a_shape_invariant():
    given = tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 3]), tf.constant([10, 2]))
    _, kept = tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.IndexedSlices(x.values * 2.0, x.indices, x.dense_shape)),
        [tf.constant(0), given],
        [tf.TensorShape([]), tf.TensorShape([None, 2])],
    )
    assert kept.values.shape.as_list() == [None, 2]
    assert kept.dense_shape.shape.as_list() == [2]
    with tf.Session() as session:
        assert session.run(kept.values).tolist() == [[8, 8], [8, 8]]


def test_branches_whose_slices_count_rows_differently():
    narrow = tf.IndexedSlices(tf.constant([1.0]), tf.constant([3], tf.int32))
    wide = tf.IndexedSlices(tf.constant([2.0]), tf.constant([2**40], tf.int64))
    pred = tf.placeholder(tf.bool, [])
    result = tf.cond(pred, lambda: narrow, lambda: wide)
    assert result.indices.dtype is tf.int64
    with tf.Session() as session:
        assert session.run(result.indices, {pred: True}).tolist() == [3]
        assert session.run(result.indices, {pred: False}).tolist() == [2**40]


def test_a_plain_value_after_dependencies():
    v = tf.Variable(-1)
    result = tf.case(
        [(tf.constant(True), lambda: tf.with_dependencies([tf.assign(v, 3)], 5))],
        default=lambda: tf.constant(0),
    )
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(result) == 5
        assert session.run(v) == 3


@pytest.mark.parametrize("use_resource", [False, True])
def test_initial_values_come_from_outside_of_loops(use_resource):
    def body(i, _):
        v = tf.Variable(tf.zeros([], tf.int32), use_resource=use_resource)
        return i + 1, v.read_value()

    with pytest.raises(ValueError, match="inside a control-flow construct"):
        tf.while_loop(lambda i, _: i < 3, body, [0, 0])


def test_no_gradient_by_way_of_the_first_value_of_a_loop():
    x = tf.placeholder(tf.float32, [], name="x")

    def body(i, v):
        return i + 1, tf.gradients(v * 2, x)[0]

    with pytest.raises(ValueError, match="Cannot compute gradient inside while loop with respect to op 'x'"):
        tf.while_loop(lambda i, _: i < 3, body, [0, x + 1])


def test_gradients_of_a_branch_in_a_loop_of_unknown_shapes():
    v = tf.placeholder(tf.float32)
    n = tf.constant(10.0)

    def body(i, x):
        return i + 1, tf.cond(tf.less(i, 2), lambda: tf.square(x), lambda: x * 2.0)

    _, result = tf.while_loop(lambda i, x: i < 4, body, [0, v * n / n])
    slope = tf.gradients(result, v)[0]
    with tf.Session() as session:
        value, found = session.run([result, slope], {v: 2.0})
    assert (value, found) == (64.0, 128.0)


def test_attributes_of_a_scope_may_be_messages():
    graph = tf.get_default_graph()
    with graph._attr_scope({"_XlaCompile": tf.AttrValue(b=True)}):
        inside = tf.constant(1).op
    assert inside.get_attr("_XlaCompile") is True
    assert inside.node_def.attr["_XlaCompile"].b
    assert "_XlaCompile" not in tf.constant(1).op.attrs


def test_a_session_is_entered_once():
    session = tf.Session()
    with session, pytest.raises(RuntimeError, match="not re-entrant"):
        with session:
            pass
    with tf.Session() as other, other.as_default(), other.as_default():
        assert tf.get_default_session() is other


def test_ranges_of_types_and_ranks_of_shapes():
    assert tf.uint8.limits() == (0, 255)
    assert tf.int8.limits(clip_negative=False) == (-128, 127)
    assert tf.float32.limits(clip_negative=False) == (-1, 1)
    assert tf.bool.limits() == (0, True)
    tf.TensorShape([1, None]).assert_has_rank(2)
    tf.TensorShape(None).assert_has_rank(2)
    with pytest.raises(ValueError, match="must have rank 3"):
        tf.TensorShape([1, None]).assert_has_rank(3)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_ftrl_with_shrinkage(use_resource, is_sparse):
    variable = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=use_resource)
    grad = slices([[0.1, 0.2]], [1], [2, 2]) if is_sparse else tf.constant([[0.1, 0.2], [0.3, 0.4]])
    settings = {"l1_regularization_strength": 0.01, "l2_regularization_strength": 0.2}
    optimizer = tf.train.FtrlOptimizer(0.5, l2_shrinkage_regularization_strength=0.3, **settings)
    train = optimizer.apply_gradients([(grad, variable)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        value, linear = session.run([variable, optimizer.get_slot(variable, "linear")])
    if is_sparse:
        expected = [[1.0, 2.0], [-0.486053, -0.768406]], [[0.0, 0.0], [0.554919, 1.038191]]
    else:
        expected = (
            [[-0.261666, -0.52682], [-0.71423, -0.758759]],
            [[0.303356, 0.714929], [1.16459, 1.469211]],
        )
    np.testing.assert_allclose(value, expected[0], rtol=1e-5)
    np.testing.assert_allclose(linear, expected[1], rtol=1e-5)
    with pytest.raises(
        ValueError, match="l2_shrinkage_regularization_strength -1 needs to be positive or zero"
    ):
        tf.train.FtrlOptimizer(0.5, l2_shrinkage_regularization_strength=-1)


@pytest.mark.parametrize(
    ("k", "weights", "expected"),
    [
        *[(1, None, 0.0), (1, [1.0, 2.0, 0.5], 0.0), (2, None, 0.166667), (2, [1.0, 2.0, 0.5], 0.107143)],
        *[(4, None, 0.472222), (4, [1.0, 2.0, 0.5], 0.392857)],
    ],
)
def test_average_precision_at_k(k, weights, expected):
    scores = np.float32([[0.1, 0.4, 0.2, 0.3], [0.5, 0.1, 0.3, 0.2], [0.2, 0.3, 0.1, 0.4]])
    labels = np.int64([[3, 2], [1, -1], [0, 1]])
    present = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], np.int64([2, 3, 1, 0, 1]), [3, 2])
    for given in (labels, present):
        value, update = tf.metrics.average_precision_at_k(given, scores, k, weights)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            assert session.run(update) == pytest.approx(expected, rel=1e-5)
            session.run(update)
            assert session.run(value) == pytest.approx(expected, rel=1e-5)
    with pytest.raises(ValueError, match="Invalid k=0"):
        tf.metrics.average_precision_at_k(labels, scores, 0)


@pytest.mark.parametrize(
    ("text", "pos", "count"),
    [((3, 4), (2, 4), (2, 4)), ((5,), (4,), (4,)), ((2, 2), (2, 2), (2,)), ((2, 2), (2, 2), (1, 2))],
)
def test_parts_of_texts_at_places_that_do_not_fit(text, pos, count):
    arrays = [np.full(text, b"letters", object), np.zeros(pos, np.int32), np.ones(count, np.int32)]
    with pytest.raises(ValueError, match=r"must be (rank|equal)|shapes must match"):
        tf.substr(*arrays)
    fed = [tf.placeholder(dtype) for dtype in (tf.string, tf.int32, tf.int32)]
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="same shape|do not broadcast"),
    ):
        session.run(tf.substr(*fed), dict(zip(fed, arrays, strict=True)))


def test_parts_of_texts_have_the_shape_of_both():
    part = tf.substr(tf.fill([1, 3], "letters"), [[0], [2]], [[1], [2]])
    assert part.shape.as_list() == [2, 3]
    assert tf.Session().run(part).tolist() == [[b"l"] * 3, [b"tt"] * 3]


def test_updates_of_nothing_and_of_texts():
    indices, updates, shape = (tf.placeholder(dtype) for dtype in (tf.int32, tf.float32, tf.int32))
    scattered = tf.scatter_nd(indices, updates, shape)
    cases = [
        ([], [], [0], None),
        (np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), [0, 3, 2], "specified for empty output.  indices shape: "),
        ([[0]], [1.0], [], "specified for empty output shape"),
        (1, [2.0], [3], "Indices shape must have rank at least one"),
        ([[1]], 2.0, [3], "Updates shape must have rank at least one"),
        ([[1]], [2.0], [[3]], "Shape must be a vector"),
    ]
    scalar = tf.Variable(1.0)
    with tf.Session() as session:
        for *values, message in cases:
            feed = dict(zip((indices, updates, shape), map(np.asarray, values), strict=True))
            if message is None:
                assert session.run(scattered, feed).size == 0
                continue
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(scattered, feed)
        texts = tf.scatter_nd([[4], [3], [3]], ["a", "b", "c"], [5])
        assert session.run(texts).tolist() == [b"", b"", b"", b"bc", b"a"]
        session.run(scalar.initializer)
        changed = tf.raw_ops.ScatterNdUpdate(ref=scalar._ref(), indices=indices, updates=updates)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Output must be at least 1-D"):
            session.run(changed, {indices: [[0]], updates: [1.0]})


def test_what_a_template_says_of_its_variables():
    def layer():
        return [tf.get_variable(name, [], trainable=name == "w") for name in ("w", "mean")]

    template = tf.make_template("layer", layer)
    assert template.variable_scope_name is None and template.non_trainable_variables == []
    weight, mean = template()
    assert template.variable_scope_name == "layer/"
    assert template.trainable_weights == [weight]
    assert template.non_trainable_variables == template.non_trainable_weights == [mean]
    assert template.weights == [weight, mean]
    unnamed = tf.make_template("", layer)
    with tf.variable_scope("outer"):
        other = tf.get_variable("other", [])
        made = unnamed()
    assert unnamed.variable_scope_name == "outer/" and unnamed.variables == [other, *made]


def test_kernels_of_lstm_cells_in_parts():
    inputs, values = tf.ones([2, 3]), {}
    for shards in (None, 1, 2):
        with tf.variable_scope(f"in_{shards}", initializer=tf.constant_initializer(0.25)):
            cell = tf.nn.rnn_cell.LSTMCell(4, num_proj=2, num_unit_shards=shards, num_proj_shards=shards)
            values[shards] = cell(inputs, cell.zero_state(2, tf.float32))[0]
    names = [variable.op.name for variable in tf.global_variables() if variable.op.name.startswith("in_2")]
    assert [name.removeprefix("in_2/lstm_cell/") for name in names] == [
        *("kernel/part_0", "kernel/part_1", "bias"),
        *("projection/kernel/part_0", "projection/kernel/part_1"),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(values)
    for shards in (1, 2):
        np.testing.assert_allclose(found[shards], found[None], rtol=1e-6)


def test_arguments_of_local_variables_have_the_places_of_those_of_others():
    def getter(getter, name, *args, **kwargs):
        return getter(f"got_{name}", *args, **kwargs)

    arguments = ("v", [2], tf.float32, None, None, False, None, None, None, True, True, getter)
    variable = tf.get_local_variable(*arguments)
    assert variable.op.name == "got_v" and variable.op.type == "VarHandleOp"
    assert tf.local_variables() == [variable]


def test_slices_stay_slices_when_they_are_clipped():
    table = tf.Variable(tf.ones([5, 2]))
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [3, 0, 3]) * [[3.0, 4.0], [0.5, 0.0], [-6.0, 8.0]])
    grad = tf.gradients(loss, table)[0]
    for clipped, expected in (
        (tf.clip_by_value(grad, -1.0, 3.5), [[3.0, 3.5], [0.5, 0.0], [-1.0, 3.5]]),
        (tf.clip_by_norm(grad, 5.0, axes=1), [[3.0, 4.0], [0.5, 0.0], [-3.0, 4.0]]),
        (tf.clip_by_norm(grad, 125.25**0.5 / 2), [[1.5, 2.0], [0.25, 0.0], [-3.0, 4.0]]),
    ):
        assert isinstance(clipped, tf.IndexedSlices) and clipped.indices is grad.indices
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            value, dense = session.run([clipped, tf.convert_to_tensor(clipped)])
            train = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(clipped, table)])
            session.run(train)
            np.testing.assert_allclose(session.run(table), 1 - dense, rtol=1e-6)
        np.testing.assert_allclose(value.values, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0xF", 15), ("-0X10", -16), (" 0x2 ", 2), ("+0x1f", 31), ("+5", 5), ("0x", None), ("0x1.8", None), ("1_0", None)],
)  # fmt: skip
def test_texts_of_numbers(text, number):
    refusal = pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert string: ")
    with tf.Session() as session:
        if number is None:
            with refusal:
                session.run(tf.string_to_number(text))
        else:
            assert session.run(tf.string_to_number(text)) == number
        if "x" in text.lower() or "+" in text:
            with refusal:
                session.run(tf.string_to_number(text, tf.int32))


def test_resources_are_made_and_asked_for():
    resources = resolve("tensorflow.python.ops.resources")
    variables = [tf.get_variable(name, initializer=1.0, use_resource=True) for name in ("a", "b")]
    made = tf.Variable(False, collections=[], name="made")
    with tf.control_dependencies([made.initializer]):
        create = tf.assign(made, True, validate_shape=False).op
    ready = tf.logical_and(tf.is_variable_initialized(made), True)
    resources.register_resource(variables[1].handle, create, ready)
    resources.register_resource(
        variables[0].handle, variables[0].create, variables[0].is_initialized(), is_shared=False
    )
    missing, known = resources.report_uninitialized_resources(), resources.report_uninitialized_resources([])
    make = resources.initialize_resources(resources.shared_resources())
    with tf.Session() as session:
        assert session.run([missing, known])[0].tolist() == [b"b:0", b"a:0"]
        session.run(make)
        assert session.run(missing).tolist() == [b"a:0"]
        session.run(resources.initialize_resources(variables))
        assert session.run(missing).size == session.run(known).size == 0
        assert session.run(variables) == [1.0, 1.0]
        session.run(resources.initialize_resources([]))
    scaffold = tf.train.Scaffold().finalize()
    with tf.Session() as session:
        assert b"b:0" in session.run(scaffold.ready_op)
        session.run([scaffold.init_op, scaffold.local_init_op])
        assert session.run(scaffold.ready_op).size == 0


def test_there_is_a_graph_mode_and_no_eager_one():
    context = resolve("tensorflow.python.eager.context")
    with context.graph_mode():
        assert not context.executing_eagerly()
    with pytest.raises(tf.errors.UnimplementedError, match=r"Eager execution.*tf\.Session"):
        context.eager_mode()
    assert context.num_gpus() == 0
    assert not tf.get_default_graph().building_function
    assert not tf.control_flow_v2_enabled()


@pytest.mark.parametrize(
    "module, name, public",
    [
        ("ops.image_ops_impl", "flip_left_right", "image.flip_left_right"),
        ("ops.image_ops_impl", "ResizeMethodV1", "image.ResizeMethod"),
        ("ops.linalg.linalg_impl", "logdet", "linalg.logdet"),
        ("lib.io.python_io", "TFRecordWriter", "python_io.TFRecordWriter"),
        ("data.ops.dataset_ops", "DatasetV2", "data.Dataset"),
        ("data.ops.dataset_ops", "get_legacy_output_types", "data.get_output_types"),
        ("data.ops.dataset_ops", "get_structure", "data.experimental.get_structure"),
        ("data.ops.readers", "TextLineDatasetV1", "data.TextLineDataset"),
        ("data.experimental.ops.cardinality", "cardinality", "data.experimental.cardinality"),
        ("platform.benchmark", "Benchmark", "test.Benchmark"),
        ("saved_model.loader_impl", "load", "saved_model.loader.load"),
        ("ops.array_ops", "rank_internal", "rank"),
    ],
)
def test_inner_modules_have_public_names(module, name, public):
    wanted = tf
    for part in public.split("."):
        wanted = getattr(wanted, part)
    assert getattr(resolve(f"tensorflow.python.{module}"), name) is wanted


def test_generated_modules_have_ops_by_their_own_names():
    added = resolve("tensorflow.python.ops.gen_math_ops").AddV2(x=1.0, y=2.0)
    with tf.Session() as session:
        assert session.run(added) == 3
    assert resolve("tensorflow.core.lib.core.error_codes_pb2").NOT_FOUND == 5


def test_bits_of_comparisons():
    pack = tf.raw_ops.CompareAndBitpack
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        found = session.run(pack(input=[[1.0, 3, 0, -4, 5, 2.5, 2, 9]], threshold=2.0))
        assert (found.dtype, found.tolist()) == (np.uint8, [[77]])
        for threshold in (True, False):
            assert session.run(pack(input=[True, False] * 8, threshold=threshold)).tolist() == [170, 170]
        assert session.run(pack(input=np.zeros([0, 8], np.int64), threshold=np.int64(1))).shape == (0, 1)
        packed = pack(input=x, threshold=0.0)
        for value, message in ((1.0, "at least a vector"), ([1.0] * 7, "divisible by 8")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(packed, {x: value})
    assert pack(input=tf.zeros([2, 16]), threshold=0.0).shape.as_list() == [2, 2]
    with pytest.raises(ValueError, match="evenly divisible by 8"):
        pack(input=tf.zeros([4]), threshold=0.0)


def test_rolls_are_checked():
    m = [[1, 2], [3, 4]]
    for shift, axis, message in (
        (1, [[0, 1]], "at most rank 1 but is rank 2"),
        ([[0, 1]], 1, "at most rank 1 but is rank 2"),
        ([1], [0, 1], "both shapes must be equal"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.roll(m, shift, axis)
    with pytest.raises(ValueError, match="at least rank 1 but is rank 0"):
        tf.roll(7, 1, 0)
    some = tf.placeholder(tf.int32)
    with tf.Session() as session:
        for rolled, name in ((tf.roll(m, some, 1), "shift"), (tf.roll(m, 1, some), "axis")):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"{name} must be a scalar or a 1-D vector"
            ):
                session.run(rolled, {some: [[0, 1]]})


def test_sequences_lie_along_another_dimension_than_batches():
    x, lengths = tf.placeholder(tf.float32), tf.placeholder(tf.int64)
    reversed_ = tf.reverse_sequence(x, lengths, seq_axis=0, batch_axis=0)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="batch_dim == seq_dim"):
        session.run(reversed_, {x: np.zeros([4, 2]), lengths: [1, 2, 3, 4]})


def test_norms_of_complex_numbers_are_real():
    x = np.array([[0, 0], [1 + 1j, 1 - 1j], [0.1 + 0.7j, 0.3]], np.complex64)
    with tf.Session() as session:
        norms, (unit, length) = session.run([tf.reduce_euclidean_norm(x, 1), tf.linalg.normalize(x, axis=1)])
    np.testing.assert_allclose(norms, [0, 2, np.sqrt(0.59)], rtol=1e-6)
    assert not norms.imag.any()
    np.testing.assert_allclose(unit[1:], x[1:] / norms[1:, None], rtol=1e-6)
    np.testing.assert_allclose(length[:, 0], norms, rtol=1e-6)


def test_what_layers_make_of_their_arguments():
    utils = resolve("tensorflow.python.layers.utils")
    assert [utils.convert_data_format("channels_last", rank) for rank in (3, 4, 5)] == [
        "NWC",
        "NHWC",
        "NDHWC",
    ]
    for wrong in (("channels_last", 2), ("first", 4)):
        with pytest.raises(ValueError, match=r"Input rank not supported|Invalid data_format"):
            utils.convert_data_format(*wrong)
    assert utils.normalize_tuple(2, 3, "strides") == (2, 2, 2)
    for wrong in (None, [1], ["a", "b"]):
        with pytest.raises(ValueError, match=r"The `strides` argument must be a tuple of 2 integers"):
            utils.normalize_tuple(wrong, 2, "strides")
    assert (utils.normalize_data_format("Channels_First"), utils.normalize_padding("SAME")) == (
        "channels_first",
        "same",
    )
    for function in (utils.normalize_data_format, utils.normalize_padding):
        with pytest.raises(ValueError, match="must be one of"):
            function("other")
    assert [utils.conv_output_length(4, 2, kind, 1) for kind in ("same", "valid", "full")] == [4, 3, 5]
    assert utils.conv_output_length(5, 2, "valid", 2, dilation=2) == 2
    assert [utils.conv_input_length(3, 2, kind, 1) for kind in ("same", "valid", "full")] == [2, 4, 2]
    assert [utils.deconv_output_length(4, 2, kind, 2) for kind in ("same", "valid", "full")] == [8, 8, 6]
    assert utils.deconv_output_length(None, 2, "same", 1) is None


def test_conditions_and_what_is_behind_tensors():
    utils = resolve("tensorflow.python.layers.utils")
    flag = tf.placeholder_with_default(True, [])
    assert [utils.constant_value(one) for one in (1, False, tf.constant(True), flag)] == [
        True,
        False,
        True,
        None,
    ]
    assert utils.constant_value(tf.Variable(True)) is None
    with pytest.raises(TypeError, match="must be a Tensor"):
        utils.constant_value(5)
    a = tf.constant(1.0)
    b = a + 1.0
    c = b * 2.0
    assert utils.get_reachable_from_inputs([a]) == {a, b, c}
    assert c not in utils.get_reachable_from_inputs([a], targets=[b])
    with pytest.raises(TypeError, match="Expected Operation, Variable, or Tensor"):
        utils.get_reachable_from_inputs([1])
    assert utils.static_shape(None) is None
    assert utils.static_shape(tf.zeros([2, 1])) == (2, 1)


def test_sizes_are_no_matrix():
    with pytest.raises(ValueError, match="must be rank 1 but is rank 2"):
        tf.sparse_to_dense([1, 3], [[5], [3]], 1, -1)
