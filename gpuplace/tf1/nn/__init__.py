"""Rarely used parts of ``tf.nn``."""
