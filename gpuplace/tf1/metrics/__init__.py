"""``tf.metrics``: metrics that accumulate over several runs."""
