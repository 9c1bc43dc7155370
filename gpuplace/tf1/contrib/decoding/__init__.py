"""``tf.contrib.seq2seq``: decoders, what feeds them, and attention to what was read."""
