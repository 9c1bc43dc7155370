"""TensorFlow's ``python.client``: ``device_lib`` and ``timeline``."""
