"""``GFile``: modes that read and write, and files that are compared."""

import pytest

import gpuplace as tf
from gpuplace.files import file_io
from gpuplace.files.gfile import GFile

READ_AND_WRITTEN = [
    ("r+", None, "abcdefgh", [None, 0, 0, "", 0, None, "", "OutOfRangeError", "", 0]),
    ("w+", "old text", "abcdefgh", [None, 0, 0, "", 0, None, "", "OutOfRangeError", "", 0]),
    ("a+", "old text", "old textabcdefgh", [None, 0, 8, "ol", 2, None, "d text", None, "ld", 3]),
]
"""Mode, what the file held, what it holds in the end, and what the steps below give: TensorFlow 1.15.5's answers."""


@pytest.mark.parametrize(("mode", "before", "after", "answers"), READ_AND_WRITTEN)
def test_reading_and_writing_have_places_of_their_own(mode, before, after, answers, tmp_path):
    """What is written can be read after a flush."""
    path = tmp_path / "file"
    if before is not None:
        path.write_text(before)
    steps = [
        ("write", "abcdef"), ("tell",), ("size",), ("read", 2), ("tell",), ("write", "gh"), ("read",), ("seek", 1),
        ("read", 2), ("tell",),
    ]  # fmt: skip
    found = []
    with GFile(str(path), mode) as file:
        for name, *arguments in steps:
            try:
                found.append(getattr(file, name)(*arguments))
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
        assert found == answers
        file.flush()
        file.seek(0)
        assert file.read() == after
    assert path.read_text() == after


def test_files_that_hold_the_same(tmp_path):
    one, same, other, longer = (tmp_path / name for name in ("one", "same", "other", "longer"))
    for path, text in (one, "abc" * 100), (same, "abc" * 100), (other, "abd" * 100), (longer, "abc" * 101):
        path.write_text(text)
    assert file_io.file_crc32(one) == file_io.file_crc32(one, block_size=7) == "0xd0c4b884"
    assert file_io.filecmp(one, same) and not file_io.filecmp(one, other) and not file_io.filecmp(one, longer)
