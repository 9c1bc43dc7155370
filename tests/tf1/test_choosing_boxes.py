"""Boxes of high scores that do not cover each other, and images that look alike; answers are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import gpuplace as tf

HALVES = np.float32([[0, 0, 1, 1], [0, 0, 1, 0.5], [0, 0.5, 1, 1], [0, 0, 1, 1]])
SCORES = np.float32([0.9, 0.8, 0.8, 0.7])
BOXES = np.float32(
    [
        *(
            [0.27, 0.36, 0.43, 0.78],
            [0.3, 0.27, 0.47, 0.84],
            [0.21, 0.32, 0.57, 0.63],
            [0.22, 0.45, 0.45, 0.6],
        ),
        *(
            [0.48, 0.19, 0.61, 0.48],
            [0.4, 0.26, 0.9, 0.66],
            [0.28, 0.46, 0.67, 0.65],
            [0.04, 0.04, 0.19, 0.59],
        ),
    ]
)
GRADES = np.float32([0.32, 0.36, 0.57, 0.44, 0.99, 0.1, 0.21, 0.16])


@pytest.mark.parametrize(("release", "expected"), [("1.15", [0]), ("2.21", [0, 1, 2])])
def test_a_box_that_covers_just_as_much_as_allowed(release, expected):
    tf.set_release(release)
    with tf.Session() as session:
        assert session.run(tf.image.non_max_suppression(HALVES, SCORES, 4, 0.5)).tolist() == expected
        table = tf.image.non_max_suppression_overlaps([[1.0, 0.5], [0.5, 1.0]], [0.5, 0.4], 2, 0.5)
        assert session.run(table).tolist() == expected[:2]


@pytest.mark.parametrize(
    ("sigma", "iou", "expected"),
    [
        (0.0, 0.3, ([4, 2, 7], [0.99, 0.57, 0.16])),
        (0.3, 0.3, ([4, 2, 7], [0.99, 0.559277, 0.16])),
        (0.3, 0.6, ([4, 2, 3, 1, 7, 0], [0.99, 0.559277, 0.375214, 0.277068, 0.16, 0.152286])),
        (0.9, 0.6, ([4, 2, 3, 1, 0, 6], [0.99, 0.566403, 0.417248, 0.329911, 0.249835, 0.175013])),
    ],
)
def test_scores_fall_by_what_boxes_have_in_common(sigma, iou, expected):
    chosen, scores = tf.image.non_max_suppression_with_scores(BOXES, GRADES, 6, iou, 0.1, sigma)
    with tf.Session() as session:
        found, values = session.run([chosen, scores])
    assert found.tolist() == expected[0]
    np.testing.assert_allclose(values, expected[1], rtol=1e-5)


def test_numbers_are_padded_on_demand():
    plain, count = tf.image.non_max_suppression_padded(BOXES, GRADES, 6, 0.3, 0.2)
    padded, same = tf.image.non_max_suppression_padded(
        BOXES, GRADES, 6, 0.3, 0.2, pad_to_max_output_size=True
    )
    assert (plain.shape.as_list(), padded.shape.as_list()) == ([None], [6])
    with tf.Session() as session:
        found = session.run([plain, count, padded, same])
    assert found[0].tolist() == [4, 2] and found[1] == found[3] == len(found[0])
    assert found[2].tolist() == [*found[0], *[0] * (6 - len(found[0]))]


def wave(batch, side):
    return (
        np.sin(np.arange(batch * side * side * 3, dtype=np.float64) / 7).reshape(batch, side, side, 3) / 2
        + 0.5
    )


def test_images_are_compared_in_several_sizes():
    one = np.float32(wave(2, 37))
    other = np.float32(np.clip(one + np.cos(np.arange(one.size) / 3).reshape(one.shape) / 20, 0, 1))
    alike = tf.image.ssim_multiscale(one, other, 1.0, power_factors=(0.2, 0.3, 0.5), filter_size=7)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(alike), [0.893473, 0.892594], rtol=1e-4)
        same = tf.image.ssim_multiscale(one, one, 1.0, power_factors=(0.5, 0.5), filter_size=5)
        np.testing.assert_allclose(session.run(same), [1.0, 1.0], rtol=1e-5)
        small = tf.placeholder(tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(tf.image.ssim_multiscale(small, small, 1.0), {small: one})
