"""Names of modules below ``tensorflow.python.ops`` that are not what the public names are."""
