"""A training loop of one's own, with a gradient tape."""

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(rows, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows, training=True) - labels) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for _ in range(3):
    train_step(tf.ones([8, 4]), tf.zeros([8, 1]))
print(int(optimizer.iterations))
