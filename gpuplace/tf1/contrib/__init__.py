"""What programs use of ``tf.contrib``."""
