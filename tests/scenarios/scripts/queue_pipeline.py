"""Numbers from a text file through queues: a producer, a reader, batches, and a coordinator."""

import os
import tempfile

import tensorflow as tf

folder = tempfile.mkdtemp()
paths = []
for part in range(2):
    paths.append(os.path.join(folder, "part%d.csv" % part))
    with tf.gfile.GFile(paths[-1], "w") as file:
        for row in range(5):
            file.write("%d,%.2f,%s\n" % (5 * part + row, 0.5 * row, "even" if row % 2 == 0 else "odd"))

names = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
reader = tf.TextLineReader()
key, line = reader.read(names)
number, half, word = tf.decode_csv(line, [[0], [0.0], [""]])
batch = tf.train.batch([number, half, word], batch_size=4, allow_smaller_final_batch=True)

with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=session, coord=coord)
    try:
        while not coord.should_stop():
            numbers, halves, words = session.run(batch)
            print(numbers, halves.sum(), [text.decode() for text in words])
    except tf.errors.OutOfRangeError:
        print("done:", session.run(reader.num_records_produced()), "lines")
    finally:
        coord.request_stop()
        coord.join(threads)
tf.gfile.DeleteRecursively(folder)
print("left:", tf.gfile.Exists(folder))
