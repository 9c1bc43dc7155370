"""The namespaces of the public surface: ``tf.nn``, ``tf.train``, ``tf.test``, ... and what needs the default graph.

Nothing is computed here; each module gathers names from the layers below under TensorFlow's own.
"""
