"""Flags as TensorFlow 1 scripts define them, and tf.app.run() that finds main by itself."""
import tensorflow as tf

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_integer("batch_size", 4, "Examples a step.")
flags.DEFINE_float("learning_rate", 0.25, "How far a step goes.")
flags.DEFINE_string("device", "/gpu:0", "Where to run.")
flags.DEFINE_boolean("verbose", True, "Whether to say more.")
tf.app.flags.DEFINE_enum("mode", "train", ["train", "eval"], "What to do.")


def main(unused_argv):
    print(FLAGS.batch_size, FLAGS.learning_rate, FLAGS.device, FLAGS.verbose, FLAGS.mode)
    with tf.device(FLAGS.device):
        x = tf.ones([FLAGS.batch_size, 3], name="x") * FLAGS.learning_rate
        y = tf.reduce_sum(x, axis=1, name="y")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        print(sess.run(y))


if __name__ == "__main__":
    tf.app.run()
