"""A tf.data pipeline is mapped, shuffled and batched."""

import tensorflow as tf

numbers = tf.data.Dataset.range(20).map(lambda n: tf.cast(n, tf.float32) / 20.0)
batches = numbers.shuffle(20, seed=1).batch(5).prefetch(1)
print(sum(int(batch.shape[0]) for batch in batches))
