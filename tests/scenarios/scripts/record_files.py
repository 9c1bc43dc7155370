"""Examples written to a TFRecord file, read back with Python and through a graph."""

import os
import tempfile

import tensorflow as tf

folder = tempfile.mkdtemp()
path = os.path.join(folder, "train.tfrecord")


def int64(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


with tf.python_io.TFRecordWriter(path) as writer:
    for number in range(6):
        features = {
            "label": int64([number % 3]),
            "pixels": tf.train.Feature(float_list=tf.train.FloatList(value=[number, number + 0.5])),
            "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"n%d" % number])),
            "tags": int64(list(range(number % 4))),
        }
        example = tf.train.Example(features=tf.train.Features(feature=features))
        writer.write(example.SerializeToString())

labels = []
for record in tf.python_io.tf_record_iterator(path):
    labels.append(tf.train.Example.FromString(record).features.feature["label"].int64_list.value[0])
print("labels:", labels)

names = tf.train.string_input_producer([path], num_epochs=1, shuffle=False)
_, serialized = tf.TFRecordReader().read(names)
found = tf.parse_single_example(
    serialized,
    {
        "label": tf.FixedLenFeature([], tf.int64),
        "pixels": tf.FixedLenFeature([2], tf.float32),
        "name": tf.FixedLenFeature([], tf.string),
        "missing": tf.FixedLenFeature([], tf.int64, default_value=-1),
        "tags": tf.VarLenFeature(tf.int64),
    },
)
tags = tf.size(found["tags"].values)
batch = tf.train.batch([found["label"], found["pixels"], found["name"], found["missing"], tags], 3)
means = tf.reduce_mean(batch[1], axis=0)

with tf.Session() as session:
    session.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    for _ in range(2):
        (label, pixels, name, missing, count), mean = session.run([batch, means])
        print(label, pixels.tolist(), [text.decode() for text in name], missing, count, mean)
    coord.request_stop()
    coord.join(threads)
tf.gfile.DeleteRecursively(folder)
