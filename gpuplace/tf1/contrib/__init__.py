"""The most used parts of ``tf.contrib``."""
