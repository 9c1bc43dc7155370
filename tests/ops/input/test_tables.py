"""Lookup tables: values and sentences are those of TensorFlow 1.15."""

import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph

LOOKUP = tf.contrib.lookup


@pytest.fixture(autouse=True)
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").write_text("a\nb\nc\n")
    (tmp_path / "pairs").write_text("x 1\ny 2\n")
    reset_default_graph()
    yield
    reset_default_graph()


def filled(session):
    session.run(tf.tables_initializer())


def found(table, keys, dtype=None):
    with tf.Session() as session:
        filled(session)
        return session.run(table.lookup(tf.constant(keys, dtype))).tolist()


def test_a_table_of_tensors():
    table = LOOKUP.HashTable(LOOKUP.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    keys = tf.constant([["a", "z"], ["b", "a"]])
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized."):
            session.run(table.lookup(keys))
        assert session.run(table.size()) == 0
        filled(session)
        filled(session)
        assert session.run(table.lookup(keys)).tolist() == [[1, -1], [2, 1]]
        assert session.run(table.size()) == 2
    with pytest.raises(TypeError, match="Keys must be dtype <dtype: 'string'>, got <dtype: 'int32'>"):
        table.lookup(tf.constant([1]))
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal, but are 2 and 1"):
        LOOKUP.HashTable(LOOKUP.KeyValueTensorInitializer(["a", "b"], [1]), 0)


def test_a_key_with_two_values():
    LOOKUP.HashTable(LOOKUP.KeyValueTensorInitializer(["a", "a"], [1, 1]), -1)
    table = LOOKUP.HashTable(LOOKUP.KeyValueTensorInitializer(["a", "a"], [1, 2]), -1)
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.FailedPreconditionError,
            match="HashTable has different value for same key. Key a has 1 and trying to add value 2",
        ),
    ):
        session.run(table.init)


def test_tables_of_words():
    table = LOOKUP.index_table_from_tensor(tf.constant(["a", "b", "c"]), num_oov_buckets=2)
    assert found(table, ["a", "c", "zzz", "yy"]) == [0, 2, 3, 4]
    with tf.Session() as session:
        filled(session)
        assert session.run(table.size()) == 5
        sparse = session.run(table.lookup(tf.SparseTensor([[0, 1]], ["b"], [1, 2])))
        assert (sparse.indices.tolist(), sparse.values.tolist()) == ([[0, 1]], [1])


