"""The file system by TensorFlow's names, and files of records; answers are those of TensorFlow 1.15."""

import os
import struct

import pytest

import gpuplace as tf
from gpuplace.files.records import RecordWriter, read_records


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, text="x"):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# GFile


def test_reading():
    write("a.txt", "hello\nworld\nlast")
    with tf.gfile.GFile("a.txt") as file:
        assert (file.readline(), file.tell(), file.size()) == ("hello\n", 6, 16)
        assert file.readlines() == ["world\n", "last"]
        assert file.read() == ""
        file.seek(2)
        assert file.read(3) == "llo"
        file.seek(-2, 2)
        assert file.read() == "st"
        file.seek(1)
        file.seek(1, whence=1)
        assert file.read(1) == "l"
        file.seek(0)
        assert list(file) == ["hello\n", "world\n", "last"]
        with pytest.raises(tf.errors.OutOfRangeError, match="reached end of file"):
            file.seek(100)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid whence argument: 5"):
            file.seek(0, 5)
        with pytest.raises(tf.errors.PermissionDeniedError, match="File isn't open for writing"):
            file.write("x")
        assert (file.name, file.mode, file.seekable()) == ("a.txt", "r", True)
    assert tf.gfile.Open("a.txt", "rb").read() == b"hello\nworld\nlast"


def test_writing():
    with tf.gfile.FastGFile("new.txt", "w") as file:
        file.write("grün\n")
        file.flush()
        assert tf.gfile.Exists("new.txt")
    with tf.io.gfile.GFile("new.txt", "ab") as file:
        file.write(b"\xff")
        with pytest.raises(tf.errors.PermissionDeniedError, match="File isn't open for reading"):
            file.read()
    assert tf.gfile.GFile("new.txt", "rb").read() == "grün\n".encode() + b"\xff"


@pytest.mark.parametrize(
    ("use", "error", "sentence"),
    [
        (lambda: tf.gfile.Open("no").read(), "NotFoundError", "no; No such file or directory"),
        (lambda: tf.gfile.Open(".").read(), "FailedPreconditionError", ".; Is a directory"),
        (lambda: tf.gfile.Open("x" * 400).read(), "InvalidArgumentError", "x" * 300 + "; File name too long"),
        (lambda: tf.gfile.Open("a\0b").read(), "NotFoundError", "a\0b; No such file or directory"),
        (lambda: tf.place("x" * 400), "InvalidArgumentError", "x" * 300 + "; File name too long"),
        (lambda: tf.place("a\0b.pb"), "NotFoundError", "a\0b.pb; No such file or directory"),
        (lambda: tf.train.load_checkpoint("a\0b"), "NotFoundError", ""),
        (lambda: tf.gfile.Open("no/x", "w").write("a"), "NotFoundError", "no/x; No such file or directory"),
        (lambda: tf.gfile.Open("a", "q"), "InvalidArgumentError", "mode is not 'r' or 'w' or 'a'"),
        (lambda: tf.gfile.ListDirectory("no"), "NotFoundError", "Could not find directory no"),
        (lambda: tf.gfile.Remove("no"), "NotFoundError", "no; No such file or directory"),
        (lambda: tf.gfile.DeleteRecursively("no"), "NotFoundError", "no not found"),
        (lambda: tf.gfile.MkDir("no/x"), "NotFoundError", "no/x; No such file or directory"),
        (lambda: tf.gfile.Stat("no"), "NotFoundError", "no; No such file or directory"),
        (lambda: tf.gfile.Copy("no", "b"), "NotFoundError", "no; No such file or directory"),
        (lambda: tf.gfile.Rename("no", "b"), "NotFoundError", "no; No such file or directory"),
        (lambda: tf.python_io.TFRecordWriter("no/x"), "NotFoundError", "no/x; No such file or directory"),
        (
            lambda: list(tf.python_io.tf_record_iterator("no")),
            "NotFoundError",
            "no; No such file or directory",
        ),
    ],
)
def test_errors_are_those_of_tensorflow(use, error, sentence):
    with pytest.raises(getattr(tf.errors, error)) as raised:
        use()
    assert raised.value.message.startswith(sentence)


def test_folders():
    tf.gfile.MakeDirs("n/o/p")
    tf.gfile.MakeDirs(dirname="n/o/p")
    tf.gfile.MkDir("m")
    write("n/f")
    write("n/o/g")
    assert sorted(tf.gfile.ListDirectory(".")) == ["m", "n"]
    assert (tf.gfile.IsDirectory("n"), tf.gfile.IsDirectory("n/f"), tf.gfile.IsDirectory("no")) == (
        True,
        False,
        False,
    )
    walked = [("n", ["o"], ["f"]), ("n/o", ["p"], ["g"]), ("n/o/p", [], [])]
    assert list(tf.gfile.Walk("n")) == walked
    assert list(tf.gfile.Walk("n", in_order=False)) == walked[::-1]
    assert list(tf.io.gfile.walk("no")) == []
    errors = []
    assert list(tf.io.gfile.walk("no", onerror=errors.append)) == []
    assert [type(error) for error in errors] == [tf.errors.NotFoundError]
    tf.io.gfile.rmtree("n")
    assert not tf.gfile.Exists("n")


def test_names_that_match():
    for name in ("a.txt", "b.txt", "c.bin"):
        write(name)
    tf.gfile.MkDir("d")
    write("d/e.txt")
    assert tf.gfile.Glob("*.txt") == ["./a.txt", "./b.txt"]
    assert tf.gfile.Glob(["[ab].txt", "?.bin"]) == ["./a.txt", "./b.txt", "./c.bin"]
    assert tf.gfile.Glob("d/*") == ["d/e.txt"]
    assert tf.gfile.Glob("*/*.txt") == ["d/e.txt"]
    assert tf.gfile.Glob("no*") == []
    assert tf.io.gfile.glob(os.path.abspath("c*")) == [os.path.abspath("c.bin")]


