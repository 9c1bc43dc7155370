"""Work in proportion to what is given: inputs that others wrote end in a moment, in a result or an error.

Before, each of these took minutes to years; there is no clock in them.
"""

import pytest

import gpuplace as tf
from gpuplace.tables import text as texts
from gpuplace.tables.text import searcher

DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.mark.parametrize("piece", ["x|", "a:", "x:|", "<a>:", ": (", "I ", "0: ", "->", '"|'])
@pytest.mark.parametrize("end", [":", f": (MatMul): {DEVICE}", ""])
def test_a_line_of_a_log(piece, end):
    log = tf.parse_log(piece * 100_000 + end)
    assert len(log) <= 1


def test_searches(monkeypatch):
    monkeypatch.setattr(texts, "MOST_SEARCHING_S", 0.2)
    for pattern in ("(a+)+$", "(a|a)*$", r"(\w*)*b$", r"([a-z]+)*[A-Z]"):
        try:
            assert not searcher(pattern)("a" * 39 + "!")
        except ValueError as error:
            assert "takes more than" in str(error)
    search = searcher("(?:a|aa)+$")
    with pytest.raises(ValueError, match="the search for .* takes more than 0.2 seconds"):
        search("a" * 60 + "!")
    assert (
        searcher("tower_(0|1)/.*_2")("tower_1/MatMul_2")
        and searcher("a[")("xa[1]")
        and searcher("Mat")("aMatMul")
    )
    assert searcher("")("x") and not searcher("b$")("ba")


@pytest.mark.parametrize("op", [tf.strings.regex_replace, tf.strings.regex_full_match])
@pytest.mark.parametrize("is_fed", [False, True])
def test_ops_on_texts(monkeypatch, op, is_fed):
    from gpuplace.ops.text import regex_and_encoding

    monkeypatch.setattr(regex_and_encoding, "_MOST_S", 0.2)
    pattern = tf.placeholder(tf.string, []) if is_fed else "(?:a|aa)+$"
    matched = op(tf.constant(["a" * 60 + "!"]), pattern, *([b"x"] if op is tf.strings.regex_replace else []))
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.DeadlineExceededError, match="Matching took longer"),
    ):
        session.run(matched, {pattern: "(?:a|aa)+$"} if is_fed else None)
