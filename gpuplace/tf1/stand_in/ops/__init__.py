"""Names of modules below ``tensorflow.python.ops`` that differ from the public names."""
