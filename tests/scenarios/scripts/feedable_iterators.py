"""Iterators of all kinds: one-shot, initialisable, reinitialisable, and one that takes the handle of another."""
import numpy as np
import tensorflow as tf

training = tf.data.Dataset.range(10).map(lambda x: x * x).filter(lambda x: tf.equal(x % 2, 0)).repeat()
validation = tf.data.Dataset.range(100, 104)

handle = tf.placeholder(tf.string, shape=[], name="handle")
feedable = tf.data.Iterator.from_string_handle(handle, training.output_types, training.output_shapes)
following = feedable.get_next()
training_iterator = training.make_one_shot_iterator()
validation_iterator = validation.make_initializable_iterator()

switched = tf.data.Iterator.from_structure(tf.int64, [])
element = switched.get_next()
to_odd = switched.make_initializer(tf.data.Dataset.range(1, 8, 2))
limit = tf.placeholder(tf.int64, [])
to_limit = switched.make_initializer(tf.data.Dataset.range(limit).batch(1).map(tf.squeeze), name="to_limit")

words = tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f"])
words = words.interleave(lambda w: tf.data.Dataset.from_tensors(w).repeat(2), cycle_length=2)
word = tf.data.Dataset.zip((words, tf.data.Dataset.range(9))).make_one_shot_iterator().get_next()
padded = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n)).padded_batch(2, [None])
rows = padded.make_one_shot_iterator().get_next()
pairs = tf.data.Dataset.from_generator(lambda: ((i, [i] * 2) for i in range(3)), (tf.int32, tf.float32), ([], [2]))
pair = pairs.make_one_shot_iterator().get_next()
total = tf.data.Dataset.range(6).reduce(np.int64(0), lambda state, x: state + x)


def drained(sess, fetch, most=20):
    """All that is left."""
    found = []
    try:
        while len(found) < most:
            found.append(sess.run(fetch))
    except tf.errors.OutOfRangeError:
        pass
    return found


with tf.Session() as sess:
    train_handle = sess.run(training_iterator.string_handle())
    check_handle = sess.run(validation_iterator.string_handle())
    for _ in range(2):
        print("train", [int(sess.run(following, {handle: train_handle})) for _ in range(4)])
        sess.run(validation_iterator.initializer)
        check = []
        while True:
            try:
                check.append(int(sess.run(following, {handle: check_handle})))
            except tf.errors.OutOfRangeError:
                break
        print("check", check)
    try:
        sess.run(element)
    except tf.errors.FailedPreconditionError as error:
        print("not initialised:", type(error).__name__)
    sess.run(to_odd)
    print("odd", [int(x) for x in drained(sess, element)])
    sess.run(to_limit, {limit: 3})
    print("below", [int(x) for x in drained(sess, element)])
    print("words", [(w.decode(), int(i)) for w, i in drained(sess, word)])
    for row in drained(sess, rows):
        print(row.tolist())
    print("pairs", [(int(a), b.tolist()) for a, b in drained(sess, pair)])
    print("total", int(sess.run(total)))
