"""Data sets of ``tf.contrib.slim``: files of examples, read in parallel and decoded to items."""
