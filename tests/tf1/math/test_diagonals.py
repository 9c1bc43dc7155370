"""Bands of diagonals; values and sentences are those of TensorFlow 1.15's second versions of the ops."""

import numpy as np
import pytest

import gpuplace as tf

BAND = np.arange(1, 7.0).reshape(2, 3)
MATRIX = np.arange(1, 13.0).reshape(3, 4)


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as found:
        yield found


def test_without_a_band_the_ops_are_the_first_ones():
    made = tf.matrix_diag([1.0]), tf.matrix_diag_part([[1.0]]), tf.matrix_set_diag([[1.0]], [2.0])
    assert [tensor.op.type for tensor in made] == ["MatrixDiag", "MatrixDiagPart", "MatrixSetDiag"]


@pytest.mark.parametrize(
    ("diagonal", "k", "size", "expected"),
    [
        ([1, 2], 1, (-1, -1), [[9, 1, 9], [9, 9, 2], [9, 9, 9]]),
        ([1, 2], -1, (-1, -1), [[9, 9, 9], [1, 9, 9], [9, 2, 9]]),
        ([1, 2], 1, (2, -1), [[9, 1, 9], [9, 9, 2]]),
        (BAND, (-1, 0), (-1, -1), [[1, 9, 9], [4, 2, 9], [9, 5, 3]]),
        (BAND, (0, 1), (-1, -1), [[4, 1, 9], [9, 5, 2], [9, 9, 6]]),
        (BAND, (0, 1), (3, 5), [[4, 1, 9, 9, 9], [9, 5, 2, 9, 9], [9, 9, 6, 3, 9]]),
        (BAND, (-1, 0), (3, 4), [[1, 9, 9, 9], [4, 2, 9, 9], [9, 5, 3, 9]]),
        (BAND[:1], 0, (3, 4), [[[1, 9, 9, 9], [9, 2, 9, 9], [9, 9, 3, 9]]]),
    ],
)
def test_matrices_of_a_band(session, diagonal, k, size, expected):
    given = np.array(diagonal, np.float32)
    made = tf.matrix_diag(given, k=k, num_rows=size[0], num_cols=size[1], padding_value=9)
    assert made.op.type == "MatrixDiagV2"
    assert made.shape.as_list() == list(np.shape(expected))
    assert session.run(made).tolist() == expected
    fed = tf.placeholder_with_default(k, None)
    again = tf.matrix_diag(given, k=fed, num_rows=size[0], num_cols=size[1], padding_value=9)
    assert session.run(again).tolist() == expected


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, [2, 7, 12]),
        (-2, [9]),
        ((-2, 1), [[2, 7, 12], [1, 6, 11], [5, 10, 0], [9, 0, 0]]),
        ((0, 3), [[4, 0, 0], [3, 8, 0], [2, 7, 12], [1, 6, 11]]),
    ],
)
def test_a_band_of_matrices_and_back(session, k, expected):
    part = tf.matrix_diag_part(MATRIX, k=k)
    assert part.op.type == "MatrixDiagPartV2"
    assert part.shape.as_list() == list(np.shape(expected))
    assert session.run(part).tolist() == expected
    several = tf.matrix_diag_part(np.stack([MATRIX, -MATRIX]), k=k)
    assert session.run(several).tolist() == [expected, (-np.array(expected)).tolist()]
    assert session.run(tf.matrix_set_diag(MATRIX, part, k=k)).tolist() == MATRIX.tolist()
    padded = session.run(tf.matrix_diag_part(MATRIX + 20, k=k, padding_value=7))
    assert padded.tolist() == np.where(np.array(expected) == 0, 7, np.array(expected) + 20).tolist()


@pytest.mark.parametrize(
    ("k", "diagonal", "expected"),
    [
        (1, [1, 2, 3], [[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3]]),
        (-1, [1, 2], [[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0]]),
        ((-1, 1), [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[4, 1, 0, 0], [7, 5, 2, 0], [0, 8, 6, 3]]),
        ((2, 3), [[1, 2], [3, 4]], [[0, 0, 3, 1], [0, 0, 0, 4], [0, 0, 0, 0]]),
    ],
)
def test_a_band_put_into_matrices(session, k, diagonal, expected):
    made = tf.matrix_set_diag(np.zeros((3, 4)), np.array(diagonal, float), k=k)
    assert made.op.type == "MatrixSetDiagV2"
    assert session.run(made).tolist() == expected


def test_what_does_not_fit_says_so_where_it_is_made_and_where_it_runs(session):
    for k, size, sentence in (
        ((0, 1), (2, 3), "num_rows is too small"),
        ((0, 1), (3, 2), "num_cols is too small"),
        ((0, 1), (5, 6), "num_rows and num_cols are not consistent"),
        ((1, 0), (-1, -1), "lower_diag_index is greater than upper_diag_index"),
        ((0, 2), (-1, -1), "number of diagonals implied"),
    ):
        with pytest.raises(ValueError, match=sentence):
            tf.matrix_diag(BAND, k=k, num_rows=size[0], num_cols=size[1])
        fed = tf.placeholder_with_default(k, None)
        with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
            session.run(tf.matrix_diag(BAND, k=fed, num_rows=size[0], num_cols=size[1]))
    for k, sentence in (
        (4, "lower_diag_index is out of bound"),
        ((0, 4), "upper_diag_index is out of bound"),
    ):
        with pytest.raises(ValueError, match=sentence):
            tf.matrix_diag_part(MATRIX, k=k)
        with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
            session.run(tf.matrix_diag_part(MATRIX, k=tf.placeholder_with_default(k, None)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="longests diagonal in range"):
        session.run(tf.matrix_set_diag(MATRIX, [1.0, 2.0], k=1))
    with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 1"):
        tf.matrix_set_diag(MATRIX, [1.0, 2.0], k=(0, 1))


@pytest.mark.parametrize("shape", [(3, 4), (None, None)])
def test_gradients_go_where_the_values_came_from(session, shape):
    matrix = tf.placeholder_with_default(MATRIX, shape)
    band = tf.constant(BAND)
    part = tf.matrix_diag_part(matrix, k=(-2, 1), padding_value=5)
    inside = np.tril(np.ones((3, 4)), 1)
    assert session.run(tf.gradients(part * part, matrix))[0].tolist() == (2 * MATRIX * inside).tolist()
    made = tf.matrix_diag(band, k=(0, 1), num_rows=3, num_cols=5, padding_value=9)
    assert session.run(tf.gradients(made * made, band))[0].tolist() == (2 * BAND).tolist()
    put = tf.matrix_set_diag(matrix, band, k=(0, 1))
    of_matrix, of_band = session.run(tf.gradients(put * put, [matrix, band]))
    kept = 1 - np.triu(inside)
    assert of_matrix.tolist() == (2 * MATRIX * kept).tolist()
    assert of_band.tolist() == (2 * BAND).tolist()


def test_bands_of_bools(session):
    made = tf.matrix_diag([True, True], k=1, padding_value=0)
    assert session.run(made).tolist() == [[False, True, False], [False, False, True], [False, False, False]]
    assert session.run(tf.matrix_diag_part(made, k=(1, 2))).tolist() == [[False, False], [True, True]]
