"""``tf.image.decode_and_crop_jpeg``: what TensorFlow 1.15.5 gives is the part of what ``decode_jpeg`` gives."""

import numpy as np
import pytest

import gpuplace as tf

ROWS, COLUMNS = np.mgrid[0:45, 0:61]
IMAGE = np.stack([ROWS * 5 % 256, COLUMNS * 4 % 256, (ROWS + COLUMNS) * 2 % 256], -1).astype(np.uint8)


@pytest.mark.parametrize(
    ("window", "options", "shape"),
    [
        ([0, 0, 45, 61], {}, [45, 61, None]),
        ([3, 5, 20, 30], {}, [20, 30, None]),
        ([17, 9, 28, 52], {"channels": 3}, [28, 52, 3]),
        ([10, 11, 16, 16], {"channels": 1}, [16, 16, 1]),
        ([2, 3, 10, 12], {"ratio": 2}, [10, 12, None]),
    ],
)
def test_a_part_of_an_image(window, options, shape):
    with tf.Graph().as_default(), tf.Session() as sess:
        jpeg = sess.run(tf.image.encode_jpeg(IMAGE))
        part = tf.io.decode_and_crop_jpeg(jpeg, window, **options)
        assert part.shape.as_list() == shape
        found, whole = sess.run([part, tf.image.decode_jpeg(jpeg, **options)])
        top, left, height, width = window
        np.testing.assert_array_equal(found, whole[top : top + height, left : left + width])


@pytest.mark.parametrize("window", [[0, 0, 46, 61], [-1, 0, 4, 6], [1, 0, 0, 6], [0, 60, 4, 2]])
def test_a_window_outside_of_the_image(window):
    with tf.Graph().as_default(), tf.Session() as sess:
        jpeg = sess.run(tf.image.encode_jpeg(IMAGE))
        message = f"Invalid JPEG data or crop window, data size {len(jpeg)}"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(tf.image.decode_and_crop_jpeg(jpeg, window))


@pytest.mark.parametrize(
    ("window", "sentence"),
    [([0, 0, 4], "Dimension must be 4 but is 3"), ([[0, 0, 4, 4]], "Shape must be rank 1 but is rank 2")],
)
def test_a_window_of_another_form(window, sentence):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=sentence):
        tf.image.decode_and_crop_jpeg("", window)


def test_a_window_that_is_known_late_and_an_image_that_is_no_jpeg():
    with tf.Graph().as_default(), tf.Session() as sess:
        window = tf.placeholder(tf.int32, [4])
        png = sess.run(tf.image.encode_png(IMAGE))
        part = tf.image.decode_and_crop_jpeg(png, window)
        assert part.shape.as_list() == [None, None, None]
        np.testing.assert_array_equal(sess.run(part, {window: [0, 0, 4, 4]}), IMAGE)  # all of it, as there
