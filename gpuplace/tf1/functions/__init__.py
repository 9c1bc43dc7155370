"""``tf.function``: Python functions as functions of the graph's library."""
