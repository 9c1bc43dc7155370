"""Datasets of files that are compressed, damaged or missing: what they give, and then raise, in TensorFlow 1.15."""

import gzip
import os
import tracemalloc
import zlib

import pytest

import gpuplace as tf
from gpuplace.files.records import FixedLengthReader, LineReader, RecordWriter
from gpuplace.graph.stacks import reset_default_graph


@pytest.fixture(autouse=True)
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reset_default_graph()
    yield
    reset_default_graph()


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def read(dataset):
    """What a dataset gives, and the error at the end; None if it just ends."""
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.Session() as session:
        try:
            while True:
                found.append(session.run(following))
        except tf.errors.OutOfRangeError:
            return found, None
        except tf.errors.OpError as error:
            return found, error


def written(*records):
    with RecordWriter("whole") as writer:
        for record in records:
            writer.write(record)
    with open("whole", "rb") as file:
        return file.read()


ONE, TWO = b"a" * 20, b"b" * 20
"""Each takes 36 bytes of a file."""


@pytest.mark.parametrize(
    ("kind", "change", "records", "sentence"),
    [
        ("", lambda data: data, 2, None),
        ("", lambda data: b"", 0, None),
        ("", lambda data: data[:5], 0, None),
        ("", lambda data: data[:41], 1, None),
        ("", lambda data: data[:20], 0, "truncated record at 0"),
        ("", lambda data: data[:-2], 1, "truncated record at 36"),
        ("", lambda data: flipped(data, 1), 0, "corrupted record at 0"),
        ("", lambda data: flipped(data, 9), 0, "corrupted record at 0"),
        ("", lambda data: flipped(data, 14), 0, "corrupted record at 12"),
        ("", lambda data: flipped(data, 50), 1, "corrupted record at 48"),
        ("", lambda data: flipped(data, 37), 1, "corrupted record at 36"),
        ("", gzip.compress, 0, "corrupted record at 0"),
        ("GZIP", gzip.compress, 2, None),
        ("GZIP", lambda data: b"", 0, None),
        ("GZIP", lambda data: data, 0, "inflate() failed with error -3: incorrect header check"),
        ("GZIP", lambda data: gzip.compress(data[:-4]), 1, "truncated record at 36"),
        ("ZLIB", zlib.compress, 2, None),
        ("ZLIB", lambda data: zlib.compress(data, 0)[:-12], 1, "truncated record at 36"),
        ("ZLIB", lambda data: data, 0, "inflate() failed with error -3: incorrect header check"),
    ],
)
def test_records(kind, change, records, sentence):
    write("some", change(written(ONE, TWO)))
    found, error = read(tf.data.TFRecordDataset("some", kind))
    assert found == [ONE, TWO][:records]
    assert (error and error.message.partition("\n")[0]) == sentence
    assert error is None or isinstance(error, tf.errors.DataLossError)


def test_the_files_after_a_damaged_one():
    data = written(ONE, TWO)
    write("some", flipped(data, 50))
    dataset = tf.data.TFRecordDataset(["some", "whole"]).apply(tf.data.experimental.ignore_errors())
    assert read(dataset) == ([ONE, ONE, TWO], None)


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"a\r\nb\n\nc\r", [b"a", b"b", b"", b"c"]),
        (b"a\r\r\nb\rx\n\r\n", [b"a", b"bx", b""]),
        (b"a\n\r", [b"a"]),
        (b"", []),
    ],
)
def test_lines(kind, text, lines):
    write("some", {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind](text))
    assert read(tf.data.TextLineDataset("some", kind)) == (lines, None)
    if not kind:
        queue = tf.FIFOQueue(1, tf.string, shapes=[[]])
        value = tf.TextLineReader().read(queue)[1]
        with tf.Session() as session:
            session.run([queue.enqueue("some")])
            session.run(queue.close())
            assert [session.run(value) for _ in lines] == lines
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(value)


def test_long_lines():
    lines = [b"ab\0\xff" * 175_000, b"abc", b"cd\t\x80" * 150_000, b"d"]
    write("some", b"\r\n".join(lines))
    reader = LineReader("some")
    assert [reader.next() for _ in lines] == lines and reader.next() is None
    reader.close()


