"""``tf.test``."""
