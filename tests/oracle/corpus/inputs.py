"""Queues, readers and datasets."""

from __future__ import annotations

import tensorflow

from tests.oracle.corpus.blocks import cross_entropy, dense
from tests.oracle.corpus.programs import program, tf


@program
def queue_runners():
    """Queues of all kinds with runners, dequeued to the GPU."""
    x = tf.random_uniform([3])
    queues = [
        tf.FIFOQueue(10, tf.float32, [[3]]),
        tf.RandomShuffleQueue(10, 2, tf.float32, [[3]]),
        tf.PaddingFIFOQueue(10, [tf.float32], [[None]]),
        tf.PriorityQueue(10, tf.float32, [[3]]),
    ]
    for queue in queues[:3]:
        runner = tf.train.QueueRunner(queue, [queue.enqueue(x)] * 2)
        tf.train.add_queue_runner(runner)
        y = queue.dequeue_many(2)
        queue.size()
        with tf.device("/gpu:0"):
            tf.square(y)
    queues[3].enqueue((tf.constant(1, tf.int64), x))


@program
def file_readers():
    """Filename queue, reader, parser, shuffled batches: input pipelines of 1.x."""
    names = tf.train.string_input_producer(["a", "b"], num_epochs=2)
    _, value = tf.TextLineReader().read(names)
    columns = tf.decode_csv(value, [[0.0], [0.0], [0]])
    features, labels = tf.train.shuffle_batch([tf.stack(columns[:2]), columns[2]], 8, 100, 10)
    dense(features, 4, "dense")
    tf.one_hot(labels, 4)


@program
def parsed_examples():
    """Records to dense and sparse features."""
    names = tf.train.string_input_producer(["a"])
    _, value = tf.TFRecordReader().read(names)
    features = {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    parsed = tf.parse_single_example(value, features)
    image = tf.cast(tf.decode_raw(parsed["image"], tf.uint8), tf.float32)
    tf.train.batch([tf.reshape(image, [4]), parsed["label"]], 8)
    tf.parse_example(tf.placeholder(tf.string, [None]), {"words": tf.VarLenFeature(tf.string)})


@program
def dataset_one_shot():
    """A one-shot iterator."""
    dataset = tf.data.Dataset.range(10).shuffle(5).repeat()
    tf.square(tf.cast(tf.data.make_one_shot_iterator(dataset).get_next(), tf.float32))


@program
def dataset_initializable():
    """Mapped, batched, prefetched, with placeholders; the net beside it."""
    images, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.shuffle(10).map(lambda x, y: (x / 255.0, y)).batch(8).prefetch(1)
    iterator = tf.data.make_initializable_iterator(dataset)
    x, y = iterator.get_next()
    tf.train.AdamOptimizer().minimize(cross_entropy(dense(x, 10, "logits"), y))


@program
def dataset_reinitializable():
    """One iterator for two datasets, on the CPU, consumer on the GPU."""
    first, second = tf.data.Dataset.range(4), tf.data.Dataset.range(9).filter(lambda x: x > 3)
    with tf.device("/cpu:0"):
        iterator = tf.data.Iterator.from_structure(tf.int64, [])
        iterator.make_initializer(first)
        iterator.make_initializer(second)
    with tf.device("/gpu:0"):
        tf.cast(iterator.get_next(), tf.float32) + 1.0


@program
def dataset_feedable():
    """String handles."""
    handle = tf.placeholder(tf.string, [])
    iterator = tf.data.Iterator.from_string_handle(handle, tf.string, [])
    tf.string_split([iterator.get_next()], " ")
    tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors("a b")).string_handle()


@program
def dataset_of_files():
    """Interleaved text files, padded batches, zip, cache, take, skip."""
    lines = tf.data.Dataset.list_files("*").interleave(tf.data.TextLineDataset, cycle_length=2)
    words = lines.map(lambda line: tf.string_split([line]).values).padded_batch(4, [None])
    both = tf.data.Dataset.zip((words, tf.data.Dataset.range(9).take(5).skip(1).cache())).repeat(2)
    tf.data.make_initializable_iterator(both).get_next()


@program
def dataset_on_a_gpu():
    """An iterator asked for on a GPU."""
    dataset = tf.data.Dataset.range(5).map(lambda x: x * 2)
    with tf.device("/gpu:0"):
        iterator = tf.data.make_initializable_iterator(dataset)
        tf.cast(iterator.get_next(), tf.float32)


@program
def staging_areas():
    """Staged copies to the GPU, and a map of stages."""
    x = tf.random_uniform([4])
    stage = tensorflow.raw_ops
    with tf.device("/gpu:0"):
        stage.Stage(values=[x], shared_name="s")
        tf.square(stage.Unstage(dtypes=[tf.float32], shared_name="s")[0])
    stage.StageSize(dtypes=[tf.float32], shared_name="s")
    stage.StageClear(dtypes=[tf.float32], shared_name="s")
