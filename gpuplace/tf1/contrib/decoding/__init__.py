"""``tf.contrib.seq2seq``: decoders, their helpers, and attention."""
