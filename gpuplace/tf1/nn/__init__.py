"""Parts of ``tf.nn`` that few nets have."""
