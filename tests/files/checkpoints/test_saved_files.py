"""Checkpoints of TensorFlow 1.15.5 and 2.21: every value is read bit for bit, and written again byte for byte."""

from pathlib import Path

import numpy as np
import pytest

from gpuplace.dtypes import DTYPES_OF_1_15, as_dtype
from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError, OutOfRangeError
from gpuplace.files.checkpoints.bundle import (
    Bundle,
    SavedTensor,
    data_file,
    extents_of,
    index_file,
    write_bundle,
)
from gpuplace.files.checkpoints.reader import CheckpointReader, open_checkpoint
from gpuplace.files.checkpoints.slices import full_slice
from gpuplace.files.checkpoints.tensor_slices import TensorSlices, write_tensor_slices
from tests.support.saved_files import PREFIXES, RELEASES, array, expected, same, unpack


@pytest.fixture(scope="module", params=RELEASES)
def folder(request, tmp_path_factory):
    return unpack(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("name", PREFIXES)
def test_reads_what_tensorflow_wrote(folder, name):
    reader = CheckpointReader(str(folder / PREFIXES[name]))
    wanted = expected(folder)[name]
    assert {key: str(dtype.name) for key, dtype in reader.get_variable_to_dtype_map().items()} == {
        key: row[0] for key, row in wanted.items()
    }
    assert reader.get_variable_to_shape_map() == {key: row[1] for key, row in wanted.items()}
    for key, row in wanted.items():
        assert same(np.asarray(open_checkpoint(str(folder / PREFIXES[name])).read(key)), array(*row)), key


def test_all_element_types_are_among_them(folder):
    held = {row[0] for row in expected(folder)["all"].values()}
    assert held == {dtype.name for dtype in DTYPES_OF_1_15 if dtype.is_numpy_compatible}


def test_writes_the_same_bytes(folder, tmp_path):
    bundle = Bundle(str(folder / "all"))
    names = sorted(as_dtype(name).name for name in bundle.names() if name not in LATER) + list(LATER)
    write_bundle(
        str(tmp_path / "all"), [SavedTensor(name, bundle.read(name), bundle.dtype(name)) for name in names]
    )
    slices = []
    whole = Bundle(str(folder / "sliced"))
    for name in ("p", "q"):
        for message in whole.entry(name).slices:
            extents = extents_of(message)
            values = whole.read(name, extents)
            slices.append(SavedTensor(name, values, whole.dtype(name), whole.shape(name), extents))
    write_bundle(str(tmp_path / "sliced"), slices)
    for prefix in ("all", "sliced"):
        for path in (index_file(prefix), data_file(prefix, 0, 1)):
            assert (tmp_path / path).read_bytes() == (folder / path).read_bytes(), path


LATER = ("scalar", "empty", "big", "one text")
"""The tensors that were saved after those that are called as their element types."""


def test_writes_the_first_format(folder, tmp_path):
    source = TensorSlices(str(folder / "one"))
    path = str(tmp_path / "one")
    tensors = [SavedTensor(name, source.read(name), source.dtype(name)) for name in source.names()]
    half = SavedTensor("halves", np.ones([1, 2], np.float32), as_dtype("float32"), (2, 2), ((1, 1), (0, 2)))
    write_tensor_slices(path, [*tensors, half])
    again = TensorSlices(path)
    for name in source.names():
        assert same(again.read(name), source.read(name)) and again.dtype(name) is source.dtype(name)
    assert again.read("halves", ((1, 1), (0, -1))).tolist() == [[1, 1]]
    with pytest.raises(InvalidArgumentError, match="sufficient slices"):
        again.read("halves")


def test_slices_are_put_together(folder):
    bundle = Bundle(str(folder / "sliced"))
    assert bundle.read("p", ((1, 2), (4, 2))).tolist() == [[1, 1], [2, 2]]
    assert bundle.read("q", ((3, 1), (2, 2))).tolist() == [[3, 4]]
    whole = Bundle(str(folder / "all"))
    assert whole.read("big", ((2, 1), (3, 2))).tolist() == [[63, 64]]
    assert same(whole.read("big", full_slice(2)), whole.read("big"))


# Damage


@pytest.fixture
def copy(tmp_path):
    """A function that copies ``all``, its files changed by functions, and returns the new prefix."""
    folder = unpack("1.15", tmp_path)

    def change(index=bytes, data=bytes) -> str:
        prefix = folder / "copy"
        for function, name in ((index, index_file), (data, lambda p: data_file(p, 0, 1))):
            content = bytearray((folder / name("all")).read_bytes())
            Path(name(str(prefix))).write_bytes(bytes(function(content)))
        return str(prefix)

    return change


def flipped(position):
    def change(content):
        content[position] ^= 1
        return content

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda content: content[:-10], "not an sstable (bad magic number)"),
        (lambda content: content[:20], "file is too short to be an sstable"),
        (lambda content: b"", "file is too short to be an sstable"),
        (flipped(10), "(failed to seek to header entry): block checksum mismatch"),
        (lambda content: content[:10] + content[60:], "(failed to seek to header entry): "),
    ],
    ids=["cut off", "short", "empty", "flipped", "a part missing"],
)
def test_a_damaged_index(copy, change, text):
    with pytest.raises(DataLossError) as caught:
        Bundle(copy(index=change))
    assert text in caught.value.message
    assert "copy.index" in str(caught.value) and "try" in str(caught.value)


