"""Checks and prints, in sessions."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.array_text import summary


def test_assert_shows_its_data() -> None:
    x = tf.placeholder(tf.float32, [None])
    check = tf.Assert(tf.reduce_all(x > 0.0), ["not positive: ", x], summarize=2)
    with tf.Session() as session:
        session.run(check, {x: [1.0]})
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"assertion failed: \[not positive: \] \[-1 2...\]"
        ):
            session.run(check, {x: [-1.0, 2.0, 3.0]})


def test_print_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    x = tf.constant([[1.5, 2.0], [3.0, 4.0]])
    shown = tf.Print(x, [x, tf.shape(x)], message="x: ", first_n=1, summarize=3)
    with tf.Session() as session:
        assert session.run(shown).tolist() == [[1.5, 2.0], [3.0, 4.0]]
        session.run(shown)
    assert capsys.readouterr().err == "x: [[1.5 2][3...]...][2 2]\n"


@pytest.mark.parametrize(
    ("value", "entries", "text"),
    [
        (np.float32(0.1), 3, "0.1"),
        (np.float32(1 / 3), 3, "0.33333334"),
        (np.float64(1 / 3), 3, "0.33333333333333331"),
        (np.float32(np.nan), 3, "nan"),
        (np.arange(4), 3, "0 1 2..."),
        (np.arange(4), -1, "0 1 2 3"),
        (np.array([True, False]), 3, "1 0"),
        (np.array([b"a", b"b"], object), 3, "a b"),
        (np.arange(8).reshape(2, 2, 2), 5, "[[0 1][2 3]][[4...]]..."),
        (np.zeros([0, 2]), 3, ""),
    ],
)
def test_summaries(value: np.ndarray, entries: int, text: str) -> None:
    assert summary(np.asarray(value), entries) == text
