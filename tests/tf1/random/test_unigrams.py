"""Candidates drawn by how often classes occur: draws and expected counts are those of TensorFlow 1.15.5."""

import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf

TRUE = np.array([[0, 3], [5, 1], [2, 2]], np.int64)
RECORDED = json.loads((Path(__file__).parent / "unigrams-1.15.json").read_text())
SIX = [1.0, 2, 3, 4, 5, 6]
GIVEN = {
    "plain": ({"unigrams": SIX}, 4, True),
    "rep": ({"unigrams": SIX, "seed": 8}, 9, False),
    "dist": ({"unigrams": SIX, "distortion": 0.75}, 3, True),
    "res": ({"unigrams": SIX[2:], "num_reserved_ids": 2}, 3, False),
    "shard": (
        {"unigrams": [3.0, 4, 5, 6, 1, 2, 7, 8, 9, 10], "num_reserved_ids": 2, "num_shards": 2, "shard": 1},
        3,
        True,
    ),
    "file": ({"vocab_file": "a,3\nb,1.5\nc,x,2\nd,8\ne,1\nf,0.25\n"}, 5, True),
}
LEARNED = {"l1": (4, True, 6, 5), "l2": (7, False, 11, 3), "l3": (6, True, 6, 5), "l5": (2, True, 8, 5)}


def check(case, draws):
    with tf.Session() as sess:
        for recorded in RECORDED[case]:
            found = sess.run(draws)
            assert found.sampled_candidates.tolist() == recorded[0]
            np.testing.assert_allclose(found.true_expected_count, recorded[1], rtol=2e-6)
            np.testing.assert_allclose(found.sampled_expected_count, recorded[2], rtol=2e-6)


@pytest.mark.parametrize("case", GIVEN)
def test_draws_by_weights_that_are_given(case, tmp_path):
    arguments, count, unique = GIVEN[case]
    if "vocab_file" in arguments:
        (tmp_path / "words").write_text(arguments["vocab_file"])
        arguments = {"vocab_file": str(tmp_path / "words")}
    with tf.Graph().as_default():
        check(case, _fixed(count, unique, **{"seed": 5, **arguments}))


def _fixed(count, unique, range_max=6, **arguments):
    return tf.nn.fixed_unigram_candidate_sampler(TRUE, 2, count, unique, range_max, **arguments)


@pytest.mark.parametrize("case", LEARNED)
def test_draws_by_what_the_op_has_seen(case):
    count, unique, range_max, seed = LEARNED[case]
    with tf.Graph().as_default():
        check(case, tf.random.learned_unigram_candidate_sampler(TRUE, 2, count, unique, range_max, seed=seed))


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({}, "InvalidArgumentError", "Must provide either vocab_file or unigrams."),
        (
            {"unigrams": SIX, "vocab_file": "x"},
            "InvalidArgumentError",
            "Must only provide one of vocab_file and unigrams.",
        ),
        ({"unigrams": SIX[:5]}, "InvalidArgumentError", "range is 6 must be equal to weights size  5"),
        ({"vocab_file": "no_such_file"}, "NotFoundError", "no_such_file; No such file or directory"),
        ({"unigrams": [1.0, 2], "num_reserved_ids": 4}, "InvalidArgumentError", "range is too small"),
    ],
)
def test_weights_that_do_not_fit(arguments, error, sentence):
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(getattr(tf.errors, error), match=sentence):
            sess.run(_fixed(3, True, **arguments))


def test_a_line_without_a_number(tmp_path):
    (tmp_path / "words").write_text("a,3\nb,z\n")
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Wrong vocabulary format at line: b,z"):
            sess.run(_fixed(1, True, 2, vocab_file=str(tmp_path / "words")))


def test_a_true_class_that_is_none():
    with tf.Graph().as_default(), tf.Session() as sess:
        draws = tf.nn.learned_unigram_candidate_sampler(TRUE, 2, 2, True, 5)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"has 5, which is not in \[0, 5\)"):
            sess.run(draws)
