"""Feeds of all kinds: placeholders, defaults, inner tensors, variables, and partial runs of a graph."""
import numpy as np
import tensorflow as tf

a = tf.placeholder(tf.float32, name="a")
b = tf.placeholder(tf.float32, shape=[None, 2], name="b")
flag = tf.placeholder_with_default(tf.constant(1.0), [], name="flag")
c = tf.add(a, 1.0, name="c")
d = tf.multiply(c, b, name="d")
e = tf.reduce_sum(d) * flag
v = tf.Variable([10.0, 20.0], name="v")
f = v + 1.0

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(d, {a: 1, b: [[1, 2]]}))
    print(sess.run(d, feed_dict={c: 3.0, b: np.ones((2, 2))}))
    print(sess.run([c, e], feed_dict={"a:0": 2.0, b: [[1, 1]], flag: -1.0}))
    print(sess.run(e, {a: 0.0, b: np.zeros((0, 2))}))
    print(sess.run(f), sess.run(f, {v: [0.0, 1.0]}))
    print(sess.run([a, b], {a: [[5.0]], b: [[6.0, 7.0]]}))
    print(sess.run((d.op, d), {a: 1, b: [[1, 2]]}))
    add_one = sess.make_callable(c, [a])
    print(add_one(41.0), add_one([1.0, 2.0]))
    no_feed = sess.make_callable([v, f])
    print([x.tolist() for x in no_feed()])
    for wrong in ({a: 1.0}, {a: 1.0, b: [1.0, 2.0]}, {a: "text", b: [[1.0, 2.0]]}):
        try:
            sess.run(d, feed_dict=wrong)
        except tf.errors.InvalidArgumentError as error:
            print("InvalidArgumentError", error.message.split("\n")[0].split(" with dtype")[0][:50])
        except ValueError as error:
            print("ValueError", str(error).split(":")[0][:45])
    try:
        sess.run(d, {a: tf.constant(1.0), b: [[1, 2]]})
    except TypeError as error:
        print("TypeError", str(error).split(".")[0])
    print(tf.get_default_graph().is_feedable(a), b.shape.as_list(), a.shape)
