"""``tf.profiler``: parameters, operations, times and bytes of graphs, by name scope, input, op type or Python line."""
