"""``tf.metrics``: figures that are gathered over several runs."""
