"""Ops that write and read checkpoints: their values, shapes and errors."""

import os
import re

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops import saving
from gpuplace.ops.support import new


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "model")


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_slices_are_written_and_read(prefix):
    table = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    names, slices = ["w", "w", "b"], ["4 6 0,1:-", "4 6 1,3:-", ""]
    run(saving.save_v2(prefix, names, slices, [table[:1], table[1:], [1, 2]]))
    read = saving.restore_v2(
        prefix, ["w", "w", "b"], ["", "4 6 0,2:3,2", ""], [tf.float32, tf.float32, tf.int32]
    )
    assert [tensor.shape.as_list() if tensor.shape.ndims else None for tensor in read] == [None, [2, 2], None]
    whole, part, other = run(read)
    assert whole.tolist() == table.tolist() and part.tolist() == table[:2, 3:5].tolist()
    assert other.tolist() == [1, 2]


def test_the_first_format(tmp_path):
    path = str(tmp_path / "one")
    run(saving.save_slices(path, ["v", "t"], [[1.5, 2.5], "text"]))
    values = [
        new("Restore", file_pattern=path, tensor_name="v", dt=tf.float32),
        new("RestoreSlice", file_pattern=path, tensor_name="v", shape_and_slice="2 1,1", dt=tf.float32),
        *saving.restore_v2(path, ["t"], [""], [tf.string]),
    ]
    assert [tensor.shape for tensor in values[1:2]] == [[1]]
    assert [np.asarray(value).tolist() for value in run(values)] == [[1.5, 2.5], [2.5], b"text"]


def test_shards_are_merged(tmp_path):
    parts = [str(tmp_path / "temp" / f"part-{index}") for index in range(2)]
    for index, part in enumerate(parts):
        run(saving.save_v2(part, [f"v{index}", "w"], ["", f"2 {index},1"], [float(index), [index + 5.0]]))
    merged = str(tmp_path / "model")
    run(saving.merge_v2_checkpoints(parts, merged))
    assert sorted(os.listdir(tmp_path)) == [
        "model.data-00000-of-00002",
        "model.data-00001-of-00002",
        "model.index",
    ]
    reader = tf.train.NewCheckpointReader(merged)
    assert reader.get_tensor("v1") == 1.0 and reader.get_tensor("w").tolist() == [5.0, 6.0]


def test_names_of_shards():
    names = [saving.sharded_filename("a/b", 3, 12), saving.sharded_filespec("a/b", 12)]
    assert run(names) == [b"a/b-00003-of-00012", b"a/b-?????-of-00012"]
    assert [tensor.shape for tensor in names] == [[], []]


@pytest.mark.parametrize(
    ("key", "spec", "dtype", "error", "text"),
    [
        ("zz", "", tf.float32, tf.errors.NotFoundError, "Key zz not found in checkpoint"),
        (
            "a",
            "",
            tf.int32,
            tf.errors.InvalidArgumentError,
            "tensor_name = a; expected dtype int32 does not equal or",
        ),
        (
            "a",
            "3 2 0,1:-",
            tf.float32,
            tf.errors.InvalidArgumentError,
            "tensor_name = a; shape in shape_and_slice spec [3,2] does not match the shape stored in checkpoint: [2,2]",
        ),
        (
            "a",
            "2 2 0,1:x",
            tf.float32,
            tf.errors.InvalidArgumentError,
            "Expected a pair of numbers or '-' but got 'x'",
        ),
        ("a", "2 2 0,3:-", tf.float32, tf.errors.InternalError, "Extent in dimension 0 out of bounds"),
        (
            "p",
            "",
            tf.float32,
            tf.errors.InvalidArgumentError,
            "sufficient slices for partitioned tensor p to restore",
        ),
        ("p", "4 6 1,2:-", tf.float32, tf.errors.InvalidArgumentError, "in slice_spec: 1,2:-"),
    ],
)
def test_what_cannot_be_read(prefix, key, spec, dtype, error, text):
    run(saving.save_v2(prefix, ["a", "p"], ["", "4 6 0,2:-"], [np.ones([2, 2], "f4"), np.ones([2, 6], "f4")]))
    given = tf.placeholder(tf.string, [1])
    with pytest.raises(error, match=re.escape(text)):
        run(saving.restore_v2(prefix, [key], given, [dtype]), {given: [spec]})


def test_what_cannot_be_written(prefix, tmp_path):
    for names, slices, tensors, text in (
        (["b", "b"], ["", ""], [1.0, 2.0], "Adding duplicate key: b"),
        (
            ["b"],
            ["4 2 0,1:-"],
            [np.ones([2, 2])],
            "does not match the shape of the tensor to  save: 4 2 0,1:-",
        ),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(text)):
            run(saving.save_v2(prefix, names, slices, tensors))
    with pytest.raises(tf.errors.NotFoundError, match="a/b.*; No such file or directory"):
        run(saving.save_v2(str(tmp_path / "a" / "b" / "model"), ["v"], [""], [1.0]))
    (tmp_path / "file").write_text("")
    with pytest.raises(tf.errors.OpError):
        run(saving.save_v2(str(tmp_path / "file" / "model"), ["v"], [""], [1.0]))
    with pytest.raises(tf.errors.NotFoundError, match="none.index; No such file or directory"):
        run(saving.merge_v2_checkpoints([str(tmp_path / "none")], prefix))
    run(saving.save_v2(prefix, ["v"], [""], [1.0]))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Duplicate tensor keyed by v encountered, when merging"
    ):
        run(saving.merge_v2_checkpoints([prefix, prefix], prefix + "2"))
    assert tf.train.load_variable(prefix, "v") == 1.0


def test_what_cannot_be_built():
    with pytest.raises(ValueError, match="Dimension must be 1 but is 2|Dimension must be 2 but is 1"):
        saving.save_v2("p", ["a"], ["", ""], [1.0])
    with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
        saving.restore_v2(["p"], ["a"], [""], [tf.float32])
    with pytest.raises(ValueError, match="Mismatching ranks"):
        saving.restore_v2("p", ["a"], ["2 2 0,1"], [tf.float32])
