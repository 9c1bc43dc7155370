"""A script with main(_), flags of argparse, logging and an exit by tf.app.run."""
from __future__ import absolute_import, division, print_function

import argparse
import sys

import tensorflow as tf

FLAGS = None


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.logging.info("training for %d steps", FLAGS.steps)
    tf.logging.warn("this is only a test")
    print(tf.logging.get_verbosity() == tf.logging.INFO)
    x = tf.Variable(FLAGS.start, dtype=tf.float32)
    minimize = tf.train.AdagradOptimizer(FLAGS.rate).minimize(tf.square(x - 2.0))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(FLAGS.steps):
            sess.run(minimize)
        print("x = %.5f" % sess.run(x))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--start", type=float, default=0.0)
    FLAGS, unparsed = parser.parse_known_args()
    tf.app.run(main=main, argv=[sys.argv[0]] + unparsed)
