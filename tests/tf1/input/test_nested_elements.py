"""Elements that are datasets, sparse tensors or optional values, and datasets that choose among others.

The expected values are those of TensorFlow 1.15.5.
"""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph

experimental = tf.data.experimental


@pytest.fixture(autouse=True)
def graph():
    reset_default_graph()
    yield
    reset_default_graph()


def elements(dataset):
    """All elements of a dataset, and that it stays at its end."""
    iterator = tf.data.make_initializable_iterator(dataset)
    following, found = iterator.get_next(), []
    with tf.Session() as session:
        session.run(iterator.initializer)
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                break
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(following)
    return found


def numbers(dataset):
    return [int(one) for one in elements(dataset)]


def test_datasets_are_put_together_and_taken_apart():
    windows = tf.data.Dataset.range(6).window(2).batch(2)
    spec = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64), [None])
    assert windows.element_spec == spec and windows.output_types == spec
    assert numbers(windows.map(lambda batch: batch).unbatch().flat_map(lambda one: one)) == list(range(6))


def test_lists_of_datasets_have_rows():
    rows = tf.data.Dataset.from_tensor_slices([tf.data.Dataset.range(2), tf.data.Dataset.range(3)])
    assert numbers(rows.flat_map(lambda one: one)) == [0, 1, 0, 1, 2]
    whole = tf.data.Dataset.from_tensors([tf.data.Dataset.range(2), tf.data.Dataset.range(3)])
    assert numbers(whole.unbatch().flat_map(lambda one: one)) == [0, 1, 0, 1, 2]
    with pytest.raises(ValueError, match="Unbatching a dataset is only supported for rank >= 1"):
        tf.data.Dataset.range(3).window(2).unbatch()


def test_specs_of_datasets():
    spec = tf.data.DatasetSpec({"a": tf.TensorSpec([3], tf.int64)})
    other = tf.data.DatasetSpec({"a": tf.TensorSpec([None], tf.int64)})
    assert spec.is_compatible_with(other) and spec != other and len({spec, other}) == 2
    assert (
        spec.most_specific_compatible_type(tf.data.DatasetSpec({"a": tf.TensorSpec([4], tf.int64)})) == other
    )
    assert not spec.is_compatible_with(tf.data.DatasetSpec({"b": tf.TensorSpec([3], tf.int64)}))
    assert not spec.is_compatible_with(tf.data.DatasetSpec((tf.TensorSpec([3], tf.int64),)))


def test_repeated_datasets_stay_at_their_end():
    assert numbers(tf.data.Dataset.range(2).repeat(2)) == [0, 1, 0, 1]
    assert numbers(tf.data.Dataset.range(2).map(lambda x: x).repeat(3).batch(4).unbatch()) == [0, 1] * 3


def test_who_writes_a_cache(tmp_path):
    name = str(tmp_path / "cache")
    first, second = (tf.data.Dataset.range(3).cache(name).make_one_shot_iterator().get_next() for _ in "ab")
    with tf.Session() as session:
        assert session.run(first) == 0
        with pytest.raises(
            tf.errors.AlreadyExistsError, match="There appears to be a concurrent caching iterator"
        ):
            session.run(second)
        assert [session.run(first), session.run(first)] == [1, 2]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(first)
    third = tf.data.Dataset.range(0).cache(name)
    assert numbers(third) == [0, 1, 2]


def test_a_part_of_a_cache_is_made_again(tmp_path):
    dataset = tf.data.Dataset.range(5).cache(str(tmp_path / "cache")).take(2).repeat(2)
    assert numbers(dataset) == [0, 1, 0, 1]


def test_branches_and_loops_in_functions_of_elements():
    def checked(x):
        return tf.case([(x < 2, lambda: x * 10), (x > 4, lambda: x * 100)], default=lambda: x, exclusive=True)

    assert numbers(tf.data.Dataset.range(6).map(checked)) == [0, 10, 2, 3, 4, 500]
    rows = tf.data.Dataset.from_tensor_slices(np.arange(4).reshape(2, 2))
    found = elements(rows.map(lambda row: tf.map_fn(checked, row)))
    assert [row.tolist() for row in found] == [[0, 10], [2, 3]]


def test_optional_values():
    iterator = tf.data.Dataset.range(1).map(lambda x: {"a": x, "b": x + 1}).make_one_shot_iterator()
    following = experimental.get_next_as_optional(iterator)
    value, there = following.get_value(), following.has_value()
    with tf.Session() as session:
        assert session.run((there, value)) == (True, {"a": 0, "b": 1})
        assert not session.run(there)
        with pytest.raises(tf.errors.InvalidArgumentError, match="The given optional does not have a value."):
            session.run(value)