def test_copies_and_other_names():
    write("a", "old")
    tf.gfile.Copy("a", "b")
    with pytest.raises(tf.errors.AlreadyExistsError, match="file already exists"):
        tf.gfile.Copy("a", "b")
    write("a", "new")
    tf.gfile.Copy("a", "b", overwrite=True)
    assert tf.gfile.Open("b").read() == "new"
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.Rename("a", "b")
    tf.gfile.Rename(oldname="a", newname="b", overwrite=True)
    assert tf.gfile.ListDirectory(".") == ["b"]
    found = tf.io.gfile.stat("b")
    assert (found.length, found.is_directory, found.mtime_nsec > 1e18) == (3, False, True)


# Ops


def test_ops_of_whole_files():
    paths = tf.placeholder(tf.string)
    with tf.Session() as session:
        session.run(tf.write_file("new/folder/f", "text"))
        assert session.run(tf.read_file("new/folder/f")) == b"text"
        write("new/folder/f", "other")
        assert session.run(tf.read_file("new/folder/f")) == b"other"
        write("new/g")
        found = session.run(tf.matching_files(["new/g*", "new/folder/*"]))
        assert found.tolist() == [b"new/folder/f", b"new/g"]
        with pytest.raises(tf.errors.NotFoundError, match="no; No such file or directory"):
            session.run(tf.read_file("no"))
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"Input filename tensor must be scalar, but had shape: \[1\]",
        ):
            session.run(tf.read_file(paths), {paths: ["a"]})
        once = tf.train.match_filenames_once("new/*")
        session.run(tf.local_variables_initializer())
        assert session.run(once).tolist() == [b"new/folder", b"new/g"]
        write("new/h")
        assert session.run(once).tolist() == [b"new/folder", b"new/g"]


def test_files_are_read_in_every_step():
    """A read of a constant path is no constant."""
    write("f", "one")
    text = tf.string_join([tf.read_file("f"), tf.constant("!"), tf.constant("?"), tf.constant(".")])
    with tf.Session() as session:
        assert session.run(text) == b"one!?."
        write("f", "two")
        assert session.run(text) == b"two!?."


# Records


BYTES = (
    b"\x03\x00\x00\x00\x00\x00\x00\x00\xb0\x99I\x0eabcnW\xf1!"
    b"\x00\x00\x00\x00\x00\x00\x00\x00)\x03\x98\x07\xd8\xea\x82\xa2"
)
"""The records `abc` and `` as TensorFlow writes them."""


def test_records_are_written_as_tensorflow_writes_them():
    with tf.python_io.TFRecordWriter("t") as writer:
        writer.write(b"abc")
        writer.write(b"")
        with pytest.raises(TypeError, match="expected bytes, str found"):
            writer.write("text")
    with open("t", "rb") as file:
        assert file.read() == BYTES
    assert list(tf.python_io.tf_record_iterator("t")) == [b"abc", b""]
    with pytest.raises(
        tf.errors.FailedPreconditionError, match="Writer not initialized or previously closed"
    ):
        writer.write(b"late")


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_compressed_records(kind):
    options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind))
    long = os.urandom(700_000)
    with tf.python_io.TFRecordWriter("c", options) as writer:
        writer.write(b"x" * 1000)
        writer.flush()
        assert os.path.getsize("c") > 10
        writer.write(long)
    assert list(tf.python_io.tf_record_iterator("c", options)) == [b"x" * 1000, long]
    assert list(tf.io.tf_record_iterator("c", kind)) == [b"x" * 1000, long]
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
        list(tf.python_io.tf_record_iterator("c"))
    with open("t", "wb") as file:
        file.write(BYTES)
    with pytest.raises(
        tf.errors.DataLossError, match="inflate\\(\\) failed with error -3: incorrect header check"
    ):
        list(tf.python_io.tf_record_iterator("t", options))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda data: data[:13] + b"?" + data[14:], "corrupted record at 12"),
        (lambda data: b"?" + data[1:], "corrupted record at 0"),
        (lambda data: data[:15], "truncated record at 0"),
        (lambda data: data[:-2], "truncated record at 19"),
        (lambda data: data[:19] + b"?" + data[20:], "corrupted record at 19"),
    ],
)
def test_damaged_records(damage, sentence):
    with open("t", "wb") as file:
        file.write(damage(BYTES))
    with pytest.raises(tf.errors.DataLossError) as error:
        list(read_records("t"))
    assert error.value.message == sentence


@pytest.mark.parametrize("size", [5, 19, 25, 30])
def test_a_file_that_ends_within_a_length(size):
    """As one does that is still written: TensorFlow takes it for the end."""
    with open("t", "wb") as file:
        file.write(BYTES[:size])
    assert list(read_records("t")) == [b"abc"][: size // 19]


def test_no_such_compression():
    for wrong in ("LZ", 7):
        with pytest.raises(ValueError, match=f'Not a valid compression_type: "{wrong}"'):
            tf.python_io.TFRecordOptions(wrong)
    options = tf.python_io.TFRecordOptions("GZIP", compression_level=9)
    assert tf.python_io.TFRecordOptions.get_compression_type_string(options) == "GZIP"


def test_a_record_may_be_long():
    long = os.urandom(3_000_000)
    with RecordWriter("t") as writer:
        writer.write(long)
    with open("t", "rb") as file:
        assert struct.unpack("<Q", file.read(8)) == (len(long),)
    assert list(read_records("t")) == [long]
