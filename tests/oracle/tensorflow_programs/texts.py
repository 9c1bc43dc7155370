"""Strings and a lookup table, which have no GPU kernels."""

import tensorflow as tf

words = tf.strings.split(tf.constant(["the quick fox", "the dog"])).to_tensor("")
keys = tf.constant(["the", "fox", "dog"])
table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, tf.range(3)), -1)
print(table.lookup(words).numpy().tolist())