def test_optional_values_as_elements():
    sparse = tf.SparseTensor([[1]], [7], [3])
    given = experimental.Optional.from_value((sparse, tf.constant(2.0)))
    dataset = tf.data.Dataset.from_tensors(given)
    assert dataset.element_spec == tf.OptionalSpec((tf.SparseTensorSpec([3], tf.int32), tf.TensorSpec([])))
    (found,) = elements(dataset.map(lambda one: one.get_value()))
    assert found[0].values.tolist() == [7] and found[1] == 2.0
    none = experimental.Optional.none_from_structure(tf.TensorSpec([], tf.int64))
    assert elements(tf.data.Dataset.from_tensors(none).map(lambda one: one.has_value())) == [False]


def test_chosen_by_chance():
    tf.set_random_seed(7)
    two = [tf.data.Dataset.range(5), tf.data.Dataset.range(10, 15)]
    found = numbers(experimental.sample_from_datasets(two, seed=3))
    assert found == [10, 0, 11, 12, 13, 14, 1, 2, 3, 4]
    weighted = experimental.sample_from_datasets(two, weights=[0.9, 0.1], seed=3)
    assert numbers(weighted) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
    same = tf.data.Dataset.from_tensors([0.9, 0.1]).repeat().map(lambda one: [one])
    assert numbers(experimental.sample_from_datasets(two, weights=same, seed=3)) == numbers(weighted)
    with pytest.raises(ValueError, match="`weights` must be a vector of length"):
        experimental.sample_from_datasets(two, weights=[1.0])
    with pytest.raises(TypeError, match="All datasets must have the same type and class"):
        experimental.sample_from_datasets([two[0], two[1].map(lambda x: tf.cast(x, tf.int32))])


@pytest.mark.parametrize(("initial", "counts"), [([1 / 3.0] * 3, [74, 64, 124]), (None, [23, 24, 79])])
def test_classes_are_distributed_anew(initial, counts):
    tf.set_random_seed(7)
    classes = np.random.RandomState(0).randint(0, 3, 200).astype(np.int32)
    resample = experimental.rejection_resample(lambda one: one, [0.1, 0.1, 0.8], initial, seed=5)
    found = elements(tf.data.Dataset.from_tensor_slices(classes).apply(resample))
    assert np.bincount([kind for kind, _ in found]).tolist() == counts
    assert all(kind == one for kind, one in found)


def test_dense_elements_as_sparse_tensors():
    dataset = tf.data.Dataset.range(5).map(lambda x: tf.fill([x], x))
    first, second = elements(dataset.apply(experimental.dense_to_sparse_batch(3, [6])))
    assert first.indices.tolist() == [[1, 0], [2, 0], [2, 1]] and first.values.tolist() == [1, 2, 2]
    assert first.dense_shape.tolist() == [3, 6] and second.dense_shape.tolist() == [2, 6]
    with pytest.raises(tf.errors.DataLossError, match="larger than the row shape"):
        elements(dataset.apply(experimental.dense_to_sparse_batch(5, [3])))


def test_rows_of_sparse_tensors():
    sparse = tf.SparseTensor([[0, 1], [2, 3]], [5, 6], [3, 4])
    found = elements(tf.data.Dataset.from_sparse_tensor_slices(sparse))
    assert [[part.tolist() for part in row] for row in found] == [
        [[[1]], [5], [4]],
        [[], [], [4]],
        [[[3]], [6], [4]],
    ]
    unordered = tf.SparseTensor([[2, 3], [0, 1]], [5, 6], [3, 4])
    with pytest.raises(tf.errors.UnimplementedError, match="must be ordered in the batch dimension"):
        elements(tf.data.Dataset.from_sparse_tensor_slices(unordered))


def test_what_a_dataset_takes_from():
    first, second = tf.data.Dataset.range(2), tf.data.Dataset.range(3)
    assert first._inputs() == [] and first.concatenate(second)._inputs() == [first, second]
    mapped = first.map(lambda x: x)
    assert mapped._inputs() == [first] and len(mapped._functions()) == 1


def _stops(number):
    if number >= 3:
        raise StopIteration
    return number


def _called(x):
    return tf.py_func(_stops, [x], tf.int64)


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (lambda one: one.map(_called).batch(2), [[0, 1], [2], "end"]),
        (lambda one: one.apply(experimental.map_and_batch(_called, 2)), [[0, 1], "error", "error", "end"]),
        (
            lambda one: one.apply(experimental.scan(0, lambda state, x: (state, _called(x)))),
            [0, 1, 2, "error", "error", "end"],
        ),
    ],
)
def test_a_function_that_says_there_is_no_more(transform, expected):
    following = tf.data.make_initializable_iterator(transform(tf.data.Dataset.range(5)))
    element, found = following.get_next(), []
    with tf.Session() as session:
        session.run(following.initializer)
        while found[-1:] != ["end"]:
            try:
                found.append(session.run(element).tolist())
            except tf.errors.OutOfRangeError:
                found.append("end")
            except tf.errors.InvalidArgumentError as error:
                assert "Function invocation produced OutOfRangeError: StopIteration" in error.message
                found.append("error")
    assert found == expected
