"""Regular expressions are RE2's: in their answers, in what they refuse, and in the time that they take."""

import pytest

import gpuplace as tf
from gpuplace.errors import DeadlineExceededError
from gpuplace.kernels.cancellation import StepLimits, limited
from gpuplace.tf1.text.regex_and_encoding import _full_matches, _replaced, regex_full_match, regex_replace


@pytest.mark.parametrize(
    ("pattern", "rewrite", "text", "replaced"),
    [
        ("", "-", "aé", "-a-é-"),
        ("x*", "-", "abxxé", "-a-b-é-"),
        ("b*", "-", "", "-"),
        ("^a", "-", "aaa", "-aa"),
        ("$", "-", "aa\n", "aa\n-"),
        ("a", "\\", "aa", ""),
        (r"\pL+", "<\\0>", "été 12", "<été> 12"),
        ("(a)(b)?", "\\2\\1", "abaa", "baaa"),
        ("é|", "-", "éé", "--"),
    ],
)
def test_replacing_as_tensorflow_does(pattern, rewrite, text, replaced):
    """Recorded from release 2.21."""
    with tf.Session() as session:
        assert session.run(regex_replace(text, pattern, rewrite)).decode() == replaced


def test_bytes_that_are_no_text():
    with tf.Session() as session:
        assert session.run(regex_replace(b"a\xffb\xc3", "b", "c")) == b"a\xffc\xc3"
        assert session.run(regex_replace(b"\xff\xc3", "", "-")) == b"-\xff-\xc3-"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "missing ): ("),
        ("(?=a)", "invalid perl operator: (?="),
        ("a**", "bad repetition operator: **"),
        ("(?:(?:a{1000}){1000}){1000}", "invalid repetition size: {1000}"),
    ],
)
def test_patterns_that_are_refused(pattern, reason):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(regex_full_match("a", pattern))
    assert f"Invalid pattern: {pattern}, error: {reason}" in caught.value.message


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|a)*", "(a|aa)*c?", "(a?){30}a{30}"])
def test_repetitions_of_repetitions_are_no_harder_than_others(pattern):
    text = "a" * 10_000 + "b"
    with tf.Session() as session:
        assert not session.run(regex_full_match([text] * 3, pattern)).any()
        assert session.run(regex_replace(text, pattern + "$", "x")) in (
            text.encode(),
            text.encode() + b"x",
        )


@pytest.mark.parametrize(
    "match",
    [
        lambda np, texts: _replaced(np, texts, b"a", b"b", True),
        lambda np, texts: _full_matches(np, texts, b"a"),
    ],
    ids=["replace", "full match"],
)
def test_the_time_of_the_step_is_heeded_between_texts(match):
    import numpy as np

    limits = StepLimits(deadline=0.0, late=lambda: DeadlineExceededError.of("late"))
    texts = np.array([b"aaa"], object)
    match(np, texts)
    with limited(limits), pytest.raises(DeadlineExceededError, match="late"):
        match(np, texts)
