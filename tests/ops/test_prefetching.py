"""``prefetch_to_device`` and ``copy_to_device``: nodes and devices are those of TensorFlow 1.15.5 with two GPUs."""

import pytest

import gpuplace as tf

NODES = """
start Const CPU:0
stop Const CPU:0
step Const CPU:0
RangeDataset RangeDataset CPU:0 start stop step
MapDataset MapDataset CPU:0 RangeDataset
batch_size Const CPU:0
drop_remainder Const CPU:0
BatchDatasetV2 BatchDatasetV2 CPU:0 MapDataset batch_size drop_remainder
Const Const CPU:0
WrapDatasetVariant WrapDatasetVariant GPU:0 BatchDatasetV2
GeneratorDataset GeneratorDataset GPU:1 Const WrapDatasetVariant Const Const
buffer_size Const CPU:0
PrefetchDataset PrefetchDataset CPU:0 GeneratorDataset buffer_size
IteratorV2 IteratorV2 {0}
MakeIterator MakeIterator {0} PrefetchDataset IteratorV2
IteratorToStringHandle IteratorToStringHandle {0} IteratorV2
IteratorGetNext IteratorGetNext {0} IteratorV2
add/y Const GPU:0
add AddV2 GPU:0 IteratorGetNext add/y
"""


@pytest.fixture(autouse=True)
def two_gpus():
    tf.use_machine("2x Tesla K80")
    yield
    tf.use_machine(None)


def pipeline(transformation, device=None):
    data = tf.data.Dataset.range(6).map(lambda x: tf.cast(x, tf.float32) * 2).batch(4).apply(transformation)
    with tf.device(device):
        iterator = data.make_initializable_iterator()
        return data, iterator, iterator.get_next()


@pytest.mark.parametrize("device", [None, "/gpu:1"])
def test_nodes_and_devices_are_those_of_tensorflow(device):
    with tf.Graph().as_default() as graph:
        data, iterator, element = pipeline(tf.data.experimental.prefetch_to_device("/gpu:1"), device)
        total = element + 1
        placement = tf.place(graph)
        found = [
            " ".join([op.name, op.type, placement[op.name][-5:], *(tensor.op.name for tensor in op.inputs)])
            for op in graph.get_operations()
        ]
        expected = NODES.format("GPU:1" if device else "CPU:0").split("\n")[1:-1]
        assert found == expected
        assert data.output_types == tf.float32 and element.shape.as_list() == [None]
        with tf.Session() as sess:
            for _ in range(2):
                sess.run(iterator.initializer)
                assert sess.run(total).tolist() == [1, 3, 5, 7]
                assert sess.run(total).tolist() == [9, 11]
                with pytest.raises(tf.errors.OutOfRangeError):
                    sess.run(total)


def test_elements_lie_in_the_memory_of_the_gpu():
    with tf.Graph().as_default(), tf.Session() as sess:
        data = tf.data.Dataset.from_tensors(tf.zeros([1 << 20])).apply(
            tf.contrib.data.prefetch_to_device("/gpu:1")
        )
        with tf.device("/gpu:1"):
            iterator = data.make_initializable_iterator()
            element = iterator.get_next()
            with tf.control_dependencies([element]):
                held = tf.contrib.memory_stats.BytesInUse()
        sess.run(iterator.initializer)
        assert sess.run([held, element])[0] >= 4 << 20


def test_iterators_of_the_source_end_with_their_elements():
    with tf.Graph().as_default(), tf.Session() as sess:
        _, iterator, element = pipeline(tf.data.experimental.copy_to_device("/gpu:0"))
        for _ in range(3):
            sess.run(iterator.initializer)
            sess.run(element)
            sess.run(element)
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(element)
        names = [key[2] for key in sess._resources._resources]
        assert names == ["IteratorV2"]


def test_several_components_and_errors_come_through():
    with tf.Graph().as_default(), tf.Session() as sess:
        data = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [b"x", b"y"], "c": [1.0, 0.0]})
        data = data.map(lambda e: {**e, "c": tf.check_numerics(1 / e["c"], "no number")})
        iterator = data.apply(tf.data.experimental.copy_to_device("/gpu:0")).make_initializable_iterator()
        element = iterator.get_next()
        sess.run(iterator.initializer)
        assert sess.run(element) == {"a": 1, "b": b"x", "c": 1.0}
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            sess.run(element)
