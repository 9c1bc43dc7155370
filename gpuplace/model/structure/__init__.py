"""The structure of a graph: the role of every node, and the layers, towers and repeats that the model is made of."""
