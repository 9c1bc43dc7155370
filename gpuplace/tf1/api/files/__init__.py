"""``tf.audio``."""
