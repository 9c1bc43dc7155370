"""Matrices of a checkpoint with the rows and columns of new vocabularies."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.training.load_and_remap import remapped_matrix

framework = tf.contrib.framework
MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def files(tmp_path):
    """A checkpoint of [4, 3], and vocabularies: old and new rows, old and new columns."""
    words = {
        "old": "apple banana guava orange",
        "new": "orange guava apple raspberry",
        "a": "x y z",
        "b": "z w x",
    }
    for name, text in words.items():
        (tmp_path / name).write_text("".join(f"{word}\n" for word in text.split()))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("matrix", initializer=MATRIX)
        session.run(tf.global_variables_initializer())
        checkpoint = tf.train.Saver().save(session, str(tmp_path / "model"))
    return checkpoint, {name: str(tmp_path / name) for name in words}


def twos(shape, **_):
    return tf.fill(shape, 2.0)


ROWS = [MATRIX[3], MATRIX[2], MATRIX[0], [2.0, 2.0, 2.0]]
"""The rows of the new words, the last of which is new."""


@pytest.mark.parametrize("parts", [None, 2, 3, 6])
def test_rows_follow_a_vocabulary_in_any_number_of_parts(files, parts):
    checkpoint, words = files
    initial = framework.load_embedding_initializer(
        checkpoint, "matrix", 4, 3, words["old"], words["new"], num_oov_buckets=2, initializer=twos
    )
    partitioner = None if parts is None else tf.fixed_size_partitioner(parts)
    matrix = tf.get_variable("new", [6, 3], initializer=initial, partitioner=partitioner)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = session.run(tf.convert_to_tensor(matrix))
    np.testing.assert_array_equal(value, [*ROWS, [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]])


def test_columns_follow_one_too(files):
    checkpoint, words = files
    initial = framework.load_and_remap_matrix_initializer(
        checkpoint,
        "matrix",
        4,
        3,
        old_row_vocab_file=words["old"],
        new_row_vocab_file=words["new"],
        old_col_vocab_file=words["a"],
        new_col_vocab_file=words["b"],
        num_col_oov_buckets=1,
    )
    with tf.Session() as session:
        value = session.run(initial([4, 4]))
    expected = [[row[2], 0.0, row[0], 0.0] for row in MATRIX[[3, 2, 0]]]
    np.testing.assert_array_equal(value, [*expected, [0.0] * 4])


def test_defaults(files):
    checkpoint, words = files
    embedding = framework.load_embedding_initializer(checkpoint, "matrix", 4, 3, words["old"], words["new"])
    with tf.Session() as session:
        value = session.run(embedding([4, 3]))
    np.testing.assert_array_equal(value[:3], MATRIX[[3, 2, 0]])
    assert (0 < np.abs(value[3])).all() and (np.abs(value[3]) < 2 / np.sqrt(3)).all()
    with pytest.raises(ValueError, match="received shape"):
        framework.load_linear_multiclass_bias_initializer(
            checkpoint, "matrix", 4, words["old"], words["new"]
        )([4, 3])


@pytest.mark.parametrize(
    ("shape", "settings", "error", "message"),
    [
        ([4], {}, ValueError, "Expected 2-dim shape"),
        ([0, 3], {}, ValueError, "Expected 1st dim of shape to be > 0"),
        ([4, 2], {}, ValueError, "Expected 2nd dim of shape to be new_col_vocab_size .3. "),
        ([7, 3], {}, ValueError, "which would exceed expected total row count"),
        ([4, 3], {"dtype": tf.float64}, TypeError, "only float32 is supported"),
    ],
)
def test_shapes_that_do_not_fit(files, shape, settings, error, message):
    checkpoint, words = files
    initial = framework.load_embedding_initializer(checkpoint, "matrix", 4, 3, words["old"], words["new"])
    with pytest.raises(error, match=message):
        initial(shape, **settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Must provide either row or column vocab files"),
        ({"old_row_vocab_file": "old"}, "old_row_vocab_file and new_row_vocab_file must both be specified"),
        ({"new_col_vocab_file": "new"}, "old_col_vocab_file and new_col_vocab_file must both be specified"),
        ({"num_row_oov_buckets": -1}, "num_row_oov_buckets must be >= 0"),
    ],
)
def test_files_that_are_missing(given, message):
    with pytest.raises(ValueError, match=message):
        remapped_matrix("model", "matrix", 0, 4, 3, twos, **given)


def test_an_initializer_has_to_be_a_function():
    with pytest.raises(TypeError, match="initializer must be callable"):
        framework.load_and_remap_matrix_initializer("model", "matrix", 4, 3, initializer=7)
