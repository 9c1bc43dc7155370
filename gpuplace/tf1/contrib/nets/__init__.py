"""``tf.contrib.slim.nets``: nets for images, with the variables' names that published checkpoints have."""
