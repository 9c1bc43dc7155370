"""Tables, keys and compressed blocks."""

import math
import random
import time

import pytest

from gpuplace.errors import InternalError, InvalidArgumentError
from gpuplace.files.checkpoints.slices import parse_shape_and_slice, slice_key
from gpuplace.files.checkpoints.snappy import decompress
from gpuplace.files.checkpoints.table import read_table, varint, write_table


def test_a_table_of_many_blocks():
    rng = random.Random(3)
    entries = {rng.randbytes(rng.randrange(1, 30)): rng.randbytes(rng.randrange(900)) for _ in range(2000)}
    data = write_table(entries)
    assert len(data) > 3 * 262144
    found = read_table(data, "table")
    assert found == entries and list(found) == sorted(entries)


def test_an_empty_table():
    assert read_table(write_table({}), "table") == {}


def test_keys_of_slices_sort_as_the_slices_do():
    starts = [0, 1, 63, 64, 127, 8191, 8192, 1 << 20, 1 << 33, (1 << 62) + 1]
    keys = [slice_key("w", ((start, 5),)) for start in starts]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
    assert slice_key("a\x00\xff", ()) == b"\x00a\x00\xff\xc3\xbf\x00\x01\x00"
    assert slice_key("w", ((0, -1),)).endswith(b"\x80\x7f")
    assert slice_key("w", ((64, 300),)).endswith(b"\xc0\x40\xc1\x2c")


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("2 2", InvalidArgumentError, "Expected a pair of numbers or '-' but got '2': string = 2"),
        ("2 2 0,1:x", InvalidArgumentError, "Expected a pair of numbers or '-' but got 'x': string = 0,1:x"),
        ("2 2 0,3:-", InternalError, "Extent in dimension 0 out of bounds: shape = [2,2], slice = 0,3:-"),
        ("2 2 0,1", InternalError, "Mismatching ranks: shape = [2,2], slice = 0,1"),
        ("a 2 0,1:-", InvalidArgumentError, "Non numerical dimension in shape_and_slice: a 2 0,1:-"),
        ("0,1", InvalidArgumentError, "Need least two elements in shape_and_slice specification: 0,1"),
        (
            "2 2 0,0:-",
            InvalidArgumentError,
            "Expected non-negative start and positive length but got start = 0, length = 0: string = 0,0:-",
        ),
    ],
)
def test_slices_that_are_none(text, error, sentence):
    with pytest.raises(error) as caught:
        parse_shape_and_slice(text)
    assert caught.value.message == sentence


def test_compressed_blocks():
    literal = bytes([60 << 2, 99]) + b"x" * 100
    copies = b"\x02\x64\x00" + b"\xfe\x64\x00"  # 1, then 64 bytes, from 100 before
    assert decompress(b"\xa5\x01" + literal + copies) == b"x" * 165
    assert decompress(b"\x00") == b""


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\x05", b"\x05\x10hell", b"\x02\x10hello", b"\x06\x04ab\x01\x09", b"\x09\x10hello"),
        b"\x05\x10hello\x02\x01",
    ],
)
def test_damaged_blocks(data):
    with pytest.raises(ValueError):
        decompress(data)


def _block_of_far_copies(size: int) -> bytes:
    """A block whose second half is copies of single bytes from half a block before."""
    half = size // 2
    literal = bytes([62 << 2]) + (half - 1).to_bytes(3, "little") + b"x" * half
    copy = bytes([3]) + half.to_bytes(4, "little")
    return varint(size) + literal + copy * half


def test_decompression_takes_time_in_proportion_to_the_block():
    def seconds(size):
        block, best = _block_of_far_copies(size), math.inf
        for _ in range(3):
            began = time.process_time()
            assert decompress(block) == b"x" * size
            best = min(best, time.process_time() - began)
        return best

    assert seconds(1 << 19) < 48 * seconds(1 << 15)  # 16 times as long; 256 times if it were quadratic


def test_a_block_whose_size_does_not_end():
    with pytest.raises(ValueError, match="more than 32 bits"):
        decompress(b"\xff" * 100_000)
