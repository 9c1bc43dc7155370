"""Records of many files in a random order."""

from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.tf1.input.record_input import RecordInput


def write_files(folder: Path, files: int, each: int, kind: str = "") -> str:
    for number in range(files):
        with tf.python_io.TFRecordWriter(str(folder / f"part.{number}"), kind) as writer:
            for index in range(each):
                writer.write(b"%d" % (number * each + index))
    return str(folder / "part.*")


@pytest.mark.parametrize("buffer_size", [1, 7, 100])
def test_each_record_comes_once_an_epoch(tmp_path: Path, buffer_size: int) -> None:
    pattern = write_files(tmp_path, 4, 5)
    batches = RecordInput(
        pattern, batch_size=2, buffer_size=buffer_size, parallelism=2, shift_ratio=0.33, seed=3, batches=2
    ).get_yield_op()
    assert [[one.shape.as_list() for one in batch] for batch in batches] == [[[], []]] * 2
    orders = []
    with tf.Session() as session:
        for _ in range(3):
            order = [text for _ in range(5) for batch in session.run(batches) for text in batch]
            assert sorted(order, key=int) == [b"%d" % number for number in range(20)]
            orders.append(order)
    assert orders[0] != orders[1] != orders[2]


def test_a_seed_gives_an_order(tmp_path: Path) -> None:
    pattern = write_files(tmp_path, 3, 4)

    def first(seed: int) -> list[bytes]:
        records = RecordInput(pattern, batch_size=12, buffer_size=12, seed=seed).get_yield_op()
        with tf.Session() as session:
            return session.run(records).tolist()

    assert first(1) == first(1) != first(2)


@pytest.mark.parametrize("kind", [tf.python_io.TFRecordCompressionType.GZIP, "ZLIB"])
def test_files_may_be_compressed(tmp_path: Path, kind: object) -> None:
    options = tf.python_io.TFRecordOptions.get_compression_type_string(kind)
    records = RecordInput(
        write_files(tmp_path, 1, 1, options), compression_type=kind, name="records"
    ).get_yield_op()
    assert (records.op.name, records.op.type, records.shape.ndims) == ("records", "RecordInput", None)
    with tf.Session() as session:
        assert [session.run(records).tolist() for _ in range(3)] == [[b"0"]] * 3


def test_no_files_and_empty_ones(tmp_path: Path) -> None:
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError, match="Found no files at"):
            session.run(RecordInput(str(tmp_path / "none*")).get_yield_op())
        with pytest.raises(tf.errors.NotFoundError, match="Found no records in the 2 files"):
            session.run(RecordInput(write_files(tmp_path, 2, 0)).get_yield_op())
