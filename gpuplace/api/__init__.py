"""Namespaces of the public API (``tf.nn``, ``tf.train``, ``tf.test``, ...) and functions of the default graph.

These modules compute nothing: each collects names from lower layers under TensorFlow's names.
"""
