"""Checkpoints whose index says what cannot be: the error says so, and no memory is taken for it."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.dtypes import as_dtype, variant
from gpuplace.errors import DataLossError, InvalidArgumentError, OutOfRangeError
from gpuplace.files.checkpoints.bundle import SavedTensor, write_bundle
from gpuplace.files.checkpoints.messages import BundleEntry
from gpuplace.files.checkpoints.table import read_table, write_table
from gpuplace.files.checkpoints.variants import EncodedVariant


@pytest.fixture
def prefix(tmp_path):
    rows = np.arange(12, dtype=np.int32).reshape(4, 3)
    variants = np.array([EncodedVariant("a kind", b"12")], object)
    tensors = [
        SavedTensor("a", np.ones([2, 3], np.float32), as_dtype("float32")),
        SavedTensor("t", np.array([b"one", b"two"], object), as_dtype("string")),
        SavedTensor("v", variants, variant),
    ]
    tensors += [
        SavedTensor("p", rows[start : start + 2], as_dtype("int32"), (4, 3), ((start, 2), (0, -1)))
        for start in (0, 2)
    ]
    write_bundle(str(tmp_path / "model"), tensors)
    return str(tmp_path / "model")


def edited(prefix, key, edit):
    """The checkpoint, opened after a change of one of its entries; the checksums of the index are right."""
    path = f"{prefix}.index"
    with open(path, "rb") as file:
        entries = read_table(file.read(), path)
    entry = BundleEntry.FromString(entries[key])
    edit(entry)
    entries[key] = entry.SerializeToString()
    with open(path, "wb") as file:
        file.write(write_table(entries))
    return tf.train.load_checkpoint(prefix)


def size(number):
    def edit(entry):
        entry.shape.dim[0].size = number

    return edit


def more_dims(entry):
    entry.shape.dim.add(size=1)


def offset(number):
    def edit(entry):
        entry.offset = number

    return edit


def extent(start, length):
    def edit(entry):
        entry.slices[0].extent[0].start, entry.slices[0].extent[0].length = start, length

    return edit


@pytest.mark.parametrize("number", [-1, 3, 1 << 30, 1 << 60, (1 << 63) - 1])
@pytest.mark.parametrize("key", ["a", "t", "v", "p"])
def test_sizes_that_are_not_the_tensors(prefix, key, number):
    reader = edited(prefix, key.encode(), size(number))
    with pytest.raises((DataLossError, InvalidArgumentError)) as caught:
        reader.get_tensor(key)
    assert caught.value.hint or "sufficient slices" in caught.value.message
    assert reader.get_tensor("p" if key == "a" else "a").size > 1


@pytest.mark.parametrize("key", ["a", "p"])
def test_a_dimension_too_many(prefix, key):
    with pytest.raises(DataLossError) as caught:
        edited(prefix, key.encode(), more_dims if key == "p" else size(1)).get_tensor(key)
    assert caught.value.hint


@pytest.mark.parametrize("number", [-1, -(1 << 63), 1 << 40, (1 << 63) - 1])
def test_values_that_are_outside_of_the_file(prefix, number):
    with pytest.raises(OutOfRangeError, match="Read less bytes than requested"):
        edited(prefix, b"a", offset(number)).get_tensor("a")


@pytest.mark.parametrize(("start", "length"), [(-1, 2), (0, 5), (4, 1), (1 << 62, 1 << 62)])
def test_slices_that_are_outside_of_their_tensor(prefix, start, length):
    with pytest.raises(DataLossError, match=r"Invalid slice of the tensor p of shape \[4,3\]") as caught:
        edited(prefix, b"p", extent(start, length)).get_tensor("p")
    assert caught.value.hint


def test_a_slice_that_has_not_the_values_of_its_place(prefix):
    path = f"{prefix}.index"
    with open(path, "rb") as file:
        keys = [key for key in read_table(file.read(), path) if key.startswith(b"\0")]
    with pytest.raises(DataLossError):
        edited(prefix, keys[0], size(1)).get_tensor("p")
