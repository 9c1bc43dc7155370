"""A loop and a branch in a function, written in Python."""

import tensorflow as tf


@tf.function
def collatz(n):
    steps = tf.constant(0)
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


print(int(collatz(tf.constant(27))))
