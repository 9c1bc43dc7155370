"""Partitioned variables, their partitioners, and variables made through creators."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.variables.partitioned import PartitionInfo


def of_two(**_):
    return [2, 1]


def make(name="w", shape=(5, 2), **arguments):
    return tf.get_variable(name, shape, partitioner=arguments.pop("partitioner", of_two), **arguments)


def test_the_parts_are_variables_and_the_whole_is_their_join():
    with tf.variable_scope("s"):
        whole = make(initializer=tf.constant(np.arange(10.0).reshape(5, 2), tf.float32), shape=None)
        product = tf.matmul(tf.ones([1, 5]), whole)
    assert [(part.name, part.shape.as_list()) for part in whole] == [
        ("s/w/part_0:0", [3, 2]),
        ("s/w/part_1:0", [2, 2]),
    ]
    names = {op.name for op in tf.get_default_graph().get_operations()}
    assert {"s/w/ConcatPartitions/concat", "s/w", "s/w/part_1/PartitionedInitializer/Slice"} <= names
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(product).tolist() == [[20, 25]]
        session.run(whole.assign(np.ones([5, 2], np.float32)))
        session.run(whole.assign_add([np.ones([3, 2]), np.zeros([2, 2])]))
        assert session.run(tf.identity(whole))[:, 0].tolist() == [2, 2, 2, 1, 1]


def test_one_part_is_the_whole():
    whole = make(shape=[1, 2], partitioner=tf.fixed_size_partitioner(4))
    assert len(whole) == 1 and tf.convert_to_tensor(whole).op.type == "Identity"


def test_initializers_know_which_part_they_make():
    seen = []

    def initializer(shape, dtype, partition_info):
        seen.append((shape, partition_info.full_shape, partition_info.var_offset))
        return tf.zeros(shape, dtype)

    make(initializer=initializer)
    assert seen == [([3, 2], [5, 2], [0, 0]), ([2, 2], [5, 2], [3, 0])]
    identity = make("eye", [3, 3], initializer=tf.initializers.identity())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(tf.identity(identity)), np.eye(3))


def test_a_scopes_partitioner_and_reuse():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)) as scope:
        whole, scalar = tf.get_variable("w", [4]), tf.get_variable("b", [])
    assert isinstance(scalar, tf.Variable)
    with tf.variable_scope(scope, reuse=True):
        assert tf.get_variable("w", [4]) is whole
    with tf.variable_scope("s", reuse=True):
        assert tf.get_variable("w") is whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"partitioner": lambda **_: [1]}, "does not match the Variable's rank: \\[1\\] vs. \\(5, 2\\)"),
        ({"partitioner": lambda **_: [0, 1]}, "zero partitions for some axes"),
        ({"partitioner": lambda **_: [2, 2]}, "Can only slice a variable along one dimension"),
        ({"partitioner": lambda **_: 2}, "Partitioner must return a sequence, but saw: 2"),
        ({"partitioner": 2}, "Partitioner must be callable, but received: 2"),
        ({"shape": [None, 2]}, "must be fully defined, but instead was \\(\\?, 2\\)"),
        ({"name": "plain"}, "an unpartitioned version of the variable was found: plain"),
        ({"name": "cut"}, "Partitioned variable with name cut already exists"),
        ({"name": "cut", "partitioner": None}, "a partitioned version of the variable was found: cut/part_0"),
        ({"name": "shared", "reuse": True}, "PartitionedVariable shared does not exist"),
        (
            {"name": "cut", "reuse": True, "shape": [4, 2]},
            "specified shape \\(4, 2\\) and found shape \\(5, 2\\)",
        ),
        (
            {"name": "cut", "reuse": True, "dtype": tf.float64},
            "specified dtype float64 and found dtype float32",
        ),
        (
            {"name": "cut", "reuse": True, "partitioner": lambda **_: [3, 1]},
            "specified partitions \\[3, 1\\] and found partitions \\[2, 1\\]",
        ),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    tf.get_variable("plain", [5, 2])
    make("cut")
    with tf.variable_scope(tf.get_variable_scope(), reuse=arguments.pop("reuse", False)):
        with pytest.raises(ValueError, match=message):
            make(**arguments)


def test_savers_write_the_whole(tmp_path):
    make(initializer=tf.constant_initializer(3.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"w": [5, 2]}
    with tf.Graph().as_default(), tf.Session() as session:
        three = make(shape=[5, 2], partitioner=tf.fixed_size_partitioner(3))
        tf.train.Saver().restore(session, path)
        assert (session.run(tf.identity(three)) == 3).all()


def test_slots_are_parts_of_a_whole_too():
    whole = make()
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(whole))
    slots = [one for one in tf.global_variables() if "Momentum" in one.name]
    assert [slot.name for slot in slots] == ["w/part_0/Momentum:0", "w/part_1/Momentum:0"]
    assert {slot._get_save_slice_info().full_name for slot in slots} == {"w/Momentum"}


def test_layers_take_a_scopes_partitioner():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        tf.layers.dense(tf.ones([2, 4]), 6, name="d", kernel_regularizer=tf.reduce_sum)
    assert [one.name for one in tf.trainable_variables()] == [
        f"s/d/{name}/part_{index}:0" for name in ("kernel", "bias") for index in (0, 1)
    ]
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 2


def test_lookups_in_partitioned_tables():
    rows = tf.constant(np.arange(10.0).reshape(5, 2), tf.float32)
    table = tf.get_variable("table", initializer=rows, partitioner=of_two)
    found = tf.nn.embedding_lookup(table, [4, 1], partition_strategy="div")
    short = tf.nn.embedding_lookup(table, [[4, 0]], partition_strategy="div", max_norm=1.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(found).tolist() == [[8, 9], [2, 3]]
        np.testing.assert_allclose(np.linalg.norm(session.run(short), axis=-1), [[1, 1]], rtol=1e-6)


def test_tables_of_unknown_sizes_are_spread_in_blocks():
    parts = [tf.placeholder(tf.float32, [None, 1]) for _ in range(2)]
    found = tf.nn.embedding_lookup(parts, [2, 3], partition_strategy="div")
    with tf.Session() as session:
        feeds = {parts[0]: [[1], [2], [3]], parts[1]: [[4], [5]]}
        assert session.run(found, feeds).tolist() == [[3], [4]]


@pytest.mark.parametrize(
    ("partitioner", "shape", "dtype", "parts"),
    [
        (tf.fixed_size_partitioner(4), [3, 2], tf.float32, [3, 1]),
        (tf.fixed_size_partitioner(4, axis=1), [3, 8], tf.float32, [1, 4]),
        (tf.variable_axis_size_partitioner(1024), [256, 2], tf.float32, [2, 1]),
        (tf.variable_axis_size_partitioner(1024, axis=1, max_shards=3), [2, 256], tf.float64, [1, 3]),
        (tf.variable_axis_size_partitioner(4), [4, 8], tf.string, [4, 1]),
        (tf.min_max_variable_partitioner(8, min_slice_size=64), [64], tf.float32, [4]),
        (tf.min_max_variable_partitioner(8, min_slice_size=1), [4], tf.float32, [4]),
        (tf.min_max_variable_partitioner(8), [64], tf.float32, [1]),
        (tf.min_max_variable_partitioner(100, min_slice_size=64), [64], tf.string, [16]),
    ],
)
def test_partitioners(partitioner, shape, dtype, parts):
    assert partitioner(shape=tf.TensorShape(shape), dtype=dtype) == parts


def test_partitioners_refuse_what_they_cannot_cut():
    with pytest.raises(ValueError, match="must be positive"):
        tf.variable_axis_size_partitioner(0)
    with pytest.raises(ValueError, match="max_shards must be positive"):
        tf.variable_axis_size_partitioner(1, max_shards=-1)
    with pytest.raises(ValueError, match="shape is not fully defined"):
        tf.variable_axis_size_partitioner(1)(shape=tf.TensorShape([None]), dtype=tf.float32)
    with pytest.raises(ValueError, match="Can not partition variable along axis 1 when shape is only"):
        tf.min_max_variable_partitioner(axis=1)(shape=tf.TensorShape([3]), dtype=tf.float32)


def test_the_parts_alone():
    parts = tf.create_partitioned_variables([4, 6], [1, 2], tf.zeros([4, 6]), dtype=tf.float32, name="p")
    assert [part.name for part in parts] == ["p/part_0:0", "p/part_1:0"]
    again = tf.create_partitioned_variables([4, 6], [1, 2], None, name="p", reuse=True)
    assert all(one is other for one, other in zip(parts, again, strict=True))
    with pytest.raises(ValueError, match="must have the length"):
        tf.create_partitioned_variables([4], [1, 2], None)
    with pytest.raises(ValueError, match="must have rank at least 1"):
        tf.create_partitioned_variables([], [], None)


def test_partition_info():
    info = PartitionInfo([9, 3], [4, 0])
    assert (info.single_slice_dim([2, 3]), info.single_offset([2, 3])) == (0, 4)
    assert PartitionInfo([9, 3], [0, 0]).single_offset([9, 3]) == 0
    with pytest.raises(ValueError, match="could be either dimension 0 or 1"):
        PartitionInfo([9, 3], [4, 0]).single_slice_dim([2, 2])
    with pytest.raises(ValueError, match="would exceed"):
        info.single_slice_dim([6, 3])
    with pytest.raises(ValueError, match="Expected 0 <= offset < shape but found offset=9, shape=9"):
        PartitionInfo([9, 3], [9, 0])
    with pytest.raises(TypeError, match="must be a sequence"):
        PartitionInfo(9, [0])


def test_creators_make_variables_from_the_inside_out():
    calls = []

    def creator(label):
        def make(next_creator, **kwargs):
            calls.append((label, kwargs["name"]))
            return next_creator(**{**kwargs, "trainable": False})

        return make

    with (
        tf.variable_creator_scope(creator("first"), priority=200),
        tf.variable_creator_scope(creator("second")),
    ):
        with tf.variable_creator_scope(creator("third")):
            made = [tf.get_variable("a", [1]), tf.Variable(1.0, name="b", use_resource=True)]
    assert [label for label, _ in calls] == ["first", "third", "second"] * 2
    assert [name for _, name in calls] == ["a"] * 3 + ["b"] * 3
    assert not any(one.trainable for one in made) and tf.is_resource_variable(made[1])
    assert tf.Variable(1.0).trainable


def test_creator_scopes_have_to_nest():
    outer = tf.variable_creator_scope(lambda next_creator, **kwargs: next_creator(**kwargs))
    outer.__enter__()
    with tf.variable_creator_scope(lambda next_creator, **kwargs: next_creator(**kwargs)):
        with pytest.raises(RuntimeError, match="without proper nesting"):
            outer.__exit__(None, None, None)


def test_a_scope_without_a_name_scope_knows_the_one_around_it():
    with tf.variable_scope("s", auxiliary_name_scope=False) as scope:
        assert scope.original_name_scope == ""
    with tf.name_scope("n"), tf.variable_scope("s", auxiliary_name_scope=False) as scope:
        assert scope.original_name_scope == "n/"
