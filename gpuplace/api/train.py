"""``tf.train``: optimizers, steps, and graphs written to files."""

