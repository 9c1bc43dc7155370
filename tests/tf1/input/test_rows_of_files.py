"""Datasets of CSV files, databases and `Example` messages. The expected values are those of TensorFlow 1.15.5."""

import sqlite3

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph
from tests.tf1.input.test_nested_elements import elements

experimental = tf.data.experimental


@pytest.fixture(autouse=True)
def graph():
    reset_default_graph()
    yield
    reset_default_graph()


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.csv").write_text('x,y,name\n1,2.5,foo\n2,,"b""a,r"\n3,4e3,\n')
    (tmp_path / "b.csv").write_text('x,y,name\r\n7,8,"two\r\nlines"\r\n')
    return [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]


def outcomes(dataset):
    """The elements of a dataset, and the errors for those that cannot be made."""
    iterator = tf.data.make_initializable_iterator(dataset)
    following, found = iterator.get_next(), []
    with tf.Session() as session:
        session.run(iterator.initializer)
        while True:
            try:
                found.append(tuple(one.item() for one in map(np.asarray, session.run(following))))
            except tf.errors.OutOfRangeError:
                return found
            except tf.errors.InvalidArgumentError as error:
                found.append(error.message.split("\n")[0])


def test_records_of_csv_files(files):
    dataset = experimental.CsvDataset(files, [tf.int32, [0.5], tf.constant([""])], header=True)
    assert dataset.output_types == (tf.int32, tf.float32, tf.string)
    assert outcomes(dataset) == [
        (1, 2.5, b"foo"),
        (2, 0.5, b'b"a,r'),
        (3, 4000.0, b""),
        (7, 8.0, b"two\r\nlines"),
    ]
    chosen = experimental.CsvDataset(
        files[0], [tf.string, [""]], header=True, select_cols=[0, 2], na_value="2"
    )
    assert outcomes(chosen) == [(b"1", b"foo"), "Field 0 is required but missing in record!", (b"3", b"")]


def test_records_that_are_damaged(tmp_path):
    (tmp_path / "c.csv").write_bytes(b'1,2\n\n3\n4,5,6\rx,1\n7,8"\n"9""",5\n5,"6')
    dataset = experimental.CsvDataset(str(tmp_path / "c.csv"), [tf.int32, [9]])
    assert outcomes(dataset) == [
        (1, 2),
        "Field 0 is required but missing in record!",
        "Expect 2 fields but have 1 in record",
        "Expect 2 fields but have more in record",
        "Field 0 in record is not a valid int32: x",
        "Unquoted fields cannot have quotes inside",
        'Field 0 in record is not a valid int32: 9"',
        "Reached end of file without closing quoted field in record",
    ]
    with pytest.raises(ValueError, match="at most rank 1"):
        experimental.CsvDataset("x", [tf.constant([[0]])])


def test_defaults_that_are_texts_and_types_that_are_named(tmp_path):
    (tmp_path / "d.csv").write_text("1,,0x10,+2.5\n,x,inf,1\n")
    name = str(tmp_path / "d.csv")
    dataset = experimental.CsvDataset(name, [7, "none", "float32", np.float64])
    assert dataset.output_types == (tf.string, tf.string, tf.float32, tf.float64)  # 7 is the number of a type
    assert outcomes(dataset) == [(b"1", b"none", 16.0, 2.5), "Field 0 is required but missing in record!"]
    (tmp_path / "e.csv").write_text("a,b\n+1,2\n3,4\n")
    plus = experimental.CsvDataset(str(tmp_path / "e.csv"), [[0], "z"], header=True)
    assert outcomes(plus) == ["Field 0 in record is not a valid int32: +1", (3, b"4")]
    columns = experimental.make_csv_dataset(str(tmp_path / "e.csv"), 1, column_defaults=["x"], num_epochs=1)
    assert outcomes(columns.map(lambda found: (found["a"],)))[0] == "Expect 1 fields but have more in record"


def test_batches_of_columns(files):
    dataset = experimental.make_csv_dataset(files, 2, num_epochs=1, shuffle=False)
    assert dataset.output_types == {"x": tf.int32, "y": tf.float32, "name": tf.string}
    first, second = elements(dataset)
    assert first["x"].tolist() == [1, 2] and first["y"].tolist() == [2.5, 0.0]
    assert second["name"].tolist() == [b"", b"two\r\nlines"]
    labelled = experimental.make_csv_dataset(
        files[0], 3, num_epochs=1, shuffle=False, label_name="y", select_columns=["name", 1]
    )
    ((features, label),) = elements(labelled)
    assert list(features) == ["name"] and label.tolist() == [2.5, 0.0, 4000.0]
    endless = experimental.make_csv_dataset(files, 2, column_defaults=[tf.int64, tf.float64, tf.string])
    assert endless.output_shapes["x"].as_list() == [2] and endless.output_types["x"] is tf.int64


