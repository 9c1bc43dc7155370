"""Where every node runs, and why: TensorFlow's placement rules over flat arrays."""
