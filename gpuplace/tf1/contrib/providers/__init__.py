"""``tf.contrib.slim``'s data sets: files of examples, read in parallel and decoded to items."""