def test_every_flipped_byte_of_an_index_is_noticed_or_harmless(copy):
    """Nothing but an error of TensorFlow's kind, or the right values."""
    wanted = None
    for position in range(0, 780, 7):
        try:
            bundle = Bundle(copy(index=flipped(position)))
            found = {name: bundle.read(name).tolist() for name in bundle.names()}
        except (DataLossError, NotFoundError, OutOfRangeError):
            continue
        wanted = found if wanted is None else wanted
        assert str(found) == str(wanted)


def test_flipped_values(copy):
    bundle = Bundle(copy())
    prefix = copy(data=flipped(bundle.entry("big").offset + 5))
    with pytest.raises(
        DataLossError, match=r"Checksum does not match: stored \d+ vs\. calculated on the res"
    ):
        Bundle(prefix).read("big")
    assert Bundle(prefix).read("scalar") == 3.5
    prefix = copy(data=flipped(bundle.entry("string").offset))
    with pytest.raises(
        DataLossError, match=r"The length checksum does not match: expected \d+ but actual is"
    ):
        Bundle(prefix).read("string")
    prefix = copy(data=flipped(bundle.entry("string").offset + bundle.entry("string").size - 1))
    with pytest.raises(DataLossError, match="Checksum does not match"):
        Bundle(prefix).read("string")


@pytest.mark.parametrize("left", [0, 10, 2000])
def test_values_that_are_cut_off(copy, left):
    bundle = Bundle(copy(data=lambda content: content[:left]))
    with pytest.raises(OutOfRangeError, match="Read less bytes than requested"):
        bundle.read("big")


def test_files_that_are_not_there(copy, tmp_path):
    prefix = copy()
    Path(data_file(prefix, 0, 1)).unlink()
    with pytest.raises(NotFoundError, match=r"copy\.data-00000-of-00001; No such file or directory"):
        Bundle(prefix).read("scalar")
    with pytest.raises(NotFoundError) as caught:
        CheckpointReader(str(tmp_path / "nothing"))
    assert caught.value.message == (
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
        f"{tmp_path / 'nothing'}"
    )


def test_a_name_that_is_not_there(folder):
    reader = CheckpointReader(str(folder / "all"))
    assert not reader.has_tensor("weights") and reader.has_tensor("scalar")
    with pytest.raises(NotFoundError) as caught:
        reader.get_tensor("weights")
    assert caught.value.message == "Key weights not found in checkpoint"
    assert "tf.train.list_variables" in caught.value.hint
    with pytest.raises(NotFoundError, match="not found in checkpoint files"):
        CheckpointReader(str(folder / "one")).get_tensor("weights")


def test_a_damaged_file_of_the_first_format(folder, tmp_path):
    content = (folder / "one").read_bytes()
    (tmp_path / "one").write_bytes(content[:-1])
    with pytest.raises(DataLossError, match=r"Unable to open table file .*one: Data loss: not an sstable"):
        CheckpointReader(str(tmp_path / "one"))
    (tmp_path / "text").write_text("hello " * 100)
    with pytest.raises(DataLossError, match="perhaps your file is in a different file format"):
        CheckpointReader(str(tmp_path / "text"))


def test_scalars_and_debug_string(folder):
    reader = CheckpointReader(str(folder / "all"))
    assert reader.get_tensor("scalar") == 3.5 and np.ndim(reader.get_tensor("scalar")) == 0
    assert reader.get_tensor("one text") == b"t"
    lines = reader.debug_string().decode().splitlines()
    assert "big (DT_FLOAT) [20,30]" in lines and "scalar (DT_FLOAT) []" in lines
    assert len(lines) == len(reader.get_variable_to_shape_map())