@pytest.mark.parametrize(
    ("make", "keys", "dtype", "expected"),
    [
        (lambda: LOOKUP.index_table_from_tensor([5, 7], dtype=tf.int64, default_value=9), [7, 1], tf.int64, [1, 9]),
        (lambda: LOOKUP.index_table_from_file("words", num_oov_buckets=1), ["b", "q"], None, [1, 3]),
        (lambda: LOOKUP.index_table_from_file("words", vocab_size=2), ["b", "c"], None, [1, -1]),
        (lambda: LOOKUP.index_to_string_table_from_tensor(["a", "b"]), [1, 5], tf.int64, [b"b", b"UNK"]),
        (lambda: LOOKUP.index_to_string_table_from_file("words", default_value="?"), [2, 5], tf.int64, [b"c", b"?"]),
        (
            lambda: LOOKUP.HashTable(
                LOOKUP.TextFileInitializer("pairs", tf.string, 0, tf.int64, 1, delimiter=" "), -1
            ),
            ["x", "y", "z"],
            None,
            [1, 2, -1],
        ),
        (
            lambda: tf.lookup.StaticVocabularyTable(
                tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 3
            ),
            ["a", "zz", "b"],
            None,
            [0, 3, 1],
        ),
    ],
)  # fmt: skip
def test_lookups(make, keys, dtype, expected):
    assert found(make(), keys, dtype) == expected


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (("no", {}), tf.errors.NotFoundError, "no; No such file or directory"),
        (("pairs", {"vocab_size": 5}), tf.errors.InvalidArgumentError, "Invalid vocab_size in pairs: expected 5"),
        (("words", {}), tf.errors.InvalidArgumentError, "Invalid number of columns in words line 0 (a)"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit(arguments, error, sentence):
    name, options = arguments
    fill = LOOKUP.TextFileInitializer(name, tf.string, 0, tf.int64, 1, delimiter=" ", **options)
    table = LOOKUP.HashTable(fill, -1)
    with tf.Session() as session:
        with pytest.raises(error) as raised:
            filled(session)
        assert raised.value.message.startswith(sentence)
        assert session.run(table.size()) == 0


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: LOOKUP.index_table_from_tensor(None), ValueError, "mapping must be specified."),
        (lambda: LOOKUP.index_table_from_tensor(["a"], num_oov_buckets=-1), ValueError, "greater or equal than 0"),
        (lambda: LOOKUP.index_table_from_tensor([1.0], dtype=tf.float32), TypeError, "Only integer and string keys"),
        (lambda: LOOKUP.index_table_from_tensor([1]), ValueError, "Expected non-integer, got <dtype: 'int32'>."),
        (lambda: LOOKUP.index_table_from_file(""), ValueError, "vocabulary_file must be specified"),
        (lambda: LOOKUP.index_table_from_file("words", vocab_size=0), ValueError, "vocab_size must be greater than 0"),
        (lambda: LOOKUP.TextFileInitializer("f", tf.string, -3, tf.int64, 1), ValueError, "Invalid key index -3."),
        (lambda: LOOKUP.StrongHashSpec([1]), ValueError, "key must have size 2, got 1."),
    ],
)  # fmt: skip
def test_tables_that_cannot_be(make, error, sentence):
    with pytest.raises(error) as raised:
        make()
    assert sentence in str(raised.value)


def test_a_table_that_changes():
    table = LOOKUP.MutableHashTable(tf.string, tf.int64, -1)
    with tf.Session() as session:
        session.run(table.insert(["a", "b"], [1, 2]))
        assert session.run(table.lookup(["a", "c"])).tolist() == [1, -1]
        session.run(table.insert(["b"], [5]))
        assert session.run(table.lookup("b")) == 5
        keys, values = session.run(table.export())
        assert sorted(zip(keys.tolist(), values.tolist(), strict=True)) == [(b"a", 1), (b"b", 5)]
        session.run(table.remove(tf.constant(["a", "q"])))
        assert session.run(table.size()) == 1


def test_operations_go_where_the_table_is():
    """All but the one that drops keys, as in TensorFlow 1.15."""
    with tf.device("/cpu:0"):
        table = LOOKUP.MutableHashTable(tf.int64, tf.float32, -1.0, name="t")
    keys = tf.constant([1], tf.int64)
    made = [table.insert(keys, [2.0]), table.lookup(keys).op, table.size().op, table.export()[0].op]
    assert [(op.device, op.colocation_groups()) for op in made] == [("/device:CPU:0", [b"loc:@t"])] * 4
    assert table.remove(keys).device == ""


def test_values_that_are_vectors():
    table = LOOKUP.MutableHashTable(tf.int64, tf.float32, [0.0, -1.0])
    keys = tf.constant([2, 7], tf.int64)
    assert table.lookup(keys).shape.as_list() == [2, 2]
    x = tf.placeholder(tf.float32)
    put = table.insert(tf.constant([1, 2], tf.int64), x)
    with tf.Session() as session:
        session.run(put, {x: [[1, 2], [3, 4]]})
        assert session.run(table.lookup(keys)).tolist() == [[3.0, 4.0], [0.0, -1.0]]
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Expected shape \[2,2\] for value, got \[2\]"
        ):
            session.run(put, {x: [1, 2]})


def test_tables_are_a_sessions_own():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1.5]), 0.0)
    with tf.Session() as one, tf.Session() as other:
        filled(one)
        assert one.run(table.lookup(tf.constant(["a"]))).tolist() == [1.5]
        with pytest.raises(tf.errors.FailedPreconditionError):
            other.run(table.lookup(tf.constant(["a"])))
    assert not tf.Session().run(tf.no_op())
