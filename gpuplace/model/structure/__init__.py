"""The structure of a graph: the role of each node, and the layers, towers and repeats of the model."""
