"""Readers: keys, values and counts, as in TensorFlow 1.15."""

import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph


@pytest.fixture(autouse=True)
def graph(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reset_default_graph()
    yield
    reset_default_graph()


def queue_of(*names):
    queue = tf.FIFOQueue(10, tf.string, shapes=[[]])
    return queue, [queue.enqueue_many([list(names)]), queue.close()]


def all_of(session, fetches):
    found = []
    with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
        while True:
            found.append(tuple(session.run(fetches)))
    return found


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


def test_lines():
    write("a", b"head\none\r\ntwo")
    write("b", b"head\n\nthree\n")
    queue, start = queue_of("a", "b")
    reader = tf.TextLineReader(skip_header_lines=1)
    pair = reader.read(queue)
    with tf.Session() as session:
        for op in start:
            session.run(op)
        assert all_of(session, pair) == [
            (b"a:2", b"one"),
            (b"a:3", b"two"),
            (b"b:2", b""),
            (b"b:3", b"three"),
        ]
        assert session.run([reader.num_records_produced(), reader.num_work_units_completed()]) == [4, 2]
        with pytest.raises(tf.errors.UnimplementedError, match="Reader SerializeState"):
            session.run(reader.serialize_state())


def test_whole_files_and_names():
    write("a", b"one")
    write("b", b"two")
    for reader, values in ((tf.WholeFileReader(), [b"one", b"two"]), (tf.IdentityReader(), [b"a", b"b"])):
        queue, start = queue_of("a", "b")
        with tf.Session() as session:
            for op in start:
                session.run(op)
            assert all_of(session, reader.read(queue)) == list(zip([b"a", b"b"], values, strict=True))
            state = session.run(reader.serialize_state())
            session.run(reader.reset())
            assert session.run(reader.num_records_produced()) == 0
            session.run(reader.restore_state(state))
            assert session.run(reader.num_records_produced()) == 2


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_records(kind):
    options = tf.python_io.TFRecordOptions(kind)
    for name in ("a", "b"):
        with tf.python_io.TFRecordWriter(name, options) as writer:
            for number in range(3):
                writer.write(f"{name}{number}".encode())
    queue, start = queue_of("a", "b")
    keys, values = tf.TFRecordReader(options=options).read_up_to(queue, 2)
    with tf.Session() as session:
        for op in start:
            session.run(op)
        found = [value.tolist() for _, value in all_of(session, (keys, values))]
        assert found == [[b"a0", b"a1"], [b"a2"], [b"b0", b"b1"], [b"b2"]]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"record_bytes": 3}, [b"HHa", b"bcd", b"efF"]),
        ({"record_bytes": 2, "header_bytes": 2, "footer_bytes": 1}, [b"ab", b"cd", b"ef"]),
        (
            {"record_bytes": 2, "header_bytes": 2, "footer_bytes": 1, "hop_bytes": 1},
            [b"ab", b"bc", b"cd", b"de", b"ef"],
        ),
        ({"record_bytes": 2, "hop_bytes": 4}, [b"HH", b"cd"]),
    ],
)
def test_pieces(sizes, expected):
    write("a", b"HHabcdefF")
    queue, start = queue_of("a")
    key, value = tf.FixedLengthRecordReader(**sizes).read(queue)
    with tf.Session() as session:
        for op in start:
            session.run(op)
        found = all_of(session, (key, value))
        assert [one for _, one in found] == expected
        assert [one for one, _ in found] == [f"a:{number}".encode() for number in range(len(expected))]


def test_a_missing_file_fails_and_the_next_one_is_read():
    write("b", b"two")
    queue, start = queue_of("no", "b")
    value = tf.TextLineReader().read(queue)[1]
    with tf.Session() as session:
        for op in start:
            session.run(op)
        with pytest.raises(tf.errors.NotFoundError, match="no; No such file or directory"):
            session.run(value)
        assert session.run(value) == b"two"


def test_a_file_shorter_than_its_header_fails_and_the_next_one_is_read():
    write("a", b"H")
    write("b", b"HHab")
    queue, start = queue_of("a", "b")
    reader = tf.FixedLengthRecordReader(2, header_bytes=2)
    value = reader.read(queue)[1]
    with tf.Session() as session:
        for op in start:
            session.run(op)
        with pytest.raises(tf.errors.OutOfRangeError, match="reached end of file"):
            session.run(value)
        assert session.run(reader.num_work_units_completed()) == 0
        assert session.run(value) == b"ab"


def test_a_reader_that_waits_ends_with_its_session():
    import threading

    queue = tf.FIFOQueue(1, tf.string, shapes=[[]])
    value = tf.WholeFileReader().read(queue)
    session, raised = tf.Session(), []

    def run():
        try:
            session.run(value)
        except tf.errors.CancelledError as error:
            raised.append(error)

    session.run(queue.size())
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    session.close()
    thread.join(20)
    assert len(raised) == 1


def test_a_whole_file_is_done_once_it_is_read():
    write("a", b"one")
    write("b", b"two")
    reader = tf.IdentityReader()
    queue, start = queue_of("a", "b")
    pair = reader.read(queue)
    with tf.Session() as session:
        for op in start:
            session.run(op)
        session.run(pair)
        assert session.run([reader.num_records_produced(), reader.num_work_units_completed()]) == [1, 1]
        assert session.run(reader.serialize_state()) == b'\x08\x01\x10\x01\x18\x01"\x01a'
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse state"):
            session.run(reader.restore_state(b"\x08"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Inconsistent work started"):
            session.run(reader.restore_state(b"\x08\x01"))
        assert session.run([reader.num_records_produced(), reader.num_work_units_completed()]) == [0, 0]
