"""Arrays of tensors as elements of datasets; what they give and add is what TensorFlow 1.15.5 gave and added."""

import pytest

import gpuplace as tf
from gpuplace.tf1.flow.tensor_arrays_v2 import ListTensorArray


def array_of(number):
    array = tf.TensorArray(tf.float32, size=2, element_shape=[2])
    return array.write(0, [1.0, 2.0]).write(1, tf.fill([2], tf.cast(number, tf.float32)))


def test_arrays_in_elements():
    dataset = tf.data.Dataset.range(3).map(lambda i: (i, array_of(i)))
    assert dataset.output_types == (tf.int64, tf.float32)
    assert dataset.output_classes[1] is tf.TensorArray
    number, array = dataset.make_one_shot_iterator().get_next()
    assert isinstance(array, tf.TensorArray)
    before = len(tf.get_default_graph().get_operations())
    fetches = [
        number,
        array.write(0, [7.0, 8.0]).stack(),
        array.read(1),
        array.size(),
        array.gather([1, 0]),
        array.concat(),
        array.unstack([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).stack(),
        array.scatter([1], [[9.0, 9.0]]).stack(),
    ]
    added = [op.type for op in tf.get_default_graph().get_operations()[before:] if op.type != "Const"]
    assert added == [
        *(
            "TensorListSetItem",
            "TensorListStack",
            "TensorListGetItem",
            "TensorListLength",
            "TensorListGather",
        ),
        *("TensorListConcatV2", "TensorListFromTensor", "TensorListStack"),
        *("TensorListScatterIntoExistingList", "TensorListStack"),
    ]
    with tf.Session() as session:
        session.run(fetches)
        second = session.run(fetches)
    assert [value.tolist() for value in second] == [
        1,
        [[7.0, 8.0], [1.0, 1.0]],
        [1.0, 1.0],
        2,
        [[1.0, 1.0], [1.0, 2.0]],
        [1.0, 2.0, 1.0, 1.0],
        [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]],
        [[1.0, 2.0], [9.0, 9.0]],
    ]


def test_split_and_close_and_loops():
    source = tf.data.Dataset.from_tensors(
        tf.TensorArray(tf.float32, size=2, element_shape=()).unstack([1.0, 2.0])
    )
    iterator = source.make_initializable_iterator()
    array = iterator.get_next()
    pieces = ListTensorArray(tf.float32, flow=array.flow).split([[3.0], [4.0]], [1, 1])

    def doubled(i, left):
        return i + 1, left.write(i, 2.0 * left.read(i))

    _, after = tf.while_loop(lambda i, _: i < 2, doubled, [0, array])
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(after.stack()).tolist() == [2.0, 4.0]
        session.run(iterator.initializer)
        assert session.run(pieces.stack()).tolist() == [[[3.0]], [[4.0]]]
        session.run(array.close())


def test_iterators_of_what_stands_for_arrays():
    dataset = tf.data.Dataset.range(3).map(array_of)
    forms = dataset.output_types, dataset.output_shapes
    iterator = tf.data.Iterator.from_structure(*forms, output_classes=dataset.output_classes)
    assert iterator.element_spec == dataset.element_spec
    start, value = iterator.make_initializer(dataset), iterator.get_next().stack()
    with tf.Session() as session:
        session.run(start)
        assert session.run(value).tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_specs():
    spec = tf.TensorArraySpec([2], tf.float32, True, False)
    assert repr(spec) == "TensorArraySpec(TensorShape([Dimension(2)]), tf.float32, True, False)"
    assert spec == tf.TensorArraySpec([2], tf.float32, True, False)
    assert spec.is_compatible_with(tf.TensorArraySpec([None], tf.float32, True, True))
    assert not spec.is_compatible_with(tf.TensorArraySpec([2], tf.float32, False, False))
    common = spec.most_specific_compatible_type(tf.TensorArraySpec([None], tf.float32, True, True))
    assert repr(common) == "TensorArraySpec(TensorShape([Dimension(None)]), tf.float32, True, False)"
    with pytest.raises(ValueError, match="Types are not compatible"):
        spec.most_specific_compatible_type(tf.TensorArraySpec([3], tf.float32, True, True))
    with pytest.raises(TypeError, match="Expected value to be a TensorArray"):
        tf.TensorArraySpec.from_value([1.0])
    assert spec.value_type is tf.TensorArray
    with pytest.raises(TypeError, match="flow must be a variant tensor"):
        ListTensorArray(tf.float32, flow=tf.constant(1.0))
