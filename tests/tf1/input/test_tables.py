"""Lookup tables: values and sentences are those of TensorFlow 1.15."""

import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph
from gpuplace.tf1.input import tables, vocabularies

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


def test_tables_of_one_file_are_one_table(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\nb\n")

    def table():
        words = tf.lookup.TextFileInitializer(str(path), tf.string, -2, tf.int64, -1)
        return tf.lookup.StaticHashTable(words, -1)

    one, other = table(), table()
    assert one.resource_handle.op.get_attr("shared_name").decode() == f"hash_table_{path}_-2_-1"
    keys, values = other.export()
    with tf.Session() as session:
        session.run(one.initializer)
        assert session.run(other.lookup(tf.constant(["b"]))).tolist() == [1]
        assert sorted(zip(*[found.tolist() for found in session.run([keys, values])])) == [
            (b"a", 0),
            (b"b", 1),
        ]


def test_tables_of_words_take_a_vocabulary_list():
    table = vocabularies.index_table_from_tensor(vocabulary_list=["a", "b"])
    words = vocabularies.index_to_string_table_from_tensor(vocabulary_list=["a", "b"])
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        assert session.run(table.lookup(tf.constant(["b", "c"]))).tolist() == [1, -1]
        assert session.run(words.lookup(tf.constant([1, 7], tf.int64))).tolist() == [b"b", b"UNK"]
    for make in (vocabularies.index_table_from_tensor, vocabularies.index_to_string_table_from_tensor):
        with pytest.raises(ValueError, match="vocabulary_list must be specified"):
            make(vocabulary_list=None)


def test_dense_tables_have_buckets_that_are_empty_or_deleted():
    table = tables.DenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1, initial_num_buckets=4)
    keys, values = table.export()
    with tf.Session() as session:
        session.run(table.insert([11, 12, 13], [1, 2, 3]))
        session.run(table.remove(tf.constant([12, 99], tf.int64)))
        assert session.run(table.size()) == 2
        found = [one.tolist() for one in session.run([keys, values])]
        assert sorted(zip(*found)) == [([-1], [2]), ([0], [0]), ([11], [1]), ([13], [3])]
        columns = [tf.placeholder(tf.int64), tf.placeholder(tf.int64)]
        back = tf.raw_ops.LookupTableImportV2(
            table_handle=table.resource_handle, keys=columns[0], values=columns[1]
        )
        session.run(back, dict(zip(columns, found)))
        assert session.run(table.size()) == 2
        assert session.run(table.lookup([11, 12])).tolist() == [1, -1]
        session.run(table.insert([13, 14, 15, 16, 17], [3, 4, 5, 6, 7]))
        assert len(session.run(keys)) == 16
        assert session.run(table.lookup([11, 12, 17])).tolist() == [1, -1, 7]
        for key, said in ((0, "empty_key"), (-1, "deleted_key")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"Using the {said} as a table key"):
                session.run(table.lookup([key]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected key shape \[2\] got \[2,2\]"):
            session.run(table.insert([[1, 2], [3, 4]], [5, 6]))


def test_dense_tables_of_vectors_are_saved(tmp_path):
    def make():
        return tables.DenseHashTable(
            tf.int64,
            tf.float32,
            -1.5,
            empty_key=[0, 0],
            deleted_key=[-1, -1],
            initial_num_buckets=4,
            name="t",
        )

    table = make()
    with tf.Session() as session:
        session.run(table.insert([[1, 2], [3, 4]], [0.5, 2.5]))
        path = tf.train.Saver([table]).save(session, str(tmp_path / "model"))
    reset_default_graph()
    table = make()
    found = table.lookup([[3, 4], [5, 6]])
    assert found.shape.as_list() == [2]
    with tf.Session() as session:
        tf.train.Saver([table]).restore(session, path)
        assert session.run(found).tolist() == [2.5, -1.5]


@pytest.mark.parametrize(
    ("empty", "deleted", "buckets", "said"),
    [
        (1, [1, 2], 4, "must have same shape"),
        ([1, 2], [1, 2], 4, "cannot be equal"),
        (1, 2, 12, "Number of buckets must be"),
    ],
)
def test_what_dense_tables_refuse(empty, deleted, buckets, said):
    table = tables.DenseHashTable(tf.int64, tf.int64, -1, empty, deleted, buckets)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=said):
        session.run(table.size())
