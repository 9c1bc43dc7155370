"""``tf.image`` and ``tf.metrics``."""