def test_columns_that_are_not_there(files):
    for arguments, message in (
        ({"label_name": "z"}, "`label_name` provided must be one of the columns."),
        ({"select_columns": ["z"]}, "not a valid column index or name"),
        ({"select_columns": [0, "x"]}, "select_columns contains duplicate columns"),
        ({"column_names": ["x", "x", "y"]}, "Cannot have duplicate column names."),
        ({"header": False}, "Cannot infer column names without a header line."),
        ({"compression_type": "ZLIB"}, "is not supported for probing columns"),
    ):
        with pytest.raises(ValueError, match=message):
            experimental.make_csv_dataset(files, 2, **arguments)


@pytest.mark.parametrize(
    ("texts", "dtype"),
    [
        (["1", "", "-2"], tf.int32),
        (["1", "3000000000"], tf.int64),
        (["1", "2.5"], tf.float32),
        (["1e300", "1"], tf.float64),
        (["1", "x"], tf.string),
        (["", ""], tf.string),
    ],
)
def test_types_are_guessed(tmp_path, texts, dtype):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{text},0\n" for text in texts))
    dataset = experimental.make_csv_dataset(str(tmp_path / "t.csv"), 1)
    assert dataset.output_types["a"] is dtype and dataset.output_types["b"] is tf.int32


def test_rows_of_a_database(tmp_path):
    name = str(tmp_path / "rows.db")
    connection = sqlite3.connect(name)
    connection.execute("create table t(a int, b text, c real)")
    connection.execute("insert into t values(1, 'x', 2.5), (2, NULL, NULL)")
    connection.commit()
    connection.close()
    query = "select a, b, c from t order by a"
    rows = experimental.SqlDataset("sqlite", name, query, (tf.int32, tf.string, tf.float64))
    assert outcomes(rows) == [(1, b"x", 2.5), (2, b"", 0.0)]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"The number of columns in query \(3\) must match"
    ):
        elements(experimental.SqlDataset("sqlite", name, query, (tf.int32,)))
    with pytest.raises(tf.errors.UnknownError, match="no such table"):
        elements(experimental.SqlDataset("sqlite", name, "select a from u", (tf.int32,)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="The database type, mysql, is not supported"):
        elements(experimental.SqlDataset("mysql", name, query, (tf.int32,)))


def message(age, words, text):
    features = {
        **({"age": tf.train.Feature(int64_list=tf.train.Int64List(value=age))} if age else {}),
        "words": tf.train.Feature(int64_list=tf.train.Int64List(value=words)),
        "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[text])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


FEATURES = {
    "age": tf.FixedLenFeature([], tf.int64, -1),
    "text": tf.FixedLenFeature([], tf.string),
    "words": tf.VarLenFeature(tf.int64),
}


def test_messages_written_and_read(tmp_path):
    name = str(tmp_path / "examples.tfrecords")
    texts = [message([3], [1, 2], b"a"), message([], [5], b"b"), message([4], [], b"c")]
    write = experimental.TFRecordWriter(name).write(tf.data.Dataset.from_tensor_slices(texts))
    tf.Session().run(write)
    assert list(tf.python_io.tf_record_iterator(name)) == texts
    dataset = experimental.make_batched_features_dataset(name, 2, FEATURES, num_epochs=1, shuffle=False)
    assert dataset.output_shapes["words"].as_list() == [None, None]
    first, second = elements(dataset)
    assert first["age"].tolist() == [3, -1] and second["text"].tolist() == [b"c"]
    assert first["words"].indices.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert first["words"].values.tolist() == [1, 2, 5] and second["words"].dense_shape.tolist() == [1, 0]
    labelled = experimental.make_batched_features_dataset(name, 2, FEATURES, label_key="age", num_epochs=2)
    assert sum(len(label) for _, label in elements(labelled)) == 6
    with pytest.raises(ValueError, match="must be one of the `features` keys"):
        experimental.make_batched_features_dataset(name, 2, FEATURES, label_key="x")
    with pytest.raises(TypeError, match="must produce scalar `DT_STRING` tensors"):
        experimental.TFRecordWriter(name).write(tf.data.Dataset.range(3))


def test_features_of_vectors_of_messages():
    batch = tf.data.Dataset.from_tensors([message([3], [1, 2], b"a")])
    (found,) = elements(batch.apply(experimental.parse_example_dataset(FEATURES)))
    assert found["text"].tolist() == [b"a"] and found["words"].values.tolist() == [1, 2]
    with pytest.raises(TypeError, match="Input dataset should be a dataset of vectors of strings"):
        tf.data.Dataset.range(3).apply(experimental.parse_example_dataset(FEATURES))
    with pytest.raises(ValueError, match="Missing: features was None"):
        experimental.parse_example_dataset(None)