EXCESS = (
    'Excluding the header (1 bytes) and footer (1 bytes), input file "some" has body length {} bytes, which is not an'
    " exact multiple of the record length (3 bytes)."
)


@pytest.mark.parametrize(
    ("kind", "data", "records", "length", "name"),
    [
        ("", b"Habcdef1", [b"abc", b"def"], None, None),
        ("", b"H1", [], None, None),
        ("", b"Habcde1", [], 5, "InvalidArgumentError"),
        ("", b"", [], -2, "InvalidArgumentError"),
        ("GZIP", b"Habcdef1", [b"abc", b"def"], None, None),
        ("GZIP", b"Habcde1", [b"abc"], 5, "DataLossError"),
        ("ZLIB", b"Habcde1", [b"abc"], 5, "DataLossError"),
    ],
)
def test_records_of_one_length(kind, data, records, length, name):
    write("some", {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind](data))
    found, error = read(tf.data.FixedLengthRecordDataset("some", 3, 1, 1, compression_type=kind))
    assert found == records
    if name is None:
        assert error is None
    else:
        assert type(error).__name__ == name
        assert error.message.startswith(EXCESS.format(length))


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize(("record", "hop"), [(1000, 1000), (700_000, 700_000), (10, 900_001), (1000, 7)])
def test_records_of_one_length_across_pieces(kind, record, hop):
    data = os.urandom(1 << 20) if hop > 7 else os.urandom(10_000)
    write("some", {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind](data))
    reader = FixedLengthReader("some", kind, record, 300_000 if hop > 7 else 5, 9, hop)
    starts = range(300_000 if hop > 7 else 5, len(data) - 9 - record + 1, hop)
    assert [reader.next() for _ in starts] == [data[start : start + record] for start in starts]
    assert reader.next() is None and reader.size == len(data)
    reader.close()


def test_compressed_files_of_several_streams():
    parts = [bytes(600_000), b"", os.urandom(99_999), bytes(1)]
    write("some", b"".join(map(gzip.compress, parts)))
    reader = FixedLengthReader("some", "GZIP", 1000)
    found = iter(reader.next, None)
    assert b"".join(found) == b"".join(parts)
    reader.close()


@pytest.mark.parametrize("kind", ["", "GZIP"])
@pytest.mark.parametrize("made_by", ["reader", "dataset", "lines"])
def test_files_are_not_read_as_a_whole(made_by, kind):
    """Each thread that has held a large file may keep as much memory for later."""
    size = 1 << 24
    write("some", (gzip.compress if kind else bytes)((bytes(999) + b"\n") * (size // 1000)))
    if made_by == "reader":
        queue = tf.train.string_input_producer(["some"])
        value = tf.FixedLengthRecordReader(1000, encoding=kind).read(queue)[1]
    elif made_by == "dataset":
        dataset = tf.data.FixedLengthRecordDataset("some", 1000, compression_type=kind)
        value = dataset.make_one_shot_iterator().get_next()
    else:
        value = tf.data.TextLineDataset("some", kind).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coordinator)
        tracemalloc.start()
        try:
            for _ in range(3):
                session.run(value)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            coordinator.request_stop()
    assert peak < size / 4


def _of_one_length(name, kind):
    return tf.data.FixedLengthRecordDataset(name, 3, compression_type=kind)


@pytest.mark.parametrize("make", [tf.data.TFRecordDataset, tf.data.TextLineDataset, _of_one_length])
def test_files_that_cannot_be_read(make):
    os.mkdir("folder")
    write("some", b"")
    for name, kind, cls, sentence in (
        ("none", "", tf.errors.NotFoundError, "none; No such file or directory"),
        ("folder", "", tf.errors.FailedPreconditionError, "folder; Is a directory"),
        ("some", "LZ", tf.errors.InvalidArgumentError, "Unsupported compression_type."),
    ):
        found, error = read(make(name, kind))
        assert found == [] and type(error) is cls
        assert error.message.startswith(sentence)


def test_a_cache_that_cannot_be_written():
    found, error = read(tf.data.Dataset.range(2).cache("none/kept"))
    assert found == [0, 1] and type(error) is tf.errors.NotFoundError
    assert "none/kept.npz; No such file or directory" in error.message
