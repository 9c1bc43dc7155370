"""Logs as they lie about: encodings, compressed files, what a terminal left, and what is not a log."""

import gzip
import random

import pytest

from gpuplace.errors import DataLossError, ResourceExhaustedError
from gpuplace.views.logs.parser import parse_log
from gpuplace.views.logs.text import decoded, log_text

LOG = """\
Device mapping:
/job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0
a: (Const): /job:localhost/replica:0/task:0/device:GPU:0
MatMul: (MatMul): /job:localhost/replica:0/task:0/device:CPU:0
"""
PLACES = {
    "a": "/job:localhost/replica:0/task:0/device:GPU:0",
    "MatMul": "/job:localhost/replica:0/task:0/device:CPU:0",
}


def test_bytes_that_are_no_text_become_replacement_characters():
    """Python reads a file with ``surrogateescape`` into characters that tables and pages cannot hold."""
    line = b"a\xd2b: (Neg): /job:localhost/replica:0/task:0/device:CPU:0\n"
    log = parse_log(line.decode("utf-8", "surrogateescape"))
    assert dict(log) == dict(parse_log(line)) and list(log) == ["a\ufffdb"]
    assert str(log).encode() == str(parse_log(line)).encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings(encoding):
    data = LOG.encode(encoding)
    for form in (data, bytearray(data), memoryview(data), gzip.compress(data)):
        log = parse_log(form)
        assert dict(log) == PLACES and log.devices[0].name == "Tesla K40c" and not log.unparsed


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("colours", LOG.replace("MatMul:", "\x1b[1;31mMatMul\x1b[0m:").replace("a: ", "\x1b[Ka: ")),
        ("Windows", LOG.replace("\n", "\r\n")),
        ("zeros of a file cut while it was written", "\0" * 5000 + LOG.replace("\n", "\0\n") + "\0" * 700),
        ("nothing else on very many lines", "\n" * 50_000 + LOG + "\n" * 50_000),
    ],
)
def test_what_says_nothing(what, text):
    log = parse_log(text.encode())
    assert dict(log) == PLACES and not log.unparsed


def test_a_progress_bar_before_a_sentence():
    log = parse_log(LOG.replace("MatMul: (", "50%|####    |\rMatMul: ("))
    assert dict(log) == PLACES and [left.text.strip() for left in log.unparsed] == ["50%|####    |"]


def test_a_line_of_ten_megabytes_is_read_in_time():
    for line in ("x" * 10_000_000, "a: " * 3_000_000, "/job:a" * 1_500_000, "(" * 10_000_000):
        log = parse_log(f"{line}\n{LOG}")
        assert dict(log) == PLACES and len(log.unparsed) == 1


def test_what_is_no_text():
    random.seed(1)
    for data in (random.randbytes(3_000_000), bytes(range(256)) * 20):
        with pytest.raises(DataLossError, match="This file is not a log, because it is not text") as caught:
            parse_log(data)
        assert "log_device_placement=True" in str(caught.value) and "gpuplace.explore" in str(caught.value)


def test_no_log_is_a_log_of_nothing():
    assert len(parse_log(b"")) == 0
    assert [left.text for left in parse_log("Grüße\nstep 3").unparsed] == ["Grüße", "step 3"]


def test_damaged_and_exploding_files(tmp_path):
    path = tmp_path / "run.log.gz"
    path.write_bytes(gzip.compress(LOG.encode() * 9)[:80])
    with pytest.raises(DataLossError, match="Can't decompress .*run.log.gz"):
        parse_log(path)
    path.write_bytes(gzip.compress(bytes(300_000_000), 9))
    with pytest.raises(ResourceExhaustedError, match="run.log.gz is too large for a log"):
        parse_log(str(path))


def test_text_is_left_as_it_is():
    assert log_text("Grüße\r\n") == "Grüße\r\n"
    assert decoded(b"a\0b") == "a\0b" and decoded(b"") == ""
