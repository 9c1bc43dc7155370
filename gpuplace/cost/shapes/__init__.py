"""The shape of every tensor of a step, from the graph alone."""
