"""``tf.contrib.slim.nets``: models for images, with the variable names of published checkpoints."""
